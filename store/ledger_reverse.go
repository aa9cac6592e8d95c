package store

import (
	"cmp"
	"slices"
)

// ledgerRow has the columns of a ledger row that a reversal needs.
type ledgerRow struct {
	key, card, location, cycle int64
	kind                       string
	stamps, value, prize       Null[int64]
	reversed, expired, taken   bool
	overflowOf                 int64
	counted                    Time // the sums by time count it then
}

var ledgerRowSQL = `SELECT t.id, t.card_id, t.location_id, t.cycle, t.type, t.stamps_delta, t.value_delta, t.prize_id,
	t.reversed_at IS NOT NULL, t.expired_at IS NOT NULL, t.taken>0, ifnull(t.overflow_of, 0), ifnull(t.occurred_at, t.created_at)
	FROM transactions t WHERE `

func (q *queries) ledgerRow(cond string, args ...any) (t ledgerRow, found bool) {
	found = q.one(into(&t.key, &t.card, &t.location, &t.cycle, &t.kind, &t.stamps, &t.value, &t.prize,
		&t.reversed, &t.expired, &t.taken, &t.overflowOf, &t.counted), ledgerRowSQL+cond, args...)
	return t, found
}

// Reverse reverses a ledger row of the device's own location, which its id names or the
// reference of the write that made it. That is possible once. Reversing either row of an overflow reverses both. The rules are in
// store/README.md, "The till's rules".
func (tx *Tx) Reverse(till Till, id string, f UseFields) (out Stamped, err error) {
	if err = tx.checkUnused(till.Shop, f.Once); err != nil {
		return out, err
	}
	key := tx.tillRowKey(till.Shop, id)
	t, _ := tx.ledgerRow("t.id=? AND t.shop_id=? AND t.location_id=?", key, till.Shop, till.Location)
	return tx.reverse(till, t, f)
}

// ReverseByPerson reverses a ledger row of any location for a person, who uses no
// device. The rules are those of Reverse.
func (tx *Tx) ReverseByPerson(shop int64, id string, f Metadata) (out Stamped, err error) {
	t, _ := tx.ledgerRow("t.id=? AND t.shop_id=?", tx.keyOrNone(KindTransaction, id), shop)
	if err := tx.checkSubscription(shop); err != nil {
		return out, err
	}
	if tx.number("SELECT count(*) FROM locations WHERE id=? AND disabled_at IS NOT NULL", t.location) > 0 {
		return out, refuse(LocationDisabled, "The location of the transaction is disabled.")
	}
	return tx.reverse(Till{Shop: shop, Location: t.location}, t, UseFields{Metadata: f})
}

// HasEnded reports whether a subscription has ended or is suspended.
func HasEnded(subscription string) bool {
	return subscription == "suspended" || subscription == "cancelled"
}

// checkSubscription refuses a shop whose subscription has ended or is suspended.
func (tx *Tx) checkSubscription(shop int64) error {
	if state := tx.cachedShop(shop).SubscriptionState; HasEnded(state) {
		return refuse(SubscriptionSuspended, "The shop's subscription is %s.", state)
	}
	return tx.failed
}

// reverse reverses a row of the location of a till. The till's device is 0 for a
// person.
func (tx *Tx) reverse(till Till, t ledgerRow, f UseFields) (out Stamped, err error) {
	root := tx.number("SELECT ifnull(root_id, id) FROM cards WHERE id=? AND deleted_at IS NULL", t.card)
	if root == 0 {
		return out, notFound("transaction")
	}
	chain, err := tx.checkAction(tx.chainByRoot(till, root), programTypes...)
	if err != nil {
		return out, err
	}
	pair := tx.overflowPair(t)
	for _, row := range pair {
		if err := tx.checkReversible(chain, row); err != nil {
			return out, err
		}
	}
	var written []writtenRow
	e := entry{kind: TransactionReversal, metadata: f.text(), reference: f.reference()}
	for _, row := range pair {
		written = append(written, tx.reverseRow(chain, row, e))
		e.reference = Null[string]{} // of the first row only
	}
	if t.kind == TransactionStamp {
		tx.archiveEmptied(chain, slices.Clone(written))
	}
	return tx.tillAnswer(chain, written...)
}

// archiveEmptied archives the children that a reversal left without stamps. It
// archives the youngest first, and never the last live card.
func (tx *Tx) archiveEmptied(chain *cardChain, written []writtenRow) {
	slices.SortFunc(written, func(a, b writtenRow) int { return cmp.Compare(b.card.key, a.card.key) })
	for _, w := range written {
		c := w.card
		if c.child && c.StampsCount == 0 && c.Status != StatusArchived && len(chain.instances) > 1 {
			tx.archiveInstance(chain, c)
		}
	}
}

