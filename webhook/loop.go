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
	tick        = time.Second // at most, between scans for what other processes queued and for retries
)

// Sender delivers. It runs once: after Stop it does not start again.
type Sender struct {
	conf   Config
	client *http.Transport // not a client: nothing is followed, and no Location read

	prompt, slow chan struct{} // slots
	unwritten    atomic.Int64  // attempts that are over, and their outcomes not written
	complained   atomic.Int64  // when it was last logged that they cannot be, in unix seconds

	ctx    context.Context // of attempts; ends when that of Stop does
	cancel context.CancelFunc
	stop   chan struct{}
	wg     sync.WaitGroup

	mu       sync.Mutex
	lanes    map[int64]*lane
	started  bool
	stopped  bool
	scanning sync.Mutex          // guards mark: one scan at a time
	mark     store.OutboxVersion // as of the last scan for what is fresh
	idle     *sync.Cond          // the last lane has ended
	sent     Count
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
	return s
}

// Start begins to send what is pending and what the store will queue. It does
// nothing while the sender runs. After Stop it returns context.Canceled.
func (s *Sender) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		return context.Canceled
	case s.started:
		return nil
	}
	s.started = true
	s.conf.Store.OnDue(s.wake)
	s.wg.Go(s.scanQueue)
	return nil
}

// Stop begins no further attempts and waits for those under way until ctx is
// done; then it breaks them off. What was broken off stays pending. Stop may be
// called without Start, and more than once.
func (s *Sender) Stop(ctx context.Context) {
	s.mu.Lock()
	if !s.stopped {
		s.stopped = true
		close(s.stop)
		s.idle.Broadcast()
	}
	s.mu.Unlock()
	release := context.AfterFunc(ctx, s.cancel)
	defer release()
	s.wg.Wait()
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

// scanQueue wakes the lanes that a clock or another process made due: retries,
// what the command line queued, webhooks that were switched on again.
func (s *Sender) scanQueue() {
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
	s.scanning.Lock()
	defer s.scanning.Unlock()
	next = tick
	var due []int64
	err = s.conf.Store.View(0, func(v *store.View) error {
		mark, err := v.OutboxVersion()
		if err != nil {
			return err
		}
		list, err := v.WebhooksWithScheduledDeliveries()
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
		fresh, err := v.WebhooksWithNewDeliveries()
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
