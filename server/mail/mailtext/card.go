package mailtext

import (
	"strings"

	"punchcard/store"
)

// cardLetter returns the message with the install link of a card.
func cardLetter(m store.Mail) letter {
	t, language := in(cards, m.Language)
	l := letter{Language: language, Subject: t[0], Before: t[2], Links: []link{{Label: t[4], URL: m.Link}}}
	if name := oneLine(m.Program); name != "" {
		l.Subject, l.Before = strings.ReplaceAll(t[1], "{card}", name), strings.ReplaceAll(t[3], "{card}", name)
	}
	return l
}

// cards are the texts by language: the subject without the name of the card and with it,
// the sentence before the link likewise, and the label of the link.
var cards = map[string][5]string{
	"en": {
		"Your card", "Your card: {card}", "Open this link on your phone to add your card:",
		"Open this link on your phone to add the card {card}:", "Add the card",
	},
	"it": {
		"La tua tessera", "La tua tessera: {card}", "Apri questo link sul telefono per aggiungere la tua tessera:",
		"Apri questo link sul telefono per aggiungere la tessera {card}:", "Aggiungi la tessera",
	},
	"es": {
		"Tu tarjeta", "Tu tarjeta: {card}", "Abre este enlace en el teléfono para añadir tu tarjeta:",
		"Abre este enlace en el teléfono para añadir la tarjeta {card}:", "Añadir la tarjeta",
	},
	"fr": {
		"Votre carte", "Votre carte : {card}", "Ouvrez ce lien sur votre téléphone pour ajouter votre carte :",
		"Ouvrez ce lien sur votre téléphone pour ajouter la carte {card} :", "Ajouter la carte",
	},
	"de": {
		"Ihre Karte", "Ihre Karte: {card}", "Öffnen Sie diesen Link auf dem Handy, um Ihre Karte hinzuzufügen:",
		"Öffnen Sie diesen Link auf dem Handy, um die Karte {card} hinzuzufügen:", "Karte hinzufügen",
	},
	"pt": {
		"O seu cartão", "O seu cartão: {card}", "Abra esta ligação no telemóvel para adicionar o seu cartão:",
		"Abra esta ligação no telemóvel para adicionar o cartão {card}:", "Adicionar o cartão",
	},
}
