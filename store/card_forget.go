package store

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// forgettingListed is how many cards of a kind Forgetting has.
const forgettingListed = 200

// Forgetting says which cards are erased because nobody has shown them for long.
type Forgetting struct {
	ForgetAfterMonths Null[int64]     `json:"forget_after_months" doc:"Null: no cards are."`
	Due               Total           `json:"due" doc:"Cards that are erased within a month."`
	Cards             []ForgottenCard `json:"cards" doc:"The first 200 of them, the next one first."`
	Kept              Total           `json:"kept" doc:"Cards that would be erased too if they had no money on them."`
	KeptCards         []ForgottenCard `json:"kept_cards" doc:"The first 200 of them."`
}

// ForgottenCard is a card that was not seen for long.
type ForgottenCard struct {
	ID           string       `json:"id"`
	HolderName   Null[string] `json:"holder_name"`
	ProgramName  string       `json:"program_name"`
	CurrentValue Null[int64]  `json:"current_value"`
	SeenOn       Null[string] `json:"seen_on" format:"date" doc:"By the shop's calendar. Null: it was never seen."`
	CreatedOn    string       `json:"created_on" format:"date"`
	EraseOn      string       `json:"erase_on" format:"date" doc:"The first day on which it may be erased."`

	last int64 `json:"-"` // the day on which it was seen or, if it never was, created
}

// noteForgetting sets since when cards are erased: a month begins that leaves time to look at the list,
// unless what was set before had cards erased sooner.
func (sh *Shop) noteForgetting(old Shop, now Time) {
	months, before := sh.ForgetAfterMonths, old.ForgetAfterMonths
	switch {
	case !months.Valid:
		sh.ForgetSince = Null[Time]{}
	case !before.Valid || months.V < before.V:
		sh.ForgetSince = Some(now)
	}
}

// forgetsFrom returns the time before which a shop that erases cards erases none.
func (sh Shop) forgetsFrom() time.Time {
	return sh.ForgetSince.V.Std().In(Zone(sh.Timezone)).AddDate(0, 1, 0)
}

// unseenRoot is the condition on the chains of a shop ?1, with money on them (?2), that were last seen before a
// day ?3 or, if they never were, have a key below ?4. Money is on prepaid cards alone, which have
// no overflow cards. cards_forget leaves out live cards of other programs, so that neither issuing one nor its first
// presentation of a day writes to it; unseenLive finds them by cards_seen, up to ?5 of each program.
const (
	unseenRoot = " FROM cards WHERE shop_id=?1 AND ifnull(current_value, 0) > 0=?2 AND root_id IS NULL AND deleted_at IS NULL AND " +
		"(live = 0 OR current_value IS NOT NULL) AND "
	unseenLive = " FROM programs p CROSS JOIN cards c ON c.id IN (SELECT id FROM cards WHERE program_id=p.id AND live=1 AND "
	liveEnd    = ") WHERE p.shop_id=?1 AND p.type<>'prepaid' AND NOT ?2"
	seenBefore = "last_seen_day>0 AND last_seen_day<?3 ORDER BY last_seen_day, id LIMIT ?5"
	neverSeen  = "last_seen_day=0 AND id<?4 ORDER BY id LIMIT ?5"
	unseenSQL  = "SELECT * FROM (SELECT id" + unseenRoot + seenBefore + ") UNION ALL SELECT * FROM (SELECT id" + unseenRoot + neverSeen +
		") UNION ALL SELECT c.id" + unseenLive + seenBefore + liveEnd + " UNION ALL SELECT c.id" + unseenLive + neverSeen + liveEnd
	unseenCount = "SELECT count(*) FROM (" + unseenSQL + ")"
)

// unseen returns the arguments of unseenSQL and unseenCount for the chains of a shop that are due at a time.
func (q *queries) unseen(key int64, sh Shop, money bool, at time.Time, limit int) []any {
	before := startOfDay(at.AddDate(0, -int(sh.ForgetAfterMonths.V), 0))
	return []any{key, money, Day(before.Std().In(at.Location())), q.firstKeyFrom("cards", before), limit}
}

