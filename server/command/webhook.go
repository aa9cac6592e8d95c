package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
	"punchcard/webhook"
)

// targetFlags are the flags of commands that save a webhook's URL. They have the names and
// variables of those of the server, which checks the URL again with each delivery.
type targetFlags struct {
	AllowHTTP bool     `name:"webhook-allow-http" help:"Also allow plain http, as a server with this flag does."`
	AllowCIDR []string `name:"webhook-allow-cidr" placeholder:"CIDR" help:"Networks that webhooks may be sent to although they are not public, as a server with this flag does."`
	headerFlag
}

// kernel makes the operations check the URL by the rules of a server with these flags.
func (f *targetFlags) kernel(c *kernel.Config) (err error) {
	guard := &webhook.Guard{AllowHTTP: f.AllowHTTP}
	if guard.AllowCIDR, err = networks("--webhook-allow-cidr (PUNCHCARD_WEBHOOK_ALLOW_CIDR)", f.AllowCIDR); err != nil {
		return err
	}
	c.CheckTarget = app.CheckTarget(guard)
	return nil
}

// theWebhook is the argument of commands on one webhook.
var theWebhook = argument{name: "webhook", help: "The webhook: its id, URL or description.", kind: aWebhook, param: "webhookId"}

// printWebhooks prints a table of webhooks.
func printWebhooks(o output, hooks ...store.WebhookOverview) {
	fmt.Fprintln(o, "ID\tURL\tEVENTS\tSTATE\tDELIVERED\tFAILED\tPENDING")
	for _, h := range hooks {
		state := operation.WebhookState(h.Active, h.Draft)
		printf(o, "%s\t%s\t%s\t%s\t%d\t%d\t%d\n", h.ID, h.URL, strings.Join(h.Events, " "), state,
			h.Health.Delivered, h.Health.Failed, h.Health.Pending)
	}
}

// printCreatedWebhook prints a new webhook with its secret.
func printCreatedWebhook(o output, h store.CreatedWebhook) {
	printf(o, "%s  %s  %s\n\nThe signing secret, shown this once:\n\n%s\n", h.ID, h.URL, strings.Join(h.Events, " "), h.Secret)
}

// printDeliveries prints a table of entries of a delivery log.
func printDeliveries(o output, log ...store.LoggedDelivery) {
	fmt.Fprintln(o, "AT\tEVENT\tSTATE\tSTATUS\tATTEMPTS\tERROR\tID")
	for _, d := range log {
		printf(
			o, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", d.CreatedAt, d.Event, d.State,
			orDash(d.ResponseStatus, "%d"),
			d.Attempts,
			orDash(d.LastError, "%s"),
			d.ID,
		)
	}
}

// waitFlag is the flag of commands that send something to a webhook.
type waitFlag struct {
	Wait time.Duration `default:"10s" env:"-" help:"How long to wait for a running server to send it; 0 does not wait."`
}

func (f *waitFlag) check() error {
	if f.Wait < 0 || f.Wait > time.Hour {
		return fmt.Errorf("--wait: must be from 0 to 1h")
	}
	return nil
}

// verdict is the error of a delivery that the receiver has not accepted. Without a wait nobody
// knows yet.
func (f *waitFlag) verdict(answer any) error {
	switch d := answer.(*store.LoggedDelivery); {
	case d.State == "failed":
		return fmt.Errorf("the receiver did not accept it: %s", orDash(d.LastError, "%s"))
	case d.State == "pending" && f.Wait > 0:
		return fmt.Errorf("the receiver has not accepted it within %v: does a server run? --wait waits longer", f.Wait)
	}
	return nil
}

// waitInterval is how often a delivery is read while a command waits for it.
const waitInterval = 50 * time.Millisecond

// delivered returns the action that sends something to a webhook and waits until a server
// has sent it.
func delivered(op *kernel.Operation) action {
	return action{op: op, do: func(i *invocation) (any, error) {
		sent, err := kernel.Do[store.Delivery](i.ctx, i.kernel, i.caller, op, i.args)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(i.ctx, i.bound.extras.(*waitFlag).Wait)
		defer cancel()
		for {
			args := kernel.Args{Params: map[string]string{"id": sent.WebhookID, "deliveryId": sent.ID}}
			d, err := kernel.Do[store.LoggedDelivery](context.Background(), i.kernel, i.caller, operation.GetDelivery, args)
			if err != nil || d.State != "pending" {
				return &d, err
			}
			select {
			case <-ctx.Done():
				return &d, nil
			case <-time.After(waitInterval):
			}
		}
	}, print: func(o output, answer any) {
		d := answer.(*store.LoggedDelivery)
		printDeliveries(o, *d)
		if d.State == "pending" {
			fmt.Fprintln(o, "\nNo answer yet. A running server sends it: see punchcard serve, and punchcard webhook log.")
		}
	}}
}
