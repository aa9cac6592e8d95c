package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// sweep calls SweepDeliveries with batches of n until there is nothing more, and returns the
// number of batches.
func (f *fixture) sweep(n int) (batches int) {
	f.t.Helper()
	var at DeliverySweep
	for more := true; more; batches++ {
		if batches > 10000 {
			f.t.Fatal("the sweep does not end")
		}
		more = must(f, func(tx *Tx) (bool, error) { return tx.SweepDeliveries(&at, n) })
	}
	return batches
}

// sent issues n cards, whose events are delivered, and returns the keys of the first and the last
// event.
func (f *fixture) sent(program string, n int) (first, last int64) {
	for range n {
		f.card(program)
	}
	last = f.number("SELECT max(event_id) FROM deliveries")
	f.record(Outcome{Success: true, Status: Some(int64(200)), Headers: "{}"})
	return last - int64(n) + 1, last
}

// record records an outcome for everything that is due, and returns the number of deliveries.
func (f *fixture) record(o Outcome) (n int) {
	var hooks []int64
	f.view(func(v *View) (err error) {
		list, err := v.WebhooksWithScheduledDeliveries()
		for _, w := range list {
			hooks = append(hooks, w.Webhook)
		}
		if err != nil {
			return err
		}
		fresh, err := v.WebhooksWithNewDeliveries()
		hooks = append(hooks, fresh...)
		return err
	})
	for _, w := range hooks {
		for _, event := range f.due(w, nil, 1000) {
			o.Webhook, o.Event, o.SentThrough = w, event, event
			f.recordOutcome(o)
			n++
		}
	}
	return n
}

// due returns the events of a webhook's due deliveries: those with a time first, then the new ones.
func (f *fixture) due(webhook int64, skip []int64, n int) (events []int64) {
	f.view(func(v *View) error {
		d, err := v.DueDeliveries(webhook, -1, skip, n, n)
		events = d.Scheduled
		for _, fresh := range d.New {
			events = append(events, fresh.Event)
		}
		return err
	})
	return events
}

// counts returns the numbers of deliveries and events.
func (f *fixture) counts() string {
	return fmt.Sprintf("%d deliveries, %d events", f.number("SELECT count(*) FROM deliveries"), f.number("SELECT count(*) FROM events"))
}

// has checks how many deliveries and events there are.
func (f *fixture) has(want string) {
	f.t.Helper()
	if got := f.counts(); got != want {
		f.t.Errorf("%s are left, want %s", got, want)
	}
}

// TestSweepLeavesPending checks that pending deliveries of any age stay, and an event until its
// last delivery is deleted.
func TestSweepLeavesPending(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Tea"))
	off := f.subscribe(program, nil)
	on := f.subscribe(program, nil)
	for range 4 {
		f.card(program)
	}
	f.activate(program, off.ID, false)
	f.record(Outcome{Success: true, Headers: "{}"})
	f.clock.move(days(400))
	f.sweep(3)
	f.has("4 deliveries, 4 events")
	if got := f.lines("SELECT DISTINCT ifnull(outcome, 'pending')||webhook_id FROM deliveries"); !slices.Equal(
		got,
		[]string{fmt.Sprint("pending", f.key(KindWebhook, off.ID))},
	) {
		t.Errorf("left are %q, the active one is %s", got, on.ID)
	}
	f.activate(program, off.ID, true)
	if n := f.record(Outcome{Success: true, Headers: "{}"}); n != 4 {
		t.Errorf("%d were sent when it was enabled, want 4", n)
	}
	f.clock.move(days(30))
	f.sweep(3)
	f.has("4 deliveries, 4 events")
	f.clock.move(time.Millisecond)
	f.sweep(3)
	f.has("0 deliveries, 0 events")
	// The key of a deleted event is not used again, so that no event_id is repeated.
	if first, _ := f.sent(program, 1); first != 5 {
		t.Errorf("the next event is number %d, want 5", first)
	}
	f.checkFile()
}

