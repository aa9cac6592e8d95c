package store

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestActivity compares the pages of random filters of the audit log with rows in memory, while another shop has rows between them.
// A page reads the rows of a card or, if none is given, of the shop.
func TestActivity(t *testing.T) {
	rng := chance(t)
	f := start(t, Options{PageVisits: 7})
	k := f.till()
	program, key, other := f.program(stamps("Coffee")), f.apiKey(KeyFields{}), f.shop(ShopFields{})
	var cards []string
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
	all := view(f, func(v *View) (Page[AuditRow], error) { return v.AuditLog(f.a.Shop, PageQuery{Limit: setInt(100)}) }).Data
	if len(all) != 46 {
		t.Fatalf("%d rows", len(all))
	}
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	times := []Opt[Time]{{}, {}, {}, set(f.clock.at().Add(-10 * time.Minute)), set(f.clock.at() + 1), set(Time(1))}
	for range 500 {
		filter := AuditFilter{
			ActorType: optional(pick("", "", "user", "api_key")),
			ActorID:   optional(pick("", "", key, f.ID(KindUser, 7), "usr_x")),
			Action:    optional(pick("", "", "card.", "card", "card_", "transaction.stamp")),
			TargetID:  optional(pick("", "", cards[4], f.ID(KindTransaction, 3), "x")),
			From:      times[rng.IntN(6)],
			To:        times[rng.IntN(6)],
		}
		if filter.From.Set && filter.To.Set && filter.From.V > filter.To.V {
			refused(t, f.View(0, func(v *View) error { return errorOf(v.Activity(f.a.Shop, filter)) }), ValidationFailed)
			continue
		}
		var walked []int64
		var want []string
		for _, r := range all {
			if filter.From.Set && r.At < filter.From.V || filter.To.Set && r.At >= filter.To.V {
				continue
			}
			target := r.TargetID == filter.TargetID.Or(r.TargetID)
			if target || filter.TargetID.V != cards[4] {
				walked = append(walked, r.ID)
			}
			begins := strings.HasSuffix(filter.Action.V, ".") && strings.HasPrefix(r.Action, filter.Action.V)
			if target && (begins || r.Action == filter.Action.Or(r.Action)) &&
				r.Actor.Type == filter.ActorType.Or(r.Actor.Type) && r.Actor.ID.V == filter.ActorID.Or(r.Actor.ID.V) {
				want = append(want, fmt.Sprint(r.ID))
			}
		}
		f.expectVisits(listAudit, walked, 1+rng.IntN(7), f.activity(filter), want)
	}
}
