package operation

import (
	"context"
	"errors"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// mailTestWait is how long SendTestMail waits for the mail server.
const mailTestWait = 20 * time.Second

// TestedMail is the answer of SendTestMail.
type TestedMail struct {
	Email string `json:"email" doc:"Where the message went: to the caller."`
}

// SendTestMail sends a message to the person who asks for it, and waits until the mail
// server has taken or refused it.
var SendTestMail = kernel.WriteAfter(shops.only(operator, "sendTestMail", "Send a test message", "", store.Unprocessable), wire.Create,
	func(ctx context.Context, c *kernel.Call, _ struct{}) (m TestedMail, err error) {
		if c.Session == nil {
			return m, kernel.Refuse(store.Unprocessable, "Sign in to send a test message: it goes to your own address.")
		}
		ctx, cancel := context.WithTimeout(ctx, mailTestWait)
		defer cancel()
		m.Email = c.Session.Email
		err = c.TestMail(ctx, store.Mail{Kind: store.MailTest, To: m.Email, At: c.Now(), Language: c.Session.Language})
		var refusal *kernel.Error
		if err != nil && !errors.As(err, &refusal) {
			err = kernel.Refuse(store.Unprocessable, "The message was not sent: "+err.Error()+".")
		}
		return m, err
	},
	func(tx *store.Tx, c *kernel.Call, m TestedMail) (TestedMail, error) {
		return m, tx.AuditServer("mail.test", "")
	})
