package store

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"punchcard/store/event"
	"punchcard/store/sqlite"
)

// The values of deliveries.special other than 0.
const (
	specialSuspension = 1 // subscription.state_changed: is sent although the shop is suspended
	specialTest       = 2 // test.ping: is sent once, also to an inactive webhook
)

// notifyDue has the function of OnDue called after the commit, with the webhook
// among its arguments.
func (tx *Tx) notifyDue(webhook int64) { tx.dueWebhooks = append(tx.dueWebhooks, webhook) }

// queuedEvent is an event and the webhooks that it is to be sent to.
type queuedEvent struct {
	event   int64
	hooks   []int64
	special int
}

var deliveriesInsert = sqlite.InsertOfRows("INSERT INTO deliveries (webhook_id, event_id) VALUES ", "(?,?)", "")

// insertDeliveries writes the delivery rows of a whole group, after its last
// savepoint and before its commit. An error ends the group. Within a savepoint,
// and within each statement, SQLite copies a page before it first changes it, and
// the rows of each webhook are on pages of their own. So the rows are written
// webhook by webhook: a stamp that goes to fifty webhooks then costs about three
// times one that goes to none, instead of ten times.
func (tx *Tx) insertDeliveries(group []*job) {
	events, rows := map[int64][]any{}, 0 // by webhook
	for _, j := range group {
		for _, q := range j.queuedEvents {
			var one any = q.event // allocated once for all webhooks
			for _, h := range q.hooks {
				if q.special == 0 {
					events[h] = append(events[h], one)
					rows++
				} else {
					tx.exec("INSERT INTO deliveries (webhook_id, event_id, special) VALUES (?,?,?)", h, q.event, q.special)
				}
			}
		}
		j.queuedEvents = nil
	}
	args := make([]any, 0, 2*rows)
	for _, h := range slices.Sorted(maps.Keys(events)) {
		var hook any = h
		for _, e := range events[h] {
			args = append(args, hook, e)
		}
	}
	tx.insertRows(deliveriesInsert, args)
}

// OnDue has f called after each commit with the webhooks for which it queued
// something. f must be quick and must not write: the writer waits for it.
func (s *Store) OnDue(f func(webhooks []int64)) { s.onDue.Store(&f) }

// Attempt is one delivery with all that is needed to send it. It is read right
// before each attempt, so that a new secret, the erasure of a holder and the
// deactivation of a webhook hold from the next attempt on.
type Attempt struct {
	Webhook, Event int64
	Attempts       int // attempts made so far
	DueAt          Time
	Test           bool
	EventID        string // by which the receiver recognises repetitions
	Sequence       int64  // of the event among those of the shop
	Body           []byte
	URL            string
	Secret         string
	Bearer         string            // empty: none
	Headers        map[string]string // custom ones
}

// maySend is the condition on a webhook w, its shop sh and a pending delivery d
// that the delivery may be sent. A closed shop sends nothing. An inactive webhook gets tests only, a webhook
// of a suspended or cancelled shop only what is marked specialSuspension, and a
// deleted one nothing.
const (
	shopOpen = `sh.subscription_state IN ('active', 'past_due')`
	maySend  = `w.deleted_at IS NULL AND sh.closed IS NULL AND iif(` + shopOpen + `, w.active=1 OR d.special=2, w.active=1 AND d.special=1)`
)

// sendableSQL is an expression that says the same of a whole webhook: 0 is all
// deliveries, 1 and 2 those with that value of special, 3 none.
const sendableSQL = `CASE WHEN w.deleted_at IS NOT NULL OR sh.closed IS NOT NULL THEN 3 WHEN ` + shopOpen + ` THEN iif(w.active=1, 0, 2)
	WHEN w.active=1 THEN 1 ELSE 3 END`

const webhooksAndShops = " FROM webhooks w JOIN shops sh ON sh.id=w.shop_id"

