package store

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// listedCard is what listModel knows of a card. It is read with simple queries, a card at a time.
type listedCard struct {
	key, root, program int64
	id, status         string
	value, stamps      int64
	money, live, newer bool // newer: its chain has a newer card
	seenDay            int64
	issued             Time   // of the chain
	birthday           string // of the chain
	prizeDue           bool
}

// listZone is the time zone of the shop of a listModel.
const listZone = "Asia/Kathmandu"

// listModel has the cards of a shop, newest first, without the erased ones.
type listModel []listedCard

// listModel reads the cards of a shop.
func (f *fixture) listModel(shop int64) (m listModel) {
	f.reads(func(v *View) {
		for _, key := range v.keys("SELECT id FROM cards WHERE shop_id=? AND deleted_at IS NULL ORDER BY id DESC", shop) {
			c := listedCard{key: key, id: v.ID(KindCard, key)}
			cycle, money := int64(0), int64(0)
			v.one(into(&c.root, &c.program, &c.stamps, &c.value, &money, &cycle), `SELECT ifnull(root_id, id), program_id, stamps_count,
				ifnull(current_value, 0), current_value IS NOT NULL, cycle FROM cards WHERE id=?`, key)
			c.money = money == 1
			c.live = v.number("SELECT live FROM cards WHERE id=?", c.root) == 1
			c.newer = v.number("SELECT count(*) FROM cards WHERE root_id=? AND id>? AND deleted_at IS NULL", c.root, key) > 0
			v.one(into(&c.seenDay, &c.issued), "SELECT last_seen_day, created_at FROM cards WHERE id=?", c.root)
			v.one(into(&c.birthday), "SELECT ifnull(birthday, '') FROM contacts WHERE card_id=?", c.root)
			c.status = check(v.Card(Access{Shop: shop}, c.id)).Status
			for _, threshold := range v.keys("SELECT threshold FROM prizes WHERE program_id=?", c.program) {
				claimed := v.number("SELECT count(*) FROM claims WHERE card_id=? AND cycle=? AND threshold=?", key, cycle, threshold)
				c.prizeDue = c.prizeDue || c.status != StatusArchived && threshold <= c.stamps && claimed == 0
			}
			m = append(m, c)
		}
	})
	return m
}

// filter returns the cards that pass the filters of a search.
func (m listModel) filter(f *fixture, s CardSearch) (passing listModel) {
	dayOf := func(at Time) int64 { return Day(at.Std().In(Zone(listZone))) }
	last := dayOf(f.clock.at()) - s.NotSeenDays.V
	for _, c := range m {
		if s.ProgramID.Set && f.ID(KindProgram, c.program) != s.ProgramID.V ||
			s.Status.Set && c.status != s.Status.V ||
			s.PrizeDue.Set && !c.prizeDue ||
			s.SeenFrom.Set && c.seenDay < dayOf(s.SeenFrom.V) ||
			s.NotSeenDays.Set && cmp.Or(c.seenDay, dayOf(c.issued)) > last ||
			s.BirthdayMonth.Set && (len(c.birthday) < 3 || c.birthday[:3] != fmt.Sprintf("%02d-", s.BirthdayMonth.V)) ||
			s.Live && c.status == StatusArchived {
			continue
		}
		passing = append(passing, c)
	}
	return passing
}

// chains returns the card of each chain that represents it: the newest that is not archived, else its first.
func (m listModel) chains() (cards listModel) {
	of := map[int64]listedCard{}
	for _, c := range slices.Backward(m) {
		if _, known := of[c.root]; !known || c.status != StatusArchived {
			of[c.root] = c
		}
	}
	return slices.SortedFunc(maps.Values(of), func(a, b listedCard) int { return cmp.Compare(b.key, a.key) })
}

