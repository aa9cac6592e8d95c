package dashboard

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const webhooksPath = "/dashboard/webhooks"

// webhookPages are the pages of webhooks. webhook_form.go has their forms, and
// webhook_log.go their deliveries.
var webhookPages = []binding{
	page(webhooksPath, showWebhooks),
	page("/dashboard/new/webhook", func(v *visit) error { return showNewWebhook(v, nil) }),
	post("/dashboard/new/webhook", action[store.CreatedWebhook]{op: operation.CreateWebhook, params: chosenProgram, fields: webhookFields, again: showNewWebhook, show: showCreatedWebhook}),
	page("/dashboard/webhook/:id", showWebhook),
	page("/dashboard/webhook/:id/edit", func(v *visit) error { return showEditWebhook(v, nil) }),
	post("/dashboard/webhook/:id/edit", action[store.UpdatedWebhook]{op: operation.UpdateWebhook, params: webhookParams, fields: webhookChanges, again: showEditWebhook, next: toWebhook[store.UpdatedWebhook](webhookSaved)}),
	post("/dashboard/webhook/:id/test", action[store.Delivery]{op: operation.TestWebhook, params: webhookParams, next: toDelivery(testSent)}),
	page("/dashboard/webhook/:id/rotate", confirmRotateWebhook),
	post("/dashboard/webhook/:id/rotate", action[store.UpdatedWebhook]{op: operation.UpdateWebhook, params: webhookParams, fields: rotation, show: showRotatedWebhook}),
	post("/dashboard/webhook/:id/activate", action[store.UpdatedWebhook]{op: operation.UpdateWebhook, params: webhookParams, fields: always("active", "true"), next: toWebhook[store.UpdatedWebhook](webhookOn)}),
	page("/dashboard/webhook/:id/deactivate", confirmDeactivateWebhook),
	post("/dashboard/webhook/:id/deactivate", action[store.UpdatedWebhook]{op: operation.UpdateWebhook, params: webhookParams, fields: always("active", "false"), next: toWebhook[store.UpdatedWebhook](webhookOff)}),
	page("/dashboard/webhook/:id/delete", confirmDeleteWebhook),
	post("/dashboard/webhook/:id/delete", action[kernel.None]{op: operation.DeleteWebhook, params: webhookParams, next: func(*visit, kernel.None) (string, string) { return webhooksPath, webhookDeleted }}),
	page("/dashboard/webhook/:id/receiver", showReceiver),
	page("/dashboard/webhook/:id/deliveries", showDeliveries),
	page("/dashboard/webhook/:id/delivery/:deliveryId", showDelivery),
	post("/dashboard/webhook/:id/delivery/:deliveryId/redeliver", action[store.Delivery]{op: operation.Redeliver, params: webhookParams, next: toDelivery(redelivered)}),
}

var (
	webhookSaved   = says("webhook-saved", web.Text("The webhook was saved."))
	webhookOn      = says("webhook-on", web.Text("The webhook is on. What was waiting is sent now."))
	webhookOff     = says("webhook-off", web.Text("The webhook is off. Nothing is sent to it."))
	webhookDeleted = says("webhook-deleted", web.Text("The webhook was deleted."))
	testSent       = says("test-sent", web.Text("A test event is on its way. Reload this page to see the answer."))
	redelivered    = says("redelivered", web.Text("The event is sent again. Reload this page to see the answer."))
)

func webhookPath(id string) string { return "/dashboard/webhook/" + id }

// toWebhook returns what leads to the page of the webhook that a form was about.
func toWebhook[O any](done string) func(*visit, O) (string, string) {
	return func(v *visit, _ O) (string, string) { return webhookPath(v.id()), done }
}

// toDelivery returns what leads to the page of a delivery.
func toDelivery(done string) func(*visit, store.Delivery) (string, string) {
	return func(v *visit, d store.Delivery) (string, string) {
		return webhookPath(v.id()) + "/delivery/" + d.ID, done
	}
}

// always returns the fields of a form that is a button.
func always(name, value string) func(*visit, url.Values) url.Values {
	return func(*visit, url.Values) url.Values { return url.Values{name: {value}} }
}

