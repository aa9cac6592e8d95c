package webhook

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"punchcard/store"
)

// lane sends the deliveries of one webhook. It exists while some are due or in
// flight, that is until their outcomes are written.
type lane struct {
	s        *Sender
	webhook  int64
	wake     chan struct{} // of capacity 1: the queue is to be read
	previous chan struct{} // closed when the last attempt that was started has written its request

	mu       sync.Mutex
	inFlight map[int64]flight // by event
	order    chainOrder       // of first attempts; what waits in it takes no place in inFlight
	sending  int              // how many of inFlight wait for the receiver
	after    int64            // first attempts up to this event have been started or wait in order; -1: not known
	returned int              // how many first attempts were returned to the queue
	limit    int              // of sending; it grows while the receiver answers promptly
	slow     bool             // the receiver answers, but not promptly
	failing  bool             // the latest attempt failed
}

// flight is an attempt that was started and whose outcome is not written.
type flight struct {
	first bool
	chain int64 // of a first attempt, see store.NewDelivery
	ended bool  // the attempt has ended
}

func newLane(s *Sender, webhook int64) *lane {
	l := &lane{
		s:        s,
		webhook:  webhook,
		wake:     make(chan struct{}, 1),
		previous: make(chan struct{}),
		inFlight: map[int64]flight{},
		order:    chainOrder{busy: map[int64][]int64{}},
		after:    -1,
		limit:    laneStart,
	}
	close(l.previous)
	return l
}

// signal makes run read the queue.
func (l *lane) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run starts attempts in the order of the queue. It returns when nothing is due
// and nothing in flight, and when the sender stops.
func (l *lane) run() {
	defer l.s.wg.Done()
	for {
		select {
		case <-l.s.stopping.Done():
			l.remove(true)
			return
		case <-l.wake:
		}
		l.start(l.beginReady())
		events, err := l.nextEvents()
		if errors.Is(err, store.ErrClosed) {
			l.remove(true)
			return
		}
		if err != nil {
			l.s.conf.Log.Error("a webhook's queue cannot be read", "webhook", l.webhook, "error", err)
			l.s.pause()
			l.signal()
			continue
		}
		l.start(events)
		if len(events) == 0 && l.remove(false) {
			return
		}
	}
}

// start starts attempts, in the order of the events given, until the sender stops.
func (l *lane) start(events []int64) {
	for _, event := range events {
		release, ok := l.acquireSlot()
		if !ok {
			return
		}
		t := turn{previous: l.previous, written: make(chan struct{})}
		l.previous = t.written
		l.s.wg.Add(1)
		go l.attempt(event, release, &t)
	}
}

// beginReady marks events whose chain's previous attempt has ended as in flight,
// as many as the lane has room for, and returns them. They come before newer ones.
func (l *lane) beginReady() (events []int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.order.takeReady(l.room()) {
		events = append(events, d.Event)
		l.inFlight[d.Event] = flight{first: true, chain: d.Chain}
	}
	l.sending += len(events)
	return events
}

// nextEvents returns the events of the next deliveries that may start, as many as
// the lane has room for, and marks them as in flight.
func (l *lane) nextEvents() ([]int64, error) {
	q := l.nextQuery()
	if q.room <= 0 {
		return nil, nil
	}
	d, err := store.Read(l.s.conf.Store, func(v *store.View) (store.DueDeliveries, error) {
		return v.DueDeliveries(l.webhook, q.after, q.skip, q.room, q.fresh)
	})
	if err != nil {
		return nil, err
	}
	return l.begin(q, d), nil
}

// queueQuery says which deliveries to read from the queue.
type queueQuery struct {
	room     int     // maximum number of deliveries
	fresh    int     // maximum number of first attempts among them
	after    int64   // only first attempts of events after this one
	skip     []int64 // events that are in flight
	returned int     // lane.returned at the time of the query
}

// nextQuery returns the next query of the queue. It has no room while the lane
// could start only a few attempts: reading many costs about as much as reading
// one, so a busy lane waits until it can start a quarter of its limit. Each
// attempt signals the lane when it ends and when its outcome is written. While as
// many events wait for their chains as may, it asks for no first attempts.
func (l *lane) nextQuery() queueQuery {
	l.mu.Lock()
	defer l.mu.Unlock()
	room := l.room()
	if len(l.inFlight) > 0 && room < l.limit/4 {
		return queueQuery{}
	}
	fresh := room
	if l.order.full() {
		fresh = 0
	}
	return queueQuery{room, fresh, l.after, slices.Collect(maps.Keys(l.inFlight)), l.returned}
}

