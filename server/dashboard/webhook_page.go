package dashboard

import (
	"cmp"
	"net/url"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// webhookPage is the page of a webhook, also with its forms.
type webhookPage struct {
	web.Frame
	Form       *web.Form
	Webhook    webhookRow
	Facts      []web.Fact
	Actions    []web.Action
	Tiles      []tile
	Trouble    string // why nothing arrives
	Deliveries []deliveryRow
	May        bool // change it
	MayRotate  bool
	Groups     []eventGroup
	Programs   []web.Option
	Locations  []web.Option
	Addresses  []web.Option
	Versions   []web.Option
	Headers    string // that are stored
	Sends      bool   // the server sends them

	Secret    string // shown once
	Receivers []Receiver
	Current   Receiver
	Tabs      []web.NavItem
}

func showWebhook(v *visit, w store.WebhookOverview) error {
	row := v.webhookRow(w)
	p := webhookPage{
		Frame:     v.named(row.Name, webhooksPath),
		Webhook:   row,
		Form:      v.newForm(nil),
		Facts:     v.webhookFacts(w),
		May:       v.allows(kernel.Manager),
		MayRotate: v.allows(kernel.Owner),
	}
	v.webhookHealth(&p)
	log, err := read[store.Page[store.LoggedDelivery]](v, operation.ListWebhookLog, queryInput{v, url.Values{"limit": {"10"}}})
	if err != nil {
		return err
	}
	for _, d := range log.Data {
		p.Deliveries = append(p.Deliveries, v.deliveryRow(d, w.Active))
	}
	at := webhookPath(w.ID)
	if p.May {
		p.Actions = []web.Action{v.link("Edit", at+"/edit", "edit", "")}
	}
	switch {
	case !p.May, w.Draft && !p.MayRotate:
	case w.Draft:
		p.Actions = append(p.Actions, v.link("Check and turn on", at+"/rotate", "", "primary"))
	case !w.Active:
		p.Actions = append(p.Actions, v.button("Turn on", at+"/activate", "", "primary"))
	default:
		p.Actions = append(p.Actions, v.button("Send a test", at+"/test", "send", "primary"))
	}
	return v.render("webhook", p)
}

// webhookFacts returns the settings of a webhook.
func (v *visit) webhookFacts(w store.WebhookOverview) []web.Fact {
	names := func(list []store.Named, all string) string {
		var out []string
		for _, n := range list {
			out = append(out, n.Name.V)
		}
		return cmp.Or(strings.Join(out, ", "), all)
	}
	facts := []web.Fact{
		v.fact("Sends to", w.URL),
		v.fact("Events", strings.Join(w.Webhook.Events, ", ")),
		v.fact("Of programs", names(w.Programs, v.T("All programs"))),
		v.fact("At locations", names(w.Locations, v.T("All locations"))),
	}
	if len(w.Locations) > 0 {
		shopWide := v.T("Not sent")
		if w.IncludeShopWideEvents {
			shopWide = v.T("Sent too")
		}
		facts = append(facts, v.fact("Events without a location", shopWide))
	}
	token := v.T("None")
	if w.HasBearerToken {
		token = v.T("Sent with each delivery, and never shown")
	}
	facts = append(facts, v.fact("Bearer token", token))
	if len(w.CustomHeaders) > 0 {
		f := v.fact("Custom headers", headerNames(w.CustomHeaders))
		if !v.CustomHeaders {
			f.Hint = v.T("This server stores them and does not send them.")
		}
		facts = append(facts, f)
	}
	return append(
		facts,
		v.fact("Version of the body", w.PayloadVersion),
		v.fact("Belongs to", w.ProgramName, v.T("Deleting this program deletes the webhook. It limits no events.")),
		v.fact("Created", v.DateTime(w.CreatedAt.Std())),
		v.fact("Id", w.ID),
	)
}

// webhookHealth says how the deliveries of a webhook go.
func (v *visit) webhookHealth(p *webhookPage) {
	w := p.Webhook
	h, lim := w.Health, v.Kernel.Store().Limits()
	last := v.T("Nothing yet")
	if h.LastDeliveredAt.Valid {
		last = v.Ago(h.LastDeliveredAt.V.Std(), v.now().Std())
	}
	add := func(label web.Text, value, note string) {
		p.Tiles = append(p.Tiles, tile{Label: v.T(label), Value: value, Note: note})
	}
	add("Delivered", v.Number(h.Delivered), v.T("of the newest {0}", h.Total()))
	add("Failed", v.Number(h.Failed), v.T("after up to {0} attempts each", lim.DeliveryAttempts))
	add("Waiting", v.Number(h.Pending), v.T("for an attempt"))
	add("Last success", last, "")
	switch {
	case w.Draft:
		p.Trouble = v.T(
			"An assistant drafted this webhook. Nothing is sent to it, not even a test, before an owner has checked its address and " +
				"turned it on.",
		)
	case !w.Active && w.ConsecutiveFailures >= int64(lim.DeliveryFailures):
		p.Trouble = v.T(
			"The webhook was turned off after {0} failures in a row. Repair the receiver, send a test, then turn it on. What happened "+
				"in between is not sent.",
			w.ConsecutiveFailures,
		)
	case !w.Active:
		p.Trouble = v.T("The webhook is off: nothing is sent, and what happens meanwhile is not sent later.")
	case w.ConsecutiveFailures > 0:
		p.Trouble = v.T(
			"The last delivery failed. After {1} failures in a row the webhook is turned off.|The last {0} deliveries failed. After {1} "+
				"failures in a row the webhook is turned off.",
			w.ConsecutiveFailures,
			lim.DeliveryFailures,
		)
	}
	if p.Trouble != "" && h.LastError.Valid {
		p.Trouble += " " + v.T("The last error: {0}.", v.T(h.LastError.V))
	}
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
	c := web.ConfirmPage{
		Frame: v.narrow("Rotate the signing secret?", webhooksPath),
		Text: v.T(
			"From now on deliveries are signed with a new secret, which is shown once. The old one ends at once: {0} refuses deliveries "+
				"until it has the new secret. Refused ones are sent again for about a minute.",
			shortURL(w.URL),
		),
		Button: v.T("Rotate the secret"),
		Cancel: webhookPath(w.ID),
		Danger: true,
	}
	if w.Draft {
		c.Title = v.T("Turn on this draft?")
		c.Text = v.T(
			"An assistant chose the address {0}. Events are sent to it from now on: turn it on only if you know who receives them. A "+
				"new signing secret is shown once.",
			w.URL,
		)
		c.Button = v.T("Turn on and show the secret")
	}
	return c
}
