package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"punchcard/server/servertest/require"
	"punchcard/store"
)

// inspectFile reads and checks a copy of the database, since recovery after a kill is left to the
// next server. It uses the store because the API's delivery log is limited in length.
func (o *crashedShop) inspectFile(when string, read func(s *store.Store, v *store.View) error) {
	o.t.Helper()
	dir := require.Must(os.MkdirTemp(o.t.TempDir(), ""))
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
		noError(o.t, err)
	}
	limits := store.DefaultLimits()
	limits.DeliveryLogLimit = 1 << 30
	// The time is tomorrow, so that every retry and thus every pending delivery is due.
	tomorrow := func() time.Time { return time.Now().Add(24 * time.Hour) }
	s := require.Must(store.Open(path, store.Options{MustExist: true, Now: tomorrow, Limits: limits}))
	defer s.Close()
	if findings, err := s.Check(); err != nil || len(findings) > 0 {
		o.t.Errorf("%s: %v %q", when, err, findings)
	}
	noError(o.t, s.View(0, func(v *store.View) error { return read(s, v) }))
}

// pending returns the event_ids that are to be sent to an endpoint according to the file.
func (e *endpoint) pending(s *store.Store, v *store.View) (ids map[string]bool, err error) {
	hook, _ := s.Key(store.KindWebhook, e.hook.ID)
	// The search starts at the oldest event, since the position of the sender belongs to the
	// server.
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

// checkLog checks the outcome of every delivery in the file.
func (o *crashedShop) checkLog(s *store.Store, v *store.View) error {
	shop, err := s.ResolveShop("")
	if err != nil {
		return err
	}
	for _, e := range o.endpoints {
		log, err := v.Deliveries(store.Access{Shop: shop}, o.program, e.hook.ID,
			store.DeliveriesQuery{Limit: store.Opt[int64]{V: 1 << 30, Set: true}})
		if err != nil {
			return err
		}
		if len(log) != len(e.arrivals) {
			o.t.Errorf("%s: %d events in the log, %d arrived", e.name, len(log), len(e.arrivals))
		}
		for _, d := range log {
			a := e.arrivals[d.EventID]
			switch {
			case a == nil || a.event != d.Event || !bytes.Equal(a.body, d.RequestPayload):
				o.t.Errorf("%s: the log has %s (%s), which did not arrive", e.name, d.EventID, d.Event)
			case !d.DeliveredAt.Valid:
				o.t.Errorf("%s: %s is not delivered", e.name, d.EventID)
			case d.Attempts > int64(a.seen):
				o.t.Errorf("%s: %s arrived %d times, the log has %d attempts", e.name, d.EventID, a.seen, d.Attempts)
			}
		}
	}
	return nil
}

// checkRepeats checks that an endpoint accepted a delivery again only, and exactly, when a kill had
// lost the outcome.
func (o *crashedShop) checkRepeats() {
	o.t.Helper()
	for _, e := range o.endpoints {
		lost, longest, repeated, requests := 0, 0, 0, 0
		for _, l := range e.lost {
			lost, longest = lost+len(l), max(longest, len(l))
		}
		for id, a := range e.arrivals {
			requests += a.seen
			for i, generation := range a.good {
				if i == 0 {
					continue
				}
				repeated++
				switch before := a.good[i-1]; {
				case before == generation:
					o.t.Errorf("%s: accepted %s twice from the same server process", e.name, id)
				case !e.lost[before][id]:
					o.t.Errorf("%s: accepted %s again after kill %d although its outcome was in the file", e.name, id, before)
				}
			}
		}
		if repeated != lost {
			o.t.Errorf("%s: %d repeats, but %d outcomes were lost", e.name, repeated, lost)
		}
		o.t.Logf("%s: %d events in %d requests; %d accepted again, at most %d after one kill", e.name, len(e.arrivals), requests,
			repeated, longest)
	}
}

// drain waits until all deliveries have arrived, and those pending at the last kill have arrived
// after it.
func (o *crashedShop) drain(left []map[string]bool) {
	o.t.Helper()
	for i, e := range o.endpoints {
		if !e.own.waitUntil(func() bool {
			for id := range left[i] {
				if !e.has(id, *killsFlag) {
					return false
				}
			}
			_, some := e.missing(o.answered)
			return !some
		}) {
			what, some := e.missing(o.answered)
			o.t.Fatalf("%s: not everything arrived, such as %v (%t):\n%s", e.name, what, some, o.f.server.stderr)
		}
	}
}

// compareAll compares the answers, the file and the deliveries.
func (o *crashedShop) compareAll() {
	o.t.Helper()
	exists := map[happening]bool{}
	for _, c := range listCards(o.api, 100) {
		exists[happening{"card.added", c.ID}] = true
		if o.issuedCards[c.ID] && c.Status != "invited" {
			exists[happening{"card.activated", c.ID}] = true
		}
		if c.Status == "archived" {
			exists[happening{"card.archived", c.ID}] = true
		}
	}
	for cursor := ""; ; {
		page := o.api.Get("/transactions?limit=100" + cursor).Want(200)
		for _, id := range page.IDs() {
			exists[happening{"stamp.assigned", id}] = true
			exists[happening{"transaction.created", id}] = true
		}
		next := page.Str("next_cursor")
		if next == "" {
			break
		}
		cursor = "&cursor=" + next
	}
	for what := range o.answered {
		if !exists[what] {
			o.t.Errorf("%v was answered but is not in the file", what)
		}
	}
	for _, e := range o.endpoints {
		e.own.waitUntil(func() bool { _, some := e.missing(exists); return !some })
		if what, some := e.missing(exists); some {
			o.t.Errorf("%s: %v did not arrive", e.name, what)
		}
		e.mu.Lock()
		got := slices.Collect(maps.Keys(e.ids))
		e.mu.Unlock()
		for _, what := range got {
			if !exists[what] {
				o.t.Errorf("%s: %v arrived but is not in the file", e.name, what)
			}
		}
		var w webhook
		o.api.Get("/programs/" + o.program + "/webhooks/" + e.hook.ID).Want(200).Decode(&w)
		if !w.Active || w.Failures != 0 {
			o.t.Errorf("%s: %+v", e.name, w)
		}
	}
	for what := range exists {
		if what.event != "card.archived" && !o.answered[what] {
			o.t.Errorf("%v is in the file but was not answered, though every write was repeated until answered", what)
		}
	}
}
