package store

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// CardSearch selects a page of cards for a person who looks for one. All fields that are set
// must match.
type CardSearch struct {
	PageQuery
	Q Opt[string] `json:"q" max:"254" doc:"Beginnings of words of the holder's name, without regard to case, accents, apostrophes and hyphens; the beginning of an address (with an @); a phone number, or its last 4 or more digits; an external_ref; a short code; what a QR code holds; the barcode of an earlier card; or a card's id."`
	ListFilter
	Sort Opt[string] `json:"sort" enum:"newest,last_visit,stamps,balance" doc:"Default newest. By last_visit and balance the greatest first, without archived cards; by stamps the 1,000 cards that were presented last. Not with q."`
	// WholeEmail makes addresses and phone numbers match as a whole and not by their beginning or
	// end, for people who may not read them: a search by parts would tell them.
	WholeEmail bool `json:"-"`
	// ByEmail makes a text without an @ the beginning of an address too, not one of a name.
	ByEmail bool `json:"-"`
	// Live leaves out archived cards.
	Live bool `json:"-"`
}

// ListFilter is a CardSearch without q, for runs, which store no personal data, and exports.
type ListFilter struct {
	ProgramID Opt[string] `json:"program_id"`
	Status    Opt[string] `json:"status" enum:"active,locked,invited,archived,expired" doc:"Without it, archived cards that another card of their chain has replaced are left out."`
	PrizeDue  Opt[bool]   `json:"prize_due" doc:"True: only cards that have reached a prize which was not taken in this cycle."`
	SeenFrom  Opt[Time]   `json:"seen_from" doc:"Only cards that were presented on the day of that time or later, by the shop's calendar."`
	// NotSeenDays is as in CardFind.
	NotSeenDays   Opt[int64] `json:"not_seen_days" min:"1" max:"3650" doc:"Only cards last presented at least so many days ago, by the shop's calendar, or never and issued before that. Without q the longest ago first, program by program, and archived cards only by their status."`
	BirthdayMonth Opt[int64] `json:"birthday_month" min:"1" max:"12" doc:"Only cards whose holder has the birthday in that month. Without q and sort by the day."`
}

// FoundCard is a card as the search shows it.
type FoundCard struct {
	Card        `omit:"installed_at"`
	TotalStamps Null[int64] `json:"total_stamps" doc:"Of the program."`
	PrizeDue    bool        `json:"prize_due"`
	LastSeenAt  Null[Time]  `json:"last_seen_at" doc:"When the card was last presented; the beginning of the day if another card of its chain was, or an import says it."`

	lastSeen int64 `json:"-"` // last_seen_day of the chain
}

// The conditions of a search on a card c, and the root of its chain.
const (
	rootOfCard  = "ifnull(c.root_id, c.id)"
	prizeDueSQL = `(c.archived_at IS NULL AND EXISTS (SELECT 1 FROM prizes z WHERE z.program_id=c.program_id AND z.threshold<=c.stamps_count
		AND NOT EXISTS (SELECT 1 FROM claims WHERE card_id=c.id AND cycle=c.cycle AND threshold=z.threshold)))`
	notReplacedSQL = `(c.archived_at IS NULL OR NOT EXISTS (SELECT 1 FROM cards y WHERE y.root_id=ifnull(c.root_id, c.id) AND y.id>c.id
		AND y.deleted_at IS NULL))`
)

// searchConditions returns the filters of a search as conditions on a card c.
func (q *queries) searchConditions(shop int64, f CardSearch) (conds conditions) {
	conds.add("c.deleted_at IS NULL")
	if f.ProgramID.Set {
		conds.add("+c.program_id=?", q.keyOrNone(KindProgram, f.ProgramID.V))
	}
	if f.Status.Or("") != StatusArchived {
		conds.add(notReplacedSQL)
	}
	if f.Live {
		conds.add("c.archived_at IS NULL")
	}
	q.filterRoots(shop, f.ListFilter, rootOfCard, &conds)
	q.filterCards(f.ListFilter, &conds)
	return conds
}

