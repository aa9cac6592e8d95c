package seed

import (
	"maps"
	"slices"
	"testing"
	"time"

	"punchcard/server/servertest/require"
	"punchcard/store"
)

// TestHistory checks that a history ends with the clock, whatever the time of day is, that it has
// rows of every kind at both locations, that check finds nothing wrong with it, and that a second
// one has the same rows.
func TestHistory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		now  string
		days int
	}{
		{"2026-05-18T15:30:00Z", 90},
		{"2026-05-17T22:00:00Z", 2}, // midnight in Rome
		{"2026-03-29T01:15:00Z", 1}, // when the clocks are set forward
		{"2026-10-25T05:10:00Z", 2}, // a Sunday, before the shop opens
	} {
		t.Run(c.now, func(t *testing.T) {
			t.Parallel()
			now, _ := time.Parse(time.RFC3339, c.now)
			st := historyStore(t, now, c.days)
			check(t, st)
			checkHistory(t, st, now, c.days)
			if c.days == 90 { // which takes long to compare
				return
			}
			if again := historyStore(t, now, c.days); dump(t, again) != dump(t, st) {
				t.Error("a second history differs")
			}
		})
	}
}

// historyStore returns a store with a history.
func historyStore(t *testing.T, now time.Time, days int) *store.Store {
	t.Helper()
	st, clock := emptyStore(t, now)
	ready := require.Must(DemoWithHistory(st, clock, days))
	if !clock.now.Equal(now) {
		t.Errorf("the clock stands at %s after the history", clock.now)
	}
	empty, _ := emptyStore(t, now)
	if want, err := Demo(empty, ""); err != nil || !slices.Equal(want.LocationIDs, ready.LocationIDs) ||
		!maps.Equal(want.ProgramIDs, ready.ProgramIDs) {
		t.Errorf("the ready line is %+v, that of the demo shop %+v, %v", ready, want, err)
	}
	return st
}

// checkHistory checks that a history has rows on each of its days, the last of them shortly before
// its end, and, if it is long, rows of every kind at both locations and cards that came often.
func checkHistory(t *testing.T, st *store.Store, now time.Time, days int) {
	t.Helper()
	a := store.Access{Shop: 1}
	view(t, st, func(v *store.View) error {
		h, err := v.Heatmap(a, store.HeatmapQuery{})
		if err != nil {
			return err
		}
		if first := h.Days[len(h.Days)-days-1]; first.Count != 0 {
			t.Errorf("%s, before the history, has %d rows", first.Date, first.Count)
		}
		for _, day := range h.Days[len(h.Days)-days:] {
			if day.Count < 3 {
				t.Errorf("%s has %d rows", day.Date, day.Count)
			}
		}
		rows, err := all(func(q store.PageQuery) (store.Page[store.Transaction], error) {
			return v.Transactions(a, store.TransactionFilter{PageQuery: q})
		})
		if err != nil {
			return err
		}
		if age := now.Sub(rows[0].CreatedAt.Std()); age < 0 || age > time.Hour {
			t.Errorf("the last row is %s before the end", age)
		}
		if days < 90 {
			return nil
		}
		kinds, visits := map[string]int{}, map[string]int{}
		for _, r := range rows {
			kinds[r.LocationID+" "+r.Type]++
			visits[r.CardID]++
		}
		if len(kinds) != 2*7 {
			t.Errorf("rows by location and type: %v", kinds)
		}
		if max := slices.Max(slices.Collect(maps.Values(visits))); max < 40 || len(visits) < 400 {
			t.Errorf("%d cards, at most %d rows of one", len(visits), max)
		}
		return nil
	})
}
