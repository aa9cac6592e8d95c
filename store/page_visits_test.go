package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// These tests check that filters without an index visit a bounded number of rows per page.

// expectVisits reads a filtered list to its end and returns the number of pages. Each page must
// be full or have visited, according to its cursor, exactly visits rows of walked, which are the
// list's rows, newest first. All pages together must give want.
func expectVisits(
	t *testing.T,
	f *fixture,
	list byte,
	walked []int64,
	visits, limit int,
	page func(PageQuery) Page[string],
	want []string,
) (pages int) {
	t.Helper()
	from := 0
	got := allPages(t, inPagesOf(int64(limit), page), func(p Page[string]) {
		pages++
		if !p.NextCursor.Valid {
			return
		}
		_, key, err := f.openCursor(list, f.a.Shop, p.NextCursor.V)
		if err != nil {
			t.Fatalf("page %d has an invalid cursor", pages)
		}
		to := slices.Index(walked, key) + 1
		switch moved := to - from; {
		case to == 0:
			t.Fatalf("page %d ends at key %d, which is not in the list", pages, key)
		case len(p.Data) == limit && moved <= visits:
		case moved != visits:
			t.Fatalf("page %d has %d items and visited %d rows, want %d", pages, len(p.Data), moved, visits)
		}
		from = to
	})
	if left := len(walked) - from; left > visits {
		t.Errorf("the last page left %d rows unread", left)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %d items %v\nwant %d items %v", len(got), got, len(want), want)
	}
	return pages
}

func reversed(keys []int64) []int64 {
	keys = slices.Clone(keys)
	slices.Reverse(keys)
	return keys
}

// mixedCard is a card that mixedCards issued.
type mixedCard struct {
	key             int64
	id              string
	locked, visible bool // visible: of a program that is valid everywhere
	ref             string
}

// mixedCards issues 105 cards of two programs with the same e-mail, each with its own reference, and
// returns them, newest first. As many cards of another shop are between them.
func (f *fixture) mixedCards(rng *rand.Rand, open, closed string) (rows []mixedCard) {
	other := f.in(f.shop(ShopFields{})).withLedger()
	for i := range 105 {
		r := mixedCard{locked: rng.IntN(5) == 0, visible: rng.IntN(3) > 0, ref: fmt.Sprint("ref", i)}
		program := closed
		if r.visible {
			program = open
		}
		r.id = f.cardWith(program, CardFields{HolderEmail: set("Ada@Example.com"), ExternalRef: set(r.ref)})
		r.key = f.key(KindCard, r.id)
		f.in(other.a).cardTo(other.program, "ada@example.com")
		if r.locked {
			f.lock(r.id, true)
		}
		rows = append(rows, r)
	}
	slices.Reverse(rows)
	return rows
}

