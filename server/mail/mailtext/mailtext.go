// Package mailtext has the texts of mails. It is separate from package mail so
// that programs that only show mails need no SMTP library.
package mailtext

import "punchcard/store"

// Subject returns the subject of a message.
func Subject(m store.Mail) string { return "Your card: " + m.Program }

// Text returns the text of a message.
func Text(m store.Mail) string {
	return "Open this link on your phone to add the card " + m.Program + ":\n\n" + m.Link + "\n"
}