// overflowPair returns t, followed by the other row of its overflow if there is one.
func (tx *Tx) overflowPair(t ledgerRow) []ledgerRow {
	other, found := ledgerRow{}, false
	if t.overflowOf != 0 {
		other, found = tx.ledgerRow("t.id=?", t.overflowOf)
	} else if t.kind == TransactionStamp {
		other, found = tx.ledgerRow("t.overflow_of=?", t.key)
	}
	if !found {
		return []ledgerRow{t}
	}
	return []ledgerRow{t, other}
}

// Reversible are the types of rows that can be reversed.
var Reversible = []string{
	TransactionStamp, TransactionRedemption, TransactionTopUp, TransactionSpend, TransactionDiscount, TransactionAccess,
}

// checkReversible returns the reason why a row cannot be reversed, or nil.
func (tx *Tx) checkReversible(chain *cardChain, t ledgerRow) error {
	if !slices.Contains(Reversible, t.kind) {
		return refuse(Unprocessable, "A row of type %s cannot be reversed.", t.kind)
	}
	if t.reversed {
		return refuse(Conflict, "The transaction was reversed already.")
	}
	if tx.isCompleted(t.card, t.cycle) {
		return refuse(CannotReverseCompletedCycle, "The transaction belongs to a completed cycle.")
	}
	if t.expired {
		return refuse(Unprocessable, "Stamps of the transaction have expired.")
	}
	if t.taken {
		return refuse(Unprocessable, "An adjustment has taken stamps of the transaction.")
	}
	c := chain.instance(t.card)
	switch {
	case c == nil:
		return refuse(Conflict, "The card is archived.")
	case c.StampsCount-t.stamps.V < 0:
		return refuse(Unprocessable, "The card has fewer stamps than the transaction gave.")
	case c.CurrentValue.V-t.value.V < 0:
		return errInsufficientBalance(c)
	}
	return nil
}

// instance returns the live card with a key, or nil if it is archived.
func (chain *cardChain) instance(key int64) *card {
	if i := slices.IndexFunc(chain.instances, func(c *card) bool { return c.key == key }); i >= 0 {
		return chain.instances[i]
	}
	return nil
}

// reverseRow writes the reversal of a row. e has what does not follow from the row.
func (tx *Tx) reverseRow(chain *cardChain, t ledgerRow, e entry) writtenRow {
	c := chain.instance(t.card)
	if t.kind == TransactionStamp {
		tx.removeFromStampSpan(c, t.key)
	}
	tx.countRow(chain.Shop, chain.program.key, t.location, t.counted, t.kind, t.stamps.V, t.value.V, -1)
	opposite := func(n Null[int64]) Null[int64] { return Null[int64]{-n.V, n.Valid} }
	e.stamps, e.value, e.prize, e.reverses, e.reversed = opposite(t.stamps), opposite(t.value), t.prize.V, t.key, t.kind
	row, _ := tx.book(chain, c, e)
	tx.exec("UPDATE transactions SET reversed_at=? WHERE id=?", tx.Now, t.key)
	if t.kind == TransactionRedemption {
		tx.freeClaim(chain, c, t)
	}
	return writtenRow{row, c}
}

// freeClaim deletes the claim of a redemption that is reversed.
func (tx *Tx) freeClaim(chain *cardChain, c *card, t ledgerRow) {
	wasFinished := chain.isFull(c) && t.cycle == c.cycle && tx.nothingToClaim(chain, c)
	tx.exec("DELETE FROM claims WHERE transaction_id=?", t.key)
	if wasFinished && !tx.nothingToClaim(chain, c) {
		tx.counts.addTotals(c.program, totals{completed: -1, open: 1})
	}
}

// removeFromStampSpan removes a stamp row that is about to be reversed from the
// sums over the times between a card's stamps.
func (tx *Tx) removeFromStampSpan(c *card, row int64) {
	type span struct {
		first, last, n int64
	}
	spanWithout := func(row int64) (s span) {
		tx.one(into(&s.first, &s.last, &s.n),
			`SELECT ifnull(min(created_at), 0), ifnull(max(created_at), 0), count(*) FROM transactions WHERE card_id=?
			AND type='stamp' AND reversed_at IS NULL AND id<>?`, c.key, row)
		return s
	}
	before, after := spanWithout(0), spanWithout(row)
	tx.counts.addTotals(c.program,
		totals{span: (after.last - after.first) - (before.last - before.first), gaps: max(after.n-1, 0) - max(before.n-1, 0)})
	c.lastStamp = Null[Time]{Time(after.last), after.n > 0}
}
