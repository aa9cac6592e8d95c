package seed

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"punchcard/store"
)

var (
	// earliest is the first instant that a seed may have. Statistics count quarter
	// hours of the shop's time zone; since then the offsets of all zones are
	// multiples of a quarter hour.
	earliest = store.TimeOf(time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC))
	// latest is the end of the year 9999, the last that RFC 3339 can express.
	latest = store.TimeOf(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))
)

// resolve returns the instant of w, or def if w has none.
func (w when) resolve(start, def store.Time) store.Time {
	switch {
	case w.At.Set:
		return w.At.V
	case w.Ago.Set:
		return start - duration(w.Ago.V)
	}
	return def
}

// duration returns the milliseconds of a valid text such as 3d4h30m. The longest
// ones exceed a time.Duration.
func duration(text string) store.Time {
	days, rest, ok := strings.Cut(text, "d")
	if !ok {
		days, rest = "0", text
	}
	n, _ := strconv.ParseInt(days, 10, 64)
	d, _ := time.ParseDuration(rest) // 0 for an empty text
	return store.Time(n*24*time.Hour.Milliseconds() + d.Milliseconds())
}

// step is one write.
type step struct {
	at    store.Time
	order int // of steps of the same instant: shops first, then cards, activity, locks, webhooks
	object
}

// plan returns the steps of the seed in the order of time. Steps of one instant are
// ordered by kind. Webhooks are last, so that they get no event of the seed.
func (a *application) plan() (steps []step, err error) {
	if a.start < earliest {
		a.add("now", "the start must not be before 1990")
		return nil, a.err()
	}
	times := make([]store.Time, len(a.file.objects)) // by number of the object
	for _, s := range a.file.shops {
		s.resolveTimes(a.start, times)
	}
	for _, o := range a.file.objects {
		at, shopAt := times[o.self().n], times[o.self().shop.n]
		switch o := o.(type) {
		case *shop:
			a.checkTime(o, o.when, at, 0, "")
			steps = append(steps, step{at, 1, o})
		case *location, *key, *program:
			steps = append(steps, step{shopAt, 1, o})
		case *card:
			a.checkTime(o, o.when, at, shopAt, "is before its shop was made")
			a.checkExpiry(o, at)
			steps = append(steps, step{at, 2, o})
			if o.Locked.V {
				steps = append(steps, step{a.start, 4, lock{o}})
			}
		case *activity:
			if o.card != nil {
				a.checkTime(o, o.when, at, times[o.card.n], "is before its card was issued")
			} else {
				a.checkTime(o, o.when, at, shopAt, "is before its shop was made")
			}
			r := o.reverses
			a.require(r == nil || times[r.n] < at || times[r.n] == at && r.n < o.n, o, "reverse", "the reversed activity comes later")
			steps = append(steps, step{at, 3, o})
		case *webhook:
			steps = append(steps, step{a.start, 5, o})
		}
	}
	slices.SortStableFunc(steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.at, b.at), a.order-b.order, a.self().shop.n-b.self().shop.n)
	})
	return steps, a.err()
}

// resolveTimes sets the times of the shop, its cards and its activity. The default
// for a card is the time of its first activity, and that for the shop the time of
// its first card or activity.
func (s *shop) resolveTimes(start store.Time, times []store.Time) {
	for _, c := range s.Cards.V {
		times[c.n] = start
	}
	first := start
	for _, x := range s.Activity.V {
		times[x.n] = x.when.resolve(start, start)
		first = min(first, times[x.n])
		if x.card != nil {
			times[x.card.n] = min(times[x.card.n], times[x.n])
		}
	}
	for _, c := range s.Cards.V {
		times[c.n] = c.when.resolve(start, times[c.n])
		first = min(first, times[c.n])
	}
	times[s.n] = s.when.resolve(start, first)
}

// checkTime adds a problem if w gives o's instant t and t is out of bounds: before from,
// for which rule is the message, after the start, or before 1990. It does not check a
// default instant, which follows from instants that are checked themselves.
func (a *application) checkTime(o object, w when, t, from store.Time, rule string) {
	field := "at"
	if w.Ago.Set {
		field = "ago"
	}
	switch {
	case !w.At.Set && !w.Ago.Set:
	case t > a.start:
		a.require(false, o, field, "is after the start, %s", a.start)
	case t < earliest:
		a.require(false, o, field, "must not be before 1990")
	default:
		a.require(t >= from, o, field, "%s", rule)
	}
}

// expiry returns when the card expires by its own fields.
func (c *card) expiry(start store.Time) store.Opt[store.Time] {
	if c.ExpiresIn.Set {
		return store.Given(start + duration(c.ExpiresIn.V))
	}
	return c.ExpiresAt
}

// checkExpiry adds a problem if the card expires before it is issued, or too late.
func (a *application) checkExpiry(c *card, issued store.Time) {
	field := "expires_at"
	if c.ExpiresIn.Set {
		field = "expires_in"
	}
	expiry := c.expiry(a.start)
	a.require(!expiry.Set || expiry.V > issued, c, field, "must be after the card was issued, %s", issued)
	a.require(expiry.V <= latest, c, field, "must not be after the year 9999")
}
