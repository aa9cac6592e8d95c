package store

import (
	"slices"
	"testing"
	"time"
)

func TestNowNeverGoesBack(t *testing.T) {
	f := start(t)
	rng := chance(t)
	last := f.clock.at() // when the shop was created
	for range 300 {
		switch rng.IntN(4) {
		case 0:
			f.clock.move(time.Duration(rng.IntN(5000)) * time.Millisecond)
		case 1:
			f.clock.move(-time.Duration(rng.IntN(5000)) * time.Millisecond)
		} // otherwise the clock stands still
		clock := f.clock.at()
		f.must(func(tx *Tx) error {
			if tx.Now < last {
				t.Errorf("Now decreased from %s to %s", last, tx.Now)
			}
			if tx.Now != max(last, clock) {
				t.Errorf("Now is %s, want the later of %s and the clock's %s", tx.Now, last, clock)
			}
			last = tx.Now
			return note(tx, "tick")
		})
	}
	// The same holds for the members of one group.
	times := make([]Time, 20)
	var writes []Write
	for i := range times {
		writes = append(writes, write(func(tx *Tx) error {
			times[i] = tx.Now
			f.clock.move(time.Duration(rng.IntN(200)-100) * time.Millisecond)
			return nil
		}))
	}
	f.group(writes...)
	if !slices.IsSorted(times) {
		t.Errorf("Now decreased within a group: %v", times)
	}
	f.selects(
		0,
		"SELECT count(*) FROM (SELECT created_at, lag(created_at) OVER (ORDER BY id) AS before FROM audit) WHERE created_at<before",
	)
}

// TestNowFollowsTheFile checks that the newest time in the file counts for a second process with an
// earlier clock, and after a restart.
func TestNowFollowsTheFile(t *testing.T) {
	f := start(t)
	early := newClock()
	early.move(-24 * time.Hour)
	second := &fixture{Store: open(t, f.path, Options{Now: early.now, Ephemeral: true}), t: t, clock: early, a: f.a}
	nowOf := func(f *fixture) (now Time) {
		f.must(func(tx *Tx) error { now = tx.Now; return note(tx, "tick") })
		return now
	}
	if got := nowOf(second); got != f.clock.at() {
		t.Errorf("with an earlier clock Now is %s, want the newest row's %s", got, f.clock.at())
	}
	f.clock.move(time.Hour)
	late := nowOf(f)
	if got := nowOf(second); got != late {
		t.Errorf("after another process wrote at %s Now is %s", late, got)
	}
	early.move(48 * time.Hour)
	ahead := nowOf(second)
	if got := nowOf(f); got != ahead || got != early.at() {
		t.Errorf("the first process's Now is %s, want %s", got, ahead)
	}
	succeed(f.Close())
	second.Close()
	behind := newClock()
	reopened := &fixture{Store: open(t, f.path, Options{Now: behind.now, Ephemeral: true}), t: t, clock: behind}
	if got := nowOf(reopened); got != ahead {
		t.Errorf("after a restart with an earlier clock Now is %s, want %s", got, ahead)
	}
}
