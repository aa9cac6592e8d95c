package operation

import (
	"maps"
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
var ListWebhooks = declare(kernel.Operation{
	ID:    "listWebhooks",
	Group: webhooks,
	Title: "List a program's webhooks",
	Doc: "Those that are addressed through the program, newest first; not paginated, without secrets. A restricted key sees " +
		"those whose location_ids are not empty and all its own and whose include_shop_wide_events is false.",
	Callers: readers("webhooks"),
	Codes:   notFound,
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (Subscriptions, error) {
		list, err := v.Webhooks(c.Access, c.Param("id"))
		return Subscriptions{list}, err
	}),
})

// WebhookFields are the fields of a new webhook.
type WebhookFields struct{ store.WebhookFields }

// Check validates what is sent along, and what the store checks.
func (f WebhookFields) Check(now store.Time) []store.Detail {
	return append(validateSecrets(f.WebhookFields), f.WebhookFields.Check(now)...)
}

// WebhookPatch are the fields of a change to a webhook.
type WebhookPatch struct{ store.WebhookPatch }

// Check validates what is sent along, and what the store checks.
func (f WebhookPatch) Check(now store.Time) []store.Detail {
	return append(validateSecrets(f.WebhookFields), f.WebhookPatch.Check(now)...)
}

// deliveryHeaders are the headers that a delivery sets itself. Headers that begin
// with webhook- are reserved too.
var deliveryHeaders = []string{"content-type", "user-agent", "authorization", "x-service-signature", "x-service-sequence"}

// connectionHeaders are the headers that belong to the connection or the browser.
// Headers that begin with proxy- do as well.
var connectionHeaders = strings.Fields(`
	host cookie connection content-length http2-settings keep-alive te trailer transfer-encoding upgrade
`)

// mask is what answers and the delivery log show in place of a secret.
const mask = "***"

// validateSecrets validates the bearer token and the custom headers.
func validateSecrets(f store.WebhookFields) (details []store.Detail) {
	const unmasked = "must be the value itself, not the *** that is shown in its place"
	if f.BearerToken.V == mask {
		details = append(details, store.Detail{Field: "bearer_token", Code: wire.CodeInvalidValue, Message: unmasked})
	}
	headers := maps.Clone(f.CustomHeaders.V)
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		message := ""
		switch lower := strings.ToLower(name); {
		case slices.Contains(connectionHeaders, lower), strings.HasPrefix(lower, "proxy-"):
			message = "must be a header of the request, not one of the connection or a cookie"
		case strings.Contains(name, "_"):
			message = "must be a name without an underscore, which many servers take for a hyphen"
		case strings.TrimSpace(headers[name]) == mask:
			message = unmasked
		default:
			continue
		}
		details = append(details, store.Detail{Field: "custom_headers." + name, Code: wire.CodeInvalidValue, Message: message})
		delete(headers, name)
	}
	reserved := func(name string) bool {
		return slices.Contains(deliveryHeaders, name) || strings.HasPrefix(name, "webhook-")
	}
	return append(
		details,
		wire.ValidateHeaders("custom_headers", headers, reserved, "must not be a header that deliveries set themselves")...)
}

// CreateWebhook creates a webhook and returns its secret.
var CreateWebhook = declare(kernel.Operation{
	ID:    "createWebhook",
	Group: webhooks,
	Title: "Create a webhook",
	Doc: "The answer shows the signing secret, once. The program in the path is only the webhook's address: it filters nothing, " +
		"use program_ids for that. A restricted key must name location_ids, all of them its own, and gets no shop-wide events: " +
		"else 403. Over the shop's maximum of webhooks: unprocessable_entity. Custom headers and methods other than POST are " +
		"stored and not sent.",
	Callers: writers("webhooks"),
	Codes:   notFoundOrUnprocessable,
	Proof:   true,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f WebhookFields) (store.CreatedWebhook, error) {
		w, err := tx.CreateWebhook(c.Access, c.Param("id"), f.WebhookFields)
		if !maySeeSecrets(c) {
			w.Secret = ""
		}
		return w, err
	}),
})

// maySeeSecrets reports whether the caller may make and see the signing secrets of
// webhooks. Managers may not: owners show them by rotating.
func maySeeSecrets(c *kernel.Call) bool { return c.Kind != kernel.Person || c.Role >= kernel.Owner }

// GetWebhook returns one webhook.
var GetWebhook = declare(kernel.Operation{
	ID:      "getWebhook",
	Group:   webhooks,
	Title:   "Read a webhook",
	Doc:     "Without its secret.",
	Callers: readers("webhooks"),
	Codes:   notFound,
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (store.Webhook, error) {
		return v.Webhook(c.Access, c.Param("id"), c.Param("webhookId"))
	}),
})