// search returns the ids of the cards that a search without a text finds, in its order.
func (m listModel) search(f *fixture, s CardSearch) (ids []string) {
	var order func(a, b listedCard) int // by key if nil
	switch {
	case s.Sort.V == SortBalance:
		m = slices.DeleteFunc(m.chains(), func(c listedCard) bool { return !c.money || c.status == StatusArchived })
		order = func(a, b listedCard) int { return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(b.root, a.root)) }
	case s.Sort.V == SortLastVisit, s.Sort.V == SortStamps:
		m = slices.DeleteFunc(m.chains(), func(c listedCard) bool { return !c.live })
		order = func(a, b listedCard) int {
			return cmp.Or(cmp.Compare(b.seenDay, a.seenDay), cmp.Compare(b.root, a.root))
		}
		if s.Sort.V == SortStamps {
			order = func(a, b listedCard) int { return cmp.Or(cmp.Compare(b.stamps, a.stamps), cmp.Compare(b.key, a.key)) }
		}
	case s.BirthdayMonth.Set:
		m = m.chains()
		order = func(a, b listedCard) int {
			return cmp.Or(cmp.Compare(a.birthday, b.birthday), cmp.Compare(a.root, b.root))
		}
	case s.NotSeenDays.Set && s.Status.V != StatusArchived:
		m = slices.DeleteFunc(m.chains(), func(c listedCard) bool { return !c.live })
		order = func(a, b listedCard) int {
			return cmp.Or(cmp.Compare(a.program, b.program), cmp.Compare(a.seenDay, b.seenDay), cmp.Compare(a.root, b.root))
		}
	}
	if s.Status.V != StatusArchived { // an archived card that another replaced is not listed
		m = slices.DeleteFunc(slices.Clone(m), func(c listedCard) bool { return c.status == StatusArchived && c.newer })
	}
	m = m.filter(f, s)
	if order != nil {
		slices.SortFunc(m, order)
	}
	return m.ids()
}

func (m listModel) ids() (ids []string) {
	for _, c := range m {
		ids = append(ids, c.id)
	}
	return ids
}

// fillLists makes cards of all kinds in several programs, and in another shop between them.
func fillLists(k, other till, rng *rand.Rand) (programs []string) {
	coffee, prizes := k.ladder(true, 3, 6)
	tea, _ := k.ladder(false, 4)
	programs = []string{coffee, tea, k.program(prepaid("Gift", 100)), k.program(prepaid("Voucher", 100))}
	theirs := other.program(stamps("Other"))
	for i := range 80 {
		card := k.cardOf(programs[rng.IntN(len(programs))], fmt.Sprint("Ada ", i))
		other.stamped(other.card(theirs), 3)
		if rng.IntN(2) == 0 {
			day := fmt.Sprintf("%02d-%02d", 2+rng.IntN(2), 1+rng.IntN(4))
			k.contact(card, HolderContactPatch{ContactPatch: ContactPatch{Birthday: set(day)}})
		}
		if i%8 == 0 { // overflows
			card = k.card(coffee)
			k.stamped(card, 5)
			k.stamped(card, 5)
		}
		for range rng.IntN(4) { // what is refused changes nothing
			switch rng.IntN(4) {
			case 0:
				k.redeem(card, prizes[0])
			default:
				k.stamp(card, int64(1+rng.IntN(5)))
				k.topUp(card, int64(30_000*(1+rng.IntN(3)))) // a cursor has 16 bits of a balance
			}
		}
		switch rng.IntN(9) {
		case 0:
			k.lock(card, true)
		case 1:
			k.archive(card)
		case 2:
			k.erase(card)
		case 3:
			k.update(card, CardPatch{ExpiresAt: set(k.clock.at() + Time(days(1+rng.IntN(20)).Milliseconds()))})
		}
		if rng.IntN(3) == 0 {
			k.clock.move(days(1))
		}
	}
	k.markExpired()
	return append(programs, theirs)
}

