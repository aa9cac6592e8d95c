package operation

import (
	"context"
	"errors"
	"time"

	"punchcard/server/kernel"
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
var SendTestMail = declare(kernel.Operation{
	ID:      "sendTestMail",
	Group:   shops,
	Title:   "Send a test message",
	Callers: operator,
	Codes:   unprocessable,
	Prepare: kernel.Prepare(func(ctx context.Context, c *kernel.Call, _ struct{}) (kernel.Prepared[TestedMail], error) {
		if c.Session == nil {
			return nil, kernel.Refuse(store.Unprocessable, "Sign in to send a test message: it goes to your own address.")
		}
		ctx, cancel := context.WithTimeout(ctx, mailTestWait)
		defer cancel()
		err := c.TestMail(ctx, store.Mail{Kind: store.MailTest, To: c.Session.Email, At: c.Now(), Language: c.Session.Language})
		var refusal *kernel.Error
		if err != nil && !errors.As(err, &refusal) {
			err = kernel.Refuse(store.Unprocessable, "The message was not sent: "+err.Error()+".")
		}
		return func(tx *store.Tx) (TestedMail, error) {
			return TestedMail{Email: c.Session.Email}, tx.AuditServer("mail.test", "")
		}, err
	}),
})
