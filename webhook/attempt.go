package webhook

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"punchcard/store"
)

// turn orders the requests of a lane's attempts: each attempt sends its request
// after the previous attempt has written its own. It does not wait for the answer:
// chainOrder makes an attempt wait for those of the same chain before it is started.
type turn struct {
	previous <-chan struct{} // closed when the previous attempt has written its request
	written  chan struct{}
	once     sync.Once
}

// end lets the next attempt send its request.
func (t *turn) end() { t.once.Do(func() { close(t.written) }) }

// attempt sends one delivery and records the outcome.
func (l *lane) attempt(event int64, release func(), t *turn) {
	recorded := false
	defer l.s.wg.Done()
	defer func() { l.finish(event, recorded) }()
	defer t.end()
	// Wait before reading the delivery: the previous attempt may take seconds to
	// connect, and the delivery may change until then.
	<-t.previous
	if l.s.stopping.Err() != nil {
		release()
		return
	}
	var attempt store.Attempt
	var ok bool
	err := l.s.conf.Store.View(0, func(v *store.View) (err error) {
		attempt, ok, err = v.Attempt(l.webhook, event)
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
	outcome := l.s.post(l.s.ctx, &attempt, t.end)
	release()
	if l.s.ctx.Err() != nil {
		return // Stop ended the attempt: the receiver has not failed
	}
	l.adapt(outcome)
	if l.s.conf.Deterministic {
		outcome.Duration = 0
		if outcome.TimedOut {
			outcome.Duration = l.s.conf.Timeout
		}
	}
	outcome.SentThrough = l.sentThrough(event)
	l.answered(event)
	if recorded = l.s.record(&outcome); recorded && l.s.conf.Observe != nil {
		l.s.conf.Observe(&attempt, outcome)
	}
}

// record writes an outcome to the store, and retries if that fails, for example
// because the disk is full: without its outcome the delivery would be made
// again. It reports whether the outcome was written before the sender stopped.
// If there is an observer, record sets outcome.NextAttempt of a failed attempt.
func (s *Sender) record(outcome *store.Outcome) bool {
	written := s.conf.Store.RetryWrite(s.stopping.Done(), func(tx *store.Tx) (err error) {
		if err = tx.RecordOutcome(*outcome); err == nil && !outcome.Success && s.conf.Observe != nil {
			outcome.NextAttempt, err = tx.NextAttempt(outcome.Webhook, outcome.Event)
		}
		return err
	}, s.logWriteError)
	if !written {
		return false
	}
	if !outcome.Success && outcome.RetryAfter < scanInterval { // before the next scan
		time.AfterFunc(outcome.RetryAfter, func() { s.wake([]int64{outcome.Webhook}) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if outcome.Success {
		s.count.Delivered++
	} else {
		s.count.Failed++
	}
	return true
}

// logWriteError logs that outcomes cannot be written, at most once a second:
// hundreds may be waiting, and the log may be on the same full disk.
func (s *Sender) logWriteError(err error) {
	if now, last := time.Now().Unix(), s.writeErrorLogged.Load(); now != last && s.writeErrorLogged.CompareAndSwap(last, now) {
		s.conf.Log.Error("outcomes of deliveries cannot be written", "error", err, "waiting", s.unwritten.Load())
	}
}

// pause waits for a second, or until the sender stops.
func (s *Sender) pause() {
	select {
	case <-time.After(time.Second):
	case <-s.stopping.Done():
	}
}

const (
	maxRetryAfter = time.Hour      // longest wait that a receiver can ask for
	maxBackoff    = 24 * time.Hour // longest wait before the jitter
)

// Backoff returns the wait after the given number of failed attempts: base,
// doubled for each further one, plus up to a tenth, so that deliveries that
// failed together are not all retried together. jitter is from 0 to 1.
func Backoff(base time.Duration, attempt int, jitter float64) time.Duration {
	wait := time.Duration(min(math.Ldexp(float64(base), attempt-1), float64(maxBackoff)))
	return wait + time.Duration(jitter*float64(wait)/10)
}

// RetryAfter returns the wait that a Retry-After header asks for, in seconds or
// by a date: at most maxRetryAfter, and 0 if it is in the past or malformed.
func RetryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	n, err := strconv.ParseUint(header, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) { // n is the greatest uint64 then
		return time.Duration(min(n, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	t, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return min(max(t.Sub(now), 0), maxRetryAfter)
}