// newDelivery is the condition on a row of deliveries that its first attempt was
// not made yet.
const newDelivery = "outcome IS NULL AND due_at IS NULL"

// DueDeliveries are deliveries of one webhook, by the keys of their events.
type DueDeliveries struct {
	Scheduled []int64       // retries, redeliveries and tests, in the order of their times
	New       []NewDelivery // first attempts, in the order of the commits
	Last      int64         // the last of New, to pass as after in the next call
}

// NewDelivery is a delivery without an attempt.
type NewDelivery struct {
	Event int64
	Chain int64 // the root of the card that the event is about and of its overflow children; 0: no card
}

// chainOf is an expression for the chain of a delivery's event.
const chainOf = "ifnull((SELECT ifnull(c.root_id, c.id) FROM events e JOIN cards c ON c.id=e.card_id WHERE e.id=event_id), 0)"

// DueDeliveries returns up to n deliveries of a webhook that are due, without
// those of the events in skip. Up to fresh of them are new. It looks for new ones
// after the event after, or, if that is negative, after the webhook's sent_through.
func (v *View) DueDeliveries(webhook, after int64, skip []int64, n, fresh int) (d DueDeliveries, err error) {
	var priority, through int64
	found := v.one(into(&priority, &through), "SELECT "+sendableSQL+", w.sent_through"+webhooksAndShops+" WHERE w.id=?", webhook)
	if after < 0 {
		after = through
	}
	d.Last = after
	if !found || priority == 3 {
		return d, v.failed
	}
	timed := [...]string{"", " AND special>0 AND special=1", " AND special>0 AND special=2"}[priority]
	not := ""
	args := []any{webhook, v.Now, n}
	if len(skip) > 0 {
		not = " AND event_id NOT IN (SELECT value FROM json_each(?4))"
		args = append(args, jsonKeys(skip))
	}
	d.Scheduled = v.keys(
		"SELECT event_id FROM deliveries WHERE webhook_id=?1 AND outcome IS NULL AND due_at IS NOT NULL AND due_at<=?2"+timed+not+
			" ORDER BY due_at LIMIT ?3",
		args...)
	if fresh = min(fresh, n-len(d.Scheduled)); priority > 1 || fresh <= 0 {
		return d, v.failed
	}
	index, first := "", ""
	args[1], args[2] = after, fresh
	if priority == 1 {
		// These deliveries pass others that wait, so the next call begins at the same
		// event. Without the index SQLite would walk the whole log for the few.
		args[1], index, first = 0, " INDEXED BY deliveries_special", " AND special>0 AND special=1"
	}
	for r := range v.each("SELECT event_id, "+chainOf+" FROM deliveries"+index+" WHERE webhook_id=?1 AND event_id>?2 AND "+
		newDelivery+first+not+" ORDER BY event_id LIMIT ?3", args...) {
		d.New = append(d.New, NewDelivery{r.int(), r.int()})
	}
	if priority == 0 && len(d.New) > 0 {
		d.Last = d.New[len(d.New)-1].Event
	}
	return d, v.failed
}

// Attempt reads a delivery for sending. It returns false if the delivery is not
// to be sent now.
func (v *View) Attempt(webhook, eventKey int64) (a Attempt, ok bool, err error) {
	if !v.one(into(&a.Attempts, &a.Test, &a.DueAt, &a.URL, &a.Secret, &a.Bearer, &a.Sequence, &a.Headers, &a.Body),
		`SELECT d.attempts, d.special=2, ifnull(d.due_at, e.occurred_at), w.url, w.secret, w.bearer_token, ifnull(e.sequence, e.id),
		w.custom_headers, CASE w.payload_version WHEN 'v1' THEN e.payload_v1 ELSE e.payload_v2 END FROM deliveries d
		JOIN webhooks w ON w.id=d.webhook_id JOIN shops sh ON sh.id=w.shop_id JOIN events e ON e.id=d.event_id
		WHERE d.webhook_id=? AND d.event_id=? AND d.outcome IS NULL AND ifnull(d.due_at, 0)<=? AND `+maySend, webhook, eventKey, v.Now) {
		return a, false, v.failed
	}
	a.Webhook, a.Event, a.EventID = webhook, eventKey, v.deliveryID(KindEvent, webhook, eventKey)
	a.Body = event.Splice(a.Body, a.EventID)
	return a, true, nil
}

