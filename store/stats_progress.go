package store

// A card is finished if it is full, its cycle is not completed, and nothing is left
// to claim. Statistics count it as a completed cycle, since nothing but the next
// stamp, or nothing at all, will complete it.

// countProgress returns what a row of the ledger adds to the completed cycles and to
// the open cards of the statistics. before is the number of stamps that the card had.
func (tx *Tx) countProgress(chain *cardChain, c *card, e entry, before int64) (completed, open int64) {
	total := chain.program.TotalStamps.V
	had, has := before > 0, c.StampsCount > 0
	wasFull, isFull := had && before >= total, has && c.StampsCount >= total
	if had == has && wasFull == isFull {
		return 0, 0
	}
	// Only an expiry or an adjustment takes the last stamp from a card whose cycle is completed,
	// and no row gives such a card its first one.
	if (wasFull != isFull || e.kind == TransactionExpiry || e.kind == TransactionAdjustment) && tx.isCompleted(c.key, c.cycle) {
		return 0, 0
	}
	finished := wasFull != isFull && tx.nothingToClaim(chain, c)
	wasFinished, isFinished := wasFull && finished, isFull && finished
	return oneIf(isFinished) - oneIf(wasFinished), oneIf(has && !isFinished) - oneIf(had && !wasFinished)
}

// nothingToClaim reports whether the card's highest threshold is claimed, or its
// program has no prizes.
func (tx *Tx) nothingToClaim(chain *cardChain, c *card) bool {
	top, has := chain.program.highestThreshold()
	return !has || tx.number("SELECT count(*) FROM claims WHERE card_id=? AND cycle=? AND threshold=?", c.key, c.cycle, top) > 0
}

// countLadder counts the finished cards of a program again after its total_stamps
// or prizes were changed. It reads all cards of the program, of which none
// was ever installed.
func (tx *Tx) countLadder(old, changed *program) {
	top := func(p *program) Null[int64] {
		t, has := p.highestThreshold()
		return Null[int64]{t, has}
	}
	was, is := top(old), top(changed)
	if was == is && old.TotalStamps == changed.TotalStamps {
		return
	}
	for _, part := range []string{"deleted_at IS NULL", "deleted_at IS NOT NULL"} { // each has an index
		n := tx.number(
			"SELECT ifnull(sum("+isFinished("?4", "?5")+")-sum("+isFinished("?2", "?3")+"), 0) FROM cards k WHERE program_id=?1 AND "+
				part+" AND stamps_count>=min(?2, ?4) AND "+openCycle,
			old.key, old.TotalStamps.V, was, changed.TotalStamps.V, is)
		tx.counts.addTotals(old.key, totals{completed: n, open: -n})
	}
}

// isFinished returns the condition that a card k in an open cycle is finished where
// the program has total stamps and the highest threshold top, or null.
func isFinished(total, top string) string {
	return "(k.stamps_count>=" + total + " AND (" + top + ` IS NULL OR EXISTS (SELECT 1 FROM claims WHERE card_id=k.id AND cycle=k.cycle
		AND threshold=` + top + ")))"
}
