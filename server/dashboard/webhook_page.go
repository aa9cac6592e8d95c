package dashboard

import (
	"cmp"
	"net/http"
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
	Tiles      []webhookTile
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

// webhookTile is a figure of a webhook's health.
type webhookTile struct{ Label, Value, Note string }

func showWebhook(v *visit) error {
	w, err := findWebhook(v)
	if err != nil {
		return err
	}
	row := v.webhookRow(w)
	p := webhookPage{
		Frame:     v.frame("", webhooksPath),
		Webhook:   row,
		Form:      v.newForm(nil),
		May:       v.allows(kernel.Manager),
		MayRotate: v.allows(kernel.Owner),
	}
	p.Title = row.Name
	p.Facts = v.webhookFacts(w)
	v.webhookHealth(&p)
	log, err := read[store.Page[store.LoggedDelivery]](v, operation.ListWebhookLog, filterInput{v, url.Values{"limit": {"10"}}})
	if err != nil {
		return err
	}
	for _, d := range log.Data {
		p.Deliveries = append(p.Deliveries, v.deliveryRow(d, w.Active))
	}
	if p.May {
		p.Actions = []web.Action{{Label: v.print.T("Edit"), Path: webhookPath(w.ID) + "/edit", Icon: "edit"}}
		if w.Draft {
			if p.MayRotate {
				p.Actions = append(
					p.Actions,
					web.Action{Label: v.print.T("Check and turn on"), Path: webhookPath(w.ID) + "/rotate", Kind: "primary"},
				)
			}
		} else if !w.Active {
			p.Actions = append(p.Actions, web.Action{Label: v.print.T("Turn on"), Path: webhookPath(w.ID) + "/activate", Post: true, Key: v.newForm(nil).Key, Kind: "primary"})
		} else {
			p.Actions = append(p.Actions, web.Action{Label: v.print.T("Send a test"), Path: webhookPath(w.ID) + "/test", Post: true, Key: v.newForm(nil).Key, Icon: "send", Kind: "primary"})
		}
	}
	return v.render(http.StatusOK, "webhook", p)
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
		{Label: v.print.T("Sends to"), Value: w.URL},
		{Label: v.print.T("Events"), Value: strings.Join(w.Webhook.Events, ", ")},
		{Label: v.print.T("Of programs"), Value: names(w.Programs, v.print.T("All programs"))},
		{Label: v.print.T("At locations"), Value: names(w.Locations, v.print.T("All locations"))},
	}
	if len(w.Locations) > 0 {
		shopWide := v.print.T("Not sent")
		if w.IncludeShopWideEvents {
			shopWide = v.print.T("Sent too")
		}
		facts = append(facts, web.Fact{Label: v.print.T("Events without a location"), Value: shopWide})
	}
	token := v.print.T("None")
	if w.HasBearerToken {
		token = v.print.T("Sent with each delivery, and never shown")
	}
	facts = append(facts, web.Fact{Label: v.print.T("Bearer token"), Value: token})
	if len(w.CustomHeaders) > 0 {
		f := web.Fact{Label: v.print.T("Custom headers"), Value: headerNames(w.CustomHeaders)}
		if !v.CustomHeaders {
			f.Hint = v.print.T("This server stores them and does not send them.")
		}
		facts = append(facts, f)
	}
	return append(
		facts,
		web.Fact{Label: v.print.T("Version of the body"), Value: w.PayloadVersion},
		web.Fact{
			Label: v.print.T("Belongs to"),
			Value: w.ProgramName,
			Hint:  v.print.T("Deleting this program deletes the webhook. It limits no events."),
		},
		web.Fact{Label: v.print.T("Created"), Value: v.print.DateTime(w.CreatedAt.Std())},
		web.Fact{Label: v.print.T("Id"), Value: w.ID},
	)
}