// CountPendingDeliveries returns the number of deliveries that wait for an
// attempt, at most max.
func (v *View) CountPendingDeliveries(max int64) (int64, error) {
	timed := v.number("SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE outcome IS NULL AND due_at IS NOT NULL LIMIT ?)", max)
	fresh := v.number(
		`SELECT count(*) FROM (SELECT 1 FROM webhooks w CROSS JOIN deliveries d ON d.webhook_id=w.id AND d.event_id>w.sent_through
			WHERE d.`+newDelivery+" LIMIT ?)", max)
	return min(max, timed+fresh), v.failed
}

// ScheduledWebhook is a webhook with a retry, redelivery or test to send.
type ScheduledWebhook struct {
	Webhook int64
	Due     Time // of the first one
}

// WebhooksWithScheduledDeliveries returns the webhooks that have a retry,
// redelivery or test to send, now or later. It reads one row for each webhook,
// however long its queue is.
func (v *View) WebhooksWithScheduledDeliveries() (list []ScheduledWebhook, err error) {
	const timed = "SELECT min(webhook_id) FROM deliveries WHERE outcome IS NULL AND due_at IS NOT NULL"
	const first = "(SELECT min(due_at) FROM deliveries WHERE webhook_id=w.id AND outcome IS NULL AND due_at IS NOT NULL"
	for r := range v.each("WITH RECURSIVE q(id) AS (" + timed + " UNION ALL SELECT (" + timed + ` AND webhook_id>q.id) FROM q
		WHERE q.id IS NOT NULL) SELECT q.id, CASE ` + sendableSQL + " WHEN 0 THEN " + first + ") WHEN 1 THEN " +
		first + " AND special>0 AND special=1) WHEN 2 THEN " + first + ` AND special>0 AND special=2) END FROM q
				JOIN webhooks w ON w.id=q.id JOIN shops sh ON sh.id=w.shop_id`) {
		w := ScheduledWebhook{Webhook: r.int()}
		if due := r.nullTime(); due.Valid {
			w.Due = due.V
			list = append(list, w)
		}
	}
	return list, v.failed
}

// OutboxVersion changes when webhooks may have new deliveries: with every event
// and every change of webhooks and shops, by any process.
type OutboxVersion struct{ event, epoch int64 }

// OutboxVersion returns the current version.
func (v *View) OutboxVersion() (m OutboxVersion, err error) {
	v.one(into(&m.event, &m.epoch), "SELECT ifnull((SELECT max(id) FROM events), 0), hook_epoch FROM meta")
	return m, v.failed
}

// WebhooksWithNewDeliveries returns the webhooks that have first attempts to
// make. It reads a few rows for each webhook.
func (v *View) WebhooksWithNewDeliveries() ([]int64, error) {
	return v.keys("SELECT w.id" + webhooksAndShops + " WHERE CASE " + sendableSQL +
			" WHEN 0 THEN EXISTS (SELECT 1 FROM deliveries WHERE webhook_id=w.id AND event_id>w.sent_through AND " + newDelivery + ")" +
			" WHEN 1 THEN EXISTS (SELECT 1 FROM deliveries WHERE webhook_id=w.id AND outcome IS NULL AND special>0 AND special=1) END"),
		v.failed
}

