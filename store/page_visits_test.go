package store

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// These tests check that filters without an index visit a bounded number of rows per page.

// expectVisits reads a list to its end. Each page must be full or have visited, according to its cursor, exactly as many rows of
// walked as it may, which are those of the index that the list uses, newest first. All pages together must give want. A list without
// a match has as few pages as that allows. A list without a filter beside the index is full, so its limit must not be above the visits.
func (f *fixture) expectVisits(list byte, walked []int64, limit int, page func(PageQuery) Page[string], want []string) {
	f.t.Helper()
	visits, from, pages := f.opts.PageVisits, 0, 0
	got := allPages(f.t, inPagesOf(int64(limit), page), func(p Page[string]) {
		pages++
		if !p.NextCursor.Valid {
			return
		}
		_, key, err := f.openCursor(list, f.a.Shop, p.NextCursor.V)
		if err != nil {
			f.t.Fatalf("page %d has an invalid cursor", pages)
		}
		to := slices.Index(walked, key) + 1
		switch moved := to - from; {
		case to == 0:
			f.t.Fatalf("page %d ends at key %d, which is not in the list", pages, key)
		case len(p.Data) == limit && moved <= visits:
		case moved != visits:
			f.t.Fatalf("page %d has %d items and visited %d rows, want %d", pages, len(p.Data), moved, visits)
		}
		from = to
	})
	if left := len(walked) - from; left > visits {
		f.t.Errorf("the last page left %d rows unread", left)
	}
	if !slices.Equal(got, want) {
		f.t.Errorf("got %d items %v\nwant %d items %v", len(got), got, len(want), want)
	}
	if len(want) == 0 && pages != len(walked)/visits+1 {
		f.t.Errorf("%d rows without a match took %d pages of %d visits", len(walked), pages, visits)
	}
}

// TestCardsFollowModel compares the pages of random filters of cards with cards in memory, while another shop has cards between
// them. A page reads the cards of one index: of the reference, the email, the program or the shop, the first of these that is given.
func TestCardsFollowModel(t *testing.T) {
	rng := chance(t)
	f := start(t, Options{PageVisits: 10})
	here, theirs := f.location(), f.in(f.shop(ShopFields{})).withLedger()
	open, closed := f.program(stamps("Everywhere")), f.program(onlyAt(stamps("Elsewhere only"), f.location()))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	type row struct {
		key                      int64
		id, ref, program, status string
	}
	var rows []row // newest first
	for i := range 105 {
		r := row{ref: fmt.Sprint("ref", i), program: pick(open, closed), status: pick(StatusInvited, StatusLocked)}
		r.id = f.cardWith(r.program, CardFields{HolderEmail: set("Ada@Example.com"), ExternalRef: set(r.ref)})
		r.key = f.key(KindCard, r.id)
		f.in(theirs.a).cardTo(theirs.program, "ada@example.com")
		f.lock(r.id, r.status == StatusLocked)
		rows = append([]row{r}, rows...)
	}
	for range 200 {
		a := []Access{f.a, f.restrictedTo(here), f.restrictedTo()}[rng.IntN(3)]
		filter := CardFilter{
			ExternalRef: optional(pick("", "", rows[rng.IntN(105)].ref)),
			HolderEmail: optional(pick("", "", "aDA@example.COM", "eve@example.com")),
			ProgramID:   optional(pick("", "", open, closed, "prg_")),
			Status:      optional(pick("", "", StatusInvited, StatusLocked, StatusArchived)),
		}
		var walked []int64
		var want []string
		for _, r := range rows {
			ref, email, program := r.ref == filter.ExternalRef.Or(r.ref), filter.HolderEmail.V != "eve@example.com",
				r.program == filter.ProgramID.Or(r.program)
			indexed := program
			if filter.HolderEmail.Set {
				indexed = email
			}
			if filter.ExternalRef.Set {
				indexed = ref
			}
			if indexed {
				walked = append(walked, r.key)
			}
			if ref && email && program && r.status == filter.Status.Or(r.status) && (!a.Restricted || r.program == open) {
				want = append(want, r.id)
			}
		}
		f.expectVisits(listCards, walked, 1+rng.IntN(10), f.cards(a, filter), want)
	}
}

