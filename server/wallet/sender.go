package wallet

import (
	"crypto/ecdsa"
	"crypto/x509"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"punchcard/server/background"
	"punchcard/store"
)

// Config holds the settings of a Sender.
type Config struct {
	Store *store.Store // whose queue is sent
	// Transport makes the requests to push services. It must connect to permitted addresses only.
	Transport http.RoundTripper
	// Subject is how a push service reaches the operator, a mailto: or https URL. Empty: the public URL of
	// the shop, if that is https.
	Subject string
	// ApplePush returns the URL of the service that wakes phones with Apple Wallet, and the authorities of its certificate; nil: those of
	// the system.
	ApplePush func() (url string, roots *x509.CertPool)
	Google    *Google
	// Backoff returns the wait after a number of failed attempts.
	Backoff func(attempts int) time.Duration
	// Watch says whether the sender watches the file, which other processes may change. Without it the sender finds their changes
	// within scanInterval.
	Watch bool
	Log   *slog.Logger
}

const (
	workers       = 64          // cards of which copies are brought up to date at once
	googleWorkers = 8           // of them at Google, which limits the rate, so that they do not delay the others
	scanInterval  = time.Minute // maximum time between readings of the clock and the queue
	// gatherTime is the time between a change and the first attempt: so tills have their answers before, and many changes are
	// read at once (BenchmarkStamp, BenchmarkProgramChange).
	gatherTime = 10 * time.Millisecond
	sliceCards = 500 // of a program that has changed are queued in one write, after which tills have their turn
)

// Sender brings the copies of cards up to date. It cannot be started again after Stop.
type Sender struct {
	*background.Work // whose context is that of requests
	conf             Config
	key              func() *ecdsa.PrivateKey // by which push services recognise the server
	apple            sync.Map                 // http.RoundTripper by the certificate that it presents
	reading          sync.Mutex               // held while the passes of a card are read

	mu       sync.Mutex
	inFlight map[target]bool
	ended    *sync.Cond // an attempt has ended
}

// target is what at most one attempt is made for at a time.
type target struct{ root, copy int64 }

// NewSender returns a sender that does nothing before Start.
func NewSender(conf Config) *Sender {
	s := &Sender{Work: background.New(), conf: conf, inFlight: map[target]bool{}}
	s.key = sync.OnceValue(conf.Store.PushKey)
	s.ended = sync.NewCond(&s.mu)
	return s
}

// Start starts sending what is and will be due. It does nothing if the sender is running. After Stop it
// returns context.Canceled.
func (s *Sender) Start() error {
	return s.Work.Start(s.run, func() {
		if s.conf.Watch {
			s.conf.Store.Watch(s.Stopping, s.conf.Store.WakePushes)
		}
	})
}

// pause waits, and reports whether that was not ended by Stop.
func (s *Sender) pause(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.Stopping.Done():
		return false
	}
}

// run makes attempts when cards have changed, when they are due and when others have ended.
func (s *Sender) run() {
	due := time.NewTimer(0)
	defer due.Stop()
	for {
		select {
		case <-s.Stopping.Done():
			return
		case <-s.conf.Store.PushesDue():
		case <-due.C:
		}
		if !s.pause(gatherTime) {
			return
		}
		_, waiting, wait := s.begin()
		if waiting && s.queuePasses() {
			wait = 0
		}
		due.Reset(min(scanInterval, max(time.Millisecond, wait)))
	}
}

// begin begins attempts for the cards that are due. It returns how many, whether passes wait to be queued and there are workers for
// them, so that the changes of other cards do not wait behind all of them, and the time until the next card is due by the store's
// clock.
func (s *Sender) begin() (begun int, waiting bool, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []store.Push
	var now store.Time
	err := s.conf.Store.View(0, func(v *store.View) (err error) {
		now = v.Now
		if list, err = v.Pushes(workers + len(s.inFlight)); err == nil {
			waiting, err = v.PassesWait()
		}
		return err
	})
	if err != nil {
		s.logError("the queue of pushes cannot be read", err)
		return 0, false, time.Second
	}
	wait = scanInterval
	for _, p := range list {
		switch {
		case p.Due > now:
			wait = min(wait, p.Due.Std().Sub(now.Std()))
		case s.hasWorker(p) && s.start(p):
			begun++
		}
	}
	return begun, waiting && len(s.inFlight) < workers, wait
}

