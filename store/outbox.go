package store

import (
	"encoding/json"
	"strconv"
	"time"

	"punchcard/webhook/event"
)

// What makes a delivery special (deliveries.special).
const (
	throughSuspension = 1 // subscription.state_changed: goes out though the shop is suspended
	onlyATest         = 2 // test.ping: once, also where the webhook is inactive
)

// wakes notes that a webhook has something due; who sends is told after the
// commit.
func (tx *Tx) wakes(webhook int64) { tx.woken = append(tx.woken, webhook) }

// OnDue has f called after each commit with the webhooks for which it queued
// something. f must be quick and must not write: the writer waits for it.
func (s *Store) OnDue(f func(webhooks []int64)) { s.onDue.Store(&f) }

// Attempt is one delivery as it goes out now: what is read here is what the
// file says at this moment, so that a new secret, an erased name or a webhook
// that was switched off counts from the next attempt on.
type Attempt struct {
	Delivery int64
	Webhook  int64
	Before   int // attempts made so far
	Test     bool
	EventID  string // the dedup key of the receiver
	Body     []byte
	URL      string
	Secret   string
	Bearer   string            // empty: none
	Headers  map[string]string // custom ones
}

// may tells which of a webhook's pending deliveries are allowed out, as a
// condition on the rows w, sh and d: all of them, those that pass a
// suspension, tests alone, or none (contract section 5, "While inactive" and
// "While the shop is suspended or cancelled").
const may = `w.deleted_at IS NULL AND (w.active=1 OR d.special=2) AND (sh.subscription_state IN ('active', 'past_due') OR d.special>0)`

// openTo is the same for a whole webhook: the least special that may go out, 3
// where nothing may.
const openTo = `CASE WHEN w.deleted_at IS NOT NULL THEN 3 WHEN w.active=0 THEN 2 WHEN sh.subscription_state IN ('active', 'past_due') THEN 0 ELSE 1 END`

// DueKeys are up to n deliveries of a webhook whose time has come, in the order
// in which they are to start, without those in skip.
func (v *View) DueKeys(webhook int64, skip []int64, n int) (keys []int64, err error) {
	least, err := v.number("SELECT "+openTo+" FROM webhooks w JOIN shops sh ON sh.id=w.shop_id WHERE w.id=?", webhook)
	if err != nil || least == 3 {
		return nil, err
	}
	// A webhook that has no row at all reads as 0 and finds nothing.
	cond := ""
	switch least {
	case 1:
		cond = " AND special>0"
	case 2:
		cond = " AND special>0 AND special=2"
	}
	not := ""
	if len(skip) > 0 {
		not = " AND id NOT IN (SELECT value FROM json_each(?4))"
	}
	args := []any{webhook, v.Now, n}
	if not != "" {
		args = append(args, jsonKeys(skip))
	}
	r := v.query("SELECT id FROM deliveries WHERE webhook_id=?1 AND state='pending' AND due_at<=?2"+cond+not+" ORDER BY due_at, id LIMIT ?3", args...)
	for r.next() {
		keys = append(keys, r.int())
	}
	return keys, r.close()
}

// Attempt reads a delivery for sending; false when it is not to be sent now.
func (v *View) Attempt(delivery int64) (a Attempt, ok bool, err error) {
	var headers string
	ok, err = v.one(func(r *rows) {
		a.Webhook, a.Before = r.int(), int(r.int())
		a.Test = r.int() == onlyATest
		a.URL, a.Secret, a.Bearer, headers = r.str(), r.str(), r.str(), r.str()
		a.Body = []byte(r.str())
	}, "SELECT "+packed("d.webhook_id", "d.attempts", "d.special", "w.url", "w.secret", "w.bearer_token", "w.custom_headers",
		"CASE w.payload_version WHEN 'v1' THEN CAST(e.payload_v1 AS TEXT) ELSE CAST(e.payload_v2 AS TEXT) END")+
		" FROM deliveries d JOIN webhooks w ON w.id=d.webhook_id JOIN shops sh ON sh.id=w.shop_id JOIN events e ON e.id=d.event_id WHERE d.id=? AND d.state='pending' AND d.due_at<=? AND "+may,
		delivery, v.Now)
	if err != nil || !ok {
		return a, false, err
	}
	a.Delivery, a.EventID = delivery, v.s.ID(KindEvent, delivery)
	a.Body = event.Splice(a.Body, a.EventID)
	if headers != "{}" {
		err = json.Unmarshal([]byte(headers), &a.Headers)
	}
	return a, err == nil, err
}