// rotation returns the fields of a change that makes a new secret, and that turns on the draft
// of an assistant.
func rotation(v *visit, _ url.Values) url.Values {
	fields := url.Values{"rotate_secret": {"true"}}
	if w, err := findWebhook(v); err == nil && w.Draft {
		fields.Set("active", "true")
	}
	return fields
}

// webhookParams returns the ids by which operations address the webhook of the path. Of
// one that is unknown, or was deleted since the form was first sent, the program is
// unknown too.
func webhookParams(v *visit) (map[string]string, error) {
	w, err := findWebhook(v)
	var refusal *store.Error
	if err != nil && !(errors.As(err, &refusal) && refusal.Code == store.NotFound) {
		return nil, err
	}
	return map[string]string{"id": w.ProgramID, "webhookId": v.id(), "deliveryId": v.params.ByName("deliveryId")}, nil
}

func findWebhook(v *visit) (store.WebhookOverview, error) {
	return read[store.WebhookOverview](v, operation.GetShopWebhook, v.args(nil))
}

// webhookRow is a webhook as its pages show it.
type webhookRow struct {
	store.WebhookOverview
	State  web.Badge
	Name   string // its description or its address
	Events string // in short
	Recent string // how the newest deliveries went
}

func (v *visit) webhookRow(w store.WebhookOverview) webhookRow {
	row := webhookRow{WebhookOverview: w, Name: cmp.Or(w.Description, shortURL(w.URL))}
	most := int64(v.Kernel.Store().Limits().DeliveryFailures)
	switch {
	case w.Draft:
		row.State = web.Badge{Label: v.print.T("Draft of an assistant"), Tone: "warn"}
	case !w.Active && w.ConsecutiveFailures >= most:
		row.State = web.Badge{Label: v.print.T("Off after failures"), Tone: "bad"}
	case !w.Active:
		row.State = web.Badge{Label: v.print.T("Off")}
	case w.ConsecutiveFailures > 0:
		row.State = web.Badge{Label: v.print.T("Failing"), Tone: "warn"}
	default:
		row.State = web.Badge{Label: v.print.T("On"), Tone: "good"}
	}
	switch {
	case len(w.Webhook.Events) == 1 && w.Webhook.Events[0] == "*":
		row.Events = v.print.T("All events")
	case len(w.Webhook.Events) == 1:
		row.Events = w.Webhook.Events[0]
	default:
		row.Events = v.print.T("{0} and {1} more", w.Webhook.Events[0], len(w.Webhook.Events)-1)
	}
	if h := w.Health; h.Total() > 0 {
		row.Recent = v.print.T("{0} of {1} delivered", h.Delivered, h.Total())
	}
	return row
}

// shortURL shortens a URL for a title.
func shortURL(u string) string {
	const most = 60
	if _, rest, ok := strings.Cut(u, "://"); ok {
		u = rest
	}
	if len(u) > most { // it is ASCII
		u = u[:most] + "…"
	}
	return u
}

// webhooksPage is the list of webhooks.
type webhooksPage struct {
	web.Frame
	Actions  []web.Action
	Filter   *web.Form
	Programs []web.Option
	Webhooks []webhookRow
	Filtered bool
	Empty    web.Action
	Text     string // of the empty list
}

func showWebhooks(v *visit) error {
	q := v.r.URL.Query()
	q.Del("done")
	p := webhooksPage{Frame: v.frame(web.Text("Webhooks"), webhooksPath), Filter: v.newForm(q), Filtered: q.Get("program_id") != ""}
	p.Filter.ID = "filter"
	list, err := read[operation.List[store.WebhookOverview]](v, operation.ListShopWebhooks, filterInput{v, nonEmpty(q, "program_id")})
	if err != nil {
		return err
	}
	for _, w := range list.Data {
		p.Webhooks = append(p.Webhooks, v.webhookRow(w))
	}
	programs, err := v.programs()
	if err != nil {
		return err
	}
	p.Programs = []web.Option{{Value: "", Label: v.print.T("All programs")}}
	for _, program := range programs {
		p.Programs = append(p.Programs, web.Option{Value: program.ID, Label: program.Name})
	}
	create := web.Action{Label: v.print.T("New webhook"), Path: "/dashboard/new/webhook", Icon: "plus", Kind: "primary"}
	switch {
	case p.Filtered:
		p.Empty = web.Action{Label: v.print.T("Clear the filter"), Path: webhooksPath}
		p.Text = v.print.T("No webhook belongs to this program or is limited to it.")
	case !v.allows(kernel.Manager):
		p.Text = v.print.T("A manager of the shop creates webhooks.")
	case len(programs) == 0:
		p.Text = v.print.T("A webhook belongs to a program. Create a program first.")
		p.Empty = web.Action{Label: v.print.T("Programs"), Path: "/dashboard/programs", Kind: "primary"}
	default:
		p.Text = v.print.T("A webhook tells one of your own programs what happens in the shop, within a second: a stamp, a new card, a redeemed prize.")
		p.Empty = create
	}
	if v.allows(kernel.Manager) && len(programs) > 0 {
		p.Actions = []web.Action{create}
	}
	return v.render(http.StatusOK, "webhooks", p)
}