// room returns how many attempts may start. The caller holds the mutex.
func (l *lane) room() int {
	// The unwritten outcomes of a failing webhook may be about to disable it,
	// and a writer that is far behind must not get more to do.
	if l.failing || l.s.unwritten.Load() >= maxUnwritten {
		return l.limit - len(l.inFlight)
	}
	return min(l.limit-l.sending, laneMaxUnwritten-len(l.inFlight))
}

// begin marks the deliveries that a query found as in flight, and returns their
// events. First attempts of chains that are busy wait instead.
func (l *lane) begin(q queueQuery, d store.DueDeliveries) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	events := d.Scheduled
	for _, event := range d.Scheduled {
		l.inFlight[event] = flight{}
	}
	// An event that was returned after the query comes before those of d.New. They
	// are read again after it.
	if l.returned == q.returned {
		events = append(events, l.beginNew(q, d)...)
	}
	l.sending += len(events)
	return events
}

// beginNew is begin for first attempts. It sets l.after. The caller holds the mutex.
func (l *lane) beginNew(q queueQuery, d store.DueDeliveries) (events []int64) {
	held := 0
	for i, n := range d.New {
		switch {
		case l.order.start(n):
			l.inFlight[n.Event] = flight{first: true, chain: n.Chain}
			events = append(events, n.Event)
		case l.order.wait(n):
			held++
		default: // it is read again when another no longer waits
			if i > 0 {
				l.after = d.New[i-1].Event
			}
			return events
		}
	}
	l.after = d.Last
	if held > 0 && len(d.New) == q.fresh {
		l.signal() // there is room yet, and there may be more
	}
	return events
}

// sentThrough returns the last event up to which no first attempt will be
// pending once the outcome of the given event is written.
func (l *lane) sentThrough(event int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.after
	for other, f := range l.inFlight {
		if f.first && other != event {
			last = min(last, other-1)
		}
	}
	if first, ok := l.order.first(); ok {
		last = min(last, first-1)
	}
	return last
}

// answered says that an attempt has ended: while its outcome is being written,
// another may start, and so may the next of its chain.
func (l *lane) answered(event int64) {
	l.s.unwritten.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.inFlight[event]
	f.ended = true
	l.inFlight[event] = f
	l.order.ended(f.chain)
	l.sending--
	l.signal()
}

// finish removes an event from those in flight. If it has no recorded outcome,
// it goes back to the queue. So do all events that wait, since those of its chain
// come after it: they are read again.
func (l *lane) finish(event int64, recorded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.inFlight[event]
	if f.ended {
		l.s.unwritten.Add(-1)
	} else {
		l.sending--
	}
	if f.first && !recorded {
		l.after = min(l.after, event-1)
		if first, ok := l.order.first(); ok {
			l.after = min(l.after, first-1)
		}
		chain := f.chain
		if f.ended {
			chain = 0 // the next of the chain may be in flight
		}
		l.order.drop(chain)
		l.returned++
	}
	delete(l.inFlight, event)
	l.signal() // while l.mu is locked, so that remove sees the signal or the event
}

// remove removes the lane from the sender, unless force is false and something is in
// flight or the lane was signalled. It reports whether it did.
func (l *lane) remove(force bool) bool {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.mu.Lock()
	busy := len(l.inFlight) > 0 || len(l.wake) > 0
	l.mu.Unlock()
	if busy && !force {
		return false
	}
	delete(l.s.lanes, l.webhook)
	if len(l.s.lanes) == 0 {
		l.s.idle.Broadcast()
	}
	return true
}

// acquireSlot waits for a slot and returns what releases it; ok is false if the
// sender stops. A prompt slot is released after promptLimit in any case.
func (l *lane) acquireSlot() (release func(), ok bool) {
	l.mu.Lock()
	slots := l.s.prompt
	if l.slow {
		slots = l.s.slow
	}
	l.mu.Unlock()
	select {
	case slots <- struct{}{}:
	case <-l.s.stopping.Done():
		return nil, false
	}
	free := sync.OnceFunc(func() { <-slots })
	if slots == l.s.slow {
		return free, true
	}
	late := time.AfterFunc(promptLimit, func() {
		l.mu.Lock()
		l.slow, l.limit = true, min(l.limit, laneSlow)
		l.mu.Unlock()
		free()
	})
	return func() { late.Stop(); free() }, true
}

// adapt adapts the lane's limit and speed class to an outcome.
func (l *lane) adapt(o store.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.failing = !o.Success; {
	case !o.Success:
		l.limit = max(l.limit/2, 1)
	case o.Duration < promptLimit:
		l.slow, l.limit = false, min(l.limit+1, laneMax)
	default:
		l.slow, l.limit = true, min(l.limit+1, laneSlow)
	}
}
