package dashboard

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

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
	p.Events = append([]web.Option{v.option("", "Every event")},
		each(event.All(), func(in event.Info) web.Option { return itself(string(in.Name)) })...)
	return v.render("deliveries", p)
}

// deliveryPage is an entry of the log.
type deliveryPage struct {
	web.Frame
	Webhook  webhookRow
	Delivery deliveryRow
	What     string // happened
	Answer   string // the status; empty: none yet
	Headers  []web.Fact
	Body     string
}

func showDelivery(v *visit, w store.WebhookOverview) error {
	d, err := read[store.LoggedDelivery](v, operation.GetDelivery)
	if err != nil {
		return err
	}
	in, _ := event.Lookup(event.Name(d.Event))
	p := deliveryPage{
		Frame:    v.named(d.Event, webhooksPath),
		Webhook:  v.webhookRow(w),
		Delivery: v.deliveryRow(d, w.Active),
		What:     in.Doc,
	}
	if d.ResponseStatus.Valid {
		p.Answer = strconv.FormatInt(d.ResponseStatus.V, 10) + " " + http.StatusText(int(d.ResponseStatus.V))
	}
	if v.allows(kernel.Manager) {
		p.Headers, p.Body = headerFacts(d.RequestHeaders), indented(d.RequestPayload)
	}
	return v.render("delivery", p)
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