// logError logs an error, unless the store or the sender has ended.
func (s *Sender) logError(text string, err error) {
	if !errors.Is(err, store.ErrClosed) && s.Stopping.Err() == nil {
		s.conf.Log.Error(text, "error", err)
	}
}

// hasWorker reports whether an attempt may begin now. The caller holds s.mu, and calls again when another attempt has ended.
func (s *Sender) hasWorker(p store.Push) bool {
	if s.inFlight[target{p.Root, p.Copy}] || len(s.inFlight) == workers {
		return false
	}
	if p.Copy != store.CopyGoogle {
		return true
	}
	atGoogle := 0
	for t := range s.inFlight {
		if t.copy == store.CopyGoogle {
			atGoogle++
		}
	}
	return atGoogle < googleWorkers
}

// start begins an attempt, for whose target none is in flight. It reports false after Stop. The caller holds s.mu.
func (s *Sender) start(p store.Push) bool {
	t := target{p.Root, p.Copy}
	begun := s.Go(func() {
		s.attempt(p)
		s.mu.Lock()
		delete(s.inFlight, t)
		s.mu.Unlock()
		s.ended.Broadcast()
		s.conf.Store.WakePushes()
	})
	if begun {
		s.inFlight[t] = true
	}
	return begun
}

// queuePasses queues some of the passes that wait for that, and reports whether it did.
func (s *Sender) queuePasses() bool {
	err := s.conf.Store.SystemWrite(s.Stopping, func(tx *store.Tx) error { return tx.QueuePasses(sliceCards) })
	if err != nil {
		s.logError("passes that show something else cannot be queued", err)
	}
	return err == nil
}

// Settle makes all attempts that are due by the store's clock, and waits for their ends.
func (s *Sender) Settle() {
	for {
		begun, waiting, _ := s.begin()
		queued := waiting && s.queuePasses()
		s.mu.Lock()
		idle := len(s.inFlight) == 0 && begun == 0 && !queued
		for len(s.inFlight) > 0 {
			s.ended.Wait()
		}
		s.mu.Unlock()
		if idle || s.Stopping.Err() != nil {
			return
		}
	}
}

// SendNow makes an attempt for a push at once, after one that is in flight.
func (s *Sender) SendNow(p store.Push) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := func() {
		for s.inFlight[target{p.Root, p.Copy}] {
			s.ended.Wait()
		}
	}
	if wait(); s.start(p) {
		wait()
	}
}

// attempt brings the copies of a card up to date and writes the outcome.
func (s *Sender) attempt(p store.Push) {
	messages, err := s.messages(p)
	if err != nil {
		s.logError("a card whose copies are due cannot be read", err)
		s.pause(time.Second) // before the next attempt
		return
	}
	o := store.PushOutcome{Push: p, Targets: map[int64]store.TargetOutcome{}}
	var sending sync.WaitGroup
	var mu sync.Mutex // guards o.Targets
	for _, m := range messages {
		sending.Go(func() {
			outcome := s.outcome(m)
			mu.Lock()
			defer mu.Unlock()
			o.Targets[m.Key] = outcome
		})
	}
	sending.Wait()
	if s.Context.Err() != nil {
		return // Stop ended the requests
	}
	s.conf.Store.RetryWrite(s.Stopping.Done(), func(tx *store.Tx) error { return tx.RecordPush(o) }, func(err error) {
		s.conf.Log.Error("the outcome of a push cannot be written", "error", err)
	})
}
