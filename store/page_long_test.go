package store

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// These tests check on long lists that a page visits at most the default number of rows with any
// filter.

// sizes returns the length of a list, how many of its rows a page may visit, and options with that
// limit. The limit is the default, and the list is thirty times as long. Both are smaller with the
// race detector, which makes SQLite fifty times slower.
func sizes() (rows, share int64, opts Options) {
	if racing {
		return 10_000, 100, Options{PageVisits: 100}
	}
	return 60_000, 2000, Options{}
}

// largeTable is a list of rows of one shop with consecutive keys, so that a page's cursor shows how
// many rows it visited.
type largeTable struct {
	*fixture
	list        byte
	oldest, end int64 // keys of the first row and of the row after the last
	rows, share int64
}

// visits reads pages from key downwards, at most limit of them, and returns how many it read. Each
// must be empty and return a cursor after exactly its share of rows, except for the last page of the
// list, with less than a share of rows above floor.
func (h largeTable) visits(t *testing.T, key, floor int64, limit int, page func(PageQuery) Page[string]) (n int) {
	t.Helper()
	for n = 1; ; n++ {
		var q PageQuery
		if key < h.end {
			q.Cursor = set(h.cursor(h.list, h.a.Shop, key))
		}
		p := page(q)
		if len(p.Data) > 0 {
			t.Fatalf("page %d finds %q", n, p.Data)
		}
		if !p.NextCursor.Valid {
			if key-floor >= h.share {
				t.Fatalf("page %d is the last, with %d rows to come", n, key-floor)
			}
			return n
		}
		next, ok := h.cursorKey(h.list, h.a.Shop, p.NextCursor.V)
		if !ok || key-next != h.share {
			t.Fatalf("page %d visited %d rows, want %d", n, key-next, h.share)
		}
		if key = next; n == limit {
			return n
		}
	}
}

// bounded reads the first pages of a list without a match, starting at from, in its middle, and
// near floor.
func (h largeTable) bounded(t *testing.T, from, floor int64, page func(PageQuery) Page[string]) {
	t.Helper()
	for _, c := range []struct {
		where     string
		key       int64
		most, all int
	}{
		{"at the beginning", from, 3, 3},
		{"in the middle", floor + (from-floor)/2, 2, 2},
		// The last page visits a full share, so another page follows.
		{"two shares before the end", floor + 2*h.share, 9, 3},
		{"less than two before the end", floor + 2*h.share - 1, 9, 2},
		{"at the end", floor, 9, 1},
	} {
		if n := h.visits(t, c.key, floor, c.most, page); n != c.all {
			t.Errorf("%s: %d pages, want %d", c.where, n, c.all)
		}
	}
}

