package store

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// find returns the ids of all pages of FindCards, and the number of the pages. It checks that each
// page says how many ids there are.
func (f *fixture) find(a Access, find CardFind, limit int64) (ids []string, pages int) {
	f.t.Helper()
	var totals []Total
	for _, c := range allPages(f.t, func(q PageQuery) Page[CardFound] {
		find.Limit, find.Cursor = set(limit), q.Cursor
		p := view(f, func(v *View) (Counted[CardFound], error) { return v.FindCards(a, find) })
		totals = append(totals, p.Total)
		return p.Page
	}, nil) {
		ids = append(ids, c.ID)
	}
	for _, total := range totals {
		if total != (Total{N: int64(len(ids))}) {
			f.t.Errorf("%+v has %d cards, and a page says %+v", find, len(ids), total)
		}
	}
	return ids, len(totals)
}

func (f *fixture) seenDay(card string) (day string) {
	f.view(func(v *View) error {
		c, err := v.CardSeen(f.a, card)
		day = c.LastSeenDay
		return err
	})
	return day
}

// TestLastSeenDay checks what moves the day on which a card was last seen: each accepted
// presentation, by the shop's calendar, and nothing else.
func TestLastSeenDay(t *testing.T) {
	k := startIn(t, "Pacific/Auckland", "2026-03-02T10:59:00Z") // 23:59 there
	program := k.program(stamps("Ten"))
	card := k.card(program)
	expect := func(what, want string) {
		t.Helper()
		if got := k.seenDay(card); got != want {
			t.Errorf("%s: seen on %q, want %q", what, got, want)
		}
	}
	expect("issued", "")
	row := k.stamped(card, 1)
	expect("stamped before midnight", "2026-03-02")
	k.clock.move(2 * time.Minute)
	k.reversed(row.Transaction.ID)
	expect("reversed after midnight", "2026-03-02")
	check(k.stampLater(card, 2*time.Minute))
	expect("stamped before midnight, sent after it", "2026-03-03")
	k.stamped(card, 1)
	expect("stamped again", "2026-03-03")
	k.clock.move(48 * time.Hour)
	k.update(card, CardPatch{ExternalRef: set("ref")})
	expect("updated", "2026-03-03")
	if _, err := k.spend(card, 1); err == nil {
		t.Error("a stamp card takes money")
	}
	expect("refused", "2026-03-03")
	k.inZone("America/Los_Angeles")
	expect("by another calendar", "2026-03-02")
	k.checkFile()
	k.must((*Tx).RecountStats)
	expect("counted again", "2026-03-02")
}

// startSeen issues a card on each of the first six days of January, and stamps each but the last on
// its day. The 6th is today. Every second card is of program two.
func startSeen(t *testing.T) (k till, cards []string) {
	k = startIn(t, "Europe/Rome", "2026-01-01T12:00:00Z")
	one, two := k.program(stamps("One")), k.program(stamps("Two"))
	for i := range 6 {
		card := k.card([]string{one, two}[i%2])
		cards = append(cards, card)
		if i < 5 {
			k.stamped(card, 1)
			k.clock.move(24 * time.Hour)
		}
	}
	return k, cards
}

// TestFindBySeen checks not_seen_days together with a search by id, and that a list goes on after a card that is stamped between
// two pages. TestListsFollowModel checks what the filters find.
func TestFindBySeen(t *testing.T) {
	k, cards := startSeen(t)
	for i, found := range []bool{true, true, false, false, false, false} {
		search := CardSearch{Q: set(cards[i]), ListFilter: ListFilter{NotSeenDays: setInt(4)}}
		if got := k.searched(t, search, 9); slices.Contains(got, cards[i]) != found {
			t.Errorf("card %d: %v", i, got)
		}
	}
	find := func(q PageQuery) Counted[CardFound] {
		return view(k.fixture, func(v *View) (Counted[CardFound], error) {
			return v.FindCards(k.a, CardFind{PageQuery: q, NotSeenDays: setInt(1)})
		})
	}
	first := find(PageQuery{Limit: setInt(1)})
	k.stamped(cards[0], 1) // the card at which the page ended
	if rest := find(PageQuery{Cursor: set(first.NextCursor.V)}); len(rest.Data) != 4 || rest.Data[0].ID != cards[2] {
		t.Errorf("after the card was stamped: %+v", rest.Data)
	}
}