// TestCardFiltersVisitBoundedRows checks each filter of cards, and that the more selective of two
// indexes is used.
func TestCardFiltersVisitBoundedRows(t *testing.T) {
	const visits = 10
	f := start(t, Options{PageVisits: visits})
	here, elsewhere := f.location(), f.location()
	open := f.program(stamps("Everywhere"))
	narrow := stamps("Elsewhere only")
	narrow.LocationScope, narrow.ScopedLocationIDs = set("selected_locations"), set([]string{elsewhere})
	closed := f.program(narrow)
	rows := f.mixedCards(chance(t), open, closed)
	restricted := Access{Shop: f.a.Shop, Restricted: true, Locations: []int64{f.key(KindLocation, here)}}
	none := func(mixedCard) bool { return false }

	for _, c := range []struct {
		name   string
		a      Access
		filter CardFilter
		walk   func(mixedCard) bool // cards in the index
		match  func(mixedCard) bool
	}{
		{"a status that no card has", f.a, CardFilter{Status: set(StatusArchived)}, nil, none},
		{"a status", f.a, CardFilter{Status: set(StatusLocked)}, nil, func(r mixedCard) bool { return r.locked }},
		{"status and program", f.a, CardFilter{Status: set(StatusInvited), ProgramID: set(closed)},
			func(r mixedCard) bool { return !r.visible }, func(r mixedCard) bool { return !r.visible && !r.locked }},
		{
			"e-mail and status", f.a, CardFilter{HolderEmail: set("aDA@example.COM"), Status: set(StatusLocked)}, nil,
			func(r mixedCard) bool { return r.locked },
		},
		{
			"e-mail and program", f.a, CardFilter{HolderEmail: set("ada@example.com"), ProgramID: set(open)}, nil,
			func(r mixedCard) bool { return r.visible },
		},
		{"e-mail and an unknown program", f.a, CardFilter{HolderEmail: set("ada@example.com"), ProgramID: set("prg_")}, nil, none},
		{"restricted", restricted, CardFilter{}, nil, func(r mixedCard) bool { return r.visible }},
		{"status that no card has, e-mail and program", f.a,
			CardFilter{Status: set(StatusArchived), HolderEmail: set("ada@example.com"), ProgramID: set(open)}, nil, none},
		{
			"restricted and e-mail", restricted, CardFilter{HolderEmail: set("ada@example.com")}, nil,
			func(r mixedCard) bool { return r.visible },
		},
		{"restricted and locked", restricted, CardFilter{Status: set(StatusLocked)}, nil, func(r mixedCard) bool {
			return r.visible &&
				r.locked
		}},
		{"restricted to nothing", Access{Shop: f.a.Shop, Restricted: true}, CardFilter{ProgramID: set(closed)},
			func(r mixedCard) bool { return !r.visible }, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			var walked []int64
			var want []string
			for _, r := range rows {
				if c.walk == nil || c.walk(r) {
					walked = append(walked, r.key)
				}
				if c.match(r) {
					want = append(want, r.id)
				}
			}
			for _, limit := range []int{1, 3, 50} {
				pages := expectVisits(t, f, listCards, walked, visits, limit, f.cards(c.a, c.filter), want)
				if len(want) == 0 && pages != len(walked)/visits+1 {
					t.Errorf("%d rows without a match took %d pages", len(walked), pages)
				}
			}
		})
	}

	// Of two filters with an index, the more selective one is used.
	r := rows[70]
	for _, filter := range []CardFilter{
		{ExternalRef: set(r.ref), HolderEmail: set("ADA@example.com")},
		{ExternalRef: set(r.ref), ProgramID: set(map[bool]string{true: open, false: closed}[r.visible])},
	} {
		if pages := expectVisits(t, f, listCards, []int64{r.key}, visits, 5, f.cards(f.a, filter), []string{r.id}); pages != 1 {
			t.Errorf("%+v took %d pages to find one card by its reference", filter, pages)
		}
	}
}

// TestTransactionFiltersVisitBoundedRows checks the filters of transactions.
func TestTransactionFiltersVisitBoundedRows(t *testing.T) {
	const visits = 10
	f := start(t, Options{PageVisits: visits})
	l := f.withLedger()
	second := f.location()
	card := f.card(l.program)
	var all, ofSecond []int64
	var use, both []string
	for i := range 203 {
		where, kind, who := l.location, "stamp", l.card
		if i%7 == 0 {
			kind = "access"
		}
		if i%3 == 0 {
			where = second
		}
		if i%2 == 0 {
			who = card
		}
		key := f.ledger(f.a, who, l.program, where, kind, 1)[0]
		all = append(all, key)
		id := f.ID(KindTransaction, key)
		if kind == "access" {
			use = append([]string{id}, use...)
		}
		if where == second {
			ofSecond = append(ofSecond, key)
			if kind == "access" && who == card {
				both = append([]string{id}, both...)
			}
		}
	}
	var ofCard []int64
	for i, key := range all {
		if i%2 == 0 {
			ofCard = append(ofCard, key)
		}
	}
	var idsOfSecond []string
	for _, key := range reversed(ofSecond) {
		idsOfSecond = append(idsOfSecond, f.ID(KindTransaction, key))
	}
	restricted := Access{Shop: f.a.Shop, Restricted: true, Locations: []int64{f.key(KindLocation, second)}}
	for _, limit := range []int{2, 50} {
		expectVisits(t, f, listTransactions, reversed(all), visits, limit, f.transactions(f.a, TransactionFilter{Type: set("access")}), use)
		expectVisits(t, f, listTransactions, reversed(all), visits, limit, f.transactions(f.a, TransactionFilter{Type: set("topup")}), nil)
		expectVisits(t, f, listTransactions, reversed(all), visits, limit, f.transactions(restricted, TransactionFilter{}), idsOfSecond)
		expectVisits(t, f, listTransactions, reversed(ofCard), visits, limit,
			f.transactions(f.a, TransactionFilter{Type: set("access"), CardID: set(card), LocationID: set(second)}), both)
	}
	if got := f.transactions(restricted, TransactionFilter{LocationID: set(l.location)})(PageQuery{}).Data; len(got) > 0 {
		t.Errorf("a key restricted to another location lists %v", got)
	}
}

