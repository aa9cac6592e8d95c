package store

// activeCard is the condition on a row of cards under which program_counts.active
// counts it. The trigger cards_counted and the index cards_lapse of schema.sql
// use the same condition, written in the same way.
const activeCard = "activated_at IS NOT NULL AND locked_at IS NULL AND archived_at IS NULL AND deleted_at IS NULL AND lapsed = 0"

// installedCard is the condition under which a card's chain is counted in
// program_counts.apple or google. The trigger cards_installed and the index
// cards_installed_lapse use the same condition, written in the same way.
const installedCard = "installed_at IS NOT NULL AND archived_at IS NULL AND deleted_at IS NULL AND lapsed = 0"

// The expired cards of a program that are still counted, as active and as
// installed. The indexes cards_lapse and cards_installed_lapse serve these queries.
const (
	lapsingActive    = " FROM cards WHERE program_id=? AND expires_at IS NOT NULL AND expires_at<=? AND " + activeCard
	lapsingInstalled = " FROM cards WHERE program_id=? AND expires_at IS NOT NULL AND expires_at<=? AND " + installedCard
)

// MarkExpiredCards marks up to n expired cards as lapsed, so that activeCards and
// platforms no longer subtract them one by one. more reports whether there may be
// others.
func (tx *Tx) MarkExpiredCards(n int) (more bool, err error) {
	for _, of := range []struct{ index, counted, lapsing string }{
		{"cards_lapse", activeCard, lapsingActive}, {"cards_installed_lapse", installedCard, lapsingInstalled},
	} {
		program := int64(0)
		for {
			// By another index SQLite would read the cards that never expire.
			program = tx.number("SELECT ifnull(min(program_id), 0) FROM cards INDEXED BY "+of.index+
				" WHERE expires_at IS NOT NULL AND "+of.counted+" AND program_id>?", program)
			if program == 0 {
				break
			}
			if tx.exec("UPDATE cards SET lapsed=1 WHERE id IN (SELECT id"+of.lapsing+" LIMIT ?)", program, tx.Now, n) > 0 {
				return true, nil
			}
		}
	}
	return false, tx.failed
}

// activeCards returns the exact number of a program's active cards: the stored
// count less the cards that expired since the last housekeeping.
func (v *View) activeCards(program int64) int64 {
	return v.programCount(program, "active") - v.number("SELECT count(*)"+lapsingActive, program, v.Now)
}

// platforms returns the exact numbers of a program's installed chains: the stored
// counts less the chains that expired since the last housekeeping.
func (v *View) platforms(program int64) (p Platforms) {
	v.programCounts(program, "apple, google", &p.Apple, &p.Google)
	seen := map[int64]bool{}
	for r := range v.each("SELECT ifnull(root_id, id), platform"+lapsingInstalled, program, v.Now) {
		root, platform := r.int(), r.str()
		switch {
		case seen[root]:
		case platform == "apple":
			p.Apple--
		default:
			p.Google--
		}
		seen[root] = true
	}
	return p
}
