package command

import (
	"context"
	"fmt"
	"time"

	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/webhook"
)

// targetFlags are the flags of commands that save a webhook's URL. They have the names and
// variables of those of the server, which checks the URL again with each delivery.
type targetFlags struct {
	AllowHTTP bool     `name:"webhook-allow-http" help:"Also allow plain http, as a server with this flag does."`
	AllowCIDR []string `name:"webhook-allow-cidr" placeholder:"CIDR" help:"Networks that webhooks may be sent to although they are not public, as a server with this flag does."`
	headerFlag
}

// prepare makes the operation check the URL by the rules of a server with these flags.
func (f *targetFlags) prepare(i *invocation) (err error) {
	guard := &webhook.Guard{AllowHTTP: f.AllowHTTP}
	guard.AllowCIDR, err = networks("--webhook-allow-cidr (PUNCHCARD_WEBHOOK_ALLOW_CIDR)", f.AllowCIDR)
	if err != nil {
		return err
	}
	i.conf.CheckTarget = app.CheckTarget(guard)
	return f.add(i.args.Fields)
}

// waitFlag is the flag of commands that send something to a webhook.
type waitFlag struct {
	Wait time.Duration `default:"10s" env:"-" help:"How long to wait for a running server to send it; 0 does not wait."`
}

func (f *waitFlag) prepare(i *invocation) error {
	if f.Wait < 0 || f.Wait > time.Hour {
		return usagef("--wait: must be from 0 to 1h")
	}
	i.then, i.verdict, i.wait = (*invocation).await, deliveryVerdict, f.Wait
	return nil
}

// waitInterval is how often a delivery is read while a command waits for it.
const waitInterval = 50 * time.Millisecond

// await returns a delivery as it is when a server has sent it, or when the wait is over.
func (i *invocation) await(sent []byte) ([]byte, error) {
	d, err := decode(sent)
	if err != nil {
		return nil, err
	}
	args := kernel.Form{Params: map[string]string{"id": d.value("webhook_id"), "deliveryId": d.value("id")}}
	ctx, cancel := context.WithTimeout(i.ctx, i.wait)
	defer cancel()
	for {
		answer, err := i.call(context.Background(), operation.GetDelivery, args)
		if err != nil {
			return nil, err
		}
		if d, err = decode(answer); err != nil || d["state"] != "pending" || ctx.Err() != nil {
			return answer, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(waitInterval):
		}
	}
}

// deliveryVerdict is the error of a delivery that the receiver has not accepted. Without a wait nobody
// knows yet.
func deliveryVerdict(i *invocation, answer []byte) error {
	d, err := decode(answer)
	switch {
	case err != nil:
		return err
	case d["state"] == "failed":
		return fmt.Errorf("the receiver did not accept it: %s", d.text("last_error"))
	case d["state"] == "pending" && i.wait > 0:
		return fmt.Errorf("the receiver has not accepted it within %v: does a server run? --wait waits longer", i.wait)
	}
	return nil
}
