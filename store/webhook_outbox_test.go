package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// hookFields are the fields of a webhook; the defaults are active, v2, all events.
type hookFields struct {
	events              []string
	programs, locations []int64
	shopWide            bool
	v1, inactive        bool
}

// hook inserts a webhook and returns its key.
func (f *fixture) hook(a Access, program string, h hookFields) (key int64) {
	f.t.Helper()
	if h.events == nil {
		h.events = []string{"*"}
	}
	events, _ := json.Marshal(h.events)
	version := "v2"
	if h.v1 {
		version = "v1"
	}
	f.must(func(tx *Tx) (err error) {
		if key, err = tx.conn.insert(`INSERT INTO webhooks (shop_id, program_id, url, events, program_ids, location_ids, include_shop_wide_events, active, description,
			secret, http_method, custom_headers, payload_version, created_at, updated_at) VALUES (?,?,'https://example.com',?,?,?,?,?,'','whsec_','POST','{}',?,?,?)`,
			a.Shop, f.key(KindProgram, program), string(events), jsonKeys(h.programs), jsonKeys(h.locations), h.shopWide, !h.inactive, version, tx.Now, tx.Now); err != nil {
			return err
		}
		tx.bumpAuth()
		return tx.failed
	})
	return key
}

// TestDeliveriesPerMatchingWebhook has a webhook for each filter, and checks that each event is one
// row with one delivery for each webhook that matches.
func TestDeliveriesPerMatchingWebhook(t *testing.T) {
	t.Parallel()
	f := start(t, Options{})
	tea, coffee := f.program(f.a, stamps("Tea")), f.program(f.a, stamps("Coffee"))
	here := f.key(KindLocation, f.location(f.a))
	theirs := f.withLedger(f.shop(ShopFields{}))
	teaKey := f.key(KindProgram, tea)
	hooks := map[string]int64{
		"all":        f.hook(f.a, tea, hookFields{}),
		"all v1":     f.hook(f.a, coffee, hookFields{v1: true}),
		"cards":      f.hook(f.a, tea, hookFields{events: []string{"card.*"}}),
		"added":      f.hook(f.a, tea, hookFields{events: []string{"card.added", "stamp.assigned"}}),
		"locations":  f.hook(f.a, tea, hookFields{events: []string{"location.*"}}),
		"tea":        f.hook(f.a, coffee, hookFields{programs: []int64{teaKey}}),
		"here":       f.hook(f.a, tea, hookFields{locations: []int64{here}}),
		"here, wide": f.hook(f.a, tea, hookFields{locations: []int64{here}, shopWide: true}),
		"inactive":   f.hook(f.a, tea, hookFields{inactive: true}),
		"their own":  f.hook(theirs.a, theirs.program, hookFields{}),
	}
	names := map[int64]string{}
	for name, key := range hooks {
		names[key] = name
	}
	var card string
	for _, c := range []struct {
		name   string
		write  func(*Tx) error
		events int
		v1, v2 bool
		want   []string
	}{
		{"a tea card", func(tx *Tx) error {
			c, err := tx.IssueCard(f.a, tea, CardFields{}, SourceAPI)
			card = c.ID
			return err
		}, 1, true, true, []string{"added", "all", "all v1", "cards", "tea"}},
		{"a coffee card", func(tx *Tx) error { _, err := tx.IssueCard(f.a, coffee, CardFields{}, SourceAPI); return err }, 1, true, true, []string{"added", "all", "all v1", "cards"}},
		{"reissue", func(tx *Tx) error { _, err := tx.ReissueCard(f.a, card, ReissueFields{}); return err }, 1, true, true, []string{"all", "all v1", "cards", "here, wide", "tea"}},
		{"a location", func(tx *Tx) error { _, err := tx.CreateLocation(f.a.Shop, LocationFields{}, StaffPIN{}); return err }, 1, true, true, []string{"all", "all v1", "here, wide", "locations"}},
		{"another shop's card", func(tx *Tx) error {
			_, err := tx.IssueCard(theirs.a, theirs.program, CardFields{}, SourceAPI)
			return err
		}, 1, false, true, []string{"their own"}},
	} {
		last := f.number("SELECT ifnull(max(id), 0) FROM events")
		f.must(c.write)
		var got []string
		for _, key := range f.lines("SELECT webhook_id FROM deliveries WHERE event_id>?", last) {
			var n int64
			fmt.Sscan(key, &n)
			got = append(got, names[n])
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s goes to %v, want %v", c.name, got, c.want)
		}
		if n := f.number("SELECT count(*) FROM events WHERE id>?", last); n != int64(c.events) {
			t.Errorf("%s made %d event rows, want %d", c.name, n, c.events)
		}
		versions := f.lines("SELECT concat_ws(',', payload_v1 IS NOT NULL, payload_v2 IS NOT NULL) FROM events WHERE id>?", last)
		one := map[bool]int{true: 1}
		if want := fmt.Sprintf("%d,%d", one[c.v1], one[c.v2]); len(versions) != 1 || versions[0] != want {
			t.Errorf("%s is rendered as (v1, v2) %v, want %s", c.name, versions, want)
		}
	}
	if n := f.number("SELECT count(*) FROM deliveries WHERE outcome IS NOT NULL OR attempts>0 OR due_at IS NOT NULL"); n > 0 {
		t.Errorf("%d deliveries do not begin as pending, without an attempt or a time", n)
	}
}

