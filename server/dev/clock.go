package dev

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// Clock is a clock that can be advanced.
type Clock interface {
	Now() time.Time
	Advance(time.Duration)
}

// errReset is the answer to a request that was waiting when the fixture was reset
// or stopped.
var errReset = &kernel.Error{Status: http.StatusServiceUnavailable, Code: store.InternalError, Message: "The fixture was reset."}

type clockAnswer struct {
	Now store.Time `json:"now"`
}

// getClock answers GET /dev/clock.
func (c *Control) getClock(*http.Request, httprouter.Params, struct{}) (clockAnswer, error) {
	return clockAnswer{store.TimeOf(c.Clock.Now())}, nil
}

type clockBody struct {
	Advance store.Opt[string]     `json:"advance" min:"1" max:"40" doc:"A duration of Go, which may begin with days of 24 hours: 90s, 26h, 3d, 1d12h."`
	Now     store.Opt[store.Time] `json:"now" doc:"Not before the present."`
}

// Check validates that one of the fields is given.
func (b clockBody) Check(store.Time) []store.Detail {
	var wrong problems
	switch {
	case b.Advance.Set && b.Now.Set:
		wrong.add("advance", wire.CodeMutuallyExclusive, "must not be given beside now")
	case !b.Advance.Set && !b.Now.Set:
		wrong.add("advance", wire.CodeRequired, `is required, such as "26h", unless now is given`)
	}
	return wrong
}

// problems are what is wrong with the fields of a request.
type problems []store.Detail

func (p *problems) add(field, code, message string) {
	*p = append(*p, store.Detail{Field: field, Code: code, Message: message})
}

// invalid returns the error of a request whose field has an invalid value.
func invalid(field, message string) error {
	return store.InvalidField(field, wire.CodeInvalidValue, message)
}

// moveClock answers POST /dev/clock: it advances the clock by a duration or to an
// instant, and does what becomes due.
func (c *Control) moveClock(r *http.Request, p httprouter.Params, b clockBody) (a clockAnswer, err error) {
	c.advancing.Lock()
	defer c.advancing.Unlock()
	to, err := b.target(c.Clock.Now())
	if err != nil {
		return a, err
	}
	if err := c.advance(to); err != nil {
		return a, err
	}
	return c.getClock(r, p, struct{}{})
}

// target returns the instant to which the clock is to be moved, which is not before the present.
func (b clockBody) target(now time.Time) (to time.Time, err error) {
	if b.Now.Set {
		to = b.Now.V.Std()
		switch early := now.Sub(to); {
		case early > time.Millisecond:
			return to, invalid("now", "must not be before the present: the clock does not run backwards")
		case early > 0:
			return now, nil
		}
		return to, nil
	}
	by, err := parseDuration(b.Advance.V)
	if err != nil || by < 0 {
		return to, invalid("advance", `must be a duration that is not negative, such as "90s", "26h" or "3d"`)
	}
	if to = now.Add(by); to.After(lastInstant) {
		return to, invalid("advance", "must not lead beyond the year 9999, where the written form of times ends")
	}
	return to, nil
}

// hoursOfDay is what "1d" means, also where a clock is set forward or back that day.
const hoursOfDay = 24

// parseDuration parses a duration of Go that may begin with a number of days, such as
// "3d" or "1d12h".
func parseDuration(s string) (time.Duration, error) {
	days, rest, ok := strings.Cut(s, "d")
	if !ok {
		return time.ParseDuration(s)
	}
	n, err := strconv.ParseUint(days, 10, 32)
	if err != nil {
		return 0, err
	}
	return time.ParseDuration(fmt.Sprintf("%dh%s", hoursOfDay*n, rest))
}

// lastInstant is the last instant that RFC 3339 can express.
var lastInstant = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)

// advance moves the clock to an instant. It stops at each instant at which
// something is due and does that, so that its consequences have the right time.
func (c *Control) advance(to time.Time) error {
	if _, err := c.Settle(); err != nil { // what is due already
		return err
	}
	for {
		if c.Context.Err() != nil {
			return errReset
		}
		at, ok, err := c.Due()
		if err != nil {
			return err
		}
		if !ok || at.After(to) {
			at = to
		}
		for at.After(c.Clock.Now()) { // several times where it is farther than a Duration's 292 years
			c.Clock.Advance(at.Sub(c.Clock.Now()))
		}
		if _, err := c.Settle(); err != nil {
			return err
		}
		if !at.Before(to) {
			return nil
		}
	}
}

// settle answers POST /dev/settle: it does what is due and returns what was sent
// since the last settle. Deliveries that the sender made by itself in between
// count too, so that the numbers do not depend on timing.
func (c *Control) settle(*http.Request, httprouter.Params, struct{}) (Settled, error) {
	s, err := c.Settle()
	if err == nil {
		err = c.Wipe()
	}
	if err != nil {
		return s, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.settled
	c.settled = s
	s.Delivered -= last.Delivered
	s.Failed -= last.Failed
	return s, nil
}

// Settled counts what became of webhook deliveries.
type Settled struct {
	Delivered int64 `json:"delivered" doc:"Deliveries that were accepted, since the last settle."`
	Failed    int64 `json:"failed" doc:"Attempts that were not, since the last settle."`
	Pending   int64 `json:"pending" doc:"Deliveries that wait for a later attempt, or for their webhook to be switched on."`
}