// TestRetentionFromLastAttempt checks that the log of an old event is kept for 30 days from a
// redelivery, whether it succeeds or fails.
func TestRetentionFromLastAttempt(t *testing.T) {
	for _, again := range []Outcome{{Success: true, Headers: "{}"}, {Gone: true, Headers: "{}"}} {
		f := start(t)
		program := f.program(stamps("Tea"))
		w := f.subscribe(program, nil)
		f.sent(program, 1)
		f.clock.move(days(30))
		f.redeliver(program, w.ID, f.log(program, w.ID)[0].ID)
		f.record(again)
		f.clock.move(days(30))
		f.sweep(3)
		f.has("1 deliveries, 1 events")
		f.clock.move(time.Millisecond)
		f.sweep(3)
		f.has("0 deliveries, 0 events")
	}
}

// TestSweepVisitsOnce checks that a sweep visits each old event once, also if events that stay
// come first: it needs as many batches as the events fill. A batch deletes at most its size of
// deliveries and of events.
func TestSweepVisitsOnce(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Tea"))
	w := f.subscribe(program, nil)
	for range 50 { // these stay pending
		f.card(program)
	}
	f.activate(program, w.ID, false)
	f.subscribe(program, nil)
	f.sent(program, 30)
	f.clock.move(days(31))
	f.sent(program, 5)
	if n := f.sweep(10); n != 9 { // 80 old events and an incomplete batch
		t.Errorf("%d batches of ten for 80 events", n)
	}
	f.has("55 deliveries, 55 events")
	if n := f.sweep(10); n != 6 {
		t.Errorf("%d batches of ten for 50 that stay", n)
	}
	f.clock.move(days(31)) // the last five are old as well
	var at DeliverySweep
	for more := true; more; {
		before := f.number("SELECT (SELECT count(*) FROM deliveries)+(SELECT count(*) FROM events)")
		more = must(f, func(tx *Tx) (bool, error) { return tx.SweepDeliveries(&at, 4) })
		if gone := before - f.number("SELECT (SELECT count(*) FROM deliveries)+(SELECT count(*) FROM events)"); gone > 4+4 {
			t.Errorf("a batch of four events deleted %d rows", gone)
		}
	}
	f.has("50 deliveries, 50 events")
}

// TestSweepOfDeletedWebhooks checks that the log of a deleted webhook, pending rows included, is
// deleted in batches, then the webhook. Others keep their rows and the shared events.
func TestSweepOfDeletedWebhooks(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Tea"))
	one, two := f.subscribe(program, nil), f.subscribe(program, nil)
	kept := f.subscribe(program, nil)
	f.sent(program, 20)
	f.card(program) // pending
	for _, w := range []CreatedWebhook{one, two} {
		f.deleteWebhook(program, w.ID)
	}
	var at DeliverySweep
	left := func() string {
		return strings.Join(
			f.lines("SELECT w.id||':'||(SELECT count(*) FROM deliveries WHERE webhook_id=w.id) FROM webhooks w ORDER BY w.id"),
			" ",
		)
	}
	var seen []string
	for more := true; more; {
		more = must(f, func(tx *Tx) (bool, error) { return tx.SweepDeliveries(&at, 8) })
		seen = append(seen, left())
	}
	want := []string{"1:13 2:21 3:21", "1:5 2:21 3:21", "1:0 2:21 3:21", "2:21 3:21", "2:13 3:21", "2:5 3:21", "2:0 3:21", "3:21", "3:21"}
	if !slices.Equal(seen, want) {
		t.Errorf("%q\nwant %q", seen, want)
	}
	f.has("21 deliveries, 21 events")
	if n := len(f.log(program, kept.ID)); n != 21 {
		t.Errorf("the log of the webhook that stays has %d entries", n)
	}
	if w := f.subscribe(program, nil); w.ID == one.ID || w.ID == two.ID {
		t.Error("the id of a deleted webhook is used again")
	}
	// A late outcome has no row to change.
	before := f.dump()
	f.recordOutcome(Outcome{Event: 1, Webhook: 1, Gone: true, Headers: "{}"})
	f.recordOutcome(Outcome{Event: 1, Webhook: 1, Success: true, Headers: "{}"})
	if after := f.dump(); after != before {
		t.Errorf("a late outcome changed %s", firstDifference(before, after))
	}
	f.checkFile()
}

