package mailtext

import (
	"cmp"
	"strings"

	"punchcard/store"
)

// linkLetter returns a message with a one-time link. That of a test has no link and nothing
// after it.
func linkLetter(m store.Mail) letter {
	texts := resets
	switch {
	case m.Kind == store.MailTest:
		texts = tests
	case m.Kind == store.LinkInvitation && m.Shop == "":
		texts = operators
	case m.Kind == store.LinkInvitation:
		texts = invitations
	}
	t, language := in(texts, m.Language)
	for i := range t {
		t[i] = strings.ReplaceAll(t[i], "{shop}", cmp.Or(oneLine(m.Shop), "punchcard"))
	}
	l := letter{Language: language, Subject: t[0], Before: t[1], After: t[2]}
	if m.Kind != store.MailTest {
		l.Links = []link{{Label: t[3], URL: m.Link}}
	}
	return l
}

// The texts by language: the subject, what is before and after the link, and its label.
var (
	resets = map[string][4]string{
		"en": {
			"Set a new password", "Open this link to set a new password:",
			"It works once, within an hour. If you did not ask for it, do nothing.", "Set the password",
		},
		"it": {
			"Imposta una nuova password", "Apri questo link per impostare una nuova password:",
			"Funziona una sola volta, entro un'ora. Se non l'hai chiesto, non fare nulla.", "Imposta la password",
		},
		"es": {
			"Establece una contraseña nueva", "Abre este enlace para establecer una contraseña nueva:",
			"Funciona una sola vez, durante una hora. Si no lo has pedido, no hagas nada.", "Establecer la contraseña",
		},
		"fr": {
			"Choisissez un nouveau mot de passe", "Ouvrez ce lien pour choisir un nouveau mot de passe :",
			"Il fonctionne une seule fois, pendant une heure. Si vous ne l'avez pas demandé, ne faites rien.", "Choisir le mot de passe",
		},
		"de": {
			"Neues Passwort festlegen", "Öffnen Sie diesen Link, um ein neues Passwort festzulegen:",
			"Er gilt einmal und eine Stunde lang. Wenn Sie ihn nicht angefordert haben, tun Sie nichts.", "Passwort festlegen",
		},
		"pt": {
			"Defina uma nova palavra-passe", "Abra esta ligação para definir uma nova palavra-passe:",
			"Funciona uma só vez, durante uma hora. Se não a pediu, não faça nada.", "Definir a palavra-passe",
		},
	}
	invitations = map[string][4]string{
		"en": {
			"Invitation to {shop}", "You are invited to work with the loyalty cards of {shop}. Open this link to accept:",
			"It works once, within seven days.", "Accept the invitation",
		},
		"it": {
			"Invito a {shop}", "Hai ricevuto un invito a gestire le carte fedeltà di {shop}. Apri questo link per accettare:",
			"Funziona una sola volta, entro sette giorni.", "Accetta l'invito",
		},
		"es": {
			"Invitación a {shop}",
			"Has recibido una invitación para gestionar las tarjetas de fidelidad de {shop}. Abre este enlace para aceptarla:",
			"Funciona una sola vez, durante siete días.", "Aceptar la invitación",
		},
		"fr": {
			"Invitation à {shop}", "Vous êtes invité à gérer les cartes de fidélité de {shop}. Ouvrez ce lien pour accepter :",
			"Il fonctionne une seule fois, pendant sept jours.", "Accepter l'invitation",
		},
		"de": {
			"Einladung zu {shop}", "Sie sind eingeladen, die Kundenkarten von {shop} zu verwalten. Öffnen Sie diesen Link, um anzunehmen:",
			"Er gilt einmal und sieben Tage lang.", "Einladung annehmen",
		},
		"pt": {
			"Convite para {shop}", "Recebeu um convite para gerir os cartões de fidelidade de {shop}. Abra esta ligação para aceitar:",
			"Funciona uma só vez, durante sete dias.", "Aceitar o convite",
		},
	}
	tests = map[string][4]string{
		"en": {"Test message", "This message shows that your punchcard server can send mail."},
		"it": {"Messaggio di prova", "Questo messaggio mostra che il tuo server punchcard può inviare posta."},
		"es": {"Mensaje de prueba", "Este mensaje muestra que tu servidor punchcard puede enviar correo."},
		"fr": {"Message de test", "Ce message montre que votre serveur punchcard peut envoyer du courrier."},
		"de": {"Testnachricht", "Diese Nachricht zeigt, dass Ihr punchcard-Server E-Mails senden kann."},
		"pt": {"Mensagem de teste", "Esta mensagem mostra que o seu servidor punchcard consegue enviar correio."},
	}
	operators = map[string][4]string{
		"en": {
			"Invitation to run {shop}", "You are invited to run {shop}. Open this link to accept:", "It works once, within seven days.",
			"Accept the invitation",
		},
		"it": {
			"Invito ad amministrare {shop}", "Hai ricevuto un invito ad amministrare {shop}. Apri questo link per accettare:",
			"Funziona una sola volta, entro sette giorni.", "Accetta l'invito",
		},
		"es": {
			"Invitación para administrar {shop}", "Has recibido una invitación para administrar {shop}. Abre este enlace para aceptarla:",
			"Funciona una sola vez, durante siete días.", "Aceptar la invitación",
		},
		"fr": {
			"Invitation à administrer {shop}", "Vous êtes invité à administrer {shop}. Ouvrez ce lien pour accepter :",
			"Il fonctionne une seule fois, pendant sept jours.", "Accepter l'invitation",
		},
		"de": {
			"Einladung zur Verwaltung von {shop}", "Sie sind eingeladen, {shop} zu verwalten. Öffnen Sie diesen Link, um anzunehmen:",
			"Er gilt einmal und sieben Tage lang.", "Einladung annehmen",
		},
		"pt": {
			"Convite para administrar {shop}", "Recebeu um convite para administrar {shop}. Abra esta ligação para aceitar:",
			"Funciona uma só vez, durante sete dias.", "Aceitar o convite",
		},
	}
)
