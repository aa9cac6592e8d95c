package store

import (
	"maps"
	"slices"
)

// nextSequence returns the sequence of a shop's next event. writeSequences writes
// the last one of the group to the file. The sequences of a write that is rolled
// back are given again.
func (tx *Tx) nextSequence(shop int64) int64 {
	last, ok := tx.sequences[shop]
	if !ok {
		last, ok = tx.s.sequences[shop]
	}
	if !ok {
		last = max(tx.number("SELECT event_sequence FROM shops WHERE id=?", shop), tx.s.floors[eventSequences])
	}
	if tx.sequences == nil {
		tx.sequences = map[int64]int64{}
	}
	tx.sequences[shop] = last + 1
	return last + 1
}

// writeSequences writes the last sequence of each shop with events in the group. It
// writes once for a group and after its last savepoint, for the reason that
// insertDeliveries gives.
func (tx *Tx) writeSequences() {
	for _, shop := range slices.Sorted(maps.Keys(tx.s.sequences)) {
		tx.exec("UPDATE shops SET event_sequence=? WHERE id=?", tx.s.sequences[shop], shop)
	}
}
