// Package mail sends by SMTP what the store has queued: at least once, one
// message after the other, over a connection that is kept while there are more.
package mail

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/mail"
	"sync"
	"time"

	"punchcard/store"
)

// Config is what sending is made from.
type Config struct {
	Server Server
	From   *mail.Address // an address in ASCII
	Store  *store.Store  // whose queue is sent
	Log    *slog.Logger
	// Observe is told each attempt's outcome once it is in the store; nil: nobody is.
	Observe func(outcome string)
}

// Waits. A server that is down is asked more often than one that wants a
// single message later: the latter means minutes by it.
const (
	serverWait, serverMost   = time.Second, 10 * time.Minute
	messageWait, messageMost = time.Minute, 4 * time.Hour
	idleTime                 = 10 * time.Second // of a connection before it is closed
	clockInterval            = time.Minute      // at most, between readings of the clock while something waits
)

// After so many, the server or the message is not believed any more.
const (
	mostRefusals = 5 // in a row given up; a server that is set up wrongly refuses everybody
	mostUnsure   = 8 // attempts of one message that may have arrived each time
)

// The outcomes that an observer is told.
const (
	Sent    = "sent"
	Failed  = "failed" // to be tried again
	Refused = "refused"
)

// Sender sends. It runs once: after Stop it does not start again.
type Sender struct {
	conf     Config
	wake     chan struct{}   // of one: something was queued
	stopping context.Context // ends when Stop is called
	stop     context.CancelFunc
	ctx      context.Context // of connections; ends when that of Stop does
	cancel   context.CancelFunc

	mu      sync.Mutex
	started bool
	running sync.WaitGroup

	// The loop's own.
	conn     *connection // nil: none
	failures int         // of the server, in a row
	refusals int         // since it last took a message; as many as it may before the first
	again    store.Time  // the server is left alone until then
}

// New makes a sender that does nothing before Start.
func New(conf Config) *Sender {
	if conf.Observe == nil {
		conf.Observe = func(string) {}
	}
	s := &Sender{conf: conf, wake: make(chan struct{}, 1), refusals: mostRefusals}
	s.stopping, s.stop = context.WithCancel(context.Background())
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Start begins to send what the store has queued and will queue. It does nothing
// while the sender runs. After Stop it returns context.Canceled.
func (s *Sender) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.stopping.Err(); err != nil || s.started {
		return err
	}
	s.started = true
	s.conf.Store.OnMail(s.notify)
	s.notify()
	s.running.Go(s.run)
	return nil
}

// Stop begins no further message and waits for the one under way until ctx is
// done; then it breaks it off, and it stays queued. Stop may be called without
// Start, and more than once.
func (s *Sender) Stop(ctx context.Context) {
	s.mu.Lock()
	s.stop()
	s.mu.Unlock()
	release := context.AfterFunc(ctx, s.cancel)
	defer release()
	s.running.Wait()
	s.cancel()
}

// notify has run look at the queue.
func (s *Sender) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run sends what is due whenever something was queued or its time has come.
func (s *Sender) run() {
	due, idle := newStoppedTimer(), newStoppedTimer()
	defer due.Stop()
	defer idle.Stop()
	for {
		select {
		case <-s.stopping.Done():
			s.disconnect()
			return
		case <-idle.C:
			s.disconnect()
			continue
		case <-s.wake:
		case <-due.C:
		}
		wait, waiting := s.sendDue()
		due.Stop()
		if waiting {
			due.Reset(max(time.Millisecond, min(clockInterval, wait)))
		}
		if idle.Stop(); s.conn != nil {
			idle.Reset(idleTime)
		}
	}
}

// newStoppedTimer returns a timer that fires only after a Reset.
func newStoppedTimer() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// disconnect ends the connection that is kept, if there is one.
func (s *Sender) disconnect() {
	if s.conn != nil {
		s.conn.leave()
		s.conn = nil
	}
}

// sendDue sends all that is due. It tells how long it is, by the store's clock,
// until something else will be; waiting is false if nothing waits at all.
func (s *Sender) sendDue() (wait time.Duration, waiting bool) {
	for {
		select {
		case <-s.stopping.Done():
			return 0, false
		default:
		}
		var m store.QueuedMail
		var ok bool
		var now store.Time
		err := s.conf.Store.View(0, func(v *store.View) (err error) {
			m, ok, err = v.NextMail()
			now = v.Now
			return err
		})
		switch {
		case errors.Is(err, store.ErrClosed), err == nil && !ok:
			return 0, false
		case err != nil:
			s.conf.Log.Error("the mail queue cannot be read", "error", err)
			return time.Second, true
		case m.Due > now:
			return m.Due.Std().Sub(now.Std()), true
		case m.Status == store.MailObsolete:
			if !s.write(func(tx *store.Tx) error { return tx.DequeueMail(&m) }) {
				return 0, false
			}
			s.conf.Log.Warn("mail not sent: the card's link has ended, or there is no address any more", "card", m.CardID)
			continue
		case m.Status == store.MailHeld:
			if !s.hold(&m, now.Add(clockInterval)) {
				return 0, false
			}
			continue
		case s.again > now:
			return s.again.Std().Sub(now.Std()), true
		}
		if !s.send(&m) {
			return 0, false
		}
	}
}