// filterRoots adds the filters that concern the root of a chain, whose key root is.
func (q *queries) filterRoots(shop int64, f ListFilter, root string, conds *conditions) {
	if f.BirthdayMonth.Set {
		month := monthPrefix(f.BirthdayMonth.V)
		conds.add("EXISTS (SELECT 1 FROM contacts WHERE card_id="+root+" AND birthday>? AND birthday<?)", month, month+lastText)
	}
	if f.SeenFrom.Set {
		day := Day(f.SeenFrom.V.Std().In(Zone(q.shop(shop).Timezone)))
		conds.add("EXISTS (SELECT 1 FROM cards s WHERE s.id="+root+" AND s.last_seen_day>=?)", day)
	}
	if f.NotSeenDays.Set {
		since := q.notSeenFor(shop, f.NotSeenDays.V)
		conds.add("EXISTS (SELECT 1 FROM cards s WHERE s.id="+root+" AND s.last_seen_day<=? AND (s.last_seen_day>0 OR s.created_at<?))",
			since.day, since.before)
	}
}

// filterCards adds the filters that concern the card c itself.
func (q *queries) filterCards(f ListFilter, conds *conditions) {
	if f.Status.Set {
		conds.add(statusSQL+"=?", q.Now, f.Status.V)
	}
	if f.PrizeDue.Or(false) {
		conds.add(prizeDueSQL)
	}
}

// monthPrefix is the beginning of the birthdays of a month.
func monthPrefix(month int64) string { return fmt.Sprintf("%02d-", month) }

// Check refuses fields that contradict each other.
func (f CardSearch) Check(Time) []Detail {
	sorted := f.Sort.Or(SortNewest) != SortNewest
	switch {
	case f.SeenFrom.Set && f.NotSeenDays.Set:
		return []Detail{{"seen_from", "mutually_exclusive", "cannot be combined with not_seen_days"}}
	case sorted && f.hasText():
		return []Detail{{"sort", "mutually_exclusive", "cannot be combined with q"}}
	case sorted && f.Status.Or("") == StatusArchived:
		return []Detail{{"sort", "mutually_exclusive", "cannot be combined with the status archived"}}
	}
	return nil
}

func (f CardSearch) hasText() bool { return strings.TrimSpace(f.Q.Or("")) != "" }

// bySeen reports whether the search walks the cards by the day on which they were last seen.
// That index has no archived cards.
func (f CardSearch) bySeen() bool {
	return f.NotSeenDays.Set && !f.hasText() && !f.BirthdayMonth.Set && f.Sort.Or(SortNewest) == SortNewest &&
		(f.Live || f.Status.Or("") != StatusArchived)
}

// SearchCards returns a page of the shop's cards that a search finds. Cards that q
// names by id, code or external_ref come first. The others are in the order of the
// words or addresses that match, or newest first if there is no q. A page visits at
// most PageVisits cards, as page does.
func (v *View) SearchCards(shop int64, f CardSearch) (p Page[FoundCard], err error) {
	v.snapshot()
	x := cardSearch{View: v, shop: shop, CardSearch: f}
	found, err := x.page()
	if err != nil {
		return p, err
	}
	return Page[FoundCard]{v.foundCards(shop, found.Data), found.NextCursor, found.Limit}, v.failed
}

// cardSearch is one run of a search.
type cardSearch struct {
	*View
	CardSearch
	shop    int64
	further conditions // of a search by the day on which cards were last seen
	limit   int

	words     []string // of q
	walked    string   // of words; name_words is walked by it
	exact     []int64  // cards that q names
	found     []int64
	visits    int     // how many more cards may be visited
	last      newWord // the last card that was visited, with the word of its name that matched
	lastPlace int64   // of it: a day or a value by which the cards are sorted, or newestFlag if name_words did not have it, else 0
	more      bool
}

// list returns the list that the search walks. The cursors of one are refused in another, whose order differs.
func (x cardSearch) list() byte {
	switch {
	case x.bySeen():
		return listSeenCards
	case x.Sort.Or(SortNewest) != SortNewest:
		return listRankedCards
	}
	return listCardSearch
}

// page finds the cards of one page, and returns their keys.
func (x cardSearch) page() (p Page[int64], err error) {
	x.limit, x.visits = x.View.limit(x.PageQuery), x.s.opts.PageVisits
	list := x.list() // before run, which takes off a filter that all cards of its walk pass
	err = x.run(x.Cursor)
	p = Page[int64]{Data: x.found, Limit: x.limit}
	if x.more {
		// Of a name the place is that of the word too.
		word := max(0, slices.Index(nameWords(x.last.name), x.last.word))
		p.NextCursor = Some(x.cursor(list, x.shop, int64(word)|x.lastPlace, x.last.card))
	}
	return p, err
}

