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
	post(
		"/dashboard/new/webhook",
		action[store.CreatedWebhook]{
			op:     operation.CreateWebhook,
			params: chosenProgram,
			fields: webhookFields,
			again:  showNewWebhook,
			show:   showCreatedWebhook,
		},
	),
	page("/dashboard/webhook/:id", showWebhook),
	page("/dashboard/webhook/:id/edit", func(v *visit) error { return showEditWebhook(v, nil) }),
	post(
		"/dashboard/webhook/:id/edit",
		action[store.UpdatedWebhook]{
			op:     operation.UpdateWebhook,
			params: webhookParams,
			fields: webhookChanges,
			again:  showEditWebhook,
			next:   toWebhook[store.UpdatedWebhook](webhookSaved),
		},
	),
	post(
		"/dashboard/webhook/:id/test",
		action[store.Delivery]{op: operation.TestWebhook, params: webhookParams, next: toDelivery(testSent)},
	),
	page("/dashboard/webhook/:id/rotate", confirmRotateWebhook),
	post(
		"/dashboard/webhook/:id/rotate",
		action[store.UpdatedWebhook]{op: operation.UpdateWebhook, params: webhookParams, fields: rotation, show: showRotatedWebhook},
	),
	post(
		"/dashboard/webhook/:id/activate",
		action[store.UpdatedWebhook]{
			op:     operation.UpdateWebhook,
			params: webhookParams,
			fields: always("active", "true"),
			next:   toWebhook[store.UpdatedWebhook](webhookOn),
		},
	),
	page("/dashboard/webhook/:id/deactivate", confirmDeactivateWebhook),
	post(
		"/dashboard/webhook/:id/deactivate",
		action[store.UpdatedWebhook]{
			op:     operation.UpdateWebhook,
			params: webhookParams,
			fields: always("active", "false"),
			next:   toWebhook[store.UpdatedWebhook](webhookOff),
		},
	),
	page("/dashboard/webhook/:id/delete", confirmDeleteWebhook),
	post(
		"/dashboard/webhook/:id/delete",
		action[kernel.None]{
			op:     operation.DeleteWebhook,
			params: webhookParams,
			next:   func(*visit, kernel.None) (string, string) { return webhooksPath, webhookDeleted },
		},
	),
	page("/dashboard/webhook/:id/receiver", showReceiver),
	page("/dashboard/webhook/:id/deliveries", showDeliveries),
	page("/dashboard/webhook/:id/delivery/:deliveryId", showDelivery),
	post(
		"/dashboard/webhook/:id/delivery/:deliveryId/redeliver",
		action[store.Delivery]{op: operation.Redeliver, params: webhookParams, next: toDelivery(redelivered)},
	),
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
		p.Text = v.print.T(
			"A webhook tells one of your own programs what happens in the shop, within a second: a stamp, a new card, a redeemed prize.",
		)
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