// send makes one attempt and writes down what came of it; false: the sender
// ends.
func (s *Sender) send(m *store.QueuedMail) bool {
	var v verdict
	var code int
	var failed error
	for {
		kept := s.conn != nil
		if !kept {
			var err error
			if s.conn, err = s.conf.Server.connect(s.ctx); err != nil {
				s.conn = nil
				return s.unreachable(err)
			}
		}
		var whole bool
		v, code, whole, failed = s.conn.send(m, s.conf.From)
		if !whole {
			s.conn.drop()
			s.conn = nil
		}
		if v != stale || !kept {
			break
		}
	}
	if s.ctx.Err() != nil && v != sent {
		return false // broken off by Stop
	}
	if failed != nil {
		s.conf.Log.Error("sending a mail failed within", "card", m.CardID, "error", failed)
	}
	switch v {
	case sent:
		s.failures, s.refusals = 0, 0
		if !s.write(func(tx *store.Tx) error { return tx.DequeueMail(m) }) {
			return false
		}
		s.conf.Observe(Sent)
	case refused:
		if s.refusals >= mostRefusals {
			// It may refuse everybody, as a relay that is set up wrongly does.
			return s.keep(m, slog.LevelError, "the mail server refuses mail and has taken none of late", code)
		}
		s.failures = 0
		s.refusals++
		return s.giveUp(m, "the mail server refuses it", code)
	case later:
		s.failures = 0
		return s.postpone(m, "the mail server wants it later", code, (*store.Tx).DelayMail)
	case unusable, stale:
		level := slog.LevelWarn
		if code >= 500 {
			level = slog.LevelError
		}
		return s.keep(m, level, "the mail server takes no mail of ours", code)
	case unsure:
		s.rest(slog.LevelWarn, "the connection to the mail server broke", "card", m.CardID)
		if m.Unsure+1 >= mostUnsure {
			return s.giveUp(m, "it may have arrived each time the connection broke", 0)
		}
		return s.postpone(m, "not known to be sent", 0, (*store.Tx).DelayUnsureMail)
	default:
		// It may be this message that the server breaks at: the others go first.
		s.rest(slog.LevelWarn, "the connection to the mail server broke", "card", m.CardID)
		return s.postpone(m, "not sent", 0, (*store.Tx).DelayMail)
	}
	return true
}

// giveUp takes a message out of the queue unsent, for its shop to see; false:
// the sender ends.
func (s *Sender) giveUp(m *store.QueuedMail, why string, code int) bool {
	if !s.write(func(tx *store.Tx) error { return tx.RejectMail(m, code) }) {
		return false
	}
	s.conf.Log.Warn("mail given up: "+why, "card", m.CardID, "code", code)
	s.conf.Observe(Refused)
	return true
}

// keep leaves the server alone for what may be no fault of the message, which
// loses nothing by it; but if it is one, the others go first. False: the sender
// ends.
func (s *Sender) keep(m *store.QueuedMail, level slog.Level, text string, code int) bool {
	s.conf.Observe(Failed)
	s.rest(level, text, "card", m.CardID, "code", code)
	return s.hold(m, s.again)
}

// unreachable notes that no message can be sent at all. That is not the
// recipients' fault: what is queued stays as it is.
func (s *Sender) unreachable(err error) bool {
	if s.ctx.Err() != nil {
		return false
	}
	text, passing := fault(err)
	level := slog.LevelError
	if passing {
		level = slog.LevelWarn
	}
	s.conf.Observe(Failed)
	s.rest(level, "the mail server cannot be used", "error", text)
	return true
}

// rest leaves the server alone for a while, longer with each failure.
func (s *Sender) rest(level slog.Level, text string, args ...any) {
	s.failures++
	wait := pause(serverWait, serverMost, s.failures)
	s.again = s.conf.Store.Now().Add(wait)
	s.conf.Log.Log(context.Background(), level, text, append(args, "pause", wait)...)
}

// postpone has a message that failed wait, as delay writes it down; false: the
// sender ends.
func (s *Sender) postpone(m *store.QueuedMail, why string, code int, delay func(*store.Tx, *store.QueuedMail, time.Duration) error) bool {
	s.conf.Log.Warn("mail put off: "+why, "card", m.CardID, "code", code, "attempt", m.Attempts+1)
	s.conf.Observe(Failed)
	wait := pause(messageWait, messageMost, m.Attempts+1)
	return s.write(func(tx *store.Tx) error { return delay(tx, m, wait) })
}

// hold has a message wait that did not fail; false: the sender ends.
func (s *Sender) hold(m *store.QueuedMail, until store.Time) bool {
	return s.write(func(tx *store.Tx) error { return tx.HoldMail(m, until) })
}

// pause is the wait after the n-th failure: it doubles up to most, and is
// spread by a tenth.
func pause(first, most time.Duration, n int) time.Duration {
	wait := min(first<<min(n-1, 20), most)
	return wait + time.Duration(rand.Float64()*float64(wait)/10)
}

// write writes an outcome down, again and again if the disk is full: until it
// stands in the file no other message goes, and this one is not sent a second
// time. False: the sender ends, and after the next start it is.
func (s *Sender) write(do func(*store.Tx) error) bool {
	return s.conf.Store.RetryWrite(s.stopping.Done(), do, func(err error) { s.conf.Log.Error("the outcome of a mail cannot be written", "error", err) })
}
