package operation

import (
	"slices"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// Subscriptions is the list of all webhooks of a program.
type Subscriptions struct {
	Data []store.Webhook `json:"data"`
}

// ListWebhooks lists the webhooks whose paths name a program.
var ListWebhooks = kernel.Read(
	webhooks.reads("listWebhooks", "List a program's webhooks",
		"Those that are addressed through the program, newest first; not paginated, without secrets. A restricted key sees those whose location_ids are not empty and all its own.",
		store.NotFound),
	func(v *store.View, c *kernel.Call, _ struct{}) (Subscriptions, error) {
		list, err := v.Webhooks(c.Access, c.Param("id"))
		return Subscriptions{list}, err
	})

// WebhookFields are the fields of a new webhook.
type WebhookFields struct{ store.WebhookFields }

// Check validates the custom headers, and what the store checks.
func (f WebhookFields) Check(now store.Time) []store.Detail {
	return append(validateCustomHeaders(f.CustomHeaders), f.WebhookFields.Check(now)...)
}

// WebhookPatch are the fields of a change to a webhook.
type WebhookPatch struct{ store.WebhookPatch }

// Check validates the custom headers, and what the store checks.
func (f WebhookPatch) Check(now store.Time) []store.Detail {
	return append(validateCustomHeaders(f.CustomHeaders), f.WebhookPatch.Check(now)...)
}

// reservedHeaders are the headers that a delivery sets itself and those that
// belong to the connection. Headers that begin with webhook- are reserved too.
var reservedHeaders = []string{"host", "content-length", "content-type", "user-agent", "authorization", "x-service-signature", "x-service-sequence",
	"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}

func validateCustomHeaders(headers store.Opt[map[string]string]) []store.Detail {
	reserved := func(name string) bool {
		return slices.Contains(reservedHeaders, name) || strings.HasPrefix(name, "webhook-")
	}
	return wire.ValidateHeaders("custom_headers", headers.Or(nil), reserved, "is set by the delivery itself or belongs to the connection")
}

// CreateWebhook creates a webhook and returns its secret.
var CreateWebhook = kernel.Write(
	webhooks.manages("createWebhook", "Create a webhook",
		"The answer shows the signing secret, once. The program in the path is only the webhook's address: it filters nothing, use program_ids for that. A restricted key must name location_ids, all of them its own: else 403. Over the shop's maximum of webhooks: unprocessable_entity. Custom headers and methods other than POST are stored and not sent.",
		store.NotFound, store.Unprocessable),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f WebhookFields) (store.CreatedWebhook, error) {
		return tx.CreateWebhook(c.Access, c.Param("id"), f.WebhookFields)
	})

// GetWebhook returns one webhook.
var GetWebhook = kernel.Read(webhooks.reads("getWebhook", "Read a webhook", "Without its secret.", store.NotFound),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.Webhook, error) {
		return v.Webhook(c.Access, c.Param("id"), c.Param("webhookId"))
	})

// UpdateWebhook changes a webhook.
var UpdateWebhook = kernel.Write(
	webhooks.manages("updateWebhook", "Update a webhook",
		"An absent field is left alone. rotate_secret makes a new secret, shown once, that signs from now on: update the receiver in the same change. active true enables a webhook that was switched off by failures.",
		store.NotFound),
	wire.Patch, func(tx *store.Tx, c *kernel.Call, f WebhookPatch) (store.UpdatedWebhook, error) {
		return tx.UpdateWebhook(c.Access, c.Param("id"), c.Param("webhookId"), f.WebhookPatch)
	})

// DeleteWebhook deletes a webhook.
var DeleteWebhook = kernel.Write(
	webhooks.manages("deleteWebhook", "Delete a webhook",
		"What is pending for it is not sent any more.",
		store.NotFound),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (kernel.None, error) {
		return kernel.None{}, tx.DeleteWebhook(c.Access, c.Param("id"), c.Param("webhookId"))
	})

// DeliveryLog is the newest part of a webhook's delivery log.
type DeliveryLog struct {
	Items []store.Delivery `json:"items"`
}

// ListDeliveries returns the newest part of a webhook's delivery log.
var ListDeliveries = kernel.Read(
	webhooks.reads("listDeliveries", "Read the delivery log",
		"Newest first; one entry for each event, as of its latest attempt. A limit above the maximum is refused, not clamped.",
		store.NotFound),
	func(v *store.View, c *kernel.Call, q store.DeliveriesQuery) (DeliveryLog, error) {
		list, err := v.Deliveries(c.Access, c.Param("id"), c.Param("webhookId"), q)
		return DeliveryLog{list}, err
	})

// TestWebhook sends test.ping to a webhook.
var TestWebhook = kernel.Write(
	webhooks.manages("testWebhook", "Send a test event",
		"Sends `test.ping` once, also to an inactive webhook; a failure does not count. The answer is the log entry as it is before the attempt.",
		store.NotFound),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.Delivery, error) {
		return tx.TestWebhook(c.Access, c.Param("id"), c.Param("webhookId"))
	})

// Redeliver sends a delivery again.
var Redeliver = kernel.Write(
	webhooks.manages("redeliver", "Send a delivery again",
		"The same entry, event_id and body once more, with all its attempts. While it is pending: conflict. On an inactive webhook: unprocessable_entity.",
		store.NotFound, store.Conflict, store.Unprocessable),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.Delivery, error) {
		return tx.Redeliver(c.Access, c.Param("id"), c.Param("webhookId"), c.Param("deliveryId"))
	})
