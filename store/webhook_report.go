package store

import "net/url"

// WebhookReport is how a webhook fares, for an assistant that finds out why it fails.
type WebhookReport struct {
	ID                  string        `json:"id"`
	ProgramID           string        `json:"program_id"`
	Host                string        `json:"host" doc:"Of the URL."`
	Path                string        `json:"path" doc:"Of the URL, without its query."`
	Description         string        `json:"description"`
	Events              []string      `json:"events"`
	Active              bool          `json:"active"`
	Draft               bool          `json:"draft" doc:"Nothing is sent to it until a person activates it."`
	ConsecutiveFailures int64         `json:"consecutive_failures"`
	Health              WebhookHealth `json:"health"`
	Failures            []FailedTry   `json:"last_failures" doc:"Newest first."`
	UpdatedAt           Time          `json:"updated_at"`
}

// FailedTry is a delivery whose last attempt failed.
type FailedTry struct {
	DeliveryID     string      `json:"delivery_id"`
	Event          string      `json:"event"`
	State          string      `json:"state" enum:"failed,pending"`
	Attempts       int64       `json:"attempts"`
	ResponseStatus Null[int64] `json:"response_status"`
	Error          string      `json:"error"`
	OccurredAt     Time        `json:"occurred_at"`
}

// The failures that a report of one webhook and of several has.
const (
	failuresOfOne  = 10
	failuresOfMany = 1
)

// WebhookReportQuery selects a page of webhooks.
type WebhookReportQuery struct {
	PageQuery
	ID        Opt[string] `json:"id" doc:"Only this webhook, with its last 10 failures."`
	ProgramID Opt[string] `json:"program_id" doc:"Only those that are addressed through this program."`
}

// WebhookReports returns the reports of the webhooks that a key may see, newest first.
func (v *View) WebhookReports(a Access, q WebhookReportQuery) (p Page[WebhookReport], err error) {
	p = Page[WebhookReport]{Data: []WebhookReport{}, Limit: v.limit(q.PageQuery)}
	from, err := v.below(listWebhookReports, a.Shop, q.PageQuery)
	if err != nil {
		return p, err
	}
	v.snapshot()
	var hooks []webhook
	for r := range v.each("SELECT "+webhookCols+` FROM webhooks WHERE shop_id=? AND deleted_at IS NULL AND id<?
		ORDER BY id DESC`, a.Shop, from) {
		w := v.scanWebhook(r, a.Shop)
		if w.visibleTo(a) && (!q.ID.Set || w.ID == q.ID.V) && (!q.ProgramID.Set || w.ProgramID == q.ProgramID.V) {
			hooks = append(hooks, w)
		}
		if len(hooks) > p.Limit {
			break
		}
	}
	if q.ID.Set && len(hooks) == 0 {
		return p, notFound("webhook")
	}
	failures := failuresOfMany
	if q.ID.Set {
		failures = failuresOfOne
	}
	if len(hooks) > p.Limit {
		hooks = hooks[:p.Limit]
		p.NextCursor = Some(v.cursor(listWebhookReports, a.Shop, 0, hooks[p.Limit-1].key))
	}
	for _, w := range hooks {
		p.Data = append(p.Data, v.webhookReport(w, failures))
	}
	return p, v.failed
}

func (v *View) webhookReport(w webhook, failures int) (o WebhookReport) {
	o = WebhookReport{ID: w.ID, ProgramID: w.ProgramID, Description: w.Description, Events: w.Events, Active: w.Active, Draft: w.draft,
		ConsecutiveFailures: w.ConsecutiveFailures, UpdatedAt: w.UpdatedAt}
	if u, err := url.Parse(w.URL); err == nil {
		o.Host, o.Path = u.Host, u.EscapedPath()
	}
	o.Health = v.webhookHealth(w.key)
	o.Failures = collect(v, func(r *rows) FailedTry {
		return FailedTry{v.DeliveryID(w.key, r.int()), r.str(), r.str(), r.int(), r.nullInt(), r.str(), r.time()}
	}, `SELECT d.event_id, e.name, ifnull(d.outcome, 'pending'), d.attempts, d.response_status, d.last_error, e.occurred_at
		FROM (SELECT * FROM deliveries WHERE webhook_id=? ORDER BY event_id DESC LIMIT ?) d
		CROSS JOIN events e ON e.id=d.event_id WHERE d.last_error IS NOT NULL AND d.outcome IS NOT 'delivered' LIMIT ?`,
		w.key, healthRows, failures)
	return o
}
