package store

// activeCard is the condition on a row of cards that program_counts.active
// counts it. The trigger cards_counted and the index cards_lapse of schema.sql
// have the same one, in these words.
const activeCard = "activated_at IS NOT NULL AND locked_at IS NULL AND archived_at IS NULL AND deleted_at IS NULL AND lapsed = 0"

// lapsing selects the cards of a program that are counted as active though their
// time is over. The index cards_lapse has these cards and no other.
const lapsing = " FROM cards WHERE program_id=? AND expires_at IS NOT NULL AND expires_at<=? AND " + activeCard

// MarkExpiredCards marks up to n cards whose time is over, so that counting active cards
// need not look at them again. more reports whether there may be others.
func (tx *Tx) MarkExpiredCards(n int) (more bool, err error) {
	program := int64(0)
	for {
		if program, err = tx.number("SELECT ifnull(min(program_id), 0) FROM cards WHERE expires_at IS NOT NULL AND "+activeCard+" AND program_id>?", program); err != nil || program == 0 {
			return false, err
		}
		done, err := tx.exec("UPDATE cards SET lapsed=1 WHERE id IN (SELECT id"+lapsing+" LIMIT ?)", program, tx.Now, n)
		if err != nil || done > 0 {
			return done > 0, err
		}
	}
}

// activeCards returns the exact number of a program's active cards: it takes off
// those that ended since the last housekeeping.
func (v *View) activeCards(program int64) (*int64, error) {
	n, err := v.count("SELECT active FROM program_counts WHERE program_id=?", program)
	if err != nil {
		return nil, err
	}
	over, err := v.number("SELECT count(*)"+lapsing, program, v.Now)
	*n -= over
	return n, err
}