// Waiting is a webhook with pending deliveries.
type Waiting struct {
	Webhook int64
	Due     Time // of the first one
}

// Waiting are the webhooks that have something to send now or later. It looks
// at one row for each webhook, however long its queue is.
func (v *View) Waiting() (list []Waiting, err error) {
	const first = "(SELECT min(due_at) FROM deliveries WHERE webhook_id=w.id AND state='pending'"
	r := v.query("WITH RECURSIVE q(id) AS (SELECT min(webhook_id) FROM deliveries WHERE state='pending' UNION ALL " +
		"SELECT (SELECT min(webhook_id) FROM deliveries WHERE state='pending' AND webhook_id>q.id) FROM q WHERE q.id IS NOT NULL) " +
		"SELECT " + packed("q.id", "CASE "+openTo+" WHEN 0 THEN "+first+") WHEN 1 THEN "+first+" AND special>0) WHEN 2 THEN "+first+" AND special>0 AND special=2) END") +
		" FROM q JOIN webhooks w ON w.id=q.id JOIN shops sh ON sh.id=w.shop_id")
	for r.next() {
		w := Waiting{Webhook: r.int()}
		if due := r.nullTime(); due.Valid {
			w.Due = due.V
			list = append(list, w)
		}
	}
	return list, r.close()
}

// Pending is how many deliveries wait.
func (v *View) Pending() (int64, error) {
	return v.number("SELECT count(*) FROM deliveries WHERE state='pending'")
}

// Outcome is what became of an attempt.
type Outcome struct {
	Delivery int64
	Webhook  int64
	Test     bool
	Success  bool
	Gone     bool        // 410: the webhook is switched off at once
	Status   Null[int64] // of the response
	Error    string      // fit to be shown; empty on success
	Took     time.Duration
	Headers  string        // JSON object of the request's headers, secrets masked
	Retry    time.Duration // until the next attempt, if there is to be one
}

// Record writes an outcome into the delivery log, and what follows from it for
// the webhook (contract section 5, "Consecutive failures"). Of a delivery that
// is gone by now nothing is written.
func (tx *Tx) Record(o Outcome) error {
	took := o.Took.Milliseconds()
	if o.Success {
		n, err := tx.exec("UPDATE deliveries SET state='delivered', attempts=attempts+1, response_status=?, last_error=NULL, duration_ms=?, request_headers=?, delivered_at=? WHERE id=? AND state='pending'",
			o.Status, took, o.Headers, tx.Now, o.Delivery)
		if err != nil || n == 0 || o.Test {
			return err
		}
		_, err = tx.exec("UPDATE webhooks SET consecutive_failures=0 WHERE id=? AND consecutive_failures>0", o.Webhook)
		return err
	}
	attempts, err := tx.number("SELECT attempts+1 FROM deliveries WHERE id=? AND state='pending'", o.Delivery)
	if err != nil || attempts == 0 {
		return err
	}
	over := o.Gone || o.Test || attempts >= int64(tx.Limits.DeliveryAttempts)
	state, due := "pending", tx.Now.Add(o.Retry)
	if over {
		state = "failed"
	}
	if _, err := tx.exec("UPDATE deliveries SET state=?, due_at=?, attempts=?, response_status=?, last_error=?, duration_ms=?, request_headers=? WHERE id=?",
		state, due, attempts, o.Status, o.Error, took, o.Headers, o.Delivery); err != nil {
		return err
	}
	if !over || o.Test {
		return nil
	}
	return tx.failed(o)
}

// failed counts a delivery whose attempts are used up, and switches the webhook
// off where they are too many in a row.
func (tx *Tx) failed(o Outcome) error {
	var shop, failures int64
	var active bool
	if _, err := tx.one(func(r *rows) { shop, failures, active = r.int(), r.int()+1, r.bool() },
		"SELECT "+packed("shop_id", "consecutive_failures", "active")+" FROM webhooks WHERE id=?", o.Webhook); err != nil {
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
	if err := tx.bumpHooks(); err != nil {
		return err
	}
	return tx.audit(shop, "webhook.disable", KindWebhook, o.Webhook, `{"consecutive_failures":`+strconv.FormatInt(failures, 10)+`}`)
}

// dropWebhooks takes a program's webhooks away, what is pending for them too.
func (tx *Tx) dropWebhooks(program int64) error {
	_, err := tx.exec("UPDATE webhooks SET deleted_at=? WHERE program_id=? AND deleted_at IS NULL", tx.Now, program)
	return err
}
