package event

import (
	"slices"
	"strings"
)

// specific are the events that say what a ledger row is about. For one row a webhook
// gets either these events or transaction.created, never both.
var specific = []Name{StampAssigned, PrizeRedeemed, ValueChanged, TransactionReversed, CardUsed, CardExpired}

// ExclusiveWith returns the six specific transaction events, none of which a
// subscription may name beside transaction.created.
func ExclusiveWith() []Name { return slices.Clone(specific) }

// ValidPattern reports whether a webhook's events may contain s: an event of the
// catalogue other than test.ping, "*", or the prefix of such an event followed by ".*".
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

// Conflicts reports whether the patterns name both transaction.created and one of
// the specific transaction events. Wildcards never conflict: for them
// [Subscription.Matches] decides at each transaction.
func Conflicts(patterns []string) bool {
	names := func(n Name) bool { return slices.Contains(patterns, string(n)) }
	return names(TransactionCreated) && slices.ContainsFunc(specific, names)
}

// Subscription is what a webhook subscribes to. Events are valid patterns. Empty
// ProgramIDs or LocationIDs mean all. The ids are the store's keys.
type Subscription struct {
	Events          []string
	ProgramIDs      []int64
	LocationIDs     []int64
	IncludeShopWide bool
}

// Facts are what Matches needs to know of an event. The ids are the store's keys,
// 0 for none.
type Facts struct {
	Name       Name
	ProgramID  int64
	LocationID int64
	// Specific is set for transaction.created only: the specific event of the same
	// ledger row, "" if there is none.
	Specific Name
	// AlsoSpecific is the second specific event of the row: the reversal of a top-up
	// or spend is a transaction.reversed and a value.changed.
	AlsoSpecific Name
	// Preview says that events with Sends false are sent too.
	Preview bool
}

// Matches reports whether the event is sent to the subscription's webhook. It
// allocates nothing.
func (s *Subscription) Matches(e Facts) bool {
	in, ok := byName[e.Name]
	if !ok || !in.isSent(e.Preview) || !s.matchesProgram(in, e.ProgramID) ||
		!s.matchesLocation(in, e.LocationID) || !s.matchesName(e.Name) {
		return false
	}
	// transaction.created has the program and location of the row's specific
	// events, so that the subscription gets one of those if it matches its name.
	return e.Name != TransactionCreated || !s.getsSpecific(e.Specific, e.Preview) && !s.getsSpecific(e.AlsoSpecific, e.Preview)
}

// isSent reports whether the event is sent to subscribers at all.
func (in *Info) isSent(preview bool) bool {
	return in.Name != TestPing && (in.Sends || preview)
}

// getsSpecific reports whether the specific event n of the same row is sent to
// the subscription.
func (s *Subscription) getsSpecific(n Name, preview bool) bool {
	in, ok := byName[n]
	return ok && in.isSent(preview) && s.matchesName(n)
}

// matchesName reports whether one of the patterns matches n. "*" does not match
// transaction.created.
func (s *Subscription) matchesName(n Name) bool {
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

func (s *Subscription) matchesProgram(in *Info, id int64) bool {
	if len(s.ProgramIDs) == 0 {
		return true
	}
	return !in.Programless && id != 0 && slices.Contains(s.ProgramIDs, id)
}

// matchesLocation reports whether the event's location is one of the
// subscription's. A shop-wide event has no location here, even if its envelope
// names one. Any other event without a location does not match a subscription of
// some locations.
func (s *Subscription) matchesLocation(in *Info, id int64) bool {
	if len(s.LocationIDs) == 0 {
		return true
	}
	if in.ShopWide {
		return s.IncludeShopWide
	}
	return id != 0 && slices.Contains(s.LocationIDs, id)
}
