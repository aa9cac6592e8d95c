package webhook

import (
	"errors"
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
	underway map[int64]bool // deliveries whose outcome is not yet written
	limit    int            // of underway; grows while the endpoint is prompt
	slow     bool
}

func newLane(s *Sender, webhook int64) *lane {
	l := &lane{s: s, webhook: webhook, bell: make(chan struct{}, 1), before: make(chan struct{}), underway: map[int64]bool{}, limit: laneStart}
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
		keys, err := l.due()
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
		for _, key := range keys {
			release, ok := l.slot()
			if !ok {
				break
			}
			t := turn{after: l.before, written: make(chan struct{})}
			l.before = t.written
			l.s.wg.Add(1)
			go l.attempt(key, release, &t)
		}
		if len(keys) == 0 && l.leave(false) {
			return
		}
	}
}

// due are the next deliveries, as many as the lane has room for. They count as
// under way from here on.
func (l *lane) due() (keys []int64, err error) {
	l.mu.Lock()
	room := l.limit - len(l.underway)
	skip := make([]int64, 0, len(l.underway))
	for key := range l.underway {
		skip = append(skip, key)
	}
	l.mu.Unlock()
	if room <= 0 {
		return nil, nil
	}
	err = l.s.conf.Store.View(0, func(v *store.View) (err error) {
		keys, err = v.DueKeys(l.webhook, skip, room)
		return err
	})
	l.mu.Lock()
	for _, key := range keys {
		l.underway[key] = true
	}
	l.mu.Unlock()
	return keys, err
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
func (l *lane) attempt(key int64, release func(), t *turn) {
	defer l.s.wg.Done()
	defer t.done()
	defer func() {
		// In one step, so that leave does not see the one without the other.
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.underway, key)
		l.knock()
	}()
	var a store.Attempt
	var ok bool
	err := l.s.conf.Store.View(0, func(v *store.View) (err error) {
		a, ok, err = v.Attempt(key)
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
	<-t.after
	o := l.s.post(l.s.ctx, &a, t.done)
	release()
	if l.s.ctx.Err() != nil {
		return // broken off by Stop: not the receiver's fault
	}
	l.learn(o)
	l.s.record(o)
}

// learn fits the lane's width to how its endpoint behaves.
func (l *lane) learn(o store.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !o.Success:
		l.limit = max(l.limit/2, 1)
	case o.Took < promptly:
		l.slow, l.limit = false, min(l.limit+1, laneMost)
	default:
		l.slow, l.limit = true, min(l.limit+1, laneSlow)
	}
}
