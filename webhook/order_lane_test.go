package webhook

import (
	"math/rand/v2"
	"slices"
	"testing"

	"punchcard/store"
)

// laneModel is a lane with a model of its queue, its receiver and its writer.
type laneModel struct {
	*lane
	t         *testing.T
	chain     []int64         // by event; event 0 does not exist
	done      map[int64]bool  // recorded
	sending   []int64         // at the receiver, in the order of their starts
	unwritten []int64         // answered, outcome not written
	last      map[int64]int64 // by chain: the last event that was answered
}

func newLaneModel(t *testing.T) *laneModel {
	m := &laneModel{lane: newLane(&Sender{}, 1), t: t, chain: []int64{0}, done: map[int64]bool{}, last: map[int64]int64{}}
	m.limit = laneMax
	return m
}

// query is DueDeliveries for the model's queue.
func (m *laneModel) query(q queueQuery) (d store.DueDeliveries) {
	d.Last = max(q.after, 0)
	for event := d.Last + 1; event < int64(len(m.chain)) && len(d.New) < q.fresh; event++ {
		if !m.done[event] && !slices.Contains(q.skip, event) {
			d.New = append(d.New, store.NewDelivery{Event: event, Chain: m.chain[event]})
			d.Last = event
		}
	}
	return d
}

// begun records attempts that start. The first attempts of a chain must start in the order of its
// events, each after the previous one has ended.
func (m *laneModel) begun(events []int64) {
	m.t.Helper()
	for _, event := range events {
		if chain := m.chain[event]; chain != 0 {
			for _, other := range m.sending {
				if m.chain[other] == chain {
					m.t.Fatalf("%d starts while %d of its chain is at the receiver", event, other)
				}
			}
			for earlier := m.last[chain] + 1; earlier < event; earlier++ {
				if m.chain[earlier] == chain {
					m.t.Fatalf("%d starts before %d of its chain", event, earlier)
				}
			}
		}
		m.sending = append(m.sending, event)
	}
	if len(m.sending) > laneMax || len(m.sending)+len(m.unwritten) > laneMaxUnwritten || m.order.waiting > laneMaxWaiting {
		m.t.Fatalf("%d at the receiver, %d unwritten, %d wait", len(m.sending), len(m.unwritten), m.order.waiting)
	}
}

// step reads the queue as run does. It calls meanwhile after the query and before its result is
// used.
func (m *laneModel) step(meanwhile func()) {
	m.t.Helper()
	m.begun(m.beginReady())
	q := m.nextQuery()
	if q.room <= 0 {
		return
	}
	d := m.query(q)
	meanwhile()
	m.begun(m.begin(q, d))
}

// fill calls step until nothing more can start.
func (m *laneModel) fill() {
	m.t.Helper()
	for m.signal(); len(m.wake) > 0; {
		<-m.wake
		m.step(func() {})
	}
}

// answer ends the attempt at the receiver with this index.
func (m *laneModel) answer(i int) {
	event := m.sending[i]
	m.sending = slices.Delete(m.sending, i, i+1)
	m.unwritten = append(m.unwritten, event)
	m.last[m.chain[event]] = max(m.last[m.chain[event]], event)
	m.allDone(m.sentThrough(event), event)
	m.answered(event)
}

// allDone checks that no event up to last is pending, other than but.
func (m *laneModel) allDone(last, but int64) {
	m.t.Helper()
	for event := int64(1); event <= last; event++ {
		if !m.done[event] && event != but {
			m.t.Fatalf("%d is pending, and sentThrough of %d returned %d", event, but, last)
		}
	}
}

// write writes the unwritten outcome with this index.
func (m *laneModel) write(i int) {
	event := m.unwritten[i]
	m.unwritten = slices.Delete(m.unwritten, i, i+1)
	m.done[event] = true
	m.finish(event, true)
}

// giveBack returns the event at the receiver with this index without an attempt.
func (m *laneModel) giveBack(i int) {
	event := m.sending[i]
	m.sending = slices.Delete(m.sending, i, i+1)
	m.finish(event, false)
}

// TestChainsDoNotOverlap has attempts answered, written and returned in any order,
// also while the queue is being read. All events are attempted, those of a chain in
// order and one at a time.
func TestChainsDoNotOverlap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 21))
		m := newLaneModel(t)
		m.limit = 1 + rng.IntN(laneMax)
		chains := 1 + rng.Int64N(12)
		act := func() {
			switch n := rng.IntN(10); {
			case n < 5 && len(m.sending) > 0:
				m.answer(rng.IntN(len(m.sending)))
			case n < 8 && len(m.unwritten) > 0:
				m.write(rng.IntN(len(m.unwritten)))
			case n == 8 && len(m.sending) > 0:
				m.giveBack(rng.IntN(len(m.sending)))
			case len(m.chain) < 400:
				for range rng.IntN(9) {
					m.chain = append(m.chain, rng.Int64N(chains))
				}
				m.signal()
			}
		}
		for range 2000 {
			for range 1 + rng.IntN(4) { // several chains become ready before the next step
				act()
			}
			m.step(act)
		}
		for len(m.done) < len(m.chain)-1 {
			m.fill()
			if len(m.sending) == 0 && len(m.unwritten) == 0 {
				t.Fatalf("seed %d: stuck with %d of %d done", seed, len(m.done), len(m.chain)-1)
			}
			for len(m.sending) > 0 {
				m.answer(0)
			}
			for len(m.unwritten) > 0 {
				m.write(0)
			}
		}
		if m.order.waiting != 0 || len(m.order.busy) != 0 || len(m.inFlight) != 0 || m.lane.sending != 0 {
			t.Errorf("seed %d: left are %+v, %d in flight, %d at the receiver", seed, m.order, len(m.inFlight), m.lane.sending)
		}
	}
}

// TestLaneLooksPastWaitingEvents checks that a lane looks past laneMaxWaiting events of a
// busy chain and no more, that they take no place among those in flight, and that
// retries are read whatever waits.
func TestLaneLooksPastWaitingEvents(t *testing.T) {
	t.Parallel()
	m := newLaneModel(t)
	for range laneMaxWaiting + 1 {
		m.chain = append(m.chain, 7)
	}
	m.chain = append(m.chain, 8, 7, 9) // 9 comes after one too many
	m.fill()
	if !slices.Equal(m.sending, []int64{1, laneMaxWaiting + 2}) || m.order.waiting != laneMaxWaiting {
		t.Fatalf("%v are at the receiver, %d wait", m.sending, m.order.waiting)
	}
	if q := m.nextQuery(); q.fresh != 0 || q.room != laneMax-2 {
		t.Errorf("room for %d, of them %d first attempts", q.room, q.fresh)
	}
	m.answer(0)
	m.fill() // the second of the chain, and what came after
	if !slices.Equal(m.sending, []int64{laneMaxWaiting + 2, 2, laneMaxWaiting + 4}) || m.order.waiting != laneMaxWaiting {
		t.Errorf("%v are at the receiver, %d wait", m.sending, m.order.waiting)
	}
}
