package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"punchcard/store"
)

// look reads the file and has it checked, both on a copy: what a kill left is
// for the next server to recover. The file's own reader lists what is pending
// in a queue of any length, which the delivery log of the API does not.
func (o *crashedShop) look(when string, read func(s *store.Store, v *store.View) error) {
	o.t.Helper()
	dir, err := os.MkdirTemp(o.t.TempDir(), "")
	if err != nil {
		o.t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "shop.db")
	for _, end := range []string{"", "-wal"} {
		raw, err := os.ReadFile(o.f.db + end)
		if end != "" && os.IsNotExist(err) {
			continue
		}
		if err == nil {
			err = os.WriteFile(path+end, raw, 0o600)
		}
		if err != nil {
			o.t.Fatal(err)
		}
	}
	if out := execute(o.t, nil, "check", "--db", path); out.stdout != "ok\n" {
		o.t.Errorf("%s: check printed %q %q", when, out.stdout, out.stderr)
	}
	limits := store.DefaultLimits()
	limits.DeliveryLogLimit = 1 << 30
	// Tomorrow every retry is due, and what is due is what is pending.
	tomorrow := func() time.Time { return time.Now().Add(24 * time.Hour) }
	s, err := store.Open(path, store.Options{MustExist: true, Now: tomorrow, Limits: limits})
	if err != nil {
		o.t.Fatal(err)
	}
	defer s.Close()
	if err := s.View(0, func(v *store.View) error { return read(s, v) }); err != nil {
		o.t.Fatal(err)
	}
}

// pending are the event_ids of an endpoint that the file says are to be sent.
func (e *endpoint) pending(s *store.Store, v *store.View) (ids map[string]bool, err error) {
	hook, _ := s.Key(store.KindWebhook, e.hook.ID)
	// From the oldest event on: the mark of what was sent is the server's, and
	// this asks for the truth.
	due, err := v.DueDeliveries(hook, 0, nil, 1<<30, 1<<30)
	ids = map[string]bool{}
	for _, fresh := range due.New {
		due.Scheduled = append(due.Scheduled, fresh.Event)
	}
	for _, event := range due.Scheduled {
		a, ok, err := v.Attempt(hook, event)
		if err != nil || !ok {
			return nil, fmt.Errorf("event %d is due and cannot be sent: %w", event, err)
		}
		ids[a.EventID] = true
	}
	return ids, err
}

// log checks what the file says of every delivery in the end.
func (o *crashedShop) log(s *store.Store, v *store.View) error {
	shop, err := s.ResolveShop("")
	if err != nil {
		return err
	}
	for _, e := range o.endpoints {
		log, err := v.Deliveries(store.Access{Shop: shop}, o.program, e.hook.ID, store.DeliveriesQuery{Limit: store.Opt[int64]{V: 1 << 30, Set: true}})
		if err != nil {
			return err
		}
		if len(log) != len(e.arrivals) {
			o.t.Errorf("%s: %d events in the log, %d have come", e.name, len(log), len(e.arrivals))
		}
		for _, d := range log {
			a := e.arrivals[d.EventID]
			switch {
			case a == nil || a.event != d.Event || !bytes.Equal(a.body, d.RequestPayload):
				o.t.Errorf("%s: the log has %s (%s), which is not what came", e.name, d.EventID, d.Event)
			case !d.DeliveredAt.Valid:
				o.t.Errorf("%s: %s is not delivered", e.name, d.EventID)
			case d.Attempts > int64(a.seen):
				o.t.Errorf("%s: %s came %d times, the log tells of %d", e.name, d.EventID, a.seen, d.Attempts)
			}
		}
	}
	return nil
}

// repeats checks that what an endpoint accepted more than once is exactly what
// was lost at kills: each time that the outcome was not in the file, once more.
func (o *crashedShop) repeats() {
	o.t.Helper()
	for _, e := range o.endpoints {
		lost, most, repeated, requests := 0, 0, 0, 0
		for _, l := range e.lost {
			lost, most = lost+len(l), max(most, len(l))
		}
		for id, a := range e.arrivals {
			requests += a.seen
			for i, life := range a.good {
				if i == 0 {
					continue
				}
				repeated++
				switch before := a.good[i-1]; {
				case before == life:
					o.t.Errorf("%s: accepted %s twice from one server", e.name, id)
				case !e.lost[before][id]:
					o.t.Errorf("%s: accepted %s again after kill %d, when the file knew of it", e.name, id, before)
				}
			}
		}
		if repeated != lost {
			o.t.Errorf("%s: %d repeats, but %d outcomes were lost", e.name, repeated, lost)
		}
		o.t.Logf("%s: %d events in %d requests; %d accepted again, at most %d after one kill", e.name, len(e.arrivals), requests, repeated, most)
	}
}

// drain waits until all that happened has arrived, and what was pending at the
// last kill has come after it.
func (o *crashedShop) drain(left []map[string]bool) {
	o.t.Helper()
	for i, e := range o.endpoints {
		if !e.own.until(func() bool {
			for id := range left[i] {
				if !e.has(id, *killsFlag) {
					return false
				}
			}
			_, some := e.missing(o.told)
			return !some
		}) {
			what, some := e.missing(o.told)
			o.t.Fatalf("%s: not all has arrived, such as %v (%t):\n%s", e.name, what, some, o.f.server.stderr)
		}
	}
}

// compare holds answers, file and deliveries against one another.
func (o *crashedShop) compare() {
	o.t.Helper()
	exists := map[happening]bool{}
	for _, c := range listCards(o.api, 100) {
		exists[happening{"card.added", c.ID}] = true
		if o.link[c.ID] && c.Status != "invited" {
			exists[happening{"card.activated", c.ID}] = true
		}
		if c.Status == "archived" {
			exists[happening{"card.archived", c.ID}] = true
		}
	}
	for _, r := range (&day{t: o.t}).ledger(o.api, "") {
		exists[happening{"stamp.assigned", r.ID}] = true
		exists[happening{"transaction.created", r.ID}] = true
	}
	for what := range o.told {
		if !exists[what] {
			o.t.Errorf("%v was answered and is not in the file", what)
		}
	}
	for _, e := range o.endpoints {
		e.own.until(func() bool { _, some := e.missing(exists); return !some })
		if what, some := e.missing(exists); some {
			o.t.Errorf("%s: never got %v", e.name, what)
		}
		e.mu.Lock()
		got := slices.Collect(maps.Keys(e.ids))
		e.mu.Unlock()
		for _, what := range got {
			if !exists[what] {
				o.t.Errorf("%s: got %v, which is not in the file", e.name, what)
			}
		}
		var w webhook
		o.api.Get("/programs/" + o.program + "/webhooks/" + e.hook.ID).Want(200).Decode(&w)
		if !w.Active || w.Failures != 0 {
			o.t.Errorf("%s: %+v", e.name, w)
		}
	}
	for what := range exists {
		if what.event != "card.archived" && !o.told[what] {
			o.t.Errorf("%v is in the file and was not answered, though every write was repeated until it was", what)
		}
	}
}
