package store

import (
	"cmp"
	"iter"
	"slices"
)

// The orders of CardFind.
const (
	SortNewest   = "newest"
	SortLastSeen = "last_seen"
)

// CardFind selects a page of cards for an assistant. All fields that are set must match.
type CardFind struct {
	PageQuery
	ProgramID   Opt[string] `json:"program_id"`
	ExternalRef Opt[string] `json:"external_ref" max:"255" doc:"Exact match."`
	Email       Opt[string] `json:"email" format:"email" max:"254" doc:"Matches without regard to case."`
	Status      Opt[string] `json:"status" enum:"active,locked,invited,archived,expired"`
	NotSeenDays Opt[int64]  `json:"not_seen_days" min:"1" max:"3650" doc:"Only cards last presented at least so many days ago, by the shop's calendar, or never and issued before that. Longest ago first."`
	PrizeDue    Opt[bool]   `json:"prize_due" doc:"True: only cards that have reached a prize which was not taken in this cycle."`
	Sort        Opt[string] `json:"sort" enum:"newest,last_seen" doc:"Default newest, with not_seen_days last_seen. By last_seen only cards in use are found."`
}

// Check validates sort against not_seen_days.
func (f CardFind) Check(Time) []Detail {
	if f.NotSeenDays.Set && f.Sort.Or("") == SortNewest {
		return []Detail{{"sort", "mutually_exclusive", "must be last_seen with not_seen_days"}}
	}
	return nil
}

// DuePrize is a prize that a card has reached and not taken in this cycle.
type DuePrize struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Threshold int64  `json:"threshold"`
}

// CardFound is a card that FindCards found.
type CardFound struct {
	FoundCard
	// LastSeenDay is empty for a card that was never presented.
	LastSeenDay string     `json:"last_seen_day"`
	PrizesDue   []DuePrize `json:"prizes_due"`
}

// newestOfChain gives the card that represents the chain of a root r that is live: the
// newest that is not archived.
const newestOfChain = `ifnull((SELECT max(i.id) FROM cards i WHERE i.root_id=r.id AND i.archived_at IS NULL
	AND i.deleted_at IS NULL), r.id)`

// liveChains returns the live chains of which a query has the ids of the roots r and the places at which an index has these. The
// card of a chain is the one that represents it, or 0 if its root does not pass a condition or the card c itself another.
// Cards are read only as far as needed: those of roots that pass, if there is a condition on cards or their stamps are asked for.
func (v *View) liveChains(roots string, args []any, root, card conditions, stamps bool) iter.Seq[rankedCard] {
	newest := "iif(" + cmp.Or(root.sql(), "1") + ", " + newestOfChain + ", 0)"
	sql, all := newest+", 0 FROM ("+roots+") r", slices.Concat(root.args, args)
	if stamps || card.list != nil {
		sql = "ifnull(iif(" + cmp.Or(card.sql(), "1") + ", c.id, 0), 0), ifnull(c.stamps_count, 0) FROM (" + roots +
			") r LEFT JOIN cards c ON c.id=" + newest
		all = slices.Concat(card.args, args, root.args)
	}
	return func(yield func(rankedCard) bool) {
		for r := range v.each("SELECT r.place, r.id, "+sql, all...) {
			if !yield(rankedCard{r.int(), r.int(), r.int(), r.int()}) {
				return
			}
		}
	}
}

// FindCards returns a page of the cards that pass a filter. A page visits at most
// PageVisits cards. A restricted key cannot ask when cards were seen or which prizes are
// due, since that tells what happened at other locations.
func (v *View) FindCards(a Access, f CardFind) (p Counted[CardFound], err error) {
	bySeen := f.NotSeenDays.Set || f.Sort.Or("") == SortLastSeen
	if bySeen || f.PrizeDue.Or(false) {
		if err := requireWholeShop(a); err != nil {
			return p, err
		}
	}
	v.snapshot()
	var found Page[int64]
	list := ListFilter{ProgramID: f.ProgramID, Status: f.Status, PrizeDue: f.PrizeDue}
	if bySeen {
		list.NotSeenDays = Given(f.NotSeenDays.V) // 0 are all
		x := cardSearch{View: v, shop: a.Shop, CardSearch: CardSearch{PageQuery: f.PageQuery, ListFilter: list, Live: true}}
		if f.ExternalRef.Set {
			x.further.add("c.external_ref=?", f.ExternalRef.V)
		}
		if f.Email.Set {
			x.further.add("c.email_key=?", foldCase(f.Email.V))
		}
		if found, err = x.page(); err == nil {
			p.Total, err = x.count(maxTotal, maxTotalVisits)
		}
	} else {
		w := v.selectCards(listFoundCards, a.Shop, f.ProgramID, f.ExternalRef, f.Email)
		if !f.Status.Set {
			w.filter(notReplacedSQL)
		}
		v.filterCards(list, &w.filters)
		if a.Restricted {
			w.filter("EXISTS (SELECT 1 FROM programs p WHERE p.id=c.program_id AND "+withinRestriction+")", jsonKeys(a.Locations))
		}
		found, err = page(v, w, f.PageQuery, epochColumn+", c.id", func(_ *rows, key int64) int64 { return key })
		p.Total = v.count(w)
	}
	p.Page = Page[CardFound]{v.cardsFound(a, found.Data), found.NextCursor, found.Limit}
	return p, err
}

