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
		row.Label = web.Badge{Label: v.print.T("Delivered"), Tone: "good"}
	case "failed":
		row.Label = web.Badge{Label: v.print.T("Failed"), Tone: "bad"}
	default:
		row.Label = web.Badge{Label: v.print.T("Waiting"), Tone: "info"}
		if d.Attempts > 0 && on {
			row.Label = web.Badge{Label: v.print.T("Trying again"), Tone: "warn"}
		}
	}
	switch {
	case d.LastError.Valid:
		row.Last = v.print.T(d.LastError.V)
	case d.ResponseStatus.Valid:
		row.Last = v.print.T("Answered {0} in {1} ms", strconv.FormatInt(d.ResponseStatus.V, 10), d.DurationMS)
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

func showDeliveries(v *visit) error {
	w, err := findWebhook(v)
	if err != nil {
		return err
	}
	q := v.r.URL.Query()
	p := deliveriesPage{
		Frame:   v.frame(web.Text("Deliveries"), webhooksPath),
		Webhook: v.webhookRow(w),
		Filter:  v.newForm(q),
		Days:    v.Kernel.Store().Limits().DeliveryDays,
	}
	p.Filter.ID, p.Filtered = "filter", q.Get("state") != "" || q.Get("event") != ""
	log, err := read[store.Page[store.LoggedDelivery]](v, operation.ListWebhookLog, filterInput{v, nonEmpty(q, "state", "event", "cursor")})
	if err != nil && !v.faultyFilter(p.Filter, err) {
		return err
	}
	for _, d := range log.Data {
		p.Deliveries = append(p.Deliveries, v.deliveryRow(d, w.Active))
	}
	p.Pager = v.pager(len(p.Deliveries), log.NextCursor)
	p.States = []web.Option{
		{Value: "", Label: v.print.T("Every state")},
		{Value: "delivered", Label: v.print.T("Delivered")},
		{Value: "failed", Label: v.print.T("Failed")},
		{Value: "pending", Label: v.print.T("Waiting")},
	}
	p.Events = []web.Option{{Value: "", Label: v.print.T("Every event")}}
	for _, in := range event.All() {
		p.Events = append(p.Events, web.Option{Value: string(in.Name), Label: string(in.Name)})
	}
	return v.render(v.status(), "deliveries", p)
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

func showDelivery(v *visit) error {
	w, err := findWebhook(v)
	if err != nil {
		return err
	}
	d, err := read[store.LoggedDelivery](
		v,
		operation.GetDelivery,
		kernel.Args{Params: map[string]string{"id": v.id(), "deliveryId": v.params.ByName("deliveryId")}},
	)
	if err != nil {
		return err
	}
	p := deliveryPage{
		Frame:    v.frame("", webhooksPath),
		Webhook:  v.webhookRow(w),
		Delivery: v.deliveryRow(d, w.Active),
		MaySee:   v.allows(kernel.Manager),
	}
	p.Title = d.Event
	if in, ok := event.Lookup(event.Name(d.Event)); ok {
		p.Facts = append(p.Facts, web.Fact{Label: v.print.T("What happened"), Value: v.print.T(in.Doc)})
	}
	answer := v.print.T("None yet")
	if d.ResponseStatus.Valid {
		answer = strconv.FormatInt(d.ResponseStatus.V, 10) + " " + http.StatusText(int(d.ResponseStatus.V))
	}
	p.Facts = append(p.Facts,
		web.Fact{Label: v.print.T("When"), Value: v.print.DateTime(d.CreatedAt.Std())},
		web.Fact{Label: v.print.T("Attempts"), Value: v.print.Number(d.Attempts)},
		web.Fact{Label: v.print.T("Answer"), Value: answer})
	if d.Attempts > 0 {
		p.Facts = append(p.Facts, web.Fact{Label: v.print.T("Duration"), Value: v.print.T("{0} ms", d.DurationMS)})
	}
	if d.LastError.Valid {
		p.Facts = append(p.Facts, web.Fact{Label: v.print.T("Error"), Value: v.print.T(d.LastError.V)})
	}
	if d.NextAttemptAt.Valid && w.Active {
		p.Facts = append(p.Facts, web.Fact{Label: v.print.T("Next attempt"), Value: v.moment(d.NextAttemptAt.V)})
	}
	if d.DeliveredAt.Valid {
		p.Facts = append(p.Facts, web.Fact{Label: v.print.T("Delivered"), Value: v.moment(d.DeliveredAt.V)})
	}
	p.Facts = append(
		p.Facts,
		web.Fact{
			Label: v.print.T("Sequence"),
			Value: strconv.FormatInt(d.Sequence, 10),
			Hint:  v.print.T("The order of events in the shop. A receiver that keeps a copy of a card passes over lower numbers."),
		},
		web.Fact{
			Label: v.print.T("Event id"),
			Value: d.EventID,
			Hint:  v.print.T("The same in every attempt: a receiver knows repeats by it."),
		},
		web.Fact{Label: v.print.T("Id"), Value: d.ID},
	)
	if p.MaySee {
		p.Headers, p.Body = headerFacts(d.RequestHeaders), indented(d.RequestPayload)
	}
	if p.MaySee && d.State != "pending" && w.Active {
		p.Actions = []web.Action{
			{
				Label: v.print.T("Send again"),
				Path:  v.r.URL.Path + "/redeliver",
				Post:  true,
				Key:   v.newForm(nil).Key,
				Icon:  "refresh",
				Kind:  "primary",
			},
		}
	}
	if d.State == "pending" {
		p.Actions = []web.Action{{Label: v.print.T("Reload"), Path: v.r.URL.Path, Icon: "refresh"}}
	}
	return v.render(http.StatusOK, "delivery", p)
}

// moment returns a time with its seconds.
func (v *visit) moment(t store.Time) string {
	return v.print.Date(t.Std()) + " " + t.Std().In(v.zone()).Format(time.TimeOnly)
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
