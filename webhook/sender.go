// Package webhook sends the deliveries that the store has queued: signed, at
// least once, and by default to public addresses only. Each webhook with
// deliveries has a goroutine and limits of its own, a lane, so that a slow or
// failing receiver delays no other. In a lane the first attempts about one card do
// not overlap.
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

// Config holds the settings of a Sender.
type Config struct {
	Store         *store.Store
	Guard         *Guard
	Timeout       time.Duration // of one attempt, including the response's body
	BackoffBase   time.Duration // wait after the first failed attempt
	Idle          time.Duration // after which unused connections are closed; 0: 90 s
	CustomHeaders bool          // send a webhook's custom headers
	UserAgent     string
	Log           *slog.Logger
	// Deterministic makes deliveries the same in every run of a fixture:
	// signatures have the store's time, attempts take no time (or the whole
	// timeout), and retries have the mean jitter.
	Deterministic bool
	// Observe is called for each attempt after its outcome was written, and
	// before Settle returns. Calls may be concurrent. It may be nil.
	Observe func(*store.Attempt, store.Outcome)
}

// Limits of concurrent work. Each attempt holds a slot while it waits for its
// receiver. It may hold a prompt slot for promptLimit at most; attempts that take
// longer, and lanes known to be slow, use the slow slots. So receivers that hang
// take slots from one another only.
const (
	laneMax          = 32   // attempts of a webhook whose receiver answers promptly
	laneStart        = 8    // attempts of a new lane
	laneSlow         = 8    // attempts of a webhook whose receiver answers slowly
	laneMaxUnwritten = 256  // attempts of a webhook without a written outcome: those that are repeated after a kill
	laneMaxWaiting   = 1000 // events of a webhook that wait for the attempt of their chain's previous event
	maxUnwritten     = 512  // attempts of all webhooks that have ended without a written outcome; from there on lanes wait for the writer
	promptSlots      = 256
	slowSlots        = 256
	promptLimit      = time.Second
	scanInterval     = time.Second // maximum time between scans for retries
)

// Sender sends deliveries. It cannot be started again after Stop.
type Sender struct {
	conf   Config
	client *http.Transport // not an http.Client, since redirects are not followed

	prompt, slow     chan struct{} // slots
	unwritten        atomic.Int64  // attempts that have ended and whose outcome is not written
	writeErrorLogged atomic.Int64  // unix time at which a write error was last logged

	stopping context.Context // ends when Stop is called
	stop     context.CancelFunc
	ctx      context.Context // of attempts; ends with the context of Stop
	cancel   context.CancelFunc
	wg       sync.WaitGroup

	scanning sync.Mutex          // held by a scan; guards mark
	mark     store.OutboxVersion // of the last scan for first attempts

	mu      sync.Mutex
	lanes   map[int64]*lane // by webhook
	started bool
	idle    *sync.Cond // lanes has become empty, or the sender stopped
	count   Count
}

// Count counts the attempts that succeeded and those that failed.
type Count struct{ Delivered, Failed int64 }

// New returns a sender that does nothing before Start.
func New(conf Config) *Sender {
	s := &Sender{
		conf:   conf,
		client: conf.Guard.Transport(promptSlots),
		prompt: make(chan struct{}, promptSlots),
		slow:   make(chan struct{}, slowSlots),
		lanes:  map[int64]*lane{},
	}
	s.idle = sync.NewCond(&s.mu)
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if conf.Idle != 0 {
		s.client.IdleConnTimeout = conf.Idle
	}
	return s
}

// Start starts sending what is and will be queued. It does nothing if the sender
// is running. After Stop it returns context.Canceled.
func (s *Sender) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stopping.Err(); err != nil || s.started {
		return err
	}
	s.started = true
	s.conf.Store.OnDue(s.wake)
	s.wg.Go(s.scanQueue)
	s.wg.Go(func() { s.conf.Store.Watch(s.stopping, s.wakeNew) })
	return nil
}

// Stop starts no further attempts and waits for those that are running. When ctx
// is done it cancels them; their deliveries stay pending. Stop may be called
// without Start, and more than once.
func (s *Sender) Stop(ctx context.Context) {
	s.mu.Lock()
	s.stop()
	s.idle.Broadcast()
	s.mu.Unlock()
	release := context.AfterFunc(ctx, s.cancel)
	defer release()
	s.wg.Wait()
	s.cancel()
	s.client.CloseIdleConnections()
}

// wake makes the lanes of webhooks read their queues. It does not block: the
// store calls it after every commit that queued something.
func (s *Sender) wake(webhooks []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Err() != nil {
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
		l.signal()
	}
}

// scanQueue wakes the lanes of deliveries that the store did not announce:
// retries that became due, and what wakeNew has missed.
func (s *Sender) scanQueue() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-s.stopping.Done():
			return
		case <-timer.C:
		}
		next, err := s.wakeDue()
		s.logReadError(err)
		timer.Reset(min(max(next, scanInterval/100), scanInterval))
	}
}

// logReadError logs that the queue cannot be read, if err is not nil.
func (s *Sender) logReadError(err error) {
	if err != nil && !errors.Is(err, store.ErrClosed) {
		s.conf.Log.Error("the webhook queue cannot be read", "error", err)
	}
}

// wakeNew wakes the lanes of all webhooks with first attempts to make, if there may
// be new ones: deliveries that another process queued, and those of webhooks that
// were enabled again.
func (s *Sender) wakeNew() {
	s.scanning.Lock()
	defer s.scanning.Unlock()
	fresh, err := store.Read(s.conf.Store, s.newDeliveries)
	s.logReadError(err)
	s.wake(fresh)
}

// newDeliveries returns the webhooks with first attempts to make, or none if nothing
// has changed since the last call. The caller holds s.scanning.
func (s *Sender) newDeliveries(v *store.View) ([]int64, error) {
	mark, err := v.OutboxVersion()
	if err != nil || mark == s.mark {
		return nil, err
	}
	fresh, err := v.WebhooksWithNewDeliveries()
	if err == nil {
		s.mark = mark
	}
	return fresh, err
}

// wakeDue wakes the lanes of all webhooks with something due. It returns the time
// until the next delivery is due, by the store's clock.
func (s *Sender) wakeDue() (next time.Duration, err error) {
	s.scanning.Lock()
	defer s.scanning.Unlock()
	next = scanInterval
	var due []int64
	err = s.conf.Store.View(0, func(v *store.View) (err error) {
		if due, err = s.newDeliveries(v); err != nil {
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
		return err
	})
	s.wake(due)
	return next, err
}

// Settle returns when nothing is due and nothing in flight. It is for fixtures,
// which set the clock.
func (s *Sender) Settle() error {
	for {
		if _, err := s.wakeDue(); err != nil {
			return err
		}
		s.mu.Lock()
		idle := len(s.lanes) == 0
		for len(s.lanes) > 0 && s.stopping.Err() == nil {
			s.idle.Wait()
		}
		s.mu.Unlock()
		if idle || s.stopping.Err() != nil {
			return nil
		}
	}
}

// jitter returns a random number from 0 to 1 that spreads retries.
func (s *Sender) jitter() float64 {
	if s.conf.Deterministic {
		return 0.5
	}
	return rand.Float64()
}

// Count returns how many attempts were made so far.
func (s *Sender) Count() Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}
