package main

import (
	"fmt"
	"slices"
	"time"
)

// chain is a card of a person: the first instance and those that it overflowed into.
type chain struct {
	id        string
	program   *program
	card      *exportedCard // nil: erased, so the export has no row of it
	answer    *issued       // nil: nobody was watching when it was made
	created   time.Time
	source    string
	opening   int64 // stamps
	initial   int64 // cents
	first     string
	instances []*instance
	expiries  []expiry // in the order of time

	active      bool // not invited
	installed   bool
	platform    string // of the last installation
	locked      bool
	erased      bool
	reissued    bool
	presented   string // location of the first accepted presentation
	lastVisit   time.Time
	lastVisitIn *time.Location
}

// expiry is the end of validity that a chain has from a time on; nil: none.
type expiry struct {
	from time.Time
	end  *time.Time
}

// instance is one card of a chain.
type instance struct {
	id        string
	child     bool
	stamps    int64
	cents     int64
	claims    map[int64]string // by threshold, of the open cycle: the row, or "" of an import
	completed int64            // cycles
	done      bool             // the present cycle is completed
	archived  time.Time        // zero: it is live
}

func (c *chain) live() (list []*instance) {
	for _, in := range c.instances {
		if in.archived.IsZero() {
			list = append(list, in)
		}
	}
	return list
}

// validUntil returns the end of validity that the chain had at a time; nil: none.
func (c *chain) validUntil(at time.Time) (until *time.Time) {
	for _, e := range c.expiries {
		if !e.from.After(at) {
			until = e.end
		}
	}
	return until
}

// state returns the status that the chain shows at a time.
func (c *chain) state(at time.Time) string {
	until := c.validUntil(at)
	switch {
	case len(c.live()) == 0 || c.erased:
		return "archived"
	case until != nil && !until.After(at):
		return "expired"
	case c.locked:
		return "locked"
	case c.active:
		return "active"
	}
	return "invited"
}

// full reports whether an instance takes no further stamp.
func (c *chain) full(in *instance) bool {
	return c.program.Total != nil && in.stamps >= *c.program.Total
}

// nothingToClaim reports whether the highest threshold is claimed, or there are no prizes.
func (c *chain) nothingToClaim(in *instance) bool {
	_, claimed := in.claims[c.program.top]
	return c.program.top == 0 || claimed
}

// shown returns the instance that the card's page and passes show: the oldest live one that is not
// full, else the newest; nil if none is live.
func (c *chain) shown() *instance {
	live := c.live()
	for _, in := range live {
		if !c.full(in) {
			return in
		}
	}
	if len(live) == 0 {
		return nil
	}
	return live[len(live)-1]
}

// newCycle begins a cycle without claims.
func (in *instance) newCycle() {
	in.done, in.claims = false, map[int64]string{}
}

// instance returns the instance of a row, which is new if no row before had it.
func (c *chain) instance(id string) (in *instance, isNew bool) {
	for _, in := range c.instances {
		if in.id == id {
			return in, false
		}
	}
	for _, in := range c.instances {
		if in.id == "" { // of an import, which gives no id
			in.id = id
			return in, false
		}
	}
	in = &instance{id: id, child: true, claims: map[int64]string{}}
	c.instances = append(c.instances, in)
	return in, true
}

// redeem applies a redemption. It returns what the row breaks of the till's rules.
func (c *chain) redeem(in *instance, t *row) (broken string) {
	threshold, known := int64(0), false
	if t.Prize != nil {
		threshold, known = c.program.thresholds[*t.Prize]
	}
	if !known {
		return "its prize is not of the program"
	}
	before := in.stamps
	if before < threshold {
		broken = fmt.Sprintf("the card had %d of %d stamps", before, threshold)
	}
	if _, claimed := in.claims[threshold]; claimed {
		broken = fmt.Sprintf("the threshold %d was claimed before in this cycle", threshold)
	}
	in.claims[threshold] = t.ID
	completes, takes := threshold == c.program.top && c.full(in), int64(0)
	in.stamps += t.stamps()
	if completes {
		if !in.done {
			in.completed, in.done = in.completed+1, true
		}
		live := c.live()
		switch {
		case !c.program.Repeats:
		case live[len(live)-1] != in:
			in.archived = t.Created
		default:
			takes = -before
			in.newCycle()
		}
	}
	if t.stamps() != takes {
		broken = fmt.Sprintf("it takes %d stamps, not %d", t.stamps(), takes)
	}
	return broken
}

// reverse applies a reversal of a row. It returns what it breaks of the rules.
func (c *chain) reverse(in *instance, t, of *row) (broken string) {
	if of.Reversed == nil || !of.Reversed.Equal(t.Created) || of.Instance != t.Instance || of.stamps() != -t.stamps() ||
		of.cents != -t.cents {
		broken = "it is not the opposite of the row that it reverses"
	}
	in.stamps += t.stamps()
	if of.Type == "redemption" && of.Prize != nil {
		if threshold := c.program.thresholds[*of.Prize]; in.claims[threshold] == of.ID {
			delete(in.claims, threshold)
		}
	}
	if of.Type == "stamp" && in.child && in.stamps == 0 && len(c.live()) > 1 {
		in.archived = t.Created
	}
	return broken
}

// archiveCompleted archives the full instances that a younger one follows and on which nothing is
// left to claim.
func (c *chain) archiveCompleted(at time.Time) {
	if !c.program.Repeats {
		return
	}
	live := c.live()
	for i, in := range live {
		if i < len(live)-1 && c.full(in) && c.nothingToClaim(in) {
			if !in.done {
				in.completed, in.done = in.completed+1, true
			}
			in.archived = at
		}
	}
}

// apply applies a row of the ledger. It returns what the row breaks of the rules.
func (c *chain) apply(in *instance, t *row, of *row) (broken string) {
	in.cents += t.cents
	switch t.Type {
	case "redemption":
		broken = c.redeem(in, t)
	case "reversal":
		if of == nil {
			return "there is no row that it reverses"
		}
		broken = c.reverse(in, t, of)
	case "stamp":
		in.stamps += t.stamps()
		if t.stamps() < 1 || c.program.Total != nil && in.stamps > *c.program.Total {
			broken = fmt.Sprintf("%d stamps make %d", t.stamps(), in.stamps)
		}
		c.archiveCompleted(t.Created)
	default:
		in.stamps += t.stamps()
		if in.stamps == 0 && t.stamps() < 0 && (t.Type == "expiry" || in.done) {
			in.newCycle()
		}
		c.archiveCompleted(t.Created)
	}
	if in.stamps < 0 || in.cents < 0 {
		broken = fmt.Sprintf("the card has %d stamps and %d cents after it", in.stamps, in.cents)
	}
	return broken
}

// claimed returns the thresholds that are claimed in the open cycle, as the export writes them.
func (in *instance) claimed() string {
	var list []int64
	for t := range in.claims {
		list = append(list, t)
	}
	slices.Sort(list)
	text := ""
	for i, t := range list {
		if i > 0 {
			text += " "
		}
		text += fmt.Sprint(t)
	}
	return text
}
