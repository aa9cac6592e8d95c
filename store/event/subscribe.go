package event

import (
	"slices"
	"strings"
)

// specific are the events that transaction.created may not be named beside
// (spec, "Delivery rules", 3).
var specific = []Name{StampAssigned, PrizeRedeemed, ValueChanged, TransactionReversed, CardUsed, CardExpired}

// ExclusiveWith returns the six specific transaction events, none of which a
// subscription may name beside transaction.created.
func ExclusiveWith() []Name { return slices.Clone(specific) }

// ValidPattern reports whether s may stand in a webhook's events (spec,
// "Subscribing"): an event of the catalogue, "*", or a prefix of the catalogue
// followed by ".*". test.ping and test.* may not.
func ValidPattern(s string) bool {
	if s == "*" {
		return true
	}
	if p, ok := strings.CutSuffix(s, ".*"); ok {
		return slices.Contains(prefixes, p)
	}
	_, ok := byName[Name(s)]
	return ok && Name(s) != TestPing
}

// Conflicts reports whether patterns names transaction.created beside one of
// the specific transaction events. Wildcards never conflict: what both would
// match is settled for each transaction by [Subscription.Matches].
func Conflicts(patterns []string) bool {
	if !slices.Contains(patterns, string(TransactionCreated)) {
		return false
	}
	for _, n := range specific {
		if slices.Contains(patterns, string(n)) {
			return true
		}
	}
	return false
}

// Subscription is what a webhook asks for. Events holds valid patterns; empty
// ProgramIDs or LocationIDs mean all of them. The ids are the store's keys.
type Subscription struct {
	Events          []string
	ProgramIDs      []int64
	LocationIDs     []int64
	IncludeShopWide bool
}

// Facts are what matching needs to know of one event that happened. The ids
// are the store's keys, 0 for none.
type Facts struct {
	Name       Name
	ProgramID  int64
	LocationID int64
	// Specific is set on transaction.created only: the specific event that the
	// same ledger row fires, "" when there is none.
	Specific Name
	// AlsoSpecific is the second one, for the row that fires two: the reversal
	// of a top-up or spend is a transaction.reversed and a value.changed.
	AlsoSpecific Name
	// Preview lets the events out that are not sent yet.
	Preview bool
}

// Matches reports whether the event goes to the subscription's webhook (spec,
// "Subscribing" and "Delivery rules"). It allocates nothing.
func (s *Subscription) Matches(e Facts) bool {
	in, ok := byName[e.Name]
	if !ok || !in.leaves(e.Preview) {
		return false
	}
	if !s.takesProgram(in, e.ProgramID) || !s.takesLocation(in, e.LocationID) || !s.names(e.Name) {
		return false
	}
	// A row's firehose event shares program and location with its specific
	// events, so that only the names can tell them apart.
	return e.Name != TransactionCreated ||
		!s.getsInstead(e.Specific, e.Preview) && !s.getsInstead(e.AlsoSpecific, e.Preview)
}

// leaves reports whether the event is sent to subscribers at all.
func (in *Info) leaves(preview bool) bool {
	return in.Name != TestPing && (in.Sends || preview)
}

// getsInstead reports whether n is sent, and to this subscription. A specific
// event that is not sent must not silence the firehose.
func (s *Subscription) getsInstead(n Name, preview bool) bool {
	in, ok := byName[n]
	return ok && in.leaves(preview) && s.names(n)
}

// names reports whether one of the patterns covers n. Wildcards are read here,
// when an event fires, and not when they are saved.
func (s *Subscription) names(n Name) bool {
	for _, p := range s.Events {
		switch {
		case p == string(n):
			return true
		case p == "*":
			if n != TransactionCreated {
				return true
			}
		case strings.HasSuffix(p, ".*"):
			if strings.HasPrefix(string(n), p[:len(p)-1]) {
				return true
			}
		}
	}
	return false
}

func (s *Subscription) takesProgram(in *Info, id int64) bool {
	if len(s.ProgramIDs) == 0 {
		return true
	}
	return !in.Programless && id != 0 && slices.Contains(s.ProgramIDs, id)
}

// takesLocation reads the spec's table. A shop-wide event has no location here
// even where its envelope names one; an event that merely happened nowhere is
// not broadcast to those who listen to a place.
func (s *Subscription) takesLocation(in *Info, id int64) bool {
	if len(s.LocationIDs) == 0 {
		return true
	}
	if in.ShopWide {
		return s.IncludeShopWide
	}
	return id != 0 && slices.Contains(s.LocationIDs, id)
}
