package api

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// Subscriptions are the webhooks of a program's path; not paginated.
type Subscriptions struct {
	Data []store.Webhook `json:"data"`
}

// DeliveryLog is the newest part of a webhook's log.
type DeliveryLog struct {
	Items []store.Delivery `json:"items"`
}

const (
	hooksPath = "/programs/:id/webhooks"
	hookPath  = hooksPath + "/:webhookId"
)

var webhooks = []kernel.Route{
	get(hooksPath, "listWebhooks", "Webhooks", "webhooks:read", "List a program's webhooks",
		kernel.Read(func(v *store.View, c *kernel.Call, _ struct{}) (Subscriptions, error) {
			list, err := v.Webhooks(c.Access, c.Param("id"))
			return Subscriptions{list}, err
		}), codes(store.NotFound), doc("Those that are addressed through the program, newest first; not paginated, without secrets. A restricted key sees those whose location_ids are not empty and all its own.")),
	do(post, hooksPath, "createWebhook", "Webhooks", "webhooks:write", "Create a webhook", created,
		kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, b store.WebhookFields) (store.CreatedWebhook, error) {
			return tx.CreateWebhook(c.Access, c.Param("id"), b)
		}), codes(store.NotFound, store.Unprocessable), doc("The answer shows the signing secret, once. The program in the path is only the webhook's address: it filters nothing, use program_ids for that. A restricted key must name location_ids, all of them its own: else 403. Over the shop's maximum of webhooks: unprocessable_entity. Custom headers and methods other than POST are stored and not sent.")),
	get(hookPath, "getWebhook", "Webhooks", "webhooks:read", "Read a webhook",
		kernel.Read(func(v *store.View, c *kernel.Call, _ struct{}) (store.Webhook, error) {
			return v.Webhook(c.Access, c.Param("id"), c.Param("webhookId"))
		}), codes(store.NotFound), doc("Without its secret.")),
	do(patch, hookPath, "updateWebhook", "Webhooks", "webhooks:write", "Update a webhook", ok,
		kernel.Write(wire.Patch, func(tx *store.Tx, c *kernel.Call, b store.WebhookPatch) (store.UpdatedWebhook, error) {
			return tx.UpdateWebhook(c.Access, c.Param("id"), c.Param("webhookId"), b)
		}), codes(store.NotFound), doc("An absent field is left alone. rotate_secret makes a new secret, shown once, that signs from now on: update the receiver in the same change. active true enables a webhook that was switched off by failures.")),
	do(remove, hookPath, "deleteWebhook", "Webhooks", "webhooks:write", "Delete a webhook", gone,
		kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (kernel.None, error) {
			return kernel.None{}, tx.DeleteWebhook(c.Access, c.Param("id"), c.Param("webhookId"))
		}), codes(store.NotFound), doc("What is pending for it is not sent any more.")),
	get(hookPath+"/deliveries", "listDeliveries", "Webhooks", "webhooks:read", "Read the delivery log",
		kernel.Read(func(v *store.View, c *kernel.Call, q store.DeliveriesQuery) (DeliveryLog, error) {
			list, err := v.Deliveries(c.Access, c.Param("id"), c.Param("webhookId"), q)
			return DeliveryLog{list}, err
		}), codes(store.NotFound), doc("Newest first; one entry for each event, as of its latest attempt. A limit above the maximum is refused, not clamped.")),
	do(post, hookPath+"/test", "testWebhook", "Webhooks", "webhooks:write", "Send a test event", accepted,
		kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.Delivery, error) {
			return tx.TestWebhook(c.Access, c.Param("id"), c.Param("webhookId"))
		}), codes(store.NotFound), doc("Sends `test.ping` once, also to an inactive webhook; a failure does not count. The answer is the log entry as it is before the attempt.")),
	do(post, hookPath+"/deliveries/:deliveryId/redeliver", "redeliver", "Webhooks", "webhooks:write", "Send a delivery again", accepted,
		kernel.Write(wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.Delivery, error) {
			return tx.Redeliver(c.Access, c.Param("id"), c.Param("webhookId"), c.Param("deliveryId"))
		}), codes(store.NotFound, store.Conflict, store.Unprocessable), doc("The same entry, event_id and body once more, with all its attempts. While it is pending: conflict. On an inactive webhook: unprocessable_entity.")),
}
