package store

import (
	"errors"
	"testing"
)

// TestRecountInAGroup checks that a recount includes what earlier members of its group wrote once,
// that later members add to it, and that a recount that is rolled back changes nothing.
func TestRecountInAGroup(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true)
	card := k.card(k.a, program, CardFields{})
	stamp := Write{Actor: operator, Do: func(tx *Tx) error {
		_, err := tx.Stamp(k.device, card, StampFields{Count: set(int64(2))})
		return err
	}}
	recount := Write{Actor: operator, Do: (*Tx).RecountStats}
	failing := Write{Actor: operator, Do: func(tx *Tx) error {
		if _, err := tx.Stamp(k.device, card, StampFields{}); err != nil {
			return err
		}
		return errors.Join(tx.RecountStats(), errors.New("taken back"))
	}}
	both := Write{Actor: operator, Do: func(tx *Tx) error { return errors.Join(stamp.Do(tx), tx.RecountStats(), stamp.Do(tx)) }}
	stamped := int64(0)
	for _, c := range []struct {
		writes []Write
		stamps int64
	}{
		{[]Write{stamp, recount}, 2}, {[]Write{recount, stamp}, 2}, {[]Write{stamp, recount, stamp}, 4}, {[]Write{stamp, failing, stamp}, 4},
		{[]Write{stamp, recount, failing, recount, stamp}, 4}, {[]Write{both, stamp, both}, 10},
	} {
		k.group(c.writes...)
		k.checkFile()
		stamped += c.stamps
		if n := k.number("SELECT stamps FROM program_counts WHERE program_id=?", k.key(KindProgram, program)); n != stamped {
			t.Errorf("%d stamps, want %d", n, stamped)
		}
	}
}
