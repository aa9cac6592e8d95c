package wallet

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"punchcard/store"
	"punchcard/webhook"
)

// message is what a target, a browser, a phone or an object, is to be told about a card.
type message struct {
	store.Target
	host string // to which it is sent, for the log
	// outcome is what is noted once the target knows it.
	outcome store.TargetOutcome
	// send sends it, and returns what came of it, or notYet. nil: the target need not be told. wait is the time until the next attempt,
	// at least, and err what is logged.
	send func() (state string, wait time.Duration, err error)
}

// notYet is the state of a message that could not be sent at present, which is no failure.
const notYet = ""

// statusError is an answer that does not accept a message.
type statusError struct {
	status int
	reason string // empty: the service says none
}

func (e statusError) Error() string {
	return Joined(": ", fmt.Sprintf("the answer is %d", e.status), e.reason)
}

// judge returns what the answer of a service leads to. gone says that the target has ended. After the statuses again, as after 429 and
// those of a server that fails, the message is sent again.
func judge(status int, retryAfter, reason string, gone bool, again ...int) (state string, wait time.Duration, err error) {
	err = statusError{status, reason}
	switch {
	case gone:
		return store.PushEnded, 0, nil
	case status >= 200 && status < 300:
		return store.PushSent, 0, nil
	case status == http.StatusTooManyRequests || status >= 500 || slices.Contains(again, status):
		return store.PushFailed, webhook.RetryAfter(retryAfter, time.Now()), err
	}
	return store.PushRefused, 0, err
}

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
				m = s.conf.Google.message(s.Context, x, t)
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

// outcome sends a message if its target need be told, and returns what came of that.
func (s *Sender) outcome(m message) store.TargetOutcome {
	o := m.outcome
	if m.send == nil {
		return o
	}
	state, wait, err := m.send()
	e, answered := errors.AsType[statusError](err)
	if err != nil && e.status != http.StatusTooManyRequests { // whoever asks for fewer requests gets them later
		s.conf.Log.Warn("a push was not sent", "host", m.host, "error", err)
	}
	o.Says = state
	if answered {
		o.Says += " " + strconv.Itoa(e.status)
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
