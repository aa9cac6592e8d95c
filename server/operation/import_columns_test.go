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