// UpdateWebhook changes a webhook.
var UpdateWebhook = declare(kernel.Operation{
	ID:    "updateWebhook",
	Group: webhooks,
	Title: "Update a webhook",
	Doc: "An absent field is left alone. rotate_secret makes a new secret, shown once, that signs from now on: update the " +
		"receiver in the same change. active true enables a webhook that was switched off by failures; the draft of an " +
		"assistant is activated by a person in the dashboard (unprocessable_entity). What a restricted key may have is judged " +
		"on the result: location_ids all its own and no shop-wide events, else 403.",
	Callers: writers("webhooks"),
	Codes:   notFoundOrUnprocessable,
	Mode:    wire.Patch,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f WebhookPatch) (store.UpdatedWebhook, error) {
		if f.RotateSecret.V && !maySeeSecrets(c) {
			return store.UpdatedWebhook{}, kernel.Refuse(store.Unauthorized, "Owners alone rotate the secret of a webhook.")
		}
		if f.URL.Set || f.RotateSecret.Set || f.BearerToken.Set || f.CustomHeaders.Set {
			if err := c.RequireProof(); err != nil {
				return store.UpdatedWebhook{}, err
			}
		}
		return tx.UpdateWebhook(c.Access, c.Param("id"), c.Param("webhookId"), f.WebhookPatch)
	}),
})

// DeleteWebhook deletes a webhook.
var DeleteWebhook = declare(kernel.Operation{
	ID:      "deleteWebhook",
	Group:   webhooks,
	Title:   "Delete a webhook",
	Doc:     "What is pending for it is not sent any more, and its secret, bearer token and custom headers are removed at once.",
	Callers: writers("webhooks"),
	Codes:   notFound,
	Write: silent(func(tx *store.Tx, c *kernel.Call, _ struct{}) error {
		return tx.DeleteWebhook(c.Access, c.Param("id"), c.Param("webhookId"))
	}),
})

// DeliveryLog is the newest part of a webhook's delivery log.
type DeliveryLog struct {
	Items []store.Delivery `json:"items"`
}

// ListDeliveries returns the newest part of a webhook's delivery log.
var ListDeliveries = declare(kernel.Operation{
	ID:      "listDeliveries",
	Group:   webhooks,
	Title:   "Read the delivery log",
	Doc:     "Newest first; one entry for each event, as of its latest attempt. A limit above the maximum is refused, not clamped.",
	Callers: readers("webhooks"),
	Codes:   notFound,
	Read: kernel.Read(func(v *store.View, c *kernel.Call, q store.DeliveriesQuery) (DeliveryLog, error) {
		list, err := v.Deliveries(c.Access, c.Param("id"), c.Param("webhookId"), q)
		return DeliveryLog{list}, err
	}),
})

// TestWebhook sends test.ping to a webhook.
var TestWebhook = declare(kernel.Operation{
	ID:    "testWebhook",
	Group: webhooks,
	Title: "Send a test event",
	Doc: "Sends `test.ping` once, also to an inactive webhook, but not to the draft of an assistant (unprocessable_entity); a " +
		"failure does not count. The answer is the log entry as it is before the attempt.",
	Callers: writers("webhooks"),
	Codes:   notFoundOrUnprocessable,
	Write: kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (store.Delivery, error) {
		return tx.TestWebhook(c.Access, c.Param("id"), c.Param("webhookId"))
	}),
})

// Redeliver sends a delivery again.
var Redeliver = declare(kernel.Operation{
	ID:    "redeliver",
	Group: webhooks,
	Title: "Send a delivery again",
	Doc: "The same entry, event_id and body once more, with all its attempts. While it is pending: conflict. On an inactive " +
		"webhook: unprocessable_entity.",
	Callers: writers("webhooks"),
	Codes:   notFoundConflictOrUnprocessable,
	Write: kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (store.Delivery, error) {
		return tx.Redeliver(c.Access, c.Param("id"), c.Param("webhookId"), c.Param("deliveryId"))
	}),
})

// The operations below are for persons, who see the webhooks of all programs in one list.

// ListShopWebhooks lists the webhooks of the shop with their health.
var ListShopWebhooks = declare(kernel.Operation{
	ID:      "listShopWebhooks",
	Group:   webhooks,
	Title:   "List the shop's webhooks",
	Callers: viewer,
	Read: kernel.Read(func(v *store.View, c *kernel.Call, f store.WebhooksFilter) (List[store.WebhookOverview], error) {
		return list(v.ShopWebhooks(c.Access.Shop, f))
	}),
})

// GetShopWebhook returns a webhook by its id alone, with its health.
var GetShopWebhook = declare(kernel.Operation{
	ID:      "getShopWebhook",
	Group:   webhooks,
	Title:   "Read one of the shop's webhooks",
	Callers: viewer,
	Codes:   notFound,
	Read:    byID((*store.View).ShopWebhook),
})

// ListWebhookLog lists the whole delivery log of a webhook.
var ListWebhookLog = declare(kernel.Operation{
	ID:      "listWebhookLog",
	Group:   webhooks,
	Title:   "List the delivery log",
	Doc:     "Newest first.",
	Callers: viewer,
	Codes:   notFound,
	Read:    queryByID((*store.View).WebhookLog),
})

// GetDelivery returns an entry of a webhook's delivery log.
var GetDelivery = declare(kernel.Operation{
	ID:      "getDelivery",
	Group:   webhooks,
	Title:   "Read an entry of the delivery log",
	Callers: viewer,
	Codes:   notFound,
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (store.LoggedDelivery, error) {
		return v.LoggedDelivery(c.Access.Shop, c.Param("id"), c.Param("deliveryId"))
	}),
})
