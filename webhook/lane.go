package webhook

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"punchcard/store"
)

// lane is one endpoint's queue at work. It lives while there is something due.
type lane struct {
	s       *Sender
	webhook int64
	bell    chan struct{} // of one: somebody knocked
	before  chan struct{} // closed when the attempt started last has written its request

	mu       sync.Mutex
	underway map[int64]bool // events whose outcome is not yet written; true: a first attempt
	sending  int            // of these, whose attempt is not yet over
	after    int64          // first attempts up to this event are under way or past; -1: ask the file
	given    int            // back: how many attempts were not made after all
	limit    int            // of sending; grows while the endpoint is prompt
	slow     bool
	failing  bool // the latest attempt failed
}

func newLane(s *Sender, webhook int64) *lane {
	l := &lane{s: s, webhook: webhook, bell: make(chan struct{}, 1), before: make(chan struct{}), underway: map[int64]bool{}, after: -1, limit: laneStart}
	close(l.before)
	return l
}

func (l *lane) knock() {
	select {
	case l.bell <- struct{}{}:
	default:
	}
}

// run starts attempts in the order of the queue. It ends when nothing is due
// and nothing under way.
func (l *lane) run() {
	defer l.s.wg.Done()
	for {
		select {
		case <-l.s.stop:
			l.leave(true)
			return
		case <-l.bell:
		}
		events, err := l.due()
		if err != nil {
			if errors.Is(err, store.ErrClosed) {
				l.leave(true)
				return
			}
			l.s.conf.Log.Error("a webhook's queue cannot be read", "webhook", l.webhook, "error", err)
			l.s.pause()
			l.knock()
			continue
		}
		for _, event := range events {
			release, ok := l.slot()
			if !ok {
				break
			}
			t := turn{after: l.before, written: make(chan struct{})}
			l.before = t.written
			l.s.wg.Add(1)
			go l.attempt(event, release, &t)
		}
		if len(events) == 0 && l.leave(false) {
			return
		}
	}
}

// due are the next deliveries, as many as the lane has room for, by their
// events. They count as under way from here on.
func (l *lane) due() ([]int64, error) {
	ask := l.ask()
	if ask.room <= 0 {
		return nil, nil
	}
	var d store.DueDeliveries
	err := l.s.conf.Store.View(0, func(v *store.View) (err error) {
		d, err = v.DueDeliveries(l.webhook, ask.after, ask.skip, ask.room)
		return err
	})
	if err != nil {
		return nil, err
	}
	return l.take(ask, d), nil
}

// ask is what the queue is asked, as things stood then.
type ask struct {
	room  int
	after int64
	skip  []int64
	given int
}

// ask has no room while little would be gained: a lane at work is filled up by a
// quarter of its limit at once, since asking costs much the same for one and for
// many. The end of each attempt and of each writing knocks anew.
func (l *lane) ask() ask {
	l.mu.Lock()
	defer l.mu.Unlock()
	room := min(l.limit-l.sending, laneTaken-len(l.underway))
	// One that fails may be about to be switched off by what is not written yet.
	// And a writer that is far behind is not to get more to do.
	if l.failing || l.s.unwritten.Load() >= allTaken {
		room = l.limit - len(l.underway)
	}
	if len(l.underway) > 0 && room < l.limit/4 {
		return ask{}
	}
	return ask{room, l.after, slices.Collect(maps.Keys(l.underway)), l.given}
}

// take notes the answer.
func (l *lane) take(a ask, d store.DueDeliveries) []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.given == a.given { // else it was left out of the reading and may lie before the last
		l.after = d.Last
	}
	for _, event := range d.Scheduled {
		l.underway[event] = false
	}
	for _, event := range d.New {
		l.underway[event] = true
	}
	l.sending += len(d.Scheduled) + len(d.New)
	return append(d.Scheduled, d.New...)
}

// through is up to where no first attempt waits once this event's is written.
func (l *lane) through(event int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	through := l.after
	for other, first := range l.underway {
		if first && other != event {
			through = min(through, other-1)
		}
	}
	return through
}