// programsFrom returns the programs of a shop, or the only one of them, from a key on.
func (v *View) programsFrom(shop int64, only Opt[string], from int64) []int64 {
	key := Null[int64]{v.keyOrNone(KindProgram, only.V), only.Set}
	return v.keys("SELECT id FROM programs WHERE shop_id=? AND deleted_at IS NULL AND id>=? AND id=ifnull(?, id) ORDER BY id",
		shop, from, key)
}

// notSeen says which cards were not seen for some days, by the calendar of their shop.
type notSeen struct {
	day    int64 // the last one on which they may have been presented
	before Time  // those that were never presented must be issued before it
}

// issuedBeforeSQL is the condition on a root r, whose place is the day on which it was last seen, that it was
// issued before a time if it was never seen.
const issuedBeforeSQL = "(r.place>0 OR (SELECT created_at FROM cards WHERE id=r.id)<?)"

// notSeenFor returns what cards were not seen for so many days.
func (q *queries) notSeenFor(shop, days int64) (n notSeen) {
	sh := q.shop(shop)
	n.day = q.today(sh) - days
	n.before = startOfDay(q.Now.Std().In(Zone(sh.Timezone)).AddDate(0, 0, 1-int(days)))
	return n
}

// walkSeen finds the live chains of each program, those that were not seen for the longest time first, from after a day and a
// card on. The cursor has the day as well as the card, since a card that comes meanwhile moves to the end.
func (x *cardSearch) walkSeen(day, from int64) error {
	var resumed, root int64 // where the page before ended; 0: there is none
	x.one(into(&resumed, &root), "SELECT program_id, ifnull(root_id, id) FROM cards WHERE id=? AND shop_id=?", from, x.shop)
	since := x.notSeenFor(x.shop, x.NotSeenDays.V)
	issued := conditions{[]string{issuedBeforeSQL}, []any{since.before}}
	x.filterCards(x.ListFilter, &x.further)
	const roots = `SELECT id, last_seen_day AS place FROM cards WHERE program_id=? AND live=1 AND (last_seen_day, id)>(?,?)
		AND last_seen_day<=? ORDER BY last_seen_day, id LIMIT ?`
	for _, program := range x.programsFrom(x.shop, x.ProgramID, resumed) {
		if program != resumed {
			day, root = -1, 0
		}
		for c := range x.liveChains(roots, []any{program, day, root, since.day, x.visits}, issued, x.further, false) {
			x.visits--
			if x.visit(newWord{card: cmp.Or(c.card, c.root)}, c.card != 0, c.value); x.more {
				return x.failed
			}
		}
		if x.more = x.visits == 0; x.more {
			break
		}
	}
	return x.failed
}

// cardsFound reads cards in the order of the keys.
func (v *View) cardsFound(a Access, keys []int64) []CardFound {
	found := v.foundCards(a.Shop, keys)
	list := make([]CardFound, len(found))
	for i, c := range found {
		list[i] = CardFound{FoundCard: c, PrizesDue: []DuePrize{}}
		if a.Restricted { // both tell what happened at other locations
			list[i].LastSeenAt, list[i].PrizeDue = Null[Time]{}, false
			continue
		}
		key := v.keyOrNone(KindCard, c.ID)
		if c.lastSeen != 0 {
			list[i].LastSeenDay = Date(c.lastSeen)
		}
		if c.PrizeDue {
			list[i].PrizesDue = v.prizesDue(key)
		}
	}
	return list
}

// prizesDue returns the prizes that a card has reached and not taken in this cycle.
func (v *View) prizesDue(key int64) []DuePrize {
	return collect(
		v,
		func(r *rows) DuePrize { return DuePrize{v.ID(KindPrize, r.int()), r.str(), r.int()} },
		`SELECT z.id, z.name, z.threshold FROM cards c JOIN prizes z ON z.program_id=c.program_id WHERE c.id=? AND c.archived_at IS NULL
			AND z.threshold<=c.stamps_count
		AND NOT EXISTS (SELECT 1 FROM claims WHERE card_id=c.id AND cycle=c.cycle AND threshold=z.threshold) ORDER BY z.ordinal, z.id
		LIMIT 10`,
		key,
	)
}

// CardSeen is a card with what an assistant is told besides.
type CardSeen struct {
	CardFound
	InstalledAt  Null[Time]      `json:"installed_at"`
	AllLocations bool            `json:"all_locations"`
	Locations    []NamedLocation `json:"locations"`
}

// CardSeen returns a card with the day on which it was last seen, and its prizes that are
// due. A restricted key is told neither.
func (v *View) CardSeen(a Access, id string) (CardSeen, error) {
	c, err := v.Card(a, id)
	if err != nil {
		return CardSeen{}, err
	}
	found := v.cardsFound(a, []int64{v.keyOrNone(KindCard, id)})
	if len(found) == 0 {
		return CardSeen{}, v.failed
	}
	return CardSeen{found[0], c.InstalledAt, c.AllLocations, c.Locations}, v.failed
}
