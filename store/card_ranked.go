package store

import (
	"cmp"
	"math"
	"slices"
)

// The orders of CardSearch beside SortNewest.
const (
	SortLastVisit = "last_visit"
	SortStamps    = "stamps"
	SortBalance   = "balance"
)

// rankings are the columns of roots by which an index has the cards of a program, and the condition of that
// index. Stamps have none: an index of them would make each stamp a quarter slower.
var rankings = map[string]struct{ column, cond string }{
	SortLastVisit: {"last_seen_day", "live=1"},
	SortBalance:   {"current_value", "current_value IS NOT NULL AND archived_at IS NULL"},
}

// maxByStamps is the most cards that are sorted by their stamps: those that were presented last.
const maxByStamps = 1000

// rankedCard is a card with its place in a ranking. The card is 0 if it does not pass the filters.
type rankedCard struct {
	value, root int64
	card        int64
	stamps      int64
}

// beforeAll is the place before the first card.
var beforeAll = rankedCard{value: math.MaxInt64, root: math.MaxInt64}

// compareRanked orders cards by their places, the greatest first.
func compareRanked(a, b rankedCard) int {
	return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(b.root, a.root))
}

// walkRanked finds the cards in the order of the search from after a place and a root on.
func (x *cardSearch) walkRanked(place, root int64) error {
	start := beforeAll
	if root != 0 {
		start = rankedCard{value: place, root: root}
		if x.Sort.V == SortBalance { // it may exceed the cursor
			start.value = x.number("SELECT ifnull((SELECT current_value FROM cards WHERE id=? AND shop_id=?), 0)", root, x.shop)
		}
	}
	var found []rankedCard
	var more rankedCard
	if x.Sort.V == SortStamps {
		found = x.rankedByStamps(start)
	} else {
		found, more = x.rankedCards(x.Sort.V, start, x.limit, x.visits)
	}
	if len(found) > x.limit {
		found, more = found[:x.limit], found[x.limit-1]
	}
	for _, c := range found {
		x.found = append(x.found, c.card)
	}
	x.more, x.last.card, x.lastPlace = more.root != 0, more.root, min(more.value, 0xffff)
	return x.failed
}

// rankedByStamps returns the maxByStamps cards that were presented last, by their stamps, from after a place on.
func (x *cardSearch) rankedByStamps(start rankedCard) []rankedCard {
	found, _ := x.rankedCards(SortLastVisit, beforeAll, maxByStamps, maxByStamps)
	found = found[:min(len(found), maxByStamps)]
	for i := range found {
		found[i].value, found[i].root = found[i].stamps, found[i].card
	}
	slices.SortFunc(found, compareRanked)
	return slices.DeleteFunc(found, func(c rankedCard) bool { return compareRanked(c, start) <= 0 })
}

// rankedCards merges the cards of all programs, of each in the order of an index, from after a place on. It
// visits a part of visits rows of each program, and at least limit+1. It may return more than limit cards. more is the place after
// the last of them, with the root 0 if there are no more cards.
func (x *cardSearch) rankedCards(sort string, start rankedCard, limit, visits int) (found []rankedCard, more rankedCard) {
	f := x.ListFilter
	programs := x.programsFrom(x.shop, f.ProgramID, 0)
	var onRoots, onCards conditions
	if f.NotSeenDays.Set && sort == SortLastVisit {
		since := x.notSeenFor(x.shop, f.NotSeenDays.V)
		last := rankedCard{value: since.day, root: math.MaxInt64}
		if compareRanked(last, start) > 0 {
			start = last // those that were presented later do not pass
		}
		onRoots.add(issuedBeforeSQL, since.before)
		f.NotSeenDays = Opt[int64]{}
	}
	x.filterRoots(x.shop, f, "r.id", &onRoots)
	x.filterCards(f, &onCards)
	index := rankings[sort]
	roots := "SELECT id, " + index.column + " AS place FROM cards WHERE program_id=? AND " + index.cond + " AND (" + index.column +
		", id)<(?,?) ORDER BY " + index.column + " DESC, id DESC LIMIT ?"
	each := max(limit+1, visits/max(1, len(programs)))
	for _, program := range programs {
		visited, passing := 0, 0
		var last rankedCard
		args := []any{program, start.value, start.root, each}
		for last = range x.liveChains(roots, args, onRoots, onCards, x.Sort.V == SortStamps) {
			if visited++; last.card != 0 {
				found = append(found, last)
				passing++
			}
			if passing > limit {
				break
			}
		}
		if passing <= limit && visited == each && (more.root == 0 || compareRanked(last, more) < 0) {
			more = last // what comes after it in this program is not known
		}
	}
	slices.SortFunc(found, compareRanked)
	if more.root != 0 {
		found = slices.DeleteFunc(found, func(c rankedCard) bool { return compareRanked(c, more) > 0 })
	}
	return found, more
}

// The most cards that the total of a list counts, and the most rows that it visits for them, so that the list stays
// fast. A total for which a person waits counts as other totals do.
const (
	maxListTotal       = 1000
	maxListTotalVisits = 1000
)

// CountCards returns how many cards a search finds, as far as a list shows it.
func (v *View) CountCards(shop int64, f CardSearch) (Total, error) {
	return v.countCards(shop, f, maxListTotal, maxListTotalVisits)
}

// countCards returns how many cards a search finds. It counts up to limit.
func (v *View) countCards(shop int64, f CardSearch, limit, visits int) (t Total, err error) {
	if details := f.Check(v.Now); details != nil {
		return t, Invalid(details...)
	}
	v.snapshot()
	f.Live = f.Live || f.Sort.Or(SortNewest) != SortNewest // orders have no archived cards
	f.Sort = Opt[string]{}
	return cardSearch{View: v, shop: shop, CardSearch: f}.count(limit, visits)
}
