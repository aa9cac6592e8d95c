package store

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestActivity compares the filters of the audit log, in pages of several sizes, with a
// filter in memory, and checks that pages visit a bounded number of rows.
func TestActivity(t *testing.T) {
	const visits = 7
	f := start(t, Options{PageVisits: visits})
	k := f.till()
	program := f.program(stamps("Coffee"))
	other := f.shop(ShopFields{})
	key := f.apiKey(KeyFields{})
	cards := []string{}
	for i := range 20 {
		by := []Actor{operator, {Type: "api_key", Key: f.key(KindKey, key)}, {Type: "user", Key: 7}}[i%3]
		succeed(f.Write(t.Context(), Write{Actor: by, Do: func(tx *Tx) error {
			c, err := tx.IssueCard(f.a, program, CardFields{}, SourceAPI)
			cards = append(cards, c.ID)
			return err
		}}))
		f.in(other).location()
		k.stamped(cards[i], 1)
		f.clock.move(time.Minute)
	}
	middle := f.clock.at().Add(-10 * time.Minute)
	all := view(f, func(v *View) (Page[AuditRow], error) { return v.AuditLog(f.a.Shop, PageQuery{Limit: setInt(100)}) }).Data
	if len(all) != 46 {
		t.Fatalf("%d rows", len(all))
	}
	row := f.ID(KindTransaction, 3)
	none := func(AuditRow) bool { return false }
	for name, c := range map[string]struct {
		filter AuditFilter
		match  func(AuditRow) bool
	}{
		"none":      {AuditFilter{}, func(AuditRow) bool { return true }},
		"type":      {AuditFilter{ActorType: set("api_key")}, func(r AuditRow) bool { return r.Actor.Type == "api_key" }},
		"key":       {AuditFilter{ActorID: set(key)}, func(r AuditRow) bool { return r.Actor.ID.V == key }},
		"person":    {AuditFilter{ActorID: set(f.ID(KindUser, 7))}, func(r AuditRow) bool { return r.Actor.ID.V == f.ID(KindUser, 7) }},
		"no actor":  {AuditFilter{ActorID: set("usr_x")}, none},
		"beginning": {AuditFilter{Action: set("card.")}, func(r AuditRow) bool { return r.Action == "card.issue" }},
		"action":    {AuditFilter{Action: set("transaction.stamp")}, func(r AuditRow) bool { return r.Action == "transaction.stamp" }},
		"wildcards": {AuditFilter{Action: set("card_")}, none},
		"card":      {AuditFilter{TargetID: set(cards[4])}, func(r AuditRow) bool { return r.TargetID == cards[4] }},
		"row":       {AuditFilter{TargetID: set(row)}, func(r AuditRow) bool { return r.TargetID == row }},
		"no target": {AuditFilter{TargetID: set("x")}, none},
		"from":      {AuditFilter{From: set(middle)}, func(r AuditRow) bool { return r.At >= middle }},
		"to":        {AuditFilter{To: set(middle)}, func(r AuditRow) bool { return r.At < middle }},
		"future":    {AuditFilter{From: set(f.clock.at() + 1)}, none},
		"past":      {AuditFilter{To: set(Time(1))}, none},
		"everything": {
			AuditFilter{ActorType: set("user"), Action: set("card."), From: set(middle), To: set(f.clock.at())},
			func(r AuditRow) bool { return r.Actor.Type == "user" && r.Action == "card.issue" && r.At >= middle },
		},
	} {
		var want []string
		for _, r := range all {
			if c.match(r) {
				want = append(want, fmt.Sprint(r.ID))
			}
		}
		for _, limit := range []int64{1, 5, 100} {
			pages := 0
			got := allPages(t, inPagesOf(limit, f.activity(c.filter)), func(Page[string]) { pages++ })
			if !slices.Equal(got, want) {
				t.Errorf("%s by %d: %v, want %v", name, limit, got, want)
			}
			if filtered := fmt.Sprint(c.filter.ActorType.Set, c.filter.Action.Set) == "true true"; limit == 100 && filtered &&
				pages != 20/visits+1 {
				t.Errorf("%s took %d pages", name, pages)
			}
		}
	}
	refused(t, f.View(0, func(v *View) error {
		return errorOf(v.Activity(f.a.Shop, AuditFilter{From: set(Time(2)), To: set(Time(1))}))
	}), ValidationFailed)
}
