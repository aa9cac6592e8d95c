package dashboard

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
	"punchcard/store/event"
)

// deliveryRow is an entry of a delivery log as its pages show it.
type deliveryRow struct {
	store.LoggedDelivery
	Label web.Badge
	Last  string // answer or error of the latest attempt
}

// deliveryRow returns an entry of the log of a webhook that is on or off.
func (v *visit) deliveryRow(d store.LoggedDelivery, on bool) deliveryRow {
	row := deliveryRow{LoggedDelivery: d}
	switch d.State {
	case "delivered":
		row.Label = v.badge("Delivered", "good")
	case "failed":
		row.Label = v.badge("Failed", "bad")
	default:
		row.Label = v.badge("Waiting", "info")
		if d.Attempts > 0 && on {
			row.Label = v.badge("Trying again", "warn")
		}
	}
	switch {
	case d.LastError.Valid:
		row.Last = v.T(d.LastError.V)
	case d.ResponseStatus.Valid:
		row.Last = v.T("Answered {0} in {1} ms", strconv.FormatInt(d.ResponseStatus.V, 10), d.DurationMS)
	}
	return row
}

// deliveriesPage is the log of a webhook.
type deliveriesPage struct {
	web.Frame
	Webhook    webhookRow
	Filter     *web.Form
	States     []web.Option
	Events     []web.Option
	Filtered   bool
	Deliveries []deliveryRow
	Pager      web.Pager
	Days       int // for which it is kept
}

func showDeliveries(v *visit, w store.WebhookOverview) error {
	q := v.r.URL.Query()
	p := deliveriesPage{
		Frame:    v.frame("Deliveries", webhooksPath),
		Webhook:  v.webhookRow(w),
		Filter:   v.filter(q),
		Filtered: len(nonEmpty(q, "state", "event")) > 0,
		Days:     v.Kernel.Store().Limits().DeliveryDays,
	}
	log, pager, err := list[store.LoggedDelivery](v, operation.ListWebhookLog, nonEmpty(q, "state", "event", "cursor"), p.Filter)
	if err != nil {
		return err
	}
	p.Pager = pager
	for _, d := range log {
		p.Deliveries = append(p.Deliveries, v.deliveryRow(d, w.Active))
	}
	p.States = []web.Option{
		v.option("", "Every state"),
		v.option("delivered", "Delivered"),
		v.option("failed", "Failed"),
		v.option("pending", "Waiting"),
	}
	p.Events = append([]web.Option{v.option("", "Every event")},
		each(event.All(), func(in event.Info) web.Option { return itself(string(in.Name)) })...)
	return v.render("deliveries", p)
}

// deliveryPage is an entry of the log.
type deliveryPage struct {
	web.Frame
	Webhook  webhookRow
	Delivery deliveryRow
	Facts    []web.Fact
	Headers  []web.Fact
	Body     string
	Actions  []web.Action
	MaySee   bool // headers and body
}

func showDelivery(v *visit, w store.WebhookOverview) error {
	d, err := read[store.LoggedDelivery](v, operation.GetDelivery)
	if err != nil {
		return err
	}
	p := deliveryPage{
		Frame:    v.named(d.Event, webhooksPath),
		Webhook:  v.webhookRow(w),
		Delivery: v.deliveryRow(d, w.Active),
		MaySee:   v.allows(kernel.Manager),
	}
	fact := func(label web.Text, value any, hint ...string) {
		p.Facts = append(p.Facts, v.fact(label, value, hint...))
	}
	if in, ok := event.Lookup(event.Name(d.Event)); ok {
		fact("What happened", v.T(in.Doc))
	}
	answer := v.T("None yet")
	if d.ResponseStatus.Valid {
		answer = strconv.FormatInt(d.ResponseStatus.V, 10) + " " + http.StatusText(int(d.ResponseStatus.V))
	}
	fact("When", v.DateTime(d.CreatedAt.Std()))
	fact("Attempts", v.Number(d.Attempts))
	fact("Answer", answer)
	if d.Attempts > 0 {
		fact("Duration", v.T("{0} ms", d.DurationMS))
	}
	if d.LastError.Valid {
		fact("Error", v.T(d.LastError.V))
	}
	if d.NextAttemptAt.Valid && w.Active {
		fact("Next attempt", v.moment(d.NextAttemptAt.V))
	}
	if d.DeliveredAt.Valid {
		fact("Delivered", v.moment(d.DeliveredAt.V))
	}
	fact("Sequence", strconv.FormatInt(d.Sequence, 10),
		v.T("The order of events in the shop. A receiver that keeps a copy of a card passes over lower numbers."))
	fact("Event id", d.EventID, v.T("The same in every attempt: a receiver knows repeats by it."))
	fact("Id", d.ID)
	if p.MaySee {
		p.Headers, p.Body = headerFacts(d.RequestHeaders), indented(d.RequestPayload)
	}
	if p.MaySee && d.State != "pending" && w.Active {
		p.Actions = []web.Action{v.button("Send again", v.r.URL.Path+"/redeliver", "refresh", "primary")}
	}
	if d.State == "pending" {
		p.Actions = []web.Action{v.link("Reload", v.r.URL.Path, "refresh", "")}
	}
	return v.render("delivery", p)
}

// moment returns a time with its seconds.
func (v *visit) moment(t store.Time) string {
	return v.Date(t.Std()) + " " + t.Std().In(v.zone()).Format(time.TimeOnly)
}

// headerFacts returns the headers of a request by their names.
func headerFacts(raw json.RawMessage) (facts []web.Fact) {
	var headers map[string]any
	if json.Unmarshal(raw, &headers) != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		value := ""
		switch h := headers[name].(type) {
		case string:
			value = h
		case []any:
			var all []string
			for _, one := range h {
				if text, ok := one.(string); ok {
					all = append(all, text)
				}
			}
			value = strings.Join(all, ", ")
		}
		facts = append(facts, web.Fact{Label: name, Value: value})
	}
	return facts
}

// indented returns a JSON body for reading.
func indented(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
