package dev

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"punchcard/store"
)

// earliest is before everything in a seed: statistics count in quarter hours
// of the shop's zone, and every zone is off by a multiple of them since then.
var earliest = store.TimeOf(time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC))

// latest is the end of the years that have four digits.
var latest = store.TimeOf(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC))

// instant is when something of a seed happens: given, or worked out.
type instant struct {
	t     store.Time
	known bool
}

// of resolves an instant of the file, counted from the start.
func (w when) of(start store.Time) instant {
	switch {
	case w.At.Set:
		return instant{w.At.V, true}
	case w.Ago.Set:
		return instant{start - span(w.Ago.V), true}
	}
	return instant{}
}

// field is the one that gives the instant.
func (w when) field() string {
	if w.Ago.Set {
		return "ago"
	}
	return "at"
}

// span reads a text such as 3d4h30m, whose form was checked, as milliseconds:
// the longest is more than a time.Duration holds.
func span(text string) (ms store.Time) {
	n := store.Time(0)
	for _, c := range text {
		if '0' <= c && c <= '9' {
			n = 10*n + store.Time(c-'0')
			continue
		}
		ms += n * store.Time(map[rune]time.Duration{'d': 24 * time.Hour, 'h': time.Hour, 'm': time.Minute, 's': time.Second}[c].Milliseconds())
		n = 0
	}
	return ms
}

// step is one write of a seed.
type step struct {
	at    store.Time
	path  string // of what the store's refusal is about
	actor func() store.Actor
	do    func(*store.Tx) error
}

// plan puts all that a seed does into the order of time. Things of one instant
// keep the order in which the steps are listed here.
func (s *SeedFile) plan(a *application, start store.Time) ([]step, error) {
	p := planner{mistakes: mistakes{source: s.file}, start: start, issued: map[*seedCard]store.Time{}, done: map[*seedActivity]store.Time{}}
	if start < earliest {
		p.add("now", "the start must not be before 1990")
		return nil, p.err()
	}
	var shops, cards, activity, last []step
	for i, shop := range s.shops {
		p.shop(shop)
		shops = append(shops, step{p.opened, shop.path, system, func(tx *store.Tx) error { return a.open(tx, shop, i == 0) }})
		for _, c := range shop.cards {
			cards = append(cards, step{p.issued[c], c.path, a.counter(c.counter), func(tx *store.Tx) error { return a.issue(tx, shop, c) }})
			if c.F.Locked.V {
				last = append(last, step{start, join(c.path, "locked"), operates, func(tx *store.Tx) error { return a.lock(tx, shop, c) }})
			}
		}
		for _, x := range shop.activity {
			at := join(x.path, x.actions()[0])
			activity = append(activity, step{p.done[x], at, a.counter(x.at()), func(tx *store.Tx) error { return a.act(tx, shop, x) }})
		}
	}
	// Whatever came before them is queued for none of the webhooks.
	for _, shop := range s.shops {
		for _, w := range shop.webhooks {
			last = append(last, step{start, w.path, operates, func(tx *store.Tx) error { return a.subscribe(tx, shop, w) }})
		}
	}
	steps := slices.Concat(shops, cards, activity, last)
	slices.SortStableFunc(steps, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	return steps, p.err()
}

// at is where an activity happens.
func (x *seedActivity) at() *entry[locationFields] {
	if x.reverses != nil {
		return x.reverses.location
	}
	return x.location
}

// planner works out the instants of one shop after the other.
type planner struct {
	mistakes
	start  store.Time
	opened store.Time
	issued map[*seedCard]store.Time
	done   map[*seedActivity]store.Time
}

func (p *planner) shop(s *seedShop) {
	for _, x := range s.activity {
		p.done[x] = x.F.when.of(p.start).t
	}
	first := p.start
	for _, c := range s.cards {
		p.issued[c] = p.issue(c)
		first = min(first, p.issued[c])
	}
	for _, x := range s.activity {
		first = min(first, p.done[x])
	}
	p.opened = first
	if at := s.F.when.of(p.start); at.known {
		p.opened = at.t
	}
	p.within(s.path, s.F.when, p.opened, earliest, "must not be before 1990")
	for _, c := range s.cards {
		p.within(c.path, c.F.when, p.issued[c], p.opened, "is before its shop was made")
		p.expiry(c)
	}
	for _, x := range s.activity {
		from, rule := p.opened, "is before its shop was made"
		if x.card != nil {
			from, rule = p.issued[x.card], "is before its card was issued"
		}
		p.within(x.path, x.F.when, p.done[x], from, rule)
		if o := x.reverses; o != nil && (p.done[o] > p.done[x] || p.done[o] == p.done[x] && slices.Index(s.activity, o) > slices.Index(s.activity, x)) {
			p.add(join(x.path, "reverse"), "the reversed activity comes later")
		}
	}
}

// issue is when a card was: by default just before it was first presented.
func (p *planner) issue(c *seedCard) store.Time {
	if at := c.F.when.of(p.start); at.known {
		return at.t
	}
	first := p.start
	for _, x := range c.activity {
		first = min(first, p.done[x])
	}
	return first
}

// within notes an instant that is out of bounds. One that was worked out from
// others is so only where they are.
func (p *planner) within(path string, w when, t, from store.Time, rule string) {
	if !w.At.Set && !w.Ago.Set {
		return
	}
	switch {
	case t > p.start:
		p.add(join(path, w.field()), fmt.Sprintf("is after the start, %s", p.start))
	case t < from:
		p.add(join(path, w.field()), rule)
	case t < earliest:
		p.add(join(path, w.field()), "must not be before 1990")
	}
}

// expires is when a card does by its own fields; the program may say more.
func (c *seedCard) expires(start store.Time) store.Opt[store.Time] {
	if c.F.ExpiresIn.Set {
		return set(start + span(c.F.ExpiresIn.V))
	}
	return c.F.ExpiresAt
}

func (p *planner) expiry(c *seedCard) {
	field := "expires_at"
	if c.F.ExpiresIn.Set {
		field = "expires_in"
	}
	switch at := c.expires(p.start); {
	case at.Set && at.V <= p.issued[c]:
		p.add(join(c.path, field), "must be after the card was issued, "+p.issued[c].String())
	case at.V > latest:
		p.add(join(c.path, field), "must not be after the year 9999")
	}
}

// refusal turns what the store says of a step into lines that name the place.
func (s *SeedFile) refusal(x step, err error) error {
	refused, ok := store.AsError(err)
	if !ok {
		return fmt.Errorf("%s: %w", strings.TrimSuffix(s.file.line(s.file.locate(x.path), x.path, ""), ": "), err)
	}
	f := mistakes{source: s.file}
	for _, d := range refused.Details {
		f.add(join(x.path, d.Field), d.Message)
	}
	if len(refused.Details) == 0 {
		f.add(x.path, refused.Message)
	}
	return f.err()
}
