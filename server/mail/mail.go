// Package mail sends by SMTP the messages that the store has queued: at least
// once, one after the other, over a connection that stays open while there are
// more.
package mail

import (
	"context"
	"errors"
	"log/slog"
	"net/mail"
	"time"

	"punchcard/server/background"
	"punchcard/store"
)

// Config holds the settings of a Sender.
type Config struct {
	Server Server
	From   *mail.Address // the address must be ASCII
	Store  *store.Store  // whose queue is sent
	// Watch calls f when another process may have queued mail, until ctx is done. If it is
	// nil, such mail is sent within clockInterval. Store.Watch is one.
	Watch func(ctx context.Context, f func())
	Log   *slog.Logger
	// Observe is called with the outcome of each attempt after it was written.
	Observe func(outcome string)
}

// The waits before a retry, which double with each failure. They are shorter after a
// failure of the server, which may last a second, than after the server has deferred
// one message, which it does for minutes.
const (
	serverWait     = time.Second
	maxServerWait  = 10 * time.Minute
	messageWait    = time.Minute
	maxMessageWait = 4 * time.Hour

	idleTime      = 10 * time.Second // after which an unused connection is closed
	clockInterval = time.Minute      // maximum time between readings of the clock and the queue
)

const (
	// maxRefusals is the number of consecutive messages that are given up because
	// the server refused them. After that the server is taken to be misconfigured.
	maxRefusals = 5
	// maxUnsure is the number of attempts at a message that may have arrived each
	// time.
	maxUnsure = 8
)

// The outcomes of an attempt.
const (
	Sent    = "sent"
	Failed  = "failed"  // the message will be tried again
	Refused = "refused" // the message was given up
)

// Sender sends messages. It cannot be started again after Stop.
type Sender struct {
	*background.Work // whose context is that of connections
	conf             Config
	wake             chan struct{} // of capacity 1: something was queued

	// The fields below belong to run.
	conn     *connection // nil: none is open
	failures int         // consecutive failures of the server
	refusals int         // since the server last accepted a message; maxRefusals at the start
	retryAt  store.Time  // the server is not tried before
}

// New returns a sender that does nothing before Start.
func New(conf Config) *Sender {
	return &Sender{Work: background.New(), conf: conf, wake: make(chan struct{}, 1), refusals: maxRefusals}
}

// Start starts sending what is and will be queued. It does nothing if the sender
// is running. After Stop it returns context.Canceled.
func (s *Sender) Start() error {
	s.conf.Store.OnMail(s.notify)
	return s.Work.Start(s.run, func() {
		if s.conf.Watch != nil {
			s.conf.Watch(s.Stopping, s.notify)
		}
	})
}

// notify makes run read the queue.
func (s *Sender) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run sends messages when they are queued or become due. It first plans again what waits
// for a quota, since the quota may have changed.
func (s *Sender) run() {
	due, idle := time.NewTimer(0), time.NewTimer(idleTime)
	defer due.Stop()
	defer idle.Stop()
	s.write((*store.Tx).ReplanMail)
	for {
		select {
		case <-s.Stopping.Done():
			s.disconnect()
			return
		case <-idle.C:
			s.disconnect()
			continue
		case <-s.wake:
		case <-due.C:
		}
		wait, waiting := s.sendDue()
		if !waiting {
			wait = clockInterval
		}
		due.Reset(max(time.Millisecond, min(clockInterval, wait)))
		if idle.Stop(); s.conn != nil {
			idle.Reset(idleTime)
		}
	}
}

// disconnect closes the connection if one is open.
func (s *Sender) disconnect() {
	if s.conn != nil {
		s.conn.quit()
		s.conn = nil
	}
}

// sendDue sends all messages that are due. It returns the time until the next one
// is due, by the store's clock; waiting is false if there is none.
func (s *Sender) sendDue() (wait time.Duration, waiting bool) {
	for s.Stopping.Err() == nil {
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
			if ok = s.write(func(tx *store.Tx) error { return tx.DequeueMail(&m) }); ok && m.Kind != store.MailLost {
				s.conf.Log.Warn("mail not sent: the card's link has ended, or there is no address any more", "card", m.CardID)
			}
		case m.Status == store.MailHeld:
			ok = s.hold(&m, now.Add(clockInterval))
		case m.Status == store.MailOverQuota:
			if ok = s.write(func(tx *store.Tx) error { return tx.WaitForQuota(&m) }); ok {
				s.conf.Log.Info("mail waits for a quota", "card", m.CardID)
			}
		case s.retryAt > s.conf.Store.Now(): // not v.Now, which stands still after the clock was set back
			return s.retryAt.Std().Sub(s.conf.Store.Now().Std()), true
		default:
			ok = s.send(&m)
		}
		if !ok {
			break
		}
	}
	return 0, false
}
