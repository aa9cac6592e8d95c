package store

import (
	"fmt"
	"slices"
	"testing"
)

// allPages reads a list to its end. It calls between, if not nil, after each page.
func allPages[T any](t testing.TB, page func(PageQuery) Page[T], between func(Page[T])) (all []T) {
	t.Helper()
	var q PageQuery
	for n := 0; ; n++ {
		p := page(q)
		all = append(all, p.Data...)
		if between != nil {
			between(p)
		}
		if !p.NextCursor.Valid {
			return all
		}
		if n > 10000 {
			t.Fatal("the list has no end")
		}
		q.Cursor = set(p.NextCursor.V)
	}
}

// pages returns a function that reads a page of a list and returns the ids of its items.
func pages[T any](f *fixture, read func(*View, PageQuery) (Page[T], error), id func(T) string) func(PageQuery) Page[string] {
	return func(q PageQuery) Page[string] {
		f.t.Helper()
		list := view(f, func(v *View) (Page[T], error) { return read(v, q) })
		p := Page[string]{NextCursor: list.NextCursor, Limit: list.Limit}
		for _, item := range list.Data {
			p.Data = append(p.Data, id(item))
		}
		return p
	}
}

// inPagesOf returns page with a limit.
func inPagesOf(limit int64, page func(PageQuery) Page[string]) func(PageQuery) Page[string] {
	return func(q PageQuery) Page[string] {
		q.Limit = set(limit)
		return page(q)
	}
}

func (f *fixture) cards(a Access, filter CardFilter) func(PageQuery) Page[string] {
	read := func(v *View, q PageQuery) (Page[Card], error) {
		filter.PageQuery = q
		return v.Cards(a, filter)
	}
	return pages(f, read, func(c Card) string { return c.ID })
}

func (f *fixture) transactions(a Access, filter TransactionFilter) func(PageQuery) Page[string] {
	read := func(v *View, q PageQuery) (Page[Transaction], error) {
		filter.PageQuery = q
		return v.Transactions(a, filter)
	}
	return pages(f, read, func(x Transaction) string { return x.ID })
}

func (f *fixture) programs(a Access, kind Opt[string]) func(PageQuery) Page[string] {
	read := func(v *View, q PageQuery) (Page[Program], error) { return v.Programs(a, ProgramFilter{q, kind}) }
	return pages(f, read, func(x Program) string { return x.ID })
}

func (f *fixture) locations(a Access) func(PageQuery) Page[string] {
	read := func(v *View, q PageQuery) (Page[Location], error) { return v.Locations(a, q) }
	return pages(f, read, func(x Location) string { return x.ID })
}

func (f *fixture) auditLog() func(PageQuery) Page[string] {
	read := func(v *View, q PageQuery) (Page[AuditRow], error) { return v.AuditLog(f.a.Shop, q) }
	return pages(f, read, func(x AuditRow) string { return fmt.Sprint(x.ID) })
}

func (f *fixture) activity(filter AuditFilter) func(PageQuery) Page[string] {
	read := func(v *View, q PageQuery) (Page[AuditRow], error) {
		filter.PageQuery = q
		return v.Activity(f.a.Shop, filter)
	}
	return pages(f, read, func(x AuditRow) string { return fmt.Sprint(x.ID) })
}

// ledgerCase is a shop with the resources that rows of its ledger need.
type ledgerCase struct {
	a                       Access
	program, card, location string
}

// withLedger creates a program, a card and a location.
func (f *fixture) withLedger() ledgerCase {
	program := f.program(stamps("Coffee"))
	return ledgerCase{f.a, program, f.card(program), f.location()}
}

// row adds a row of a type to the card's ledger and returns its id.
func (f *fixture) row(l ledgerCase, kind string) string {
	return f.ID(KindTransaction, f.ledger(l.a, l.card, l.program, l.location, kind, 1)[0])
}

// TestPagesWhileRowsAreAdded checks that rows that existed at the first page are listed once each,
// newest first, while rows are added and other shops have rows.
func TestPagesWhileRowsAreAdded(t *testing.T) {
	f := start(t)
	mine, theirs := f.withLedger(), f.in(f.shop(ShopFields{})).withLedger()
	newCard := func(l ledgerCase) string { return f.in(l.a).card(l.program) }
	newProgram := func(l ledgerCase) string { return f.in(l.a).draft(stamps("More")) }
	newLocation := func(l ledgerCase) string { return f.in(l.a).location() }
	newRow := func(l ledgerCase) string { return f.row(l, "stamp") }
	newAudit := func(l ledgerCase) string {
		f.must(func(tx *Tx) error {
			tx.audit(l.a.Shop, "mark", KindShop, l.a.Shop, "")
			return tx.failed
		})
		return f.lines("SELECT max(id) FROM audit")[0]
	}
	for _, c := range []struct {
		name string
		page func(PageQuery) Page[string]
		add  func(ledgerCase) string
	}{
		{"cards", f.cards(f.a, CardFilter{}), newCard},
		{"programs", f.programs(f.a, Opt[string]{}), newProgram},
		{"locations", f.locations(f.a), newLocation},
		{"transactions", f.transactions(f.a, TransactionFilter{}), newRow},
		{"audit", f.auditLog(), newAudit},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := allPages(t, c.page, nil)
			for range 21 {
				want = append([]string{c.add(mine)}, want...)
				c.add(theirs)
			}
			for _, limit := range []int64{1, 4, 7} {
				pages := 0
				var added []string
				got := allPages(t, inPagesOf(limit, c.page), func(p Page[string]) {
					pages++
					if int64(p.Limit) != limit || p.NextCursor.Valid && int64(len(p.Data)) != limit {
						t.Errorf("page %d has %d items and limit %d, asked for %d", pages, len(p.Data), p.Limit, limit)
					}
					if pages%3 == 1 {
						added = append([]string{c.add(mine)}, added...)
						c.add(theirs)
					}
				})
				if !slices.Equal(got, want) {
					t.Errorf("limit %d: got %d items %v, want %d: %v", limit, len(got), got, len(want), want)
				}
				want = append(added, want...)
			}
		})
	}
}

func TestPageLimits(t *testing.T) {
	f := start(t, Options{Limits: Limits{MaxPageSize: 20}})
	l := f.withLedger()
	for range 24 {
		f.card(l.program)
	}
	for _, c := range []struct {
		asked Opt[int64]
		want  int
	}{{Opt[int64]{}, 20}, {null[int64](), 20}, {setInt(3), 3}, {setInt(20), 20}, {setInt(21), 20}, {set(int64(1) << 60), 20}} {
		p := f.cards(f.a, CardFilter{})(PageQuery{Limit: c.asked})
		if p.Limit != c.want || len(p.Data) != c.want || !p.NextCursor.Valid {
			t.Errorf("asked for %v: %d items, limit %d, next %v; want %d of 25", c.asked, len(p.Data), p.Limit, p.NextCursor.Valid, c.want)
		}
	}
	if got := DefaultLimits().ClampLimit(Opt[int64]{}); got != 50 {
		t.Errorf("the default page has %d items, want 50", got)
	}
	// A full last page has no next page.
	p := f.cards(f.a, CardFilter{})(PageQuery{Limit: setInt(20)})
	if p = f.cards(f.a, CardFilter{})(PageQuery{Limit: setInt(5), Cursor: set(p.NextCursor.V)}); len(p.Data) != 5 ||
		p.NextCursor.Valid {
		t.Errorf("the last 5 of 25 are %d items, next %v", len(p.Data), p.NextCursor)
	}
}