// webhookHealth says how the deliveries of a webhook go.
func (v *visit) webhookHealth(p *webhookPage) {
	w := p.Webhook
	h, lim := w.Health, v.Kernel.Store().Limits()
	last := v.print.T("Nothing yet")
	if h.LastDeliveredAt.Valid {
		last = v.print.Ago(h.LastDeliveredAt.V.Std(), v.Kernel.Store().Now().Std())
	}
	p.Tiles = []webhookTile{
		{v.print.T("Delivered"), v.print.Number(h.Delivered), v.print.T("of the newest {0}", h.Total())},
		{v.print.T("Failed"), v.print.Number(h.Failed), v.print.T("after up to {0} attempts each", lim.DeliveryAttempts)},
		{v.print.T("Waiting"), v.print.Number(h.Pending), v.print.T("for an attempt")},
		{v.print.T("Last success"), last, ""},
	}
	switch {
	case w.Draft:
		p.Trouble = v.print.T(
			"An assistant drafted this webhook. Nothing is sent to it, not even a test, before an owner has checked its address and turned it on.",
		)
	case !w.Active && w.ConsecutiveFailures >= int64(lim.DeliveryFailures):
		p.Trouble = v.print.T(
			"The webhook was turned off after {0} failures in a row. Repair the receiver, send a test, then turn it on. What happened in between is not sent.",
			w.ConsecutiveFailures,
		)
	case !w.Active:
		p.Trouble = v.print.T("The webhook is off: nothing is sent, and what happens meanwhile is not sent later.")
	case w.ConsecutiveFailures > 0:
		p.Trouble = v.print.T(
			"The last delivery failed. After {1} failures in a row the webhook is turned off.|The last {0} deliveries failed. After {1} failures in a row the webhook is turned off.",
			w.ConsecutiveFailures,
			lim.DeliveryFailures,
		)
	}
	if p.Trouble != "" && h.LastError.Valid {
		p.Trouble += " " + v.print.T("The last error: {0}.", v.print.T(h.LastError.V))
	}
}

func (v *visit) confirmWebhook(op *kernel.Operation, action string, c func(webhookRow) web.ConfirmPage) error {
	if err := v.require(op); err != nil {
		return err
	}
	w, err := findWebhook(v)
	if err != nil {
		return err
	}
	page := c(v.webhookRow(w))
	page.Path, page.Cancel, page.Danger = webhookPath(w.ID)+"/"+action, webhookPath(w.ID), true
	return v.confirm(webhooksPath, page)
}

func confirmDeactivateWebhook(v *visit) error {
	return v.confirmWebhook(operation.UpdateWebhook, "deactivate", func(w webhookRow) web.ConfirmPage {
		return web.ConfirmPage{
			Frame: web.Frame{Title: v.print.T("Turn off this webhook?")},
			Text: v.print.T(
				"Nothing is sent to {0} while the webhook is off, and what happens meanwhile is not sent later. What waits already goes out when you turn it on again.",
				w.URL,
			),
			Button: v.print.T("Turn off"),
		}
	})
}

func confirmDeleteWebhook(v *visit) error {
	return v.confirmWebhook(operation.DeleteWebhook, "delete", func(w webhookRow) web.ConfirmPage {
		return web.ConfirmPage{
			Frame: web.Frame{Title: v.print.T("Delete this webhook?")},
			Text: v.print.T(
				"Nothing is sent to {0} any more, also not what waits now. Its log and its secret are removed. This cannot be undone.",
				w.URL,
			),
			Button: v.print.T("Delete the webhook"),
		}
	})
}

func confirmRotateWebhook(v *visit) error {
	if !v.allows(kernel.Owner) {
		return kernel.Refuse(store.Unauthorized, "Owners alone rotate the secret of a webhook.")
	}
	return v.confirmWebhook(operation.UpdateWebhook, "rotate", func(w webhookRow) web.ConfirmPage {
		if w.Draft {
			return web.ConfirmPage{
				Frame: web.Frame{Title: v.print.T("Turn on this draft?")},
				Text: v.print.T(
					"An assistant chose the address {0}. Events are sent to it from now on: turn it on only if you know who receives them. A new signing secret is shown once.",
					w.URL,
				),
				Button: v.print.T("Turn on and show the secret"),
			}
		}
		return web.ConfirmPage{
			Frame: web.Frame{Title: v.print.T("Rotate the signing secret?")},
			Text: v.print.T(
				"From now on deliveries are signed with a new secret, which is shown once. The old one ends at once: {0} refuses deliveries until it has the new secret. Refused ones are sent again for about a minute.",
				shortURL(w.URL),
			),
			Button: v.print.T("Rotate the secret"),
		}
	})
}
