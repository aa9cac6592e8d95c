package store

import (
	"cmp"
	"slices"

	"punchcard/store/event"
)

// entry is a ledger row to be written.
type entry struct {
	kind       string
	stamps     Null[int64]
	value      Null[int64]
	prize      int64
	reverses   int64
	overflowOf int64
	metadata   Null[string]
	reference  Null[string] // see Once
	occurred   Null[Time]   // of a stamp that a till sent later
	reversed   string       // type of the row reversed
}

// book writes a ledger row, updates the card's stamps and balance, and emits the
// event of the row. Nothing else changes a card's stamps or balance. The returned
// transaction lacks the name of its location.
func (tx *Tx) book(chain *cardChain, c *card, e entry) (t TillTransaction, key int64) {
	key = tx.insert(
		`INSERT INTO transactions (id, shop_id, card_id, program_id, location_id, device_id, type, stamps_delta, value_delta, prize_id,
			cycle,
		reverses_id, overflow_of, metadata, created_at, staff_id, occurred_at, client_reference)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`, tx.nextKey("transactions"), chain.Shop, c.key, chain.program.key, chain.Location,
		nonZero(chain.Device), e.kind, e.stamps, e.value, nonZero(e.prize), c.cycle, nonZero(e.reverses), nonZero(e.overflowOf),
		e.metadata, tx.Now, nonZero(chain.Staff.Key), e.occurred, e.reference)
	before := c.StampsCount
	c.StampsCount += e.stamps.V
	c.CurrentValue.V += e.value.V
	tx.countEntry(chain, c, e, before)
	tx.updateBooked(chain, c, e)
	tx.emitLedger(chain, c, key, e)
	tx.cardShowsOther(c.root, chain.first.copies)
	t.Transaction = Transaction{
		ID:          tx.ID(KindTransaction, key),
		CardID:      c.ID,
		ProgramID:   c.ProgramID,
		Type:        e.kind,
		LocationID:  tx.ID(KindLocation, chain.Location),
		StampsDelta: e.stamps,
		ValueDelta:  e.value,
		PrizeID:     tx.nullID(KindPrize, nonZero(e.prize)),
		CreatedAt:   tx.Now,
	}
	t.Staff, t.OccurredAt, t.ClientReference = tx.namedStaff(chain.Staff), e.occurred, e.reference
	detail := ""
	if e.kind == TransactionAdjustment {
		detail = e.metadata.V // the reason
	}
	tx.audit(chain.Shop, "transaction."+e.kind, KindTransaction, key, detail)
	return t, key
}

// updateBooked updates the card of a row, and notes a presentation on the root of the chain: where the first one
// was, and the day of the last one, by the calendar of the shop. A reversal does not take these back: somebody
// was there.
func (tx *Tx) updateBooked(chain *cardChain, c *card, e entry) {
	root, location, seen := chain.first, Null[int64]{}, chain.first.lastSeen
	if e.isPresentation() {
		location, seen = Some(chain.Location), max(seen, tx.today(tx.cachedShop(chain.Shop)))
	}
	isNew := seen > root.lastSeen || location.Valid && root.neverPresented
	const booked = `UPDATE cards SET stamps_count=?2, current_value=?3, last_stamp_at=?4, updated_at=?5,
		first_location_id=ifnull(first_location_id, ?6)`
	args := []any{c.key, c.StampsCount, c.CurrentValue, c.lastStamp, tx.Now, location}
	if isNew && c.key == root.key {
		tx.exec(booked+", last_seen_day=?7 WHERE id=?1", append(args, seen)...)
	} else {
		tx.exec(booked+" WHERE id=?1", args...) // to set last_seen_day would write to its indexes, even if it stays the same
		if isNew {
			tx.exec("UPDATE cards SET first_location_id=ifnull(first_location_id, ?2), last_seen_day=?3 WHERE id=?1", root.key, location, seen)
		}
	}
	root.lastSeen, root.neverPresented = seen, root.neverPresented && !location.Valid
}

// isPresentation reports whether the row stands for a card that was presented and
// accepted. Rows of expiries are also written when the presentation is refused. The condition
// unpresented is the same in SQL.
func (e entry) isPresentation() bool {
	return e.kind != TransactionExpiry && e.kind != TransactionReversal && e.kind != TransactionAdjustment
}

// countEntry adds a row to the sums that statistics read, with what the row changes
// of its card, which had the stamps before.
func (tx *Tx) countEntry(chain *cardChain, c *card, e entry, before int64) {
	tx.countRow(chain.Shop, chain.program.key, chain.Location, cmp.Or(e.occurred.V, tx.Now), e.kind, e.stamps.V, e.value.V, 1)
	t := totals{balance: e.value.V}
	if e.kind == TransactionStamp {
		if c.lastStamp.Valid {
			t.span, t.gaps = int64(tx.Now-c.lastStamp.V), 1
		}
		c.lastStamp = Some(tx.Now)
	}
	t.completed, t.open = tx.countProgress(chain, c, e, before)
	if chain.first.neverPresented && e.isPresentation() {
		tx.countLocation(chain.program.key, chain.Location)
	}
	tx.counts.addTotals(chain.program.key, t)
}

// isCompleted reports whether a cycle of a card was completed.
func (tx *Tx) isCompleted(card, cycle int64) bool {
	return tx.number("SELECT count(*) FROM cycles WHERE card_id=? AND cycle=?", card, cycle) > 0
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// activateInvited activates the chain's invited cards: the first accepted
// presentation of a card activates it.
func (tx *Tx) activateInvited(chain *cardChain) {
	for _, c := range chain.instances {
		if c.Status != StatusInvited {
			continue
		}
		tx.exec("UPDATE cards SET activated_at=?, updated_at=? WHERE id=?", tx.Now, tx.Now, c.key)
		c.activatedAt, c.Status = Some(tx.Now), StatusActive
		tx.emit(pendingEvent{name: event.CardActivated, shop: chain.Shop, program: chain.program.key, card: c.key})
	}
}

// archiveInstance archives a card of a chain in which another card is live.
func (tx *Tx) archiveInstance(chain *cardChain, c *card) {
	tx.exec("UPDATE cards SET archived_at=?, updated_at=? WHERE id=?", tx.Now, tx.Now, c.key)
	c.archivedAt, c.Status = Some(tx.Now), StatusArchived
	chain.instances = slices.DeleteFunc(chain.instances, func(i *card) bool { return i == c })
	tx.emitLast(pendingEvent{name: event.CardArchived, shop: chain.Shop, program: chain.program.key, card: c.key})
}

// completeCycle records that the card's cycle is complete. It reports false if it
// was before.
func (tx *Tx) completeCycle(c *card) bool {
	return tx.exec("INSERT OR IGNORE INTO cycles (card_id, cycle, completed_at) VALUES (?,?,?)", c.key, c.cycle, tx.Now) > 0
}

// startCycle starts a new cycle of the card, in which every threshold can be
// claimed again.
func (tx *Tx) startCycle(c *card) {
	c.cycle++
	tx.exec("UPDATE cards SET cycle=? WHERE id=?", c.cycle, c.key)
}
