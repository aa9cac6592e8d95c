package mailtext

import (
	"slices"
	"strings"

	"punchcard/store"
)

// lostLetter returns the message with the links of lost cards. The name of a link is that of
// the card and its shop.
func lostLetter(m store.Mail) letter {
	t, language := in(lost, m.Language)
	l := letter{Language: language, Subject: t[0], Before: t[1], After: t[2]}
	for _, c := range m.Lost {
		names := slices.DeleteFunc([]string{oneLine(c.Program), oneLine(c.Shop)}, func(name string) bool { return name == "" })
		l.Links = append(l.Links, link{Name: strings.Join(names, " – "), Label: t[3], URL: c.Link})
	}
	return l
}

// lost are the texts by language: the subject, what is before and after the links, and the
// label of each.
var lost = map[string][4]string{
	"en": {
		"Links to your cards", "These are the links to the cards with your email address:",
		"You get this message because somebody entered your address on the page for lost cards. " +
			"If it was not you, do nothing: nobody else got the links.",
		"Open the card",
	},
	"it": {
		"I link alle tue tessere", "Questi sono i link alle tessere con il tuo indirizzo email:",
		"Ricevi questo messaggio perché qualcuno ha inserito il tuo indirizzo nella pagina delle tessere smarrite. " +
			"Se non sei stato tu, non fare nulla: nessun altro ha ricevuto i link.",
		"Apri la tessera",
	},
	"es": {
		"Los enlaces a tus tarjetas", "Estos son los enlaces a las tarjetas con tu dirección de correo:",
		"Recibes este mensaje porque alguien ha escrito tu dirección en la página de tarjetas perdidas. " +
			"Si no fuiste tú, no hagas nada: nadie más ha recibido los enlaces.",
		"Abrir la tarjeta",
	},
	"fr": {
		"Les liens vers vos cartes", "Voici les liens vers les cartes associées à votre adresse e-mail :",
		"Vous recevez ce message parce que quelqu'un a saisi votre adresse sur la page des cartes perdues. " +
			"Si ce n'était pas vous, ne faites rien : personne d'autre n'a reçu les liens.",
		"Ouvrir la carte",
	},
	"de": {
		"Links zu Ihren Karten", "Das sind die Links zu den Karten mit Ihrer E-Mail-Adresse:",
		"Sie erhalten diese Nachricht, weil jemand Ihre Adresse auf der Seite für verlorene Karten eingegeben hat. " +
			"Wenn Sie das nicht waren, tun Sie nichts: Niemand sonst hat die Links bekommen.",
		"Karte öffnen",
	},
	"pt": {
		"As ligações para os seus cartões", "Estas são as ligações para os cartões com o seu endereço de e-mail:",
		"Recebe esta mensagem porque alguém introduziu o seu endereço na página de cartões perdidos. " +
			"Se não foi você, não faça nada: mais ninguém recebeu as ligações.",
		"Abrir o cartão",
	},
}