// Forgetting returns which cards of a shop are erased within a month.
func (v *View) Forgetting(shop int64) (Forgetting, error) {
	v.snapshot()
	return v.forgetting(shop, forgettingListed), v.failed
}

// forgetting returns which cards of a shop are erased within a month, with up to n of them.
func (v *View) forgetting(shop int64, n int) Forgetting {
	sh := v.shop(shop)
	f := Forgetting{ForgetAfterMonths: sh.ForgetAfterMonths, Cards: []ForgottenCard{}, KeptCards: []ForgottenCard{}}
	if !sh.ForgetAfterMonths.Valid || v.failed != nil {
		return f
	}
	until := v.local(sh).AddDate(0, 1, 0)
	for _, part := range []struct {
		money bool
		total *Total
		cards *[]ForgottenCard
	}{{false, &f.Due, &f.Cards}, {true, &f.Kept, &f.KeptCards}} {
		*part.total = Total{N: v.number(unseenCount, v.unseen(shop, sh, part.money, until, maxTotal+1)...)}
		if part.total.N > maxTotal {
			*part.total = Total{maxTotal, true}
		}
		if n > 0 {
			*part.cards = v.forgottenCards(sh, v.keys(unseenSQL, v.unseen(shop, sh, part.money, until, n)...), n)
		}
	}
	return f
}

// forgottenCards returns up to n of the cards with these keys, the one that is erased next first.
func (v *View) forgottenCards(sh Shop, keys []int64, n int) []ForgottenCard {
	zone := Zone(sh.Timezone)
	from := sh.forgetsFrom()
	if startOfDay(from).Std() != from {
		from = from.AddDate(0, 0, 1)
	}
	cards := collect(v, func(r *rows) ForgottenCard {
		c := ForgottenCard{ID: v.ID(KindCard, r.int()), HolderName: r.nullStr(), ProgramName: r.str(), CurrentValue: r.nullInt()}
		seen, created := r.int(), r.time().Std().In(zone)
		c.CreatedOn = created.Format(time.DateOnly)
		c.last = Day(created)
		if seen > 0 {
			c.SeenOn, c.last = Some(Date(seen)), seen
		}
		due := time.Unix(c.last*24*60*60, 0).UTC().AddDate(0, int(sh.ForgetAfterMonths.V), 1).Format(time.DateOnly)
		c.EraseOn = max(due, from.Format(time.DateOnly), v.local(sh).Format(time.DateOnly))
		return c
	}, `SELECT c.id, c.holder_name, p.name, c.current_value, c.last_seen_day, c.created_at FROM json_each(?) k
		CROSS JOIN cards c ON c.id=k.value JOIN programs p ON p.id=c.program_id`, jsonKeys(keys))
	slices.SortStableFunc(cards, func(a, b ForgottenCard) int { return cmp.Compare(a.last, b.last) })
	return cards[:min(n, len(cards))]
}

// ForgetCards erases up to n chains that nobody has shown for as long as their shop has set, as EraseCard does,
// and reports whether there may be more. It leaves chains with money on them.
func (tx *Tx) ForgetCards(n int) (more bool, err error) {
	for _, shop := range tx.keys("SELECT id FROM shops WHERE forget_after_months IS NOT NULL AND closed IS NULL") {
		sh := tx.shop(shop)
		if now := tx.local(sh); !now.Before(sh.forgetsFrom()) {
			roots := tx.keys(unseenSQL, tx.unseen(shop, sh, false, now, n)...) // up to n of each part
			if len(roots) > 0 {
				ids := tx.idsOf(KindCard, roots[:min(n, len(roots))], nil)
				return true, tx.eraseCards(shop, ids, `{"forget_after_months":`+strconv.FormatInt(sh.ForgetAfterMonths.V, 10)+"}")
			}
		}
	}
	return false, tx.failed
}