// largeLedger returns a ledger of one card's rows at one location, a millisecond apart. The oldest
// one has another type than the others, which are stamps.
func largeLedger(t *testing.T) (h largeTable, l ledgerCase) {
	rows, share, opts := sizes()
	f := startWith(t, opts)
	l = f.withLedger()
	h = largeTable{fixture: f, list: listTransactions, rows: rows, share: share, oldest: f.key(KindTransaction, f.row(l, "access"))}
	f.sql(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<?5-1)
		INSERT INTO transactions (shop_id, card_id, program_id, location_id, type, stamps_delta, created_at) SELECT ?1, ?2, ?3, ?4, 'stamp', 1, ?6+i FROM n`,
		f.a.Shop, f.key(KindCard, l.card), f.key(KindProgram, l.program), f.key(KindLocation, l.location), rows, f.clock.at())
	h.end = h.oldest + rows
	if n := f.number("SELECT count(*) FROM transactions WHERE id>=? AND id<?", h.oldest, h.end); n != rows {
		t.Fatalf("%d rows follow one another, want %d", n, rows)
	}
	return h, l
}

// TestTransactionsOfALongLedger checks the pages of a long ledger with filters that match nothing,
// with filters that an index answers, and with one that only the oldest row matches.
func TestTransactionsOfALongLedger(t *testing.T) {
	t.Parallel()
	h, l := largeLedger(t)
	f := h.fixture
	other := f.withLedger() // a card, a program and a location without rows
	first := f.clock.at()   // time of the oldest row
	last := first + Time(h.rows) - 1
	f.clock.move(time.Hour)
	elsewhere := Access{Shop: f.a.Shop, Restricted: true, Locations: []int64{f.key(KindLocation, other.location)}}
	nowhere := Access{Shop: f.a.Shop, Restricted: true}
	card, program, location := set(l.card), set(l.program), set(l.location)
	none := set("topup") // a type without rows

	for name, c := range map[string]struct {
		a Access
		f TransactionFilter
	}{
		"type":                                  {f.a, TransactionFilter{Type: none}},
		"type and card":                         {f.a, TransactionFilter{Type: none, CardID: card}},
		"type and program":                      {f.a, TransactionFilter{Type: none, ProgramID: program}},
		"type and location":                     {f.a, TransactionFilter{Type: none, LocationID: location}},
		"type, card, program and location":      {f.a, TransactionFilter{Type: none, CardID: card, ProgramID: program, LocationID: location}},
		"card and another program":              {f.a, TransactionFilter{CardID: card, ProgramID: set(other.program)}},
		"card and an unknown program":           {f.a, TransactionFilter{CardID: card, ProgramID: set("prg_")}},
		"card and another location":             {f.a, TransactionFilter{CardID: card, LocationID: set(other.location)}},
		"card, program and another location":    {f.a, TransactionFilter{CardID: card, ProgramID: program, LocationID: set(other.location)}},
		"location and another program":          {f.a, TransactionFilter{LocationID: location, ProgramID: set(other.program)}},
		"a key for elsewhere":                   {elsewhere, TransactionFilter{}},
		"a key for elsewhere, type":             {elsewhere, TransactionFilter{Type: set("stamp")}},
		"a key for elsewhere, card":             {elsewhere, TransactionFilter{CardID: card}},
		"a key for elsewhere, program":          {elsewhere, TransactionFilter{ProgramID: program}},
		"a key for elsewhere, location":         {elsewhere, TransactionFilter{LocationID: location}},
		"a key for elsewhere, card and program": {elsewhere, TransactionFilter{CardID: card, ProgramID: program}},
		"a key for nowhere":                     {nowhere, TransactionFilter{}},
	} {
		t.Run(name, func(t *testing.T) {
			h.bounded(t, h.end, h.oldest, f.transactions(c.a, c.f))
			// from and to limit the rows that are visited.
			quarter := h.rows / 4
			c.f.From, c.f.To = set(first+Time(quarter)), set(last+1-Time(quarter))
			h.bounded(t, h.end-quarter, h.oldest+quarter, f.transactions(c.a, c.f))
		})
	}

	// These are answered by an index alone or cannot match, so no row is visited.
	for name, c := range map[string]struct {
		a Access
		f TransactionFilter
	}{
		"another card":                       {f.a, TransactionFilter{CardID: set(other.card)}},
		"another card, type":                 {f.a, TransactionFilter{CardID: set(other.card), Type: set("stamp")}},
		"another card, program and location": {f.a, TransactionFilter{CardID: set(other.card), ProgramID: program, LocationID: location}},
		"an unknown card":                    {f.a, TransactionFilter{CardID: set("crd_"), Type: none}},
		"another location":                   {f.a, TransactionFilter{LocationID: set(other.location)}},
		"another location, program and type": {f.a, TransactionFilter{LocationID: set(other.location), ProgramID: program, Type: set("stamp")}},
		"another program":                    {f.a, TransactionFilter{ProgramID: set(other.program)}},
		"another program, type":              {f.a, TransactionFilter{ProgramID: set(other.program), Type: set("stamp")}},
		"after the newest row":               {f.a, TransactionFilter{From: set(last + 1), Type: none}},
		"before the oldest row":              {f.a, TransactionFilter{To: set(first), Type: none}},
		"an empty span of time":              {f.a, TransactionFilter{From: set(first + 5), To: set(first + 5), Type: none}},
		"a key for elsewhere, its location":  {elsewhere, TransactionFilter{LocationID: set(other.location)}},
		"another shop":                       {f.shop(ShopFields{}), TransactionFilter{Type: none}},
	} {
		t.Run(name, func(t *testing.T) {
			if p := f.transactions(c.a, c.f)(PageQuery{}); len(p.Data) > 0 || p.NextCursor.Valid {
				t.Errorf("found %q, and more: %v", p.Data, p.NextCursor.Valid)
			}
		})
	}

	t.Run("the oldest", h.findsOldest)
}

// findsOldest reads pages with filters that only the oldest row of the ledger matches. It is on the last
// page that visits a full share, so one more page follows.
func (h largeTable) findsOldest(t *testing.T) {
	f, first := h.fixture, h.clock.at().Add(-time.Hour) // time of the oldest row
	page, full := f.transactions(f.a, TransactionFilter{Type: set("access")}), int(h.rows/h.share)
	got := []string{f.ID(KindTransaction, h.oldest)}
	if n := h.visits(t, h.end, h.oldest, full-1, page); n != full-1 {
		t.Errorf("%d pages without a match, want %d", n, full-1)
	}
	p := page(PageQuery{Cursor: set(h.cursor(h.list, h.a.Shop, h.oldest+h.share))})
	if !slices.Equal(p.Data, got) || !p.NextCursor.Valid {
		t.Fatalf("found %q, and more: %v", p.Data, p.NextCursor.Valid)
	}
	if p = page(PageQuery{Cursor: set(p.NextCursor.V)}); len(p.Data) > 0 || p.NextCursor.Valid {
		t.Errorf("found %q after the oldest, and more: %v", p.Data, p.NextCursor.Valid)
	}
	// With an index or a bound, the first page has it.
	for _, filter := range []TransactionFilter{{To: set(first + 1)}, {To: set(first + Time(h.share)), Type: set("access")}} {
		if p := f.transactions(f.a, filter)(PageQuery{}); !slices.Equal(p.Data, got) {
			t.Errorf("%+v finds %q on its first page", filter, p.Data)
		}
	}
}

// TestCardsOfALongList checks the pages of a long list of cards with such filters.
func TestCardsOfALongList(t *testing.T) {
	t.Parallel()
	rows, share, opts := sizes()
	f := startWith(t, opts)
	here, elsewhere := f.location(), f.location()
	fields := stamps("Here only")
	fields.LocationScope, fields.ScopedLocationIDs = set("selected_locations"), set([]string{here})
	program, other := f.program(fields), f.program(stamps("None has it"))
	// All cards have the same e-mail, and only the oldest is locked.
	oldest := f.cardWith(program, CardFields{HolderEmail: set("ada@example.com")})
	f.lock(oldest, true)
	h := largeTable{fixture: f, list: listCards, rows: rows, share: share, oldest: f.key(KindCard, oldest)}
	// In batches: one statement for all rows would take more steps than a file of this size allows.
	for left := rows - 1; left > 0; left -= min(left, 50_000) {
		f.sql(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<?2)
			INSERT INTO cards (shop_id, program_id, source, email_key, live, created_at, updated_at)
			SELECT shop_id, program_id, 'api', email_key, 0, created_at, created_at FROM cards, n WHERE id=?1`, h.oldest, min(left, 50_000))
	}
	h.end = h.oldest + rows
	if n := f.number("SELECT count(*) FROM cards WHERE id>=? AND id<?", h.oldest, h.end); n != rows {
		t.Fatalf("%d cards follow one another, want %d", n, rows)
	}
	outside := Access{Shop: f.a.Shop, Restricted: true, Locations: []int64{f.key(KindLocation, elsewhere)}}
	email, none := set("ADA@example.com"), set(StatusArchived)
	for name, c := range map[string]struct {
		a Access
		f CardFilter
	}{
		"status":                                {f.a, CardFilter{Status: none}},
		"status and program":                    {f.a, CardFilter{Status: none, ProgramID: set(program)}},
		"status and e-mail":                     {f.a, CardFilter{Status: none, HolderEmail: email}},
		"status, program and e-mail":            {f.a, CardFilter{Status: none, ProgramID: set(program), HolderEmail: email}},
		"e-mail and another program":            {f.a, CardFilter{HolderEmail: email, ProgramID: set(other)}},
		"a key for elsewhere":                   {outside, CardFilter{}},
		"a key for elsewhere, program":          {outside, CardFilter{ProgramID: set(program)}},
		"a key for elsewhere, e-mail":           {outside, CardFilter{HolderEmail: email}},
		"a key for elsewhere, status it has":    {outside, CardFilter{Status: set(StatusInvited)}},
		"a key for nowhere, program and status": {Access{Shop: f.a.Shop, Restricted: true}, CardFilter{ProgramID: set(program), Status: set(StatusInvited)}},
	} {
		t.Run(name, func(t *testing.T) { h.bounded(t, h.end, h.oldest, f.cards(c.a, c.f)) })
	}
	for _, filter := range []CardFilter{
		{ProgramID: set(other), Status: set(StatusInvited)}, {HolderEmail: set("bea@example.com"), Status: set(StatusInvited)},
		{ExternalRef: set("m-1"), HolderEmail: email, ProgramID: set(program)}, {ProgramID: set("prg_"), Status: none},
	} {
		t.Run(fmt.Sprint("none ", filter), func(t *testing.T) {
			if p := f.cards(f.a, filter)(PageQuery{}); len(p.Data) > 0 || p.NextCursor.Valid {
				t.Errorf("found %q, and more: %v", p.Data, p.NextCursor.Valid)
			}
		})
	}
	t.Run("the oldest", func(t *testing.T) {
		locked := f.cards(f.a, CardFilter{Status: set(StatusLocked)})
		// It is not on the pages before the last one.
		h.visits(t, h.end, h.oldest, 3, locked)
		before := h.oldest + 2*share
		h.visits(t, before, h.oldest, 1, locked)
		p := locked(PageQuery{Cursor: set(h.cursor(listCards, f.a.Shop, before-share))})
		if !slices.Equal(p.Data, []string{oldest}) || !p.NextCursor.Valid {
			t.Errorf("found %q, and more: %v", p.Data, p.NextCursor.Valid)
		}
	})
}