// TestDisabledAtOnceEverywhere checks that a webhook whose receiver answered 410 gets no later
// event, in any process.
func TestDisabledAtOnceEverywhere(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Tea"))
	f.subscribe(program, nil)
	second := f.second()
	f.card(program)
	second.card(program) // both know the webhook now
	f.has("2 deliveries, 2 events")
	key := f.number("SELECT min(event_id) FROM deliveries")
	succeed(f.group(write(func(tx *Tx) error {
		return tx.RecordOutcome(Outcome{Event: key, Webhook: 1, Gone: true, Headers: "{}"})
	}), f.issueLong(program, "same group"))...)
	second.card(program)
	f.card(program)
	f.has("2 deliveries, 2 events")
}

// TestWhatIsDue checks what is due in each state of a webhook and its shop: all deliveries, the
// event that is sent despite a suspension, tests, or none. Lists of webhooks, lists of deliveries
// and Attempt must agree.
func TestWhatIsDue(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Tea"))
	w := f.subscribe(program, nil)
	hook := f.key(KindWebhook, w.ID)
	f.card(program)
	f.updateShop(ShopFields{SubscriptionState: set("past_due")})
	f.testWebhook(program, w.ID)
	f.card(program)
	// Of the four deliveries, 1 and 4 are ordinary, 2 is sent despite a suspension, 3 is a test.
	for _, c := range []struct {
		active, deleted bool
		states          string
		want            []int64
	}{
		{true, false, "active past_due", []int64{3, 1, 2, 4}},
		{true, false, "suspended cancelled", []int64{2}},
		{false, false, "active past_due", []int64{3}},
		{false, false, "suspended cancelled", nil},
		{true, true, "active suspended", nil},
		{false, true, "active suspended", nil},
	} {
		for state := range strings.FieldsSeq(c.states) {
			f.sql("UPDATE webhooks SET active=?, deleted_at=?", c.active, Null[Time]{V: 1, Valid: c.deleted})
			f.sql("UPDATE shops SET subscription_state=?", state)
			name := fmt.Sprintf("%s, active %v, deleted %v", state, c.active, c.deleted)
			if got := f.due(hook, nil, 10); !slices.Equal(got, c.want) {
				t.Errorf("%s: due %v, want %v", name, got, c.want)
			}
			if got := f.due(hook, c.want, 10); len(got) != 0 {
				t.Errorf("%s: due %v, all of which were to be skipped", name, got)
			}
			f.view(func(v *View) error {
				timed, err := v.WebhooksWithScheduledDeliveries()
				if (len(timed) == 1) != slices.Contains(c.want, 3) || len(timed) > 0 && timed[0] != (ScheduledWebhook{hook, f.clock.at()}) {
					t.Errorf("%s: webhooks with scheduled deliveries %v", name, timed)
				}
				if fresh := check(v.WebhooksWithNewDeliveries()); (len(fresh) == 1) != slices.Contains(c.want, 2) {
					t.Errorf("%s: webhooks with new deliveries %v", name, fresh)
				}
				for key := int64(1); key <= 4; key++ {
					a, ok, err := v.Attempt(hook, key)
					if err != nil || ok != slices.Contains(c.want, key) || ok && a.Test != (key == 3) {
						t.Errorf("%s: attempt %d: %v, %v", name, key, ok, err)
					}
				}
				return err
			})
		}
	}
	f.sql("UPDATE webhooks SET active=1, deleted_at=NULL")
	f.sql("UPDATE shops SET subscription_state='active'")
	if got := f.due(hook, []int64{1}, 2); !slices.Equal(got, []int64{3, 2}) {
		t.Errorf("with the first skipped and a limit of two: %v", got)
	}
	// A retry is behind the deliveries that were due before it.
	f.recordOutcome(Outcome{Event: 1, Webhook: hook, Headers: "{}", RetryAfter: time.Second})
	if got := f.due(hook, nil, 10); !slices.Equal(got, []int64{3, 2, 4}) {
		t.Errorf("before the retry: %v", got)
	}
	f.clock.move(time.Second - time.Millisecond)
	if got := f.due(hook, []int64{2, 3, 4}, 10); len(got) != 0 {
		t.Errorf("a millisecond early: %v", got)
	}
	f.clock.move(time.Millisecond)
	if got := f.due(hook, nil, 10); !slices.Equal(got, []int64{3, 1, 2, 4}) {
		t.Errorf("with the retry: %v", got)
	}
}
