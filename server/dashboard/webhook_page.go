package dashboard

import (
	"net/url"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
	"punchcard/webhook"
)

// webhookPage is the page of a webhook, also with its forms.
type webhookPage struct {
	web.Frame
	Webhook    webhookRow
	Last       string // success
	Trouble    string // why nothing arrives
	Attempts   int    // at a delivery, at most
	Deliveries []deliveryRow
	Groups     []eventGroup
	Programs   []web.Option
	Locations  []web.Option
	Addresses  []web.Option
	Versions   []web.Option
	Sends      bool // the server sends custom headers

	Secret    string // shown once
	Receivers []webhook.Receiver
	Current   webhook.Receiver
	Tabs      []web.NavItem
}

func showWebhook(v *visit, w store.WebhookOverview) error {
	row := v.webhookRow(w)
	p := webhookPage{
		Frame:    v.named(row.Name, webhooksPath),
		Webhook:  row,
		Trouble:  v.webhookTrouble(w),
		Attempts: v.Kernel.Store().Limits().DeliveryAttempts,
		Sends:    v.CustomHeaders,
	}
	if last := w.Health.LastDeliveredAt; last.Valid {
		p.Last = v.Ago(last.V.Std(), v.now().Std())
	}
	log, err := read[store.Page[store.LoggedDelivery]](v, operation.ListWebhookLog, v.query(url.Values{"limit": {"10"}}))
	if err != nil {
		return err
	}
	for _, d := range log.Data {
		p.Deliveries = append(p.Deliveries, v.deliveryRow(d, w.Active))
	}
	return v.render("webhook", p)
}

// webhookTrouble says why nothing arrives, or nothing if all is well.
func (v *visit) webhookTrouble(w store.WebhookOverview) (trouble string) {
	failures := v.Kernel.Store().Limits().DeliveryFailures
	switch {
	case w.Draft:
		trouble = v.T(
			"An assistant drafted this webhook. Nothing is sent to it, not even a test, before an owner has checked its address and " +
				"turned it on.",
		)
	case !w.Active && w.ConsecutiveFailures >= int64(failures):
		trouble = v.T(
			"The webhook was turned off after {0} failures in a row. Repair the receiver, send a test, then turn it on. What happened "+
				"in between is not sent.",
			w.ConsecutiveFailures,
		)
	case !w.Active:
		trouble = v.T("The webhook is off: nothing is sent, and what happens meanwhile is not sent later.")
	case w.ConsecutiveFailures > 0:
		trouble = v.T(
			"The last delivery failed. After {1} failures in a row the webhook is turned off.|The last {0} deliveries failed. After {1} "+
				"failures in a row the webhook is turned off.",
			w.ConsecutiveFailures,
			failures,
		)
	default:
		return ""
	}
	if w.Health.LastError.Valid {
		trouble += " " + v.T("The last error: {0}.", v.T(w.Health.LastError.V))
	}
	return trouble
}

func askDeactivateWebhook(v *visit, w store.WebhookOverview) web.ConfirmPage {
	return v.danger(webhooksPath, "Turn off this webhook?",
		"Nothing is sent to {0} while the webhook is off, and what happens meanwhile is not sent later. What waits "+
			"already goes out when you turn it on again.",
		"Turn off", w.URL)
}

func askDeleteWebhook(v *visit, w store.WebhookOverview) web.ConfirmPage {
	c := v.danger(webhooksPath, "Delete this webhook?",
		"Nothing is sent to {0} any more, also not what waits now. Its log and its secret are removed. This cannot be undone.",
		"Delete the webhook", w.URL)
	c.Cancel = webhookPath(w.ID)
	return c
}

// rotateForm binds the page that asks before the secret of a webhook is rotated, which is for owners
// alone, unlike other changes of the operation.
func rotateForm() binding {
	b := confirm(webhookAt+"/rotate", findWebhook, askRotateWebhook, action{
		op:     operation.UpdateWebhook,
		params: webhookParams,
		fields: rotation,
		then:   then(showRotatedWebhook),
	})
	ask := b.get
	b.get = func(v *visit) error {
		if !v.allows(kernel.Owner) {
			return kernel.Refuse(store.Unauthorized, "Owners alone rotate the secret of a webhook.")
		}
		return ask(v)
	}
	return b
}

func askRotateWebhook(v *visit, w store.WebhookOverview) web.ConfirmPage {
	c := v.danger(webhooksPath, "Rotate the signing secret?",
		"From now on deliveries are signed with a new secret, which is shown once. The old one ends at once: {0} refuses deliveries "+
			"until it has the new secret. Refused ones are sent again for about a minute.",
		"Rotate the secret", shortURL(w.URL))
	if w.Draft {
		c = v.danger(webhooksPath, "Turn on this draft?",
			"An assistant chose the address {0}. Events are sent to it from now on: turn it on only if you know who receives them. A "+
				"new signing secret is shown once.",
			"Turn on and show the secret", w.URL)
	}
	c.Cancel = webhookPath(w.ID)
	return c
}
