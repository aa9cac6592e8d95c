package webhook

import (
	"testing"

	"punchcard/store"
)

// news returns first attempts of events without a card.
func news(events ...int64) (list []store.NewDelivery) {
	for _, event := range events {
		list = append(list, store.NewDelivery{Event: event})
	}
	return list
}

// TestReturnedWhileQueried returns events to the queue while it is being read.
// The query skipped them, so its result must not count them as sent.
func TestReturnedWhileQueried(t *testing.T) {
	t.Parallel()
	l := newLane(&Sender{}, 1)
	l.begin(l.nextQuery(), store.DueDeliveries{New: news(11, 12), Last: 12})
	l.finish(11, false)
	q := l.nextQuery()
	l.finish(12, false)
	l.begin(q, store.DueDeliveries{New: news(11, 13), Last: 13})
	if last := l.sentThrough(13); last >= 11 {
		t.Errorf("11 and 12 are pending, and sentThrough returned %d", last)
	}
	l.finish(11, true)
	if next := l.nextQuery(); next.after >= 12 {
		t.Errorf("12 is pending, and the next query is after %d", next.after)
	}
}

// TestLaneBounds checks that a lane has as many attempts at its receiver and as many unwritten outcomes as laneMax and
// laneMaxUnwritten allow. For the upper bounds in any order of events see TestChainsDoNotOverlap.
func TestLaneBounds(t *testing.T) {
	t.Parallel()
	l := newLane(&Sender{}, 1)
	l.limit = laneMax
	var queue, unwritten []int64 // at the receiver; answered
	next := int64(1)
	fill := func() {
		for q := l.nextQuery(); q.room > 0; q = l.nextQuery() {
			var d store.DueDeliveries
			for range q.room {
				d.New, next = append(d.New, store.NewDelivery{Event: next}), next+1
			}
			queue = append(queue, l.begin(q, d)...)
		}
	}
	answer := func() { l.answered(queue[0]); queue, unwritten = queue[1:], append(unwritten, queue[0]) }
	fill()
	if len(queue) != laneMax {
		t.Fatalf("%d at the receiver at first", len(queue))
	}
	for len(queue) > 0 { // nothing is written
		answer()
		fill()
	}
	if len(unwritten) != laneMaxUnwritten {
		t.Errorf("stopped with %d unwritten", len(unwritten))
	}
}

// TestLaneWaitsForWrites checks that a failing webhook's lane, and every lane once
// the writer is far behind, starts no attempt until outcomes are written.
func TestLaneWaitsForWrites(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]func(*lane){
		"failing": func(l *lane) { l.adapt(store.Outcome{Status: store.Some(int64(410)), Gone: true}) },
		"behind":  func(l *lane) { l.s.unwritten.Store(maxUnwritten) },
	} {
		l := newLane(&Sender{}, 1)
		l.begin(l.nextQuery(), store.DueDeliveries{New: news(1, 2, 3, 4, 5, 6, 7, 8), Last: 8})
		trouble(l)
		for event := range int64(8) {
			l.answered(event + 1)
		}
		if q := l.nextQuery(); q.room > 0 {
			t.Errorf("%s: room for %d beside 8 unwritten outcomes", name, q.room)
		}
		for event := range int64(8) {
			l.finish(event+1, true)
		}
		if q := l.nextQuery(); q.room != l.limit {
			t.Errorf("%s: room for %d, and the limit is %d", name, q.room, l.limit)
		}
	}
}
