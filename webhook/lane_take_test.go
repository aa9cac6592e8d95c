package webhook

import (
	"math/rand/v2"
	"testing"

	"punchcard/store"
)

// What is given back while the queue is read was left out of the reading, so
// that nothing may be taken for past on the strength of it.
func TestGivenBackWhileReading(t *testing.T) {
	l := newLane(&Sender{}, 1)
	l.take(l.ask(), store.DueDeliveries{New: []int64{11, 12}, Last: 12})
	l.over(11, false)
	asked := l.ask()
	l.over(12, false)
	l.take(asked, store.DueDeliveries{New: []int64{11, 13}, Last: 13})
	if through := l.through(13); through >= 11 {
		t.Errorf("11 and 12 wait, and the file would say that nothing does up to %d", through)
	}
	l.over(11, true)
	if next := l.ask(); next.after >= 12 {
		t.Errorf("12 waits, and the queue is read behind %d", next.after)
	}
}

// TestLaneBounds: whatever the order of the ends of attempts and of writings, a
// lane has never more attempts at its endpoint than its limit and never more
// outcomes unwritten than laneTaken, and it comes as far as both allow.
func TestLaneBounds(t *testing.T) {
	l := newLane(&Sender{}, 1)
	l.limit = laneMost
	var queue, unwritten []int64 // at the endpoint; answered
	next := int64(1)
	fill := func() {
		for a := l.ask(); a.room > 0; a = l.ask() {
			var d store.DueDeliveries
			for range a.room {
				d.New, next = append(d.New, next), next+1
			}
			queue = append(queue, l.take(a, d)...)
			if len(queue) > laneMost || len(queue)+len(unwritten) > laneTaken {
				t.Fatalf("%d at the endpoint, %d unwritten", len(queue), len(unwritten))
			}
		}
	}
	answer := func() { queue, unwritten = queue[1:], append(unwritten, queue[0]); l.sent() }
	fill()
	if len(queue) != laneMost {
		t.Fatalf("%d at the endpoint at first", len(queue))
	}
	for len(queue) > 0 { // while nothing is written
		answer()
		fill()
	}
	if len(unwritten) != laneTaken {
		t.Errorf("stopped with %d unwritten", len(unwritten))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		if len(queue) > 0 && (len(unwritten) == 0 || rng.IntN(2) == 0) {
			answer()
		} else {
			l.over(unwritten[0], true)
			unwritten = unwritten[1:]
		}
		fill()
	}
	if next < 4000 {
		t.Errorf("only %d were taken", next)
	}
}

// TestLaneOfOneThatFails: its places are held until what came of the attempts is
// written, and so are all places once the writer is far behind.
func TestLaneOfOneThatFails(t *testing.T) {
	for name, trouble := range map[string]func(*lane){
		"failing": func(l *lane) { l.learn(store.Outcome{Status: store.Some(int64(410)), Gone: true}) },
		"behind":  func(l *lane) { l.s.unwritten.Store(allTaken) },
	} {
		l := newLane(&Sender{}, 1)
		l.take(l.ask(), store.DueDeliveries{New: []int64{1, 2, 3, 4, 5, 6, 7, 8}, Last: 8})
		trouble(l)
		for range 8 {
			l.sent()
		}
		if a := l.ask(); a.room > 0 {
			t.Errorf("%s: room for %d beside 8 that are not written", name, a.room)
		}
		for event := range int64(8) {
			l.over(event+1, true)
		}
		if a := l.ask(); a.room != l.limit {
			t.Errorf("%s: room for %d, and the limit is %d", name, a.room, l.limit)
		}
	}
}
