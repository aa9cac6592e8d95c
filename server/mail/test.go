package mail

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/mail"

	"punchcard/store"
)

// SendTest sends one message over a connection of its own and waits for the server's
// answer, so that a person sees at once whether mail works. Its error is for the person
// who runs the server, and has no text of the mail server.
func SendTest(ctx context.Context, server Server, from *mail.Address, m store.Mail) error {
	c, err := server.connect(ctx)
	if err != nil {
		text, _ := connectError(err)
		return errors.New("the mail server cannot be used: " + text)
	}
	defer c.quit()
	switch a := c.send(&store.QueuedMail{Mail: m, Token: rand.Text()}, from); {
	case a.result == accepted:
		return nil
	case a.panic != nil:
		return a.panic
	case a.code != 0:
		return fmt.Errorf("the mail server refused the message: it answered %03d", a.code)
	}
	return errors.New("the connection to the mail server broke")
}
