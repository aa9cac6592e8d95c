package store

// activeCard is the condition on a row of cards under which program_counts.active
// counts it. The trigger cards_counted and the index cards_lapse of schema.sql
// use the same condition, written in the same way.
const activeCard = "activated_at IS NOT NULL AND locked_at IS NULL AND archived_at IS NULL AND deleted_at IS NULL AND lapsed = 0"

// lapsing selects the expired cards of a program that are still counted as
// active. The index cards_lapse serves this query.
const lapsing = " FROM cards WHERE program_id=? AND expires_at IS NOT NULL AND expires_at<=? AND " + activeCard

// MarkExpiredCards marks up to n expired cards as lapsed, so that activeCards no longer
// subtracts them one by one. more reports whether there may be others.
func (tx *Tx) MarkExpiredCards(n int) (more bool, err error) {
	program := int64(0)
	for {
		program = tx.number("SELECT ifnull(min(program_id), 0) FROM cards WHERE expires_at IS NOT NULL AND "+activeCard+" AND program_id>?", program)
		if program == 0 {
			return false, tx.failed
		}
		if tx.exec("UPDATE cards SET lapsed=1 WHERE id IN (SELECT id"+lapsing+" LIMIT ?)", program, tx.Now, n) > 0 {
			return true, nil
		}
	}
}

// activeCards returns the exact number of a program's active cards: the stored
// count less the cards that expired since the last housekeeping.
func (v *View) activeCards(program int64) (*int64, error) {
	n, err := v.programCount(program, "active")
	if err != nil {
		return nil, err
	}
	expired, err := v.number("SELECT count(*)"+lapsing, program, v.Now)
	*n -= expired
	return n, err
}
