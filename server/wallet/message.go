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

// message is what a target, a browser, a phone or an object, is to be told about a card.
type message struct {
	store.Target
	host string // to which it is sent, for the log
	// outcome is what is noted once the target knows it.
	outcome store.TargetOutcome
	// send sends it, and returns what came of it, or notYet. nil: the target need not be told. wait is the time until the next attempt,
	// at least, and err what is logged.
	send func(ctx context.Context) (state string, wait time.Duration, err error)
}

// notYet is the state of a message that could not be sent at present, which is no failure.
const notYet = ""

// statusError is an answer that does not accept a message.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("the answer is %d", int(e)) }

// tooMany asks for fewer requests in a second.
const tooMany = statusError(http.StatusTooManyRequests)

// messages returns what the targets of a card are to be told that are due.
func (s *Sender) messages(p store.Push) (messages []message, err error) {
	passes, hashes, now, err := s.read(p)
	for i := range passes {
		x := &passes[i]
		if p.Copy == store.CopyApple && err == nil {
			x.Pass, err = s.refresh(x.Pass, hashes[i])
		}
		for _, t := range x.Targets {
			var m message
			switch p.Copy {
			case store.CopyBrowser:
				m = s.noticeMessage(x, t)
			case store.CopyApple:
				m = s.phoneMessage(x, t)
			case store.CopyGoogle:
				m = s.conf.Google.message(x, t)
			}
			if m.Target = t; m.send == nil || t.Due <= now {
				messages = append(messages, m)
			}
		}
	}
	return messages, err
}

// read returns the passes of a card, for phones with the hashes of what they show, and the time with which the times of attempts were
// written, also after the clock was set back. It reads one card at a time, and pauses for as long as that took: reading takes the
// processor, which tills need (BenchmarkProgramChange).
func (s *Sender) read(p store.Push) (all []store.PushPass, hashes [][]byte, now store.Time, err error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	start := time.Now()
	defer func() { s.pause(time.Since(start)) }()
	err = s.conf.Store.View(0, func(v *store.View) (err error) {
		now = v.Now
		all, err = v.PassesToPush(p.Root, p.Copy)
		return err
	})
	for i := range all {
		if p.Copy == store.CopyApple {
			hashes = append(hashes, AppleHash(&all[i].Pass))
		}
	}
	return all, hashes, now, err
}

// send sends messages at once and returns what came of them, by their targets.
func (s *Sender) send(messages []message) map[int64]store.TargetOutcome {
	outcomes := map[int64]store.TargetOutcome{}
	var mu sync.Mutex // guards outcomes
	var sending sync.WaitGroup
	for _, m := range messages {
		sending.Go(func() {
			o := s.outcome(m)
			mu.Lock()
			defer mu.Unlock()
			outcomes[m.Key] = o
		})
	}
	sending.Wait()
	return outcomes
}

// outcome sends a message if its target need be told, and returns what came of that.
func (s *Sender) outcome(m message) store.TargetOutcome {
	o := m.outcome
	if m.send == nil {
		return o
	}
	ctx, cancel := context.WithTimeout(s.Context, timeout)
	defer cancel()
	state, wait, err := m.send(ctx)
	if err != nil && !errors.Is(err, tooMany) { // whoever asks for fewer requests gets them later
		s.conf.Log.Warn("a push was not sent", "host", m.host, "error", err)
	}
	o.Says = state
	if status := statusError(0); errors.As(err, &status) {
		o.Says += " " + strconv.Itoa(int(status))
	}
	switch state {
	case store.PushEnded:
		o.Gone = true
	case store.PushFailed:
		o.Told, o.Wait = store.Null[string]{}, max(wait, s.conf.Backoff(m.Attempts+1))
	case store.PushHeld, notYet:
		return store.TargetOutcome{Held: true, Wait: wait, Says: state}
	}
	return o
}
