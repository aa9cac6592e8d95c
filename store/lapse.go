package store

// What a count of cards still holds though time ended it, and what the
// housekeeping takes out of it. Both go by cards_lapse alone, which has these cards and no other.
const lapsing = " FROM cards WHERE program_id=? AND expires_at IS NOT NULL AND expires_at<=? AND " + activeCard

// Lapse marks up to n cards that time has ended, so that those who count active
// cards need not look at them again. more tells whether to go on.
func (tx *Tx) Lapse(n int) (more bool, err error) {
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