// sent makes room for another attempt while the outcome of one is written: what
// the writer takes for that, with much else to write, is not the receiver's.
func (l *lane) sent() {
	l.s.unwritten.Add(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sending--
	l.knock()
}

// over takes an event from those under way. One whose attempt was not made
// will be looked for again.
func (l *lane) over(event int64, made bool) {
	l.s.unwritten.Add(-1)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.underway[event] && !made {
		l.after = min(l.after, event-1)
		l.given++
	}
	delete(l.underway, event)
	l.knock() // in one step with the rest, so that leave does not see the one without the other
}

// leave ends the lane unless something is under way or somebody has knocked
// meanwhile. A lane that is torn down leaves what is under way to itself.
func (l *lane) leave(torn bool) bool {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.mu.Lock()
	busy := len(l.underway) > 0
	l.mu.Unlock()
	if !torn && (busy || len(l.bell) > 0) {
		return false
	}
	delete(l.s.lanes, l.webhook)
	if len(l.s.lanes) == 0 {
		l.s.idle.Broadcast()
	}
	return true
}

// slot waits for a place to make an attempt in. A prompt place is given back
// after a second whatever the receiver does.
func (l *lane) slot() (release func(), ok bool) {
	l.mu.Lock()
	slots := l.s.prompt
	if l.slow {
		slots = l.s.slow
	}
	l.mu.Unlock()
	select {
	case slots <- struct{}{}:
	case <-l.s.stop:
		return nil, false
	}
	free := sync.OnceFunc(func() { <-slots })
	if slots == l.s.slow {
		return free, true
	}
	late := time.AfterFunc(promptly, func() {
		l.mu.Lock()
		l.slow, l.limit = true, min(l.limit, laneSlow)
		l.mu.Unlock()
		free()
	})
	return func() { late.Stop(); free() }, true
}

// turn puts the attempts of a lane in order: each writes its request when the
// one before it has written its own. None waits for another's answer.
type turn struct {
	after   <-chan struct{}
	written chan struct{}
	once    sync.Once
}

func (t *turn) done() { t.once.Do(func() { close(t.written) }) }

// attempt sends one delivery and writes down what came of it.
func (l *lane) attempt(event int64, release func(), t *turn) {
	made := false
	sent := sync.OnceFunc(l.sent)
	defer l.s.wg.Done()
	defer func() { l.over(event, made) }()
	defer sent()
	defer t.done()
	// The turn comes first: until then the one before may be connecting, for
	// seconds, and what is sent is to be what the file says when it is sent.
	<-t.after
	select {
	case <-l.s.stop: // meanwhile; it has not begun
		release()
		return
	default:
	}
	var a store.Attempt
	var ok bool
	err := l.s.conf.Store.View(0, func(v *store.View) (err error) {
		a, ok, err = v.Attempt(l.webhook, event)
		return err
	})
	if err != nil || !ok {
		release()
		if err != nil && !errors.Is(err, store.ErrClosed) {
			l.s.conf.Log.Error("a delivery cannot be read", "webhook", l.webhook, "error", err)
			l.s.pause()
		}
		return
	}
	o := l.s.post(l.s.ctx, &a, t.done)
	release()
	if l.s.ctx.Err() != nil {
		return // broken off by Stop: not the receiver's fault
	}
	l.learn(o)
	if l.s.conf.Deterministic {
		o.Duration = 0
		if o.TimedOut {
			o.Duration = l.s.conf.Timeout
		}
	}
	o.SentThrough = l.through(event)
	sent()
	if made = l.s.record(&o); made && l.s.conf.Observe != nil {
		l.s.conf.Observe(&a, o)
	}
}

// learn fits the lane's width to how its endpoint behaves.
func (l *lane) learn(o store.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.failing = !o.Success; {
	case !o.Success:
		l.limit = max(l.limit/2, 1)
	case o.Duration < promptly:
		l.slow, l.limit = false, min(l.limit+1, laneMost)
	default:
		l.slow, l.limit = true, min(l.limit+1, laneSlow)
	}
}
