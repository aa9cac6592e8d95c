package dashboard

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const webhooksPath = "/dashboard/webhooks"

// webhookPages are the pages of webhooks. webhook_form.go has their forms, and
// webhook_log.go their deliveries.
var webhookPages = []binding{
	page(webhooksPath, showWebhooks),
	form("/dashboard/new/webhook", showNewWebhook, action{
		op:     operation.CreateWebhook,
		params: webhookProgram,
		fields: webhookFields,
		then:   then(showCreatedWebhook),
	}),
	page(webhookAt, about(findWebhook, showWebhook)),
	edit(webhookAt+"/edit", findWebhook, showEditWebhook, action{
		op:     operation.UpdateWebhook,
		params: webhookParams,
		fields: webhookChanges,
		to:     webhookAt,
		done:   "The webhook was saved.",
	}),
	post(webhookAt+"/test", action{
		op:     operation.TestWebhook,
		params: webhookParams,
		then:   toDelivery(says("test-sent", "A test event is on its way. Reload this page to see the answer.")),
	}),
	rotateForm(),
	post(webhookAt+"/activate", action{
		op:     operation.UpdateWebhook,
		params: webhookParams,
		fields: always("active", "true"),
		to:     webhookAt,
		word:   "webhook-on",
		done:   "The webhook is on. What was waiting is sent now.",
	}),
	confirm(webhookAt+"/deactivate", findWebhook, askDeactivateWebhook, action{
		op:     operation.UpdateWebhook,
		params: webhookParams,
		fields: always("active", "false"),
		to:     webhookAt,
		word:   "webhook-off",
		done:   "The webhook is off. Nothing is sent to it.",
	}),
	confirm(webhookAt+"/delete", findWebhook, askDeleteWebhook, action{
		op:     operation.DeleteWebhook,
		params: webhookParams,
		to:     webhooksPath,
		done:   "The webhook was deleted.",
	}),
	page(webhookAt+"/receiver", about(findWebhook, showReceiver)),
	page(webhookAt+"/deliveries", about(findWebhook, showDeliveries)),
	page(webhookAt+"/delivery/:deliveryId", about(findWebhook, showDelivery)),
	post(webhookAt+"/delivery/:deliveryId/redeliver", action{
		op:     operation.Redeliver,
		params: webhookParams,
		then:   toDelivery(says("redelivered", "The event is sent again. Reload this page to see the answer.")),
	}),
}

// webhookAt is the pattern of the page of a webhook.
const webhookAt = "/dashboard/webhook/:id"

func webhookPath(id string) string { return "/dashboard/webhook/" + id }

// toDelivery returns what leads to the page of a delivery.
func toDelivery(done string) answered {
	return then(func(v *visit, d store.Delivery) error {
		return v.redirect(webhookPath(v.id())+"/delivery/"+d.ID, done)
	})
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
	return map[string]string{"id": w.ProgramID, "webhookId": v.id(), "deliveryId": v.params["deliveryId"]}, nil
}

// findWebhook returns the webhook of the path.
var findWebhook = reader[store.WebhookOverview](operation.GetShopWebhook)

// webhookRow is a webhook as its pages show it.
type webhookRow struct {
	store.WebhookOverview
	State  web.Badge
	Name   string // its description or its address
	Events string // in short
	Recent string // how the newest deliveries went
}

// Patterns returns the events that it names.
func (w webhookRow) Patterns() string { return strings.Join(w.Webhook.Events, ", ") }

// Headers names the custom headers that are stored.
func (w webhookRow) Headers() string {
	return strings.Join(slices.Sorted(maps.Keys(w.CustomHeaders)), ", ")
}

// Names joins the names of programs or locations.
func (webhookRow) Names(list []store.Named) string {
	return strings.Join(each(list, func(n store.Named) string { return n.Name.V }), ", ")
}

func (v *visit) webhookRow(w store.WebhookOverview) webhookRow {
	row := webhookRow{WebhookOverview: w, Name: cmp.Or(w.Description, shortURL(w.URL))}
	max := int64(v.Kernel.Store().Limits().DeliveryFailures)
	switch {
	case w.Draft:
		row.State = v.badge("Draft of an assistant", "warn")
	case !w.Active && w.ConsecutiveFailures >= max:
		row.State = v.badge("Off after failures", "bad")
	case !w.Active:
		row.State = v.badge("Off", "")
	case w.ConsecutiveFailures > 0:
		row.State = v.badge("Failing", "warn")
	default:
		row.State = v.badge("On", "good")
	}
	switch {
	case len(w.Webhook.Events) == 1 && w.Webhook.Events[0] == "*":
		row.Events = v.T("All events")
	case len(w.Webhook.Events) == 1:
		row.Events = w.Webhook.Events[0]
	default:
		row.Events = v.T("{0} and {1} more", w.Webhook.Events[0], len(w.Webhook.Events)-1)
	}
	if h := w.Health; h.Total() > 0 {
		row.Recent = v.T("{0} of {1} delivered", h.Delivered, h.Total())
	}
	return row
}

// shortURL shortens a URL for a title.
func shortURL(u string) string {
	const max = 60
	if _, rest, ok := strings.Cut(u, "://"); ok {
		u = rest
	}
	if len(u) > max { // it is ASCII
		u = u[:max] + "…"
	}
	return u
}

// webhooksPage is the list of webhooks.
type webhooksPage struct {
	web.Frame
	Filter   *web.Form
	Programs []web.Option
	Webhooks []webhookRow
	Filtered bool
}

func showWebhooks(v *visit) error {
	fields := nonEmpty(v.r.URL.Query(), "program_id")
	p := webhooksPage{Frame: v.frame("Webhooks", webhooksPath), Filter: v.filter(fields), Filtered: len(fields) > 0}
	list, err := read[operation.List[store.WebhookOverview]](v, operation.ListShopWebhooks, v.query(fields))
	if err != nil {
		return err
	}
	p.Webhooks = each(list.Data, v.webhookRow)
	programs, err := v.programs()
	if err != nil {
		return err
	}
	p.Programs = v.programFilter(programs)
	return v.render("webhooks", p)
}
