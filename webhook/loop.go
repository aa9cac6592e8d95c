// Package webhook sends what the store has queued: signed, at least once, and
// to no address that is not public. One endpoint's trouble is its own: each has
// a lane, and no lane waits for another's answers.
package webhook

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"punchcard/store"
)

// Config is what sending is made from.
type Config struct {
	Store         *store.Store
	Guard         *Guard
	Timeout       time.Duration // of one attempt, the response's body included
	BackoffBase   time.Duration // after the first failed attempt
	Idle          time.Duration // of connections before they are given up; 0: 90 s
	CustomHeaders bool          // send a webhook's custom headers
	UserAgent     string
	Log           *slog.Logger
	// Deterministic leaves out what no two runs of a fixture share: signatures bear
	// the store's time, attempts took none or their time-out, and what spreads
	// retries is its mean.
	Deterministic bool
	// Observe is told of each attempt once its outcome stands in the file, and
	// before Settle returns. Attempts come side by side. Nil: nobody is.
	Observe func(*store.Attempt, store.Outcome)
}

// Bounds on what is under way at once. A slot is held while an attempt waits
// for its receiver, but a prompt one for no longer than a second: what takes
// longer, and lanes known for it, live in the slow slots. So hanging receivers,
// however many, take slots from one another only.
const (
	laneMost    = 32 // attempts of one endpoint that answers promptly
	laneStart   = 8
	laneSlow    = 8   // of one that answers, but not promptly
	laneTaken   = 256 // attempts of one endpoint whose outcome is not yet written: those that a kill repeats
	allTaken    = 512 // of all endpoints together, from where on a lane's places are held until the writing
	promptSlots = 256
	slowSlots   = 256
	promptly    = time.Second
	tick        = time.Second // at most, between looks at what other processes queued and at retries
)

// Sender delivers. Start it once; Stop waits for what is under way.
type Sender struct {
	conf   Config
	client *http.Transport // not a client: nothing is followed, and no Location read

	prompt, slow chan struct{} // slots
	unwritten    atomic.Int64  // attempts that are over, and their outcomes not written
	complained   atomic.Int64  // when it was last logged that they cannot be, in unix seconds

	ctx    context.Context // of attempts; ends when Stop loses its patience
	cancel context.CancelFunc
	stop   chan struct{}
	wg     sync.WaitGroup

	mu      sync.Mutex
	lanes   map[int64]*lane
	stopped bool
	looking sync.Mutex // guards mark: one look at a time
	mark    store.Mark // as of the last look at what is fresh
	idle    *sync.Cond // the last lane has ended
	sent    Count
}

// Count is how many attempts were accepted by their receivers, and how many
// were not.
type Count struct{ Delivered, Failed int64 }

// New makes a sender that does nothing before Start.
func New(conf Config) *Sender {
	s := &Sender{conf: conf, lanes: map[int64]*lane{}, stop: make(chan struct{}),
		prompt: make(chan struct{}, promptSlots), slow: make(chan struct{}, slowSlots)}
	s.idle = sync.NewCond(&s.mu)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.client = conf.Guard.Transport(promptSlots)
	if conf.Idle != 0 {
		s.client.IdleConnTimeout = conf.Idle
	}
	conf.Store.OnDue(s.wake)
	return s
}

// Start takes up what is pending and what comes.
func (s *Sender) Start() {
	s.wg.Add(1)
	go s.look()
}

// Stop begins no further attempts and waits for those under way until ctx is
// done; then it breaks them off. What was broken off stays pending.
func (s *Sender) Stop(ctx context.Context) {
	s.mu.Lock()
	s.stopped = true
	s.idle.Broadcast()
	s.mu.Unlock()
	close(s.stop)
	patience := context.AfterFunc(ctx, s.cancel)
	s.wg.Wait()
	patience()
	s.cancel()
	s.client.CloseIdleConnections()
}

// wake has the lanes of webhooks look at their queues. The store calls it after
// every commit that queued something, so it only knocks.
func (s *Sender) wake(webhooks []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	for _, w := range webhooks {
		l := s.lanes[w]
		if l == nil {
			l = newLane(s, w)
			s.lanes[w] = l
			s.wg.Add(1)
			go l.run()
		}
		l.knock()
	}
}

// look wakes the lanes that a clock or another process made due: retries, what
// the command line queued, webhooks that were switched on again.
func (s *Sender) look() {
	defer s.wg.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-timer.C:
		}
		next, err := s.wakeDue()
		if err != nil && !errors.Is(err, store.ErrClosed) {
			s.conf.Log.Error("the webhook queue cannot be read", "error", err)
		}
		timer.Reset(min(max(next, tick/100), tick))
	}
}

// wakeDue wakes every lane that has something due and tells how long it is,
// by the store's clock, until something else will be.
func (s *Sender) wakeDue() (next time.Duration, err error) {
	s.looking.Lock()
	defer s.looking.Unlock()
	next = tick
	var due []int64
	err = s.conf.Store.View(0, func(v *store.View) error {
		mark, err := v.Mark()
		if err != nil {
			return err
		}
		list, err := v.Waiting()
		for _, w := range list {
			if w.Due <= v.Now {
				due = append(due, w.Webhook)
			} else {
				next = min(next, w.Due.Std().Sub(v.Now.Std()))
			}
		}
		if err != nil || mark == s.mark {
			return err
		}
		fresh, err := v.Fresh()
		if err == nil {
			s.mark = mark
		}
		due = append(due, fresh...)
		return err
	})
	s.wake(due)
	return next, err
}

// Settle returns when nothing is due and nothing under way. It is for fixtures,
// whose clock moves at a word.
func (s *Sender) Settle() error {
	for {
		if _, err := s.wakeDue(); err != nil {
			return err
		}
		s.mu.Lock()
		quiet := len(s.lanes) == 0
		for len(s.lanes) > 0 && !s.stopped {
			s.idle.Wait()
		}
		stopped := s.stopped
		s.mu.Unlock()
		if quiet || stopped {
			return nil
		}
	}
}

// jitter spreads retries: from 0 to 1.
func (s *Sender) jitter() float64 {
	if s.conf.Deterministic {
		return 0.5
	}
	return rand.Float64()
}

// Count is what has been sent so far.
func (s *Sender) Count() Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}
