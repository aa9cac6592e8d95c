package dev

import (
	"net/http"
	"time"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/store"
)

// Mover is a clock that can be moved forward.
type Mover interface {
	Now() time.Time
	Advance(time.Duration)
}

// errReset ends what was under way when the fixture was reset or stopped.
var errReset = &kernel.Error{Status: http.StatusServiceUnavailable, Code: store.InternalError, Message: "The fixture was reset."}

type clockAnswer struct {
	Now store.Time `json:"now"`
}

func (c *Control) clock() clockAnswer { return clockAnswer{store.TimeOf(c.Clock.Now())} }

type clockBody struct {
	Advance store.Opt[string]     `json:"advance" max:"40"`
	Now     store.Opt[store.Time] `json:"now"`
}

// moveClock moves the one clock forward and does what became due.
func (c *Control) moveClock(_ *http.Request, _ httprouter.Params, b clockBody) (_ clockAnswer, err error) {
	var by time.Duration
	c.moving.Lock()
	defer c.moving.Unlock()
	to := c.Clock.Now()
	switch {
	case b.Advance.Set == b.Now.Set:
		return clockAnswer{}, store.Invalid(store.Detail{Field: "advance", Code: "required", Message: `give either advance, such as "26h", or now`})
	case b.Advance.Set:
		by, err = time.ParseDuration(b.Advance.V)
		if err != nil || by < 0 {
			return clockAnswer{}, store.Invalid(store.Detail{Field: "advance", Code: "invalid_value", Message: `must be a duration that is not negative, such as "90s" or "26h"`})
		}
		if to = to.Add(by); to.After(lastInstant) {
			return clockAnswer{}, store.Invalid(store.Detail{Field: "advance", Code: "invalid_value", Message: "must not lead beyond the year 9999, where the written form of times ends"})
		}
	default:
		if by = b.Now.V.Std().Sub(to); by < -time.Millisecond {
			return clockAnswer{}, store.Invalid(store.Detail{Field: "now", Code: "invalid_value", Message: "must not be before the present: the clock does not run backwards"})
		}
		if at := b.Now.V.Std(); at.After(to) {
			to = at
		}
	}
	err = c.advance(to)
	return c.clock(), err
}

// lastInstant is the last that RFC 3339 can write.
var lastInstant = time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)

// advance moves the clock to an instant, through each at which something is
// due, so that what follows from it happens then and not all at the end.
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
		if last := !ok || at.After(to); last {
			at = to
		}
		for { // a duration ends at 292 years
			by := at.Sub(c.Clock.Now())
			if by <= 0 {
				break
			}
			c.Clock.Advance(by)
		}
		if _, err := c.Settle(); err != nil {
			return err
		}
		if !at.Before(to) {
			return nil
		}
	}
}

// settle does what is due and tells what was sent since it was last asked:
// what left by itself in between counts too, so that the numbers do not depend
// on who was quicker.
func (c *Control) settle(*http.Request, httprouter.Params, struct{}) (Settled, error) {
	s, err := c.Settle()
	if err != nil {
		return s, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	told := c.told
	c.told = s
	s.Delivered, s.Failed = s.Delivered-told.Delivered, s.Failed-told.Failed
	return s, nil
}

// Settled is what the delivery loop came to.
type Settled struct {
	Delivered int64 `json:"delivered" doc:"Deliveries that were accepted, since the last settle."`
	Failed    int64 `json:"failed" doc:"Attempts that were not, since the last settle."`
	Pending   int64 `json:"pending" doc:"Deliveries that wait for a later attempt, or for their webhook to be switched on."`
}
