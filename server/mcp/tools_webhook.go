package mcp

import (
	"punchcard/server/operation"
	"punchcard/store"
)

// webhookTools returns the tools that concern webhooks.
func webhookTools() []*tool {
	return []*tool{
		{name: "get_webhooks", title: "Webhooks and their failures", scope: "webhooks:read", idempotent: true, run: getWebhooks,
			doc: "Lists webhooks with their health; with id, one with its last 10 failures. Use it to find out why a receiver " +
				"such as n8n gets nothing. error is what the receiver or the network said.",
			schema: `{"type":"object","properties":{"id":{"type":"string"},"program_id":{"type":"string"},` +
				pageSchema + `},"additionalProperties":false}`},
		{name: "draft_webhook", title: "Draft a webhook", scope: "webhooks:write", writes: true, run: draftWebhook,
			doc: "Prepares a webhook. Nothing is sent to it, not even a test, until a person has looked at its URL and " +
				"activated it in the dashboard, where the signing secret is shown. Events are keys such as card.activated, or " +
				"prefixes such as card.*; read punchcard://events.",
			schema: `{"type":"object","properties":{"program_id":{"type":"string",
				"description":"The program that the webhook is listed under; it filters nothing."},"url":{"type":"string",
				"description":"https."},"events":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":50},
				"description":{"type":"string","maxLength":500},"program_ids":{"type":"array","items":{"type":"string"},
				"description":"Only events of these programs."},"location_ids":{"type":"array","items":{"type":"string"},
				"description":"Only events at these locations."},"idempotency_key":{"type":"string"}},"required":["program_id",
				"url","events"],"additionalProperties":false}`},
		{
			name:        "manage_webhook",
			title:       "Pause, test or redeliver",
			scope:       "webhooks:write",
			writes:      true,
			destructive: true,
			openWorld:   true,
			run:         manageWebhook,
			doc: "pause: makes a webhook inactive; only a person can activate it again. test: sends test.ping to an active " +
				"one. redeliver: sends the delivery delivery_id to an active one again. URL, secrets and filters cannot be changed " +
				"here.",
			schema: `{"type":"object","properties":{"id":{"type":"string"},"action":{"type":"string","enum":["pause","test",
				"redeliver"]},"delivery_id":{"type":"string","description":"For redeliver; from get_webhooks."},
				"idempotency_key":{"type":"string"}},"required":["id","action"],"additionalProperties":false}`,
		},
	}
}

// webhookView is a webhook with its health.
type webhookView struct {
	ID                  string              `json:"id"`
	ProgramID           string              `json:"program_id"`
	Host                string              `json:"host"`
	Path                *string             `json:"path,omitempty"`
	Description         string              `json:"description"`
	Events              []string            `json:"events"`
	State               string              `json:"state"` // active, inactive or draft
	ConsecutiveFailures int64               `json:"consecutive_failures"`
	Health              store.WebhookHealth `json:"health"`
	LastFailures        []store.FailedTry   `json:"last_failures"`
}

// webhookArgs are the arguments of get_webhooks that the tool itself has.
type webhookArgs struct {
	ID store.Opt[string] `json:"id"`
	rowArgs
}

func getWebhooks(c *call) (any, error) {
	own, in := splitArgs[webhookArgs](c)
	if own.ID.Set {
		in.with("id", []byte(quote(own.ID.V)))
	}
	return rows(c, operation.ListWebhookReports, in, own.Limit, func(p store.Page[store.WebhookReport]) any {
		return pageOf(p, func(w store.WebhookReport) webhookView {
			v := webhookView{
				w.ID, w.ProgramID, w.Host, nil, w.Description, w.Events, operation.WebhookState(w.Active, w.Draft),
				w.ConsecutiveFailures, w.Health, w.Failures,
			}
			if own.ID.Set {
				v.Path = &w.Path
			}
			return v
		})
	})
}

// draftArgs are the arguments of draft_webhook that the tool itself has.
type draftArgs struct {
	writeArgs
	ProgramID store.Opt[string] `json:"program_id" req:"true" min:"1"`
}

// webhookChange is a webhook after a change.
type webhookChange struct {
	ID     string   `json:"id"`
	Events []string `json:"events"`
	State  string   `json:"state"`
	Next   string   `json:"next"`
}

// nextOfDraft says what becomes of a draft.
const nextOfDraft = "A person must look at the URL and activate it on the page Webhooks of the dashboard."

func draftWebhook(c *call) (any, error) {
	own, in := splitArgs[draftArgs](c)
	in.params["id"] = own.ProgramID.V
	return change(c, operation.DraftWebhook, in, own.writeArgs, func(w store.Webhook) *webhookChange {
		return &webhookChange{w.ID, w.Events, operation.WebhookState(w.Active, true), nextOfDraft}
	})
}

// manageArgs are the arguments of manage_webhook.
type manageArgs struct {
	resourceArgs
	Action     store.Opt[string] `json:"action" req:"true" enum:"pause,test,redeliver"`
	DeliveryID store.Opt[string] `json:"delivery_id" min:"1"`
}

func manageWebhook(c *call) (any, error) {
	own, in := splitArgs[manageArgs](c)
	in.params["deliveryId"] = own.DeliveryID.V
	if in.own == nil && own.Action.V == "redeliver" != own.DeliveryID.Set {
		detail := store.Detail{Field: "delivery_id", Code: "required", Message: "must be given for redeliver, and for nothing else"}
		return nil, store.Invalid(detail)
	}
	switch own.Action.V {
	case "pause":
		return change(c, operation.PauseWebhook, in, own.writeArgs, pausedWebhook)
	case "test":
		return change(c, operation.TestActiveWebhook, in, own.writeArgs, sentDelivery)
	case "redeliver":
		return change(c, operation.RedeliverToActive, in, own.writeArgs, sentDelivery)
	}
	return nil, store.Invalid(in.own...)
}

func pausedWebhook(w store.PausedWebhook) *webhookChange {
	next := "A person can activate it again in the dashboard."
	if w.Draft {
		next = nextOfDraft
	}
	return &webhookChange{w.ID, w.Events, operation.WebhookState(w.Active, w.Draft), next}
}

// deliveryView is a delivery that is sent.
type deliveryView struct {
	DeliveryID string `json:"delivery_id"`
	Event      string `json:"event"`
	State      string `json:"state"`
	Next       string `json:"next"`
}

func sentDelivery(d store.Delivery) *deliveryView {
	return &deliveryView{d.ID, string(d.Event), "pending", "It is being sent; ask get_webhooks with the id for the outcome."}
}
