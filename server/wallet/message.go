package wallet

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"punchcard/store"
)

// heldWait is the time until a message that cannot be sent at present is looked at again.
const heldWait = time.Hour

// message is what a target, a browser or a phone, is to be told about a card.
type message struct {
	store.Target
	told string // what it knows afterwards
	host string // to which it is sent, for the log
	held bool   // nothing can be sent at present
	// send sends it. nil: the target need not be told. wait is what the receiver asks for before the next attempt.
	send func(ctx context.Context) (r result, wait time.Duration, err error)
	// outcome says whether it is sent until it is accepted, and when the card changes by time alone.
	outcome store.TargetOutcome
}

// result is the result of a request to a vendor.
type result int

const (
	accepted result = iota // or refused for good: it is not sent again
	gone                   // the target has ended
	failed                 // it is sent again
)

// statusError is an answer that does not accept a message.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("the answer is %d", int(e)) }

// tooMany asks for fewer requests in a second.
const tooMany = statusError(http.StatusTooManyRequests)

// outcome returns what came of a request, for people: a word, and the status of an answer that is an error.
func outcome(r result, err error) string {
	word := store.PushSent
	switch {
	case r == gone:
		word = "ended"
	case r == failed:
		word = store.PushFailed
	case err != nil:
		word = store.PushRefused
	}
	if status := statusError(0); errors.As(err, &status) {
		word += " " + strconv.Itoa(int(status))
	}
	return word
}

// send sends messages at once and returns what came of them, by their targets. It leaves out those that are
// not due.
func (s *Sender) send(messages []message) map[int64]store.TargetOutcome {
	outcomes := map[int64]store.TargetOutcome{}
	var now store.Time // with which the times of attempts were written, also after the clock was set back
	if err := s.conf.Store.View(0, func(v *store.View) error { now = v.Now; return nil }); err != nil {
		return outcomes
	}
	var mu sync.Mutex // guards outcomes
	note := func(target int64, o store.TargetOutcome) {
		mu.Lock()
		defer mu.Unlock()
		outcomes[target] = o
	}
	var sending sync.WaitGroup
	for _, m := range messages {
		if m.send == nil {
			m.outcome.Told = store.Some(m.told)
			note(m.Key, m.outcome)
			continue
		}
		if m.Due > now {
			continue
		}
		if m.held {
			note(m.Key, store.TargetOutcome{Held: true, Wait: heldWait, Says: store.PushHeld})
			continue
		}
		sending.Go(func() {
			ctx, cancel := context.WithTimeout(s.Context, timeout)
			defer cancel()
			r, wait, err := m.send(ctx)
			if _, held := errors.AsType[heldError](err); held {
				note(m.Key, store.TargetOutcome{Held: true, Wait: wait})
				return
			}
			if err != nil && !errors.Is(err, tooMany) { // whoever asks for fewer requests gets them later
				s.conf.Log.Warn("a push was not sent", "host", m.host, "error", err)
			}
			o := m.outcome
			o.Gone, o.Says = r == gone, outcome(r, err)
			switch r {
			case accepted:
				o.Told = store.Some(m.told)
			case failed:
				o.Wait = max(wait, s.conf.Backoff(m.Attempts+1))
			}
			note(m.Key, o)
		})
	}
	sending.Wait()
	return outcomes
}