// TestRestrictedKeysSeeNoDays checks that a restricted key may not ask by what happened at other
// locations, and that its cards do not tell it.
func TestRestrictedKeysSeeNoDays(t *testing.T) {
	k, _ := startSeen(t)
	restricted := k.restrictedTo(k.location)
	for _, find := range []CardFind{{NotSeenDays: setInt(1)}, {PrizeDue: set(true)}, {Sort: set(SortLastSeen)}} {
		refused(t, k.View(0, func(v *View) error { return errorOf(v.FindCards(restricted, find)) }), LocationScopeUnsupported)
	}
	k.view(func(v *View) error {
		p, err := v.FindCards(restricted, CardFind{})
		for _, c := range p.Data {
			if c.LastSeenAt.Valid || c.LastSeenDay != "" || c.PrizeDue {
				t.Errorf("a restricted key is told %+v", c)
			}
		}
		if len(p.Data) != 6 {
			t.Errorf("%d cards", len(p.Data))
		}
		return err
	})
}

// TestFindBySeenVisitsBoundedRows checks that a page visits at most PageVisits cards and goes
// on after them.
func TestFindBySeenVisitsBoundedRows(t *testing.T) {
	k := start(t, Options{PageVisits: 4})
	program := k.program(stamps("Ten"))
	var want []string
	for i := range 20 {
		f := CardFields{}
		if i%7 == 0 {
			f.ExternalRef = set("ref" + fmt.Sprint(i))
		}
		card := k.cardWith(program, f)
		if i == 14 {
			want = append(want, card)
		}
	}
	got, pages := k.find(k.a, CardFind{Sort: set(SortLastSeen), ExternalRef: set("ref14")}, 10)
	if !slices.Equal(got, want) || pages < 5 {
		t.Errorf("%v in %d pages, want %v", got, pages, want)
	}
}

// TestCardSeen checks that CardSeen has the prizes that are due on a chain.
func TestCardSeen(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true, 10)
	card := k.card(program)
	k.stamped(card, 11)
	c := view(k.fixture, func(v *View) (CardSeen, error) { return v.CardSeen(k.a, card) })
	if len(c.PrizesDue) != 1 || c.PrizesDue[0].Name != "Prize" || c.LastSeenDay == "" {
		t.Errorf("%+v", c)
	}
}

// TestTotals checks the bounds of the numbers of items: more than maxTotal are not counted, and
// where a filter drops most rows, the count ends after maxTotalVisits.
func TestTotals(t *testing.T) {
	lower(t, &maxTotalVisits, maxTotal+2)
	k := startAlone(t, Options{})
	program := k.program(stamps("Ten"))
	k.issue(program, CardFields{})
	add := func(n int) {
		k.must(func(tx *Tx) error {
			tx.exec(`INSERT INTO cards (id, shop_id, program_id, source, live, created_at, updated_at)
				WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<?1)
				SELECT (SELECT max(id) FROM cards)+i, shop_id, program_id, source, 0, created_at, updated_at FROM n, (SELECT * FROM cards
				ORDER BY id LIMIT 1)`, n)
			return tx.failed
		})
	}
	total := func(f CardFind) (total Total) {
		k.view(func(v *View) error {
			p, err := v.FindCards(k.a, f)
			total = p.Total
			return err
		})
		return total
	}
	for _, c := range []struct {
		add  int
		find CardFind
		want Total
	}{
		{maxTotal - 1, CardFind{}, Total{N: maxTotal}},
		{1, CardFind{}, Total{maxTotal, true}},
		{0, CardFind{Status: set(StatusArchived)}, Total{}},
		{maxTotalVisits, CardFind{Status: set(StatusArchived)}, Total{0, true}},
		{0, CardFind{ExternalRef: set("nobody")}, Total{}},
	} {
		if c.add > 0 {
			add(c.add)
		}
		if got := total(c.find); got != c.want {
			t.Errorf("%+v has the total %+v, want %+v", c.find, got, c.want)
		}
	}
}

// TestSeenAt checks which of the last presentation of a card and the day of its chain counts.
func TestSeenAt(t *testing.T) {
	zone := Zone(listZone)
	at := TimeOf(time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC)) // the day after in the zone
	day := Day(time.Date(2026, 3, 3, 0, 0, 0, 0, zone))
	begins := func(day int) Null[Time] { return Some(TimeOf(time.Date(2026, 3, day, 0, 0, 0, 0, zone))) }
	for _, c := range []struct {
		at   Null[Time]
		day  int64
		want Null[Time]
	}{
		{Null[Time]{}, 0, Null[Time]{}}, {Some(at), day, Some(at)}, {Some(at), day - 1, Some(at)}, {Some(at), day + 1, begins(4)},
		{Null[Time]{}, day, begins(3)},
	} {
		if got := seenAt(c.at, c.day, zone); got != c.want {
			t.Errorf("%v, day %d: %v, want %v", c.at, c.day, got, c.want)
		}
	}
}