// count returns how many cards the search finds on all pages. It counts up to limit.
func (x cardSearch) count(limit, visits int) (Total, error) {
	x.limit, x.visits = limit, visits
	err := x.run(Opt[string]{})
	return Total{int64(len(x.found)), x.more}, cmp.Or(err, x.failed)
}

// run finds up to limit cards from a cursor on.
func (x *cardSearch) run(cursor Opt[string]) (err error) {
	list, text := x.list(), strings.TrimSpace(x.Q.Or(""))
	var from, place int64 // where the page before ended
	if cursor.Set {
		if place, from, err = x.openCursor(list, x.shop, cursor.V); err != nil {
			return err
		}
	}
	only := false
	if text != "" {
		if x.exact, only, err = x.namedCards(text); err != nil {
			return err
		}
		if !cursor.Set {
			x.found = x.matching(x.exact)
		}
	}
	switch {
	case only:
		return nil
	case list == listSeenCards:
		return x.walkSeen(place, from)
	case list == listRankedCards:
		return x.walkRanked(place, from)
	case text == "" && x.BirthdayMonth.Set:
		month := monthPrefix(x.BirthdayMonth.V)
		x.BirthdayMonth = Opt[int64]{} // no condition, since all that are walked have it
		return x.walkContacts("birthday", month, from)
	case text == "":
		return x.walkAll(from)
	case x.ByEmail, strings.Contains(text, "@"):
		return x.walkEmails(foldCase(text), from)
	}
	if digits := x.phoneEnd(text); digits != "" {
		return x.walkContacts("phone_key", digits, from)
	}
	if x.words = searchWords(text); len(x.words) == 0 {
		return nil
	}
	return x.walkNames(from, place)
}

// newestFlag is in the place of a word if name_words did not have its card yet.
const newestFlag = 1 << 7

// maxExact is the most cards that q names by an external_ref.
const maxExact = 20

// namedCards returns the cards that a text names by an id, a code or an external_ref.
// only reports whether it can be nothing else.
func (x *cardSearch) namedCards(text string) (keys []int64, only bool, err error) {
	if key, ok := x.Key(KindCard, text); ok {
		return []int64{key}, true, nil
	}
	if all, epoch, foreign := x.chainByIDOrCode(x.shop, text, nil, chainOfCardSQL); len(all) > 0 {
		chain := x.chainOfCards(Till{Shop: x.shop}, all, epoch)
		keys, only = []int64{chain.nextToStamp().key}, !IsShortCode(text) && !foreign
	}
	refs := x.keys("SELECT id FROM cards WHERE shop_id=? AND external_ref=? AND deleted_at IS NULL ORDER BY id DESC LIMIT ?", x.shop,
		text, maxExact)
	for _, key := range refs {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys, only, x.failed
}

// matching returns those of the cards that pass the filters.
func (x *cardSearch) matching(keys []int64) []int64 {
	if len(keys) == 0 {
		return nil
	}
	conds := x.searchConditions(x.shop, x.CardSearch)
	return x.keys(
		"SELECT c.id FROM json_each(?) k CROSS JOIN cards c ON c.id=k.value WHERE c.shop_id=? AND "+conds.sql(),
		append([]any{jsonKeys(keys), x.shop}, conds.args...)...)
}

var foundCardSQL = "SELECT " + listedCardCols + ", " + prizeDueSQL + ", " + lastPresented("c") +
	", (SELECT last_seen_day FROM cards WHERE id=" + rootOfCard + ")" +
	" FROM json_each(?) k CROSS JOIN cards c ON c.id=k.value WHERE c.shop_id=? AND c.deleted_at IS NULL"

// foundCards reads cards of the shop in the order of the keys.
func (v *View) foundCards(shop int64, keys []int64) (list []FoundCard) {
	list = make([]FoundCard, 0, len(keys))
	zone := Zone(v.shop(shop).Timezone)
	for r := range v.each(foundCardSQL, jsonKeys(keys), shop) {
		v.seeEpoch(r.int())
		c := v.scanCard(r, r.int(), v.Now)
		p := v.cachedProgram(shop, c.program, v.rowEpoch)
		c.setProgram(p)
		f := FoundCard{c.Card, p.TotalStamps, r.bool(), r.nullTime(), r.int()}
		f.LastSeenAt = seenAt(f.LastSeenAt, f.lastSeen, zone)
		list = append(list, f)
	}
	return list
}
