package webhook

import (
	"time"

	"punchcard/store"
)

// record writes an outcome down, again and again if the disk is full: until it
// stands in the file the delivery is under way and is not made a second time.
// It tells whether it got there. Who observes is told when the next attempt is
// due, too.
func (s *Sender) record(o *store.Outcome) bool {
	written := s.conf.Store.RetryWrite(s.stop, func(tx *store.Tx) (err error) {
		if err = tx.RecordOutcome(*o); err == nil && !o.Success && s.conf.Observe != nil {
			o.NextAttempt, err = tx.NextAttempt(o.Webhook, o.Event)
		}
		return err
	}, func(err error) {
		// Hundreds may wait, and the log may be on the disk that is full.
		if now, last := time.Now().Unix(), s.complained.Load(); now != last && s.complained.CompareAndSwap(last, now) {
			s.conf.Log.Error("outcomes of deliveries cannot be written", "error", err, "waiting", s.unwritten.Load())
		}
	})
	if !written {
		return false
	}
	if !o.Success && o.RetryAfter < tick { // sooner than the next scan
		time.AfterFunc(o.RetryAfter, func() { s.wake([]int64{o.Webhook}) })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.Success {
		s.sent.Delivered++
	} else {
		s.sent.Failed++
	}
	return true
}

// pause waits before something that failed is tried again, unless the sender
// ends.
func (s *Sender) pause() {
	select {
	case <-time.After(time.Second):
	case <-s.stop:
	}
}