// TestProgramAndLocationFiltersVisitBoundedRows checks the filters of programs and locations.
func TestProgramAndLocationFiltersVisitBoundedRows(t *testing.T) {
	const visits = 10
	f := start(t, Options{PageVisits: visits})
	restricted := Access{Shop: f.a.Shop, Restricted: true}
	var programs, locations []int64
	var prepaid, own []string
	for i := range 103 {
		fields := stamps("More")
		if i%9 == 0 {
			fields = ProgramFields{Name: set("Gift"), Type: set("prepaid"), InitialBalanceCents: setInt(0)}
		}
		id := f.draft(fields)
		programs = append(programs, f.key(KindProgram, id))
		if i%9 == 0 {
			prepaid = append([]string{id}, prepaid...)
		}
	}
	for i := range 103 {
		id := f.location()
		locations = append(locations, f.key(KindLocation, id))
		if i%20 == 5 {
			own = append([]string{id}, own...)
			restricted.Locations = append(restricted.Locations, f.key(KindLocation, id))
		}
	}
	for _, limit := range []int{2, 50} {
		expectVisits(t, f, listPrograms, reversed(programs), visits, limit, f.programs(f.a, set("prepaid")), prepaid)
		expectVisits(t, f, listPrograms, reversed(programs), visits, limit, f.programs(f.a, set("discount")), nil)
		expectVisits(t, f, listLocations, reversed(locations), visits, limit, f.locations(restricted), own)
	}
}