// TestTransactionsFollowModel compares the pages of random filters of the ledger with rows in memory, while another shop has rows
// between them. A page reads the rows of one index: of the card, the location, the program or the shop, the first of these that is
// given.
func TestTransactionsFollowModel(t *testing.T) {
	rng := chance(t)
	f := start(t, Options{PageVisits: 7})
	here, there := f.withLedger(), f.withLedger()
	theirs, empty := f.in(f.shop(ShopFields{})).withLedger(), f.shop(ShopFields{})
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	type row struct {
		key                           int64
		card, location, program, kind string
		at                            Time
	}
	var rows []row // newest first
	for range 100 {
		r := row{card: pick(here.card, there.card), location: pick(here.location, there.location),
			program: pick(here.program, there.program), kind: pick("stamp", "topup"), at: f.clock.at()}
		r.key = f.ledger(f.a, r.card, r.program, r.location, r.kind, 1)[0]
		f.row(theirs, r.kind)
		rows = append([]row{r}, rows...)
		f.clock.move(time.Duration(rng.IntN(3)) * time.Second)
	}
	bound := func() Opt[Time] {
		return Opt[Time]{V: rows[33*rng.IntN(4)].at + Time(rng.IntN(3)-1), Set: rng.IntN(3) == 0}
	}
	for range 500 {
		a := []Access{f.a, f.a, f.restrictedTo(here.location), f.restrictedTo(), empty}[rng.IntN(5)]
		filter := TransactionFilter{
			CardID:     optional(pick("", "", here.card, there.card, theirs.card, "crd_")),
			LocationID: optional(pick("", "", here.location, there.location, theirs.location)),
			ProgramID:  optional(pick("", "", here.program, there.program, theirs.program, "prg_")),
			Type:       optional(pick("", "stamp", "topup", "access")),
			From:       bound(),
			To:         bound(),
		}
		if filter.From.Set && filter.To.Set && filter.From.V > filter.To.V {
			refused(t, f.View(0, func(v *View) error { return errorOf(v.Transactions(a, filter)) }), ValidationFailed)
			continue
		}
		var walked []int64
		var want []string
		allowed := func(location string) bool { return !a.Restricted || len(a.Locations) > 0 && location == here.location }
		for _, r := range rows {
			if a.Shop != f.a.Shop || filter.LocationID.Set && !allowed(filter.LocationID.V) ||
				filter.From.Set && r.at < filter.From.V || filter.To.Set && r.at >= filter.To.V {
				continue
			}
			card, location, program := r.card == filter.CardID.Or(r.card), r.location == filter.LocationID.Or(r.location),
				r.program == filter.ProgramID.Or(r.program)
			indexed := program
			if filter.LocationID.Set {
				indexed = location
			}
			if filter.CardID.Set {
				indexed = card
			}
			if indexed {
				walked = append(walked, r.key)
			}
			if card && location && program && r.kind == filter.Type.Or(r.kind) && allowed(r.location) {
				want = append(want, f.ID(KindTransaction, r.key))
			}
		}
		f.expectVisits(listTransactions, walked, 1+rng.IntN(7), f.transactions(a, filter), want)
	}
}

// TestProgramAndLocationFiltersVisitBoundedRows checks the filters of programs and locations.
func TestProgramAndLocationFiltersVisitBoundedRows(t *testing.T) {
	f := start(t, Options{PageVisits: 10})
	var programs, locations []int64
	var gifts, own []string
	for i := range 103 {
		fields := stamps("More")
		if i%9 == 0 {
			fields = prepaid("Gift", 0)
		}
		program, location := f.draft(fields), f.location()
		programs = append([]int64{f.key(KindProgram, program)}, programs...)
		locations = append([]int64{f.key(KindLocation, location)}, locations...)
		if i%9 == 0 {
			gifts = append([]string{program}, gifts...)
		}
		if i%20 == 5 {
			own = append([]string{location}, own...)
		}
	}
	for _, limit := range []int{2, 50} {
		f.expectVisits(listPrograms, programs, limit, f.programs(f.a, set("prepaid")), gifts)
		f.expectVisits(listPrograms, programs, limit, f.programs(f.a, set("discount")), nil)
		f.expectVisits(listLocations, locations, limit, f.locations(f.restrictedTo(own...)), own)
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
					p, err = page(v, w, q, epochColumn+", c.id", func(r *rows, key int64) int64 {
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