// nonEmpty returns the parameters of a query that have a value, by their names.
func nonEmpty(q url.Values, names ...string) url.Values {
	fields := url.Values{}
	for _, name := range names {
		if value := q.Get(name); value != "" {
			fields.Set(name, value)
		}
	}
	return fields
}

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
	p := webhookPage{Frame: v.frame("", webhooksPath), Webhook: row, Form: v.newForm(nil), May: v.allows(kernel.Manager), MayRotate: v.allows(kernel.Owner)}
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
				p.Actions = append(p.Actions, web.Action{Label: v.print.T("Check and turn on"), Path: webhookPath(w.ID) + "/rotate", Kind: "primary"})
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
	return append(facts,
		web.Fact{Label: v.print.T("Version of the body"), Value: w.PayloadVersion},
		web.Fact{Label: v.print.T("Belongs to"), Value: w.ProgramName, Hint: v.print.T("Deleting this program deletes the webhook. It limits no events.")},
		web.Fact{Label: v.print.T("Created"), Value: v.print.DateTime(w.CreatedAt.Std())},
		web.Fact{Label: v.print.T("Id"), Value: w.ID})
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
		p.Trouble = v.print.T("An assistant drafted this webhook. Nothing is sent to it, not even a test, before an owner has checked its address and turned it on.")
	case !w.Active && w.ConsecutiveFailures >= int64(lim.DeliveryFailures):
		p.Trouble = v.print.T("The webhook was turned off after {0} failures in a row. Repair the receiver, send a test, then turn it on. What happened in between is not sent.", w.ConsecutiveFailures)
	case !w.Active:
		p.Trouble = v.print.T("The webhook is off: nothing is sent, and what happens meanwhile is not sent later.")
	case w.ConsecutiveFailures > 0:
		p.Trouble = v.print.T("The last delivery failed. After {1} failures in a row the webhook is turned off.|The last {0} deliveries failed. After {1} failures in a row the webhook is turned off.", w.ConsecutiveFailures, lim.DeliveryFailures)
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
			Frame:  web.Frame{Title: v.print.T("Turn off this webhook?")},
			Text:   v.print.T("Nothing is sent to {0} while the webhook is off, and what happens meanwhile is not sent later. What waits already goes out when you turn it on again.", w.URL),
			Button: v.print.T("Turn off"),
		}
	})
}

func confirmDeleteWebhook(v *visit) error {
	return v.confirmWebhook(operation.DeleteWebhook, "delete", func(w webhookRow) web.ConfirmPage {
		return web.ConfirmPage{
			Frame:  web.Frame{Title: v.print.T("Delete this webhook?")},
			Text:   v.print.T("Nothing is sent to {0} any more, also not what waits now. Its log and its secret are removed. This cannot be undone.", w.URL),
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
				Frame:  web.Frame{Title: v.print.T("Turn on this draft?")},
				Text:   v.print.T("An assistant chose the address {0}. Events are sent to it from now on: turn it on only if you know who receives them. A new signing secret is shown once.", w.URL),
				Button: v.print.T("Turn on and show the secret"),
			}
		}
		return web.ConfirmPage{
			Frame:  web.Frame{Title: v.print.T("Rotate the signing secret?")},
			Text:   v.print.T("From now on deliveries are signed with a new secret, which is shown once. The old one ends at once: {0} refuses deliveries until it has the new secret. Refused ones are sent again for about a minute.", shortURL(w.URL)),
			Button: v.print.T("Rotate the secret"),
		}
	})
}
