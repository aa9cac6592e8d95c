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
func (f *fixture) hook(program string, h hookFields) (key int64) {
	if h.events == nil {
		h.events = []string{"*"}
	}
	events, _ := json.Marshal(h.events)
	version := "v2"
	if h.v1 {
		version = "v1"
	}
	f.must(func(tx *Tx) (err error) {
		if key, err = tx.conn.Insert(`INSERT INTO webhooks (shop_id, program_id, url, events, program_ids, location_ids,
			include_shop_wide_events, active, description,
			secret, http_method, custom_headers, payload_version, created_at, updated_at) VALUES
			(?,?,'https://example.com',?,?,?,?,?,'','whsec_','POST','{}',?,?,?)`,
			f.a.Shop, f.key(
				KindProgram, program,
			), string(events), jsonKeys(h.programs), jsonKeys(h.locations), h.shopWide, !h.inactive, version, tx.Now, tx.Now); err != nil {
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
	f := start(t)
	tea, coffee := f.program(stamps("Tea")), f.program(stamps("Coffee"))
	here := f.key(KindLocation, f.location())
	theirs := f.in(f.shop(ShopFields{})).withLedger()
	teaKey := f.key(KindProgram, tea)
	hooks := map[string]int64{
		"all":        f.hook(tea, hookFields{}),
		"all v1":     f.hook(coffee, hookFields{v1: true}),
		"cards":      f.hook(tea, hookFields{events: []string{"card.*"}}),
		"added":      f.hook(tea, hookFields{events: []string{"card.added", "stamp.assigned"}}),
		"locations":  f.hook(tea, hookFields{events: []string{"location.*"}}),
		"tea":        f.hook(coffee, hookFields{programs: []int64{teaKey}}),
		"here":       f.hook(tea, hookFields{locations: []int64{here}}),
		"here, wide": f.hook(tea, hookFields{locations: []int64{here}, shopWide: true}),
		"inactive":   f.hook(tea, hookFields{inactive: true}),
		"their own":  f.in(theirs.a).hook(theirs.program, hookFields{}),
	}
	names := map[int64]string{}
	for name, key := range hooks {
		names[key] = name
	}
	var card string
	for _, c := range []struct {
		name     string
		write    func()
		versions string // v1 and v2
		want     []string
	}{
		{"a tea card", func() { card = f.card(tea) }, "1,1", []string{"added", "all", "all v1", "cards", "tea"}},
		{"a coffee card", func() { f.card(coffee) }, "1,1", []string{"added", "all", "all v1", "cards"}},
		{"reissue", func() { f.reissue(card, ReissueFields{}) }, "1,1", []string{"all", "all v1", "cards", "here, wide", "tea"}},
		{"a location", func() { f.location() }, "1,1", []string{"all", "all v1", "here, wide", "locations"}},
		{"another shop's card", func() { f.in(theirs.a).card(theirs.program) }, "0,1", []string{"their own"}},
	} {
		last := f.number("SELECT ifnull(max(id), 0) FROM events")
		c.write()
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
		f.selectsLines([]string{c.versions}, "SELECT concat_ws(',', payload_v1 IS NOT NULL, payload_v2 IS NOT NULL) FROM events WHERE id>?",
			last)
	}
	f.selects(0, "SELECT count(*) FROM deliveries WHERE outcome IS NOT NULL OR attempts>0 OR due_at IS NOT NULL")
}

// TestRolledBackWriteLeavesNoEvent checks that a write that is rolled back leaves no event, and
// that the writer does not keep its changes of webhooks.
func TestRolledBackWriteLeavesNoEvent(t *testing.T) {
	f := start(t)
	program := f.program(stamps("Tea"))
	hook := f.hook(program, hookFields{})
	issue := f.issuing(program, CardFields{})
	mine := errors.New("mine")
	settled := write(issue)
	settled.Finish = func(tx *Tx, err error) error { return errors.Join(err, mine) }
	flip := func(active bool, end error) Write {
		return write(func(tx *Tx) error {
			if _, err := tx.conn.Exec("UPDATE webhooks SET active=? WHERE id=?", active, hook); err != nil {
				return err
			}
			tx.bumpAuth()
			if err := issue(tx); err != nil {
				return err
			}
			return end
		})
	}
	f.group(
		write(func(tx *Tx) error { issue(tx); return mine }),
		write(func(tx *Tx) error { issue(tx); panic("after") }),
		settled,
		flip(true, mine),
	)
	f.selects(0, "SELECT (SELECT count(*) FROM events)+(SELECT count(*) FROM deliveries)+(SELECT count(*) FROM cards)")
	// One group deactivates the webhook and is rolled back, deactivates it, and activates it again.
	undone := flip(false, nil) // Finish fails after the events were matched
	undone.Finish = settled.Finish
	errs := f.group(undone, write(issue), flip(false, nil), write(issue), flip(true, nil), write(issue))
	for i, err := range errs {
		if (i == 0) != errors.Is(err, mine) {
			t.Errorf("member %d got %v", i, err)
		}
	}
	f.selects(3, "SELECT count(*) FROM events")
}