// TestRolledBackWriteLeavesNoEvent checks that a write that is rolled back leaves no event, and
// that the writer does not keep its changes of webhooks.
func TestRolledBackWriteLeavesNoEvent(t *testing.T) {
	t.Parallel()
	f := start(t, Options{})
	program := f.program(f.a, stamps("Tea"))
	hook := f.hook(f.a, program, hookFields{})
	issue := func(tx *Tx) error { _, err := tx.IssueCard(f.a, program, CardFields{}, SourceAPI); return err }
	mine := errors.New("mine")
	settled := write(issue)
	settled.Finish = func(tx *Tx, err error) error { return errors.Join(err, mine) }
	flip := func(active bool, end error) Write {
		return write(func(tx *Tx) error {
			if _, err := tx.conn.exec("UPDATE webhooks SET active=? WHERE id=?", active, hook); err != nil {
				return err
			}
			tx.bumpAuth()
			if err := issue(tx); err != nil {
				return err
			}
			return end
		})
	}
	f.group(write(func(tx *Tx) error { issue(tx); return mine }), write(func(tx *Tx) error { issue(tx); panic("after") }), settled, flip(true, mine))
	if n := f.number("SELECT (SELECT count(*) FROM events)+(SELECT count(*) FROM deliveries)+(SELECT count(*) FROM cards)"); n != 0 {
		t.Errorf("%d rows of writes that were rolled back", n)
	}
	// One group deactivates the webhook and is rolled back, deactivates it, and activates it again.
	undone := flip(false, nil) // Finish fails after the events were matched
	undone.Finish = settled.Finish
	errs := f.group(undone, write(issue), flip(false, nil), write(issue), flip(true, nil), write(issue))
	for i, err := range errs {
		if (i == 0) != errors.Is(err, mine) {
			t.Errorf("member %d got %v", i, err)
		}
	}
	if got := f.number("SELECT count(*) FROM events"); got != 3 {
		t.Errorf("%d events, want 3: one before, two after", got)
	}
}

// TestWebhooksOfAnotherProcess checks that webhooks that another process adds or removes take
// effect with the next write.
func TestWebhooksOfAnotherProcess(t *testing.T) {
	t.Parallel()
	f := start(t, Options{})
	program := f.program(f.a, stamps("Tea"))
	second := &fixture{Store: open(t, f.path, Options{Ephemeral: true, Now: f.clock.now}), t: t, clock: f.clock, a: f.a}
	f.card(f.a, program, CardFields{})
	hook := second.hook(f.a, program, hookFields{})
	f.card(f.a, program, CardFields{})
	if n := f.number("SELECT count(*) FROM events"); n != 1 {
		t.Errorf("%d events after a webhook was added, want 1", n)
	}
	second.must(func(tx *Tx) error {
		if _, err := tx.conn.exec("UPDATE webhooks SET active=0 WHERE id=?", hook); err != nil {
			return err
		}
		tx.bumpAuth()
		return tx.failed
	})
	f.card(f.a, program, CardFields{})
	if n := f.number("SELECT count(*) FROM events"); n != 1 {
		t.Errorf("%d events after it was disabled, want 1", n)
	}
}

// TestDeletedProgramDropsItsWebhooks checks that deleting a program deletes its webhooks, and that
// the others get the event.
func TestDeletedProgramDropsItsWebhooks(t *testing.T) {
	t.Parallel()
	f := start(t, Options{})
	doomed, other := f.program(f.a, stamps("Doomed")), f.program(f.a, stamps("Other"))
	f.hook(f.a, doomed, hookFields{})
	stays := f.hook(f.a, other, hookFields{})
	f.card(f.a, doomed, CardFields{})
	f.must(func(tx *Tx) error { return tx.DeleteProgram(f.a.Shop, doomed) })
	if got := f.lines("SELECT id FROM webhooks WHERE deleted_at IS NULL"); len(got) != 1 || got[0] != fmt.Sprint(stays) {
		t.Errorf("webhooks %v are left, want %d", got, stays)
	}
	if n := f.number("SELECT count(*) FROM deliveries d JOIN webhooks w ON w.id=d.webhook_id WHERE w.deleted_at IS NULL AND d.webhook_id<>?", stays); n != 0 {
		t.Errorf("%d deliveries to a deleted webhook", n)
	}
	if got := f.lines("SELECT e.name FROM deliveries d JOIN events e ON e.id=d.event_id WHERE d.webhook_id=? ORDER BY d.event_id", stays); !slices.Equal(got, []string{"card.added", "card.archived"}) {
		t.Errorf("the other webhook gets %v", got)
	}
	f.checkFile()
}
