package store

import (
	"maps"
	"slices"
)

// Why a card is shown with another one as one customer.
const (
	SharesEmail = "email"
	SharesPhone = "phone"
)

// The most cards of a customer, and the most rows of the ledger in which the visits of a card are counted.
const (
	maxCustomerCards = 50
	maxVisitRows     = 2000
)

// Customer is the cards of a shop that have the email or the phone number of one card. Other cards
// that have those of the found ones are not followed further. It is no table.
type Customer struct {
	Cards []CustomerCard `json:"cards" doc:"One for each chain: the card itself, and then the newest first."`
	More  bool           `json:"more" doc:"There are more than the 50 cards that are listed."`
}

// CustomerCard is a card of a customer.
type CustomerCard struct {
	FoundCard
	Contact      HolderContact `json:"contact"`
	Shares       []string      `json:"shares" enum:"email,phone" doc:"What it has in common with the card itself, for which it is empty."`
	PrizesDue    []DuePrize    `json:"prizes_due"`
	Visits       int64         `json:"visits" doc:"Days on which it was presented, in the first 2,000 rows of its ledger."`
	FirstVisitAt Null[Time]    `json:"first_visit_at"`
	LastVisitAt  Null[Time]    `json:"last_visit_at"`
	Consent      *Consent      `json:"consent"`
}

// Customer returns the customer of a card.
func (v *View) Customer(shop int64, id string) (c Customer, err error) {
	v.snapshot()
	own, err := v.chainOf(shop, id)
	if err != nil {
		return c, err
	}
	roots, shares := v.customerRoots(own[0])
	c.More = len(roots) <= len(shares)
	for _, root := range roots {
		card := v.customerCard(shop, root)
		card.Shares = slices.Concat([]string{}, shares[root])
		c.Cards = append(c.Cards, card)
	}
	return c, v.failed
}

// customerRoots returns the roots of up to maxCustomerCards chains of a customer: that of the card itself, and then the newest
// first. shares has why the others, of which there may be more, are among them.
func (q *queries) customerRoots(own int64) (roots []int64, shares map[int64][]string) {
	shares = map[int64][]string{}
	add := func(why, sql string) {
		for _, root := range q.keys(sql, own, maxCustomerCards*4) {
			if root != own && !slices.Contains(shares[root], why) {
				shares[root] = append(shares[root], why)
			}
		}
	}
	add(SharesEmail, `SELECT ifnull(c.root_id, c.id) FROM cards o JOIN cards c ON c.shop_id=o.shop_id AND c.email_key=o.email_key
		AND c.email_key IS NOT NULL WHERE o.id=? ORDER BY c.id DESC LIMIT ?`)
	add(SharesPhone, `SELECT k.card_id FROM contacts o JOIN contacts k ON k.shop_id=o.shop_id AND k.phone_key=o.phone_key
		AND k.phone_key IS NOT NULL WHERE o.card_id=? ORDER BY k.card_id DESC LIMIT ?`)
	others := slices.Sorted(maps.Keys(shares))
	slices.Reverse(others)
	roots = append([]int64{own}, others...)
	return roots[:min(len(roots), maxCustomerCards)], shares
}

// customerCard returns the chain of a root as a card of its customer.
func (v *View) customerCard(shop, root int64) (c CustomerCard) {
	all, epoch := v.readChain(nil, chainOfRootSQL, root)
	if len(all) == 0 {
		return c // the read has failed
	}
	v.seeEpoch(epoch)
	chain := v.chainOfCards(Till{Shop: shop}, all, v.rowEpoch)
	c.FoundCard = v.foundCards(shop, []int64{chain.nextToStamp().key})[0]
	c.Contact, c.Consent, c.PrizesDue = v.contact(root), v.cardConsent(root), []DuePrize{}
	var keys []int64
	for _, i := range all {
		keys = append(keys, i.key)
		c.PrizesDue = append(c.PrizesDue, v.prizesDue(i.key)...)
	}
	zone := Zone(v.shop(shop).Timezone)
	days := map[int64]bool{}
	for r := range v.each("SELECT ifnull(t.occurred_at, t.created_at) FROM json_each(?) k CROSS JOIN transactions t ON t.card_id=k.value "+
		"WHERE t.reversed_at IS NULL AND t.type NOT IN "+unpresented+" LIMIT ?", jsonKeys(keys), maxVisitRows) {
		at := r.time()
		days[Day(at.Std().In(zone))] = true
		if !c.FirstVisitAt.Valid || at < c.FirstVisitAt.V {
			c.FirstVisitAt = Some(at)
		}
		c.LastVisitAt = Some(max(at, c.LastVisitAt.V))
	}
	if !c.LastVisitAt.Valid { // an import may know it
		c.LastVisitAt = seenAt(c.LastVisitAt, all[0].lastSeen, zone)
	}
	c.Visits = int64(len(days))
	return c
}

// EraseFields is the body of erasing several cards.
type EraseFields struct {
	CardIDs Opt[[]string] `json:"card_ids" req:"true" max:"50" doc:"The cards to erase, which are of the same customer; each stands for its chain."`
}

// EraseCards erases several cards of the customer of a card, or none if one of them is not found among them.
func (tx *Tx) EraseCards(shop int64, id string, f EraseFields) error {
	if len(f.CardIDs.V) == 0 {
		return InvalidField("card_ids", "required", "must name at least one card")
	}
	own := tx.rootOf(shop, id)
	roots, _ := tx.customerRoots(own)
	for _, id := range f.CardIDs.V {
		if !slices.Contains(roots, tx.rootOf(shop, id)) {
			return notFound("card")
		}
	}
	return tx.eraseCards(shop, f.CardIDs.V, "")
}