// TestTransactionsWithoutAMatch checks that without a match every page but the last is empty and
// has visited its share, for any filter and share, and that from and to limit the rows that are visited.
func TestTransactionsWithoutAMatch(t *testing.T) {
	t.Parallel()
	for _, visits := range []int{1, 7} {
		f := start(t, Options{PageVisits: visits})
		l, other := f.withLedger(), f.withLedger()
		theirs := f.in(f.shop(ShopFields{})).withLedger()
		first := f.clock.at()
		var rows []int64 // a millisecond apart
		for range 60 {
			rows = append(rows, f.ledger(f.a, l.card, l.program, l.location, "stamp", 1)...)
			f.clock.move(time.Millisecond)
		}
		f.ledger(theirs.a, theirs.card, theirs.program, theirs.location, "access", 5)
		elsewhere := Access{Shop: f.a.Shop, Restricted: true, Locations: []int64{f.key(KindLocation, other.location)}}
		card, program, location := set(l.card), set(l.program), set(l.location)
		none, stamp := set("access"), set("stamp")
		for _, c := range []struct {
			a      Access
			filter TransactionFilter
		}{
			{f.a, TransactionFilter{Type: none}},
			{f.a, TransactionFilter{Type: none, CardID: card}},
			{f.a, TransactionFilter{Type: none, ProgramID: program}},
			{f.a, TransactionFilter{Type: none, LocationID: location}},
			{f.a, TransactionFilter{Type: none, CardID: card, ProgramID: program, LocationID: location}},
			{f.a, TransactionFilter{CardID: card, LocationID: set(other.location)}},
			{f.a, TransactionFilter{CardID: card, ProgramID: set(other.program)}},
			{f.a, TransactionFilter{CardID: card, ProgramID: set("prg_")}},
			{f.a, TransactionFilter{CardID: card, ProgramID: program, LocationID: set(other.location)}},
			{f.a, TransactionFilter{LocationID: location, ProgramID: set(other.program)}},
			{elsewhere, TransactionFilter{}},
			{elsewhere, TransactionFilter{CardID: card}},
			{elsewhere, TransactionFilter{Type: stamp}},
			{elsewhere, TransactionFilter{Type: stamp, ProgramID: program}},
			{elsewhere, TransactionFilter{CardID: card, ProgramID: program}},
			{Access{Shop: f.a.Shop, Restricted: true}, TransactionFilter{}},
		} {
			for _, bound := range []int{0, 15} {
				walked := reversed(rows[bound : len(rows)-bound])
				if bound > 0 {
					c.filter.From, c.filter.To = set(first+Time(bound)), set(first+Time(len(rows)-bound))
				}
				pages := expectVisits(t, f, listTransactions, walked, visits, 50, f.transactions(c.a, c.filter), nil)
				if pages != len(walked)/visits+1 {
					t.Errorf("%+v: %d rows without a match took %d pages of %d visits", c.filter, len(walked), pages, visits)
				}
			}
		}
		// A filter that an index answers alone, or that cannot match, visits no rows.
		for _, c := range []struct {
			a      Access
			filter TransactionFilter
		}{
			{f.a, TransactionFilter{CardID: set(other.card), Type: stamp}},
			{f.a, TransactionFilter{CardID: set(other.card), ProgramID: program, LocationID: location}},
			{f.a, TransactionFilter{CardID: set("crd_"), Type: none}},
			{f.a, TransactionFilter{LocationID: set(other.location), ProgramID: program, Type: stamp}},
			{f.a, TransactionFilter{ProgramID: set(other.program), Type: stamp}},
			{f.a, TransactionFilter{ProgramID: set(theirs.program)}},
			{f.a, TransactionFilter{From: set(f.clock.at()), Type: none}},
			{f.a, TransactionFilter{To: set(first), Type: none}},
			{f.a, TransactionFilter{From: set(first + 5), To: set(first + 5), Type: none}},
			{elsewhere, TransactionFilter{LocationID: set(other.location)}},
			{elsewhere, TransactionFilter{LocationID: location}},
			{elsewhere, TransactionFilter{LocationID: location, CardID: card}},
			{f.shop(ShopFields{}), TransactionFilter{Type: none}},
		} {
			if pages := expectVisits(t, f, listTransactions, nil, visits, 50, f.transactions(c.a, c.filter), nil); pages != 1 {
				t.Errorf("%+v took %d pages", c.filter, pages)
			}
		}
	}
}

// TestFilteredPageSeesOneState checks that the two statements of a page with a filter, for the rows
// and for the position, see the same state of the file while others write.
func TestFilteredPageSeesOneState(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(*fixture, string, []string){
		"a card is added": func(f *fixture, program string, _ []string) { f.card(program) },
		"a card is added, 12": func(f *fixture, program string, _ []string) {
			for range 12 {
				f.card(program)
			}
		},
		"cards are erased": func(f *fixture, program string, cards []string) {
			for _, id := range cards[len(cards)-3:] {
				f.erase(id)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, Options{PageVisits: 10})
			program := f.program(stamps("Coffee"))
			var cards []string
			for range 30 {
				cards = append(cards, f.card(program))
			}
			written := false
			got := allPages(t, func(q PageQuery) (p Page[int64]) {
				w := listQuery{list: listCards, shop: f.a.Shop, table: "cards c", alias: "c"}
				w.useIndex("c.shop_id=? AND c.deleted_at IS NULL", f.a.Shop)
				w.filter("c.id>?", 0)
				f.view(func(v *View) (err error) {
					p, err = page(v, w, q, columns(epochColumn, "c.id"), func(r *rows, key int64) int64 {
						if !written {
							written = true
							meanwhile(f, program, cards)
						}
						return key
					})
					return err
				})
				return p
			}, nil)
			var want []int64
			for _, id := range cards {
				want = append([]int64{f.key(KindCard, id)}, want...)
			}
			if !slices.Equal(got, want) {
				t.Errorf("all pages give %v, want %v", got, want)
			}
		})
	}
}
