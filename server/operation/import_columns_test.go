package operation

import (
	"slices"
	"testing"
)

// TestSuggestColumns checks that the columns of a file that a shop keeps in its own language need no mapping.
func TestSuggestColumns(t *testing.T) {
	fields := []string{"external_ref", "holder_name", "holder_name", "holder_email", "phone", "birthday", "stamps", "code", "member_since", ""}
	for _, names := range [][]string{
		{"Customer ID", "First name", "Last name", "E-mail", "Mobile", "Date of birth", "Points", "Card no.", "Joined", "Colour"},
		{"Codice cliente", "Nome", "Cognome", "Mail", "Cellulare", "Data di nascita", "Timbri", "N° tessera", "Cliente dal", "Colore"},
		{"Nº de cliente", "Nombre", "Apellidos", "Correo electrónico", "Móvil", "Fecha de nacimiento", "Sellos", "Nº de tarjeta",
			"Cliente desde", "Color"},
		{"N° client", "Prénom", "Nom", "Adresse e-mail", "Téléphone", "Date de naissance", "Tampons", "N° de carte", "Client depuis",
			"Couleur"},
		{"Kundennummer", "Vorname", "Nachname", "E-Mail", "Telefonnummer", "Geburtsdatum", "Stempel", "Karten-Nr.", "Kunde seit", "Farbe"},
		{"N.º de cliente", "Nome", "Apelido", "E-mail", "Telemóvel", "Data de nascimento", "Carimbos", "N.º do cartão", "Cliente desde",
			"Cor"},
	} {
		var have []string
		for _, c := range suggestColumns(names) {
			have = append(have, c.Field.V)
		}
		if !slices.Equal(have, fields) {
			t.Errorf("%q: %q, want %q", names, have, fields)
		}
	}
}

// TestSuggestNames checks which of several columns make the name: no part of it is there twice, and no number of a customer.
func TestSuggestNames(t *testing.T) {
	for _, c := range []struct{ names, name []string }{
		{[]string{"Name", "Given Name", "Family Name"}, []string{"Given Name", "Family Name"}},
		{[]string{"Vorname", "Name"}, []string{"Vorname", "Name"}},
		{[]string{"Kunde", "Vorname", "Nachname"}, []string{"Vorname", "Nachname"}},
		{[]string{"Cliente", "Nome"}, []string{"Nome"}},
		{[]string{"Customer", "Name"}, []string{"Name"}},
		{[]string{"Cliente", "Sellos"}, []string{"Cliente"}},
	} {
		var have []string
		for _, column := range suggestColumns(c.names) {
			if column.Field.V == severalColumns {
				have = append(have, column.Name)
			}
		}
		if !slices.Equal(have, c.name) {
			t.Errorf("%q: the name is %q, want %q", c.names, have, c.name)
		}
	}
}

// TestSuggestNothing checks columns whose names say too little.
func TestSuggestNothing(t *testing.T) {
	for _, c := range suggestColumns([]string{"Card", "Redeemed"}) {
		if c.Field.Valid {
			t.Errorf("%s is taken for %s", c.Name, c.Field.V)
		}
	}
}
