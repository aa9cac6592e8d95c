package store

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"punchcard/store/event"
	"punchcard/store/sqlite"
)

// What makes a delivery special (deliveries.special).
const (
	specialSuspension = 1 // subscription.state_changed: goes out though the shop is suspended
	specialTest       = 2 // test.ping: once, also where the webhook is inactive
)

// wakes notes that a webhook has something due; who sends is told after the
// commit.
func (tx *Tx) notifyDue(webhook int64) { tx.dueWebhooks = append(tx.dueWebhooks, webhook) }

// queued is an event and the webhooks that are to get it.
type queuedEvent struct {
	event   int64
	hooks   []int64
	special int
}

var deliveriesInsert = sqlite.InsertOfRows("INSERT INTO deliveries (webhook_id, event_id) VALUES ", "(?,?)", "")

// queueAll writes the delivery rows of a whole group, after its last savepoint
// and before its commit; a failure ends the group. Within a savepoint, and
// within each statement, SQLite copies a page before it first changes it, and
// every webhook's rows are on a page of their own. So they are written webhook by
// webhook: a stamp that goes to fifty then costs about three times one that goes
// to none, and not ten times.
func (s *Store) insertDeliveries(group []*job) error {
	events, rows := map[int64][]any{}, 0 // by webhook
	for _, j := range group {
		for _, q := range j.queuedEvents {
			var one any = q.event // boxed once, however many get it
			for _, h := range q.hooks {
				if q.special == 0 {
					events[h] = append(events[h], one)
					rows++
				} else if _, err := s.writer.exec("INSERT INTO deliveries (webhook_id, event_id, special) VALUES (?,?,?)", h, q.event, q.special); err != nil {
					return err
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
	return s.writer.db().InsertRows(deliveriesInsert, args)
}

// OnDue has f called after each commit with the webhooks for which it queued
// something. f must be quick and must not write: the writer waits for it.
func (s *Store) OnDue(f func(webhooks []int64)) { s.onDue.Store(&f) }

// Attempt is one delivery as it goes out now: what is read here is what the
// file says at this moment, so that a new secret, an erased name or a webhook
// that was switched off counts from the next attempt on.
type Attempt struct {
	Webhook, Event int64
	Attempts       int  // attempts made so far
	DueAt          Time // when it became due
	Test           bool
	EventID        string // the dedup key of the receiver
	Body           []byte
	URL            string
	Secret         string
	Bearer         string            // empty: none
	Headers        map[string]string // custom ones
}

// may tells which of a webhook's pending deliveries are allowed out, as a
// condition on the rows w, sh and d: all of them, tests alone where the webhook
// is inactive, what passes a suspension alone where the shop is suspended, or
// none (contract section 5, "While inactive" and "While the shop is suspended or
// cancelled").
const (
	shopOpen = `sh.subscription_state IN ('active', 'past_due')`
	maySend  = `w.deleted_at IS NULL AND iif(` + shopOpen + `, w.active=1 OR d.special=2, w.active=1 AND d.special=1)`
)

// openTo is the same for a whole webhook: 0 all, 1 what passes a suspension, 2
// tests, 3 nothing.
const sendableSQL = `CASE WHEN w.deleted_at IS NOT NULL THEN 3 WHEN ` + shopOpen + ` THEN iif(w.active=1, 0, 2) WHEN w.active=1 THEN 1 ELSE 3 END`

const webhooksAndShops = " FROM webhooks w JOIN shops sh ON sh.id=w.shop_id"

// fresh is the condition on a delivery's row that its first attempt is to come.
const newDelivery = "outcome IS NULL AND due_at IS NULL"

// DueDeliveries are deliveries of one webhook, by their events.
type DueDeliveries struct {
	Scheduled []int64 // retries, redeliveries, tests: in the order of their times
	New       []int64 // first attempts, in the order of the commits
	Last      int64   // of the fresh ones visited; where the next look may begin
}

// DueDeliveries returns up to n deliveries of a webhook whose time has come, those in skip
// left out; fresh ones are looked for behind the event after, or if that is
// negative behind what the webhook's row says.
func (v *View) DueDeliveries(webhook, after int64, skip []int64, n int) (d DueDeliveries, err error) {
	var least, through int64
	found, err := v.one(func(r *rows) { least, through = r.int(), r.int() }, "SELECT "+columns(sendableSQL, "w.sent_through")+webhooksAndShops+" WHERE w.id=?", webhook)
	if after < 0 {
		after = through
	}
	d.Last = after
	if err != nil || !found || least == 3 {
		return d, err
	}
	timed := [...]string{"", " AND special>0 AND special=1", " AND special>0 AND special=2"}[least]
	not := ""
	args := []any{webhook, v.Now, n}
	if len(skip) > 0 {
		not = " AND event_id NOT IN (SELECT value FROM json_each(?4))"
		args = append(args, jsonKeys(skip))
	}
	if d.Scheduled, err = v.keys("SELECT event_id FROM deliveries WHERE webhook_id=?1 AND outcome IS NULL AND due_at IS NOT NULL AND due_at<=?2"+timed+not+" ORDER BY due_at LIMIT ?3", args...); err != nil || least > 1 || len(d.Scheduled) == n {
		return d, err
	}
	index, first := "", ""
	args[1], args[2] = after, n-len(d.Scheduled)
	if least == 1 {
		// They are first attempts like others, but leave others behind: the next
		// look begins where this one did. Without the index all of the log would be
		// walked for the few.
		args[1], index, first = 0, " INDEXED BY deliveries_special", " AND special>0 AND special=1"
	}
	if d.New, err = v.keys("SELECT event_id FROM deliveries"+index+" WHERE webhook_id=?1 AND event_id>?2 AND "+newDelivery+first+not+" ORDER BY event_id LIMIT ?3", args...); err == nil && least == 0 && len(d.New) > 0 {
		d.Last = d.New[len(d.New)-1]
	}
	return d, err
}

// Attempt reads a delivery for sending; false when it is not to be sent now.
func (v *View) Attempt(webhook, happened int64) (a Attempt, ok bool, err error) {
	var headers string
	ok, err = v.one(func(r *rows) {
		a.Attempts, a.Test, a.DueAt = int(r.int()), r.int() == specialTest, r.time()
		a.URL, a.Secret, a.Bearer, headers = r.str(), r.str(), r.str(), r.str()
		a.Body = r.bytes()
	}, "SELECT "+columns("d.attempts", "d.special", "ifnull(d.due_at, e.occurred_at)", "w.url", "w.secret", "w.bearer_token", "w.custom_headers",
		"CASE w.payload_version WHEN 'v1' THEN e.payload_v1 ELSE e.payload_v2 END")+
		" FROM deliveries d JOIN webhooks w ON w.id=d.webhook_id JOIN shops sh ON sh.id=w.shop_id JOIN events e ON e.id=d.event_id"+
		" WHERE d.webhook_id=? AND d.event_id=? AND d.outcome IS NULL AND ifnull(d.due_at, 0)<=? AND "+maySend, webhook, happened, v.Now)
	if err != nil || !ok {
		return a, false, err
	}
	a.Webhook, a.Event, a.EventID = webhook, happened, v.s.deliveryID(KindEvent, webhook, happened)
	a.Body = event.Splice(a.Body, a.EventID)
	if headers != "{}" {
		err = json.Unmarshal([]byte(headers), &a.Headers)
	}
	return a, err == nil, err
}

// CountPending counts the deliveries that wait, for their first attempt or a later
// one, up to most.
func (v *View) CountPendingDeliveries(most int64) (int64, error) {
	timed, err := v.number("SELECT count(*) FROM (SELECT 1 FROM deliveries WHERE outcome IS NULL AND due_at IS NOT NULL LIMIT ?)", most)
	if err != nil {
		return 0, err
	}
	fresh, err := v.number("SELECT count(*) FROM (SELECT 1 FROM webhooks w CROSS JOIN deliveries d ON d.webhook_id=w.id AND d.event_id>w.sent_through WHERE d."+newDelivery+" LIMIT ?)", most)
	return min(most, timed+fresh), err
}

// ScheduledWebhook is a webhook that has a retry, redelivery or test to send.
type ScheduledWebhook struct {
	Webhook int64
	Due     Time // of the first one
}

// ScheduledWebhooks returns the webhooks that have a retry, redelivery or test to send, now
// or later. It looks at one row for each, however long its queue is.
func (v *View) WebhooksWithScheduledDeliveries() (list []ScheduledWebhook, err error) {
	const timed = "SELECT min(webhook_id) FROM deliveries WHERE outcome IS NULL AND due_at IS NOT NULL"
	const first = "(SELECT min(due_at) FROM deliveries WHERE webhook_id=w.id AND outcome IS NULL AND due_at IS NOT NULL"
	r := v.query("WITH RECURSIVE q(id) AS (" + timed + " UNION ALL SELECT (" + timed + " AND webhook_id>q.id) FROM q WHERE q.id IS NOT NULL) " +
		"SELECT " + columns("q.id", "CASE "+sendableSQL+" WHEN 0 THEN "+first+") WHEN 1 THEN "+first+" AND special>0 AND special=1) WHEN 2 THEN "+first+" AND special>0 AND special=2) END") +
		" FROM q JOIN webhooks w ON w.id=q.id JOIN shops sh ON sh.id=w.shop_id")
	for r.next() {
		w := ScheduledWebhook{Webhook: r.int()}
		if due := r.nullTime(); due.Valid {
			w.Due = due.V
			list = append(list, w)
		}
	}
	return list, r.close()
}

// OutboxVersion changes when webhooks may have something fresh to send: with every event,
// and with every change to webhooks and shops, of any process.
type OutboxVersion struct{ event, epoch int64 }

// OutboxVersion returns the current version.
func (v *View) OutboxVersion() (m OutboxVersion, err error) {
	_, err = v.one(func(r *rows) { m.event, m.epoch = r.int(), r.int() }, "SELECT "+columns("ifnull((SELECT max(id) FROM events), 0)", "hook_epoch")+" FROM meta")
	return m, err
}

// WebhooksWithFirstAttempts returns the webhooks that have a first attempt to make. It looks at one or
// few rows for each webhook there is.
func (v *View) WebhooksWithNewDeliveries() ([]int64, error) {
	return v.keys("SELECT w.id" + webhooksAndShops + " WHERE CASE " + sendableSQL + " WHEN 0 THEN EXISTS (SELECT 1 FROM deliveries WHERE webhook_id=w.id AND event_id>w.sent_through AND " + newDelivery + ")" +
		" WHEN 1 THEN EXISTS (SELECT 1 FROM deliveries WHERE webhook_id=w.id AND outcome IS NULL AND special>0 AND special=1) END")
}

// Outcome is what became of an attempt.
type Outcome struct {
	Webhook, Event int64
	SentThrough    int64 // no event up to this one waits for its first attempt at the webhook
	Test           bool
	Success        bool
	Gone           bool        // 410: the webhook is switched off at once
	Status         Null[int64] // of the response
	Error          string      // fit to be shown; empty on success
	Duration       time.Duration
	Lag            time.Duration // from when it was due to the attempt, by the store's clock; not written down
	Headers        string        // JSON object of the request's headers, secrets masked
	RetryAfter     time.Duration // until the next attempt, if there is to be one
	TimedOut       bool          // there was no whole answer in time; not written down
	NextAttempt    Null[Time]    // when the next attempt is due; told after it was written down, not written itself
}

// RecordOutcome writes an outcome into the delivery log, and what follows from it for
// the webhook (contract section 5, "Consecutive failures"). Of a delivery that
// is gone by now nothing is written.
func (tx *Tx) RecordOutcome(o Outcome) error {
	took := o.Duration.Milliseconds()
	if o.Success {
		n, err := tx.exec("UPDATE deliveries SET outcome='delivered', attempts=attempts+1, response_status=?, last_error=NULL, duration_ms=?, request_headers=?, delivered_at=? WHERE webhook_id=? AND event_id=? AND outcome IS NULL",
			o.Status, took, o.Headers, tx.Now, o.Webhook, o.Event)
		if err != nil || n == 0 || o.Test {
			return err
		}
		_, err = tx.exec("UPDATE webhooks SET consecutive_failures=0, sent_through=max(sent_through, ?) WHERE id=?", o.SentThrough, o.Webhook)
		return err
	}
	attempts, err := tx.number("SELECT attempts+1 FROM deliveries WHERE webhook_id=? AND event_id=? AND outcome IS NULL", o.Webhook, o.Event)
	if err != nil || attempts == 0 {
		return err
	}
	over := o.Gone || o.Test || attempts >= int64(tx.Limits.DeliveryAttempts)
	var outcome Null[string]
	if over {
		outcome = Some("failed")
	}
	if !o.Test {
		if _, err := tx.exec("UPDATE webhooks SET sent_through=max(sent_through, ?) WHERE id=?", o.SentThrough, o.Webhook); err != nil {
			return err
		}
	}
	if _, err := tx.exec("UPDATE deliveries SET outcome=?, due_at=?, attempts=?, response_status=?, last_error=?, duration_ms=?, request_headers=? WHERE webhook_id=? AND event_id=?",
		outcome, tx.Now.Add(o.RetryAfter), attempts, o.Status, o.Error, took, o.Headers, o.Webhook, o.Event); err != nil {
		return err
	}
	if !over || o.Test {
		return nil
	}
	return tx.countFailure(o)
}

// NextAttempt is when a delivery is to be attempted again: null when it is over.
func (tx *Tx) NextAttempt(webhook, event int64) (at Null[Time], err error) {
	_, err = tx.one(func(r *rows) { at = r.nullTime() }, "SELECT "+columns("due_at")+" FROM deliveries WHERE webhook_id=? AND event_id=? AND outcome IS NULL", webhook, event)
	return at, err
}

// failed counts a delivery whose attempts are used up, and switches the webhook
// off where they are too many in a row.
func (tx *Tx) countFailure(o Outcome) error {
	var shop, failures int64
	var active bool
	if _, err := tx.one(func(r *rows) { shop, failures, active = r.int(), r.int()+1, r.bool() },
		"SELECT "+columns("shop_id", "consecutive_failures", "active")+" FROM webhooks WHERE id=?", o.Webhook); err != nil {
		return err
	}
	if _, err := tx.exec("UPDATE webhooks SET consecutive_failures=? WHERE id=?", failures, o.Webhook); err != nil {
		return err
	}
	if !active || !o.Gone && failures < int64(tx.Limits.DeliveryFailures) {
		return nil
	}
	if _, err := tx.exec("UPDATE webhooks SET active=0, updated_at=? WHERE id=?", tx.Now, o.Webhook); err != nil {
		return err
	}
	if err := tx.bumpHookEpoch(); err != nil {
		return err
	}
	return tx.audit(shop, "webhook.disable", KindWebhook, o.Webhook, `{"consecutive_failures":`+strconv.FormatInt(failures, 10)+`}`)
}

// dropWebhooks takes a program's webhooks away, what is pending for them too.
func (tx *Tx) deleteProgramWebhooks(program int64) error {
	_, err := tx.exec("UPDATE webhooks SET deleted_at=? WHERE program_id=? AND deleted_at IS NULL", tx.Now, program)
	return err
}