// Outcome is the result of an attempt.
type Outcome struct {
	Webhook, Event int64
	SentThrough    int64 // the last event up to which the webhook has no new deliveries
	Test           bool
	Success        bool
	Gone           bool        // status 410: the webhook is deactivated at once
	Status         Null[int64] // of the response
	Error          string      // may be shown; empty on success
	Duration       time.Duration
	Lag            time.Duration // from the due time to the attempt, by the store's clock; not stored
	Headers        string        // JSON object of the request's headers, secrets masked
	RetryAfter     time.Duration // until the next attempt, if there is to be one
	TimedOut       bool          // there was no complete answer in time; not stored
	NextAttempt    Null[Time]    // when the next attempt is due; set after RecordOutcome, not stored
}

// RecordOutcome writes an outcome into the delivery log, and counts or resets
// the webhook's consecutive failures. It ignores a delivery that no longer
// exists. A test counts neither as a success nor as a failure.
func (tx *Tx) RecordOutcome(o Outcome) error {
	took := o.Duration.Milliseconds()
	if o.Success {
		n := tx.exec(`UPDATE deliveries SET outcome='delivered', attempts=attempts+1, response_status=?, last_error=NULL, duration_ms=?,
				request_headers=?, delivered_at=? WHERE webhook_id=? AND event_id=? AND outcome IS NULL`, o.Status, took, o.Headers,
			tx.Now, o.Webhook, o.Event)
		if n == 0 || o.Test {
			return tx.failed
		}
		tx.exec("UPDATE webhooks SET consecutive_failures=0, sent_through=max(sent_through, ?) WHERE id=?", o.SentThrough, o.Webhook)
		return tx.failed
	}
	attempts := tx.number("SELECT attempts+1 FROM deliveries WHERE webhook_id=? AND event_id=? AND outcome IS NULL", o.Webhook, o.Event)
	if attempts == 0 {
		return tx.failed
	}
	final := o.Gone || o.Test || attempts >= int64(tx.Limits.DeliveryAttempts)
	var outcome Null[string]
	if final {
		outcome = Some("failed")
	}
	if !o.Test {
		tx.exec("UPDATE webhooks SET sent_through=max(sent_through, ?) WHERE id=?", o.SentThrough, o.Webhook)
	}
	tx.exec(`UPDATE deliveries SET outcome=?, due_at=?, attempts=?, response_status=?, last_error=?, duration_ms=?, request_headers=?
			WHERE webhook_id=? AND event_id=?`, outcome, tx.Now.Add(o.RetryAfter), attempts, o.Status, o.Error, took, o.Headers,
		o.Webhook, o.Event)
	if final && !o.Test {
		tx.countFailure(o)
	}
	return tx.failed
}

// NextAttempt returns when a delivery is to be attempted again, null if it is
// not.
func (tx *Tx) NextAttempt(webhook, event int64) (at Null[Time], err error) {
	tx.one(into(&at), "SELECT due_at FROM deliveries WHERE webhook_id=? AND event_id=? AND outcome IS NULL", webhook, event)
	return at, tx.failed
}

// countFailure counts a delivery whose attempts are used up. It deactivates the
// webhook after a 410, and after Limits.DeliveryFailures of them in a row.
func (tx *Tx) countFailure(o Outcome) {
	var shop, failures int64
	var active bool
	tx.one(func(r *rows) { shop, failures, active = r.int(), r.int()+1, r.bool() },
		"SELECT shop_id, consecutive_failures, active FROM webhooks WHERE id=?", o.Webhook)
	tx.exec("UPDATE webhooks SET consecutive_failures=? WHERE id=?", failures, o.Webhook)
	if !active || !o.Gone && failures < int64(tx.Limits.DeliveryFailures) {
		return
	}
	tx.exec("UPDATE webhooks SET active=0, updated_at=? WHERE id=?", tx.Now, o.Webhook)
	tx.bumpHookEpoch()
	tx.audit(shop, "webhook.disable", KindWebhook, o.Webhook, `{"consecutive_failures":`+strconv.FormatInt(failures, 10)+`}`)
}