// TestListsFollowModel compares the pages and totals of lists of cards, by all filters and orders, with what simple queries and
// sorting in memory find.
func TestListsFollowModel(t *testing.T) {
	rng := chance(t)
	k := startTill(t)
	k.inZone(listZone)
	programs := fillLists(k, k.in(k.fixture.shop(ShopFields{})).till(), rng)
	m := k.listModel(k.a.Shop)
	if !slices.ContainsFunc(m, func(c listedCard) bool { return c.newer }) {
		t.Error("no card has overflowed")
	}
	or := func(values ...string) string { return values[rng.IntN(len(values))] }
	for range 300 {
		s := CardSearch{
			ListFilter: ListFilter{Status: optional(or("", "", StatusActive, StatusLocked, StatusInvited, StatusArchived, StatusExpired))},
			Sort:       optional(or("", "", SortNewest, SortLastVisit, SortStamps, SortBalance)),
			Live:       rng.IntN(4) == 0,
		}
		s.ProgramID = optional(or("", "", or(programs...)))
		s.PrizeDue = Opt[bool]{V: true, Set: rng.IntN(4) == 0}
		s.BirthdayMonth = Opt[int64]{V: int64(2 + rng.IntN(2)), Set: rng.IntN(3) == 0}
		switch n := rng.IntN(30); rng.IntN(4) {
		case 0:
			s.NotSeenDays = set(int64(1 + n))
		case 1:
			s.SeenFrom = set(k.clock.at() - Time(days(n).Milliseconds()))
		}
		if s.Check(k.clock.at()) != nil {
			continue
		}
		k.opts.PageVisits = []int{7, 40, 2000}[rng.IntN(3)]
		limit := []int{1, 4, 50}[rng.IntN(3)]
		want := m.search(k.fixture, s)
		if got := k.searched(t, s, limit); !slices.Equal(got, want) {
			t.Fatalf("%+v, limit %d, %d visits:\n%v, want\n%v", s, limit, k.opts.PageVisits, got, want)
		}
		total := s
		total.Sort, total.Live = Opt[string]{}, s.Live || s.Sort.Or(SortNewest) != SortNewest
		all := Total{N: int64(len(m.search(k.fixture, total)))}
		for _, limit := range []int{maxListTotal, maxTotal} {
			count := func(v *View) (Total, error) { return v.countCards(k.a.Shop, s, limit, 10*limit) }
			if got := view(k.fixture, count); got != all {
				t.Fatalf("%+v: total %+v, want %+v", s, got, all)
			}
		}
		part := (all.N + 1) / 2 // a count that ends here says whether there are more
		x := cardSearch{CardSearch: total, shop: k.a.Shop, limit: int(part), visits: 2000}
		if part > 0 && !total.bySeen() {
			k.view(func(v *View) error { x.View = v; return x.run(Opt[string]{}) })
			if int64(len(x.found)) != part || x.more != (part < all.N) {
				t.Fatalf("%+v: counted %d, more %v, of %d up to %d", s, len(x.found), x.more, all.N, part)
			}
		}
		if rng.IntN(3) == 0 {
			m.compareOthers(t, k, s.ListFilter, limit, rng.IntN(4) == 0)
		}
	}
}

// compareOthers compares the pages of an export, and of what an assistant finds, with the model.
func (m listModel) compareOthers(t *testing.T, k till, filter ListFilter, limit int, bySeen bool) {
	t.Helper()
	read := func(v *View, q PageQuery) (Page[ExportedCard], error) {
		return v.ExportCards(k.a.Shop, ExportFilter{PageQuery: q, ListFilter: filter})
	}
	exported := allPages(t, inPagesOf(int64(limit), pages(k.fixture, read, func(c ExportedCard) string { return c.ID })), nil)
	if want := m.filter(k.fixture, CardSearch{ListFilter: filter}).ids(); !slices.Equal(exported, want) {
		t.Fatalf("%+v exports\n%v, want\n%v", filter, exported, want)
	}
	find := CardFind{ProgramID: filter.ProgramID, Status: filter.Status, PrizeDue: filter.PrizeDue, NotSeenDays: filter.NotSeenDays}
	filter = ListFilter{ProgramID: filter.ProgramID, Status: filter.Status, PrizeDue: filter.PrizeDue, NotSeenDays: filter.NotSeenDays}
	if bySeen {
		find.Sort, filter.NotSeenDays = set(SortLastSeen), set(filter.NotSeenDays.V)
	}
	got, _ := k.find(k.a, find, int64(limit))
	if want := m.search(k.fixture, CardSearch{ListFilter: filter, Live: filter.NotSeenDays.Set}); !slices.Equal(got, want) {
		t.Fatalf("%+v finds\n%v, want\n%v", find, got, want)
	}
}
