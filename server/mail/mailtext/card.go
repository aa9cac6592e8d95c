package mailtext

import (
	"strings"

	"punchcard/store"
)

// cardText returns the subject and the text before the link of a message with the install
// link of a card.
func cardText(m store.Mail) (subject, text string) {
	t, ok := cards[m.Language]
	if !ok {
		t = cards["en"]
	}
	name := oneLine(m.Program)
	if name == "" {
		return t[0], t[2]
	}
	return strings.ReplaceAll(t[1], "{card}", name), strings.ReplaceAll(t[3], "{card}", name)
}

// cards are the texts by language: the subject without the name of the card and with it,
// and the text likewise.
var cards = map[string][4]string{
	"en": {"Your card", "Your card: {card}", "Open this link on your phone to add your card:", "Open this link on your phone to add the card {card}:"},
	"it": {"La tua tessera", "La tua tessera: {card}", "Apri questo link sul telefono per aggiungere la tua tessera:", "Apri questo link sul telefono per aggiungere la tessera {card}:"},
	"es": {"Tu tarjeta", "Tu tarjeta: {card}", "Abre este enlace en el teléfono para añadir tu tarjeta:", "Abre este enlace en el teléfono para añadir la tarjeta {card}:"},
	"fr": {"Votre carte", "Votre carte : {card}", "Ouvrez ce lien sur votre téléphone pour ajouter votre carte :", "Ouvrez ce lien sur votre téléphone pour ajouter la carte {card} :"},
	"de": {"Ihre Karte", "Ihre Karte: {card}", "Öffnen Sie diesen Link auf dem Handy, um Ihre Karte hinzuzufügen:", "Öffnen Sie diesen Link auf dem Handy, um die Karte {card} hinzuzufügen:"},
	"pt": {"O seu cartão", "O seu cartão: {card}", "Abra esta ligação no telemóvel para adicionar o seu cartão:", "Abra esta ligação no telemóvel para adicionar o cartão {card}:"},
}
