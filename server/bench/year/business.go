package main

import (
	"math"
	"math/rand/v2"
	"time"

	"punchcard/store"
)

// total, croissant are the demo program's full card and its lower prize.
const (
	total     = 10
	croissant = 5
)

// The shop's programs that are in use here, and how many of a thousand cards
// are of each. Nearly all is in the first.
type kind uint8

const (
	standard kind = iota
	discount
	access
	prepaid
	kinds
)

var (
	names  = [kinds]string{store.ProgramStandard, store.ProgramDiscount, store.ProgramAccess, store.ProgramPrepaid}
	shares = [kinds]int{970, 15, 10, 5}
)

// card is one instance; its key is its index among all.
type card struct {
	root, parent      int // 0: none
	kind              kind
	home, first       int // location, counted from one; 0: none
	stamps, cycle     int
	value             int64
	claimed           bool // the croissant, in this cycle
	created, updated  int64
	activated         int64 // this and all below: 0: never
	installed         int64
	expires, archived int64
	locked, lastStamp int64
	noted             bool // on roots: its expiry is in the ledger
	gone              bool // on roots: the whole chain is archived
	newest, older     int  // on roots: the instance that takes stamps, and the full one that waits for its prize
}

// row is one of the ledger; it has the columns' values, and 0 for null but
// where a delta is part of the type.
type row struct {
	id, card          int
	kind              kind
	place             int
	what              string
	stamps            int
	value             int64
	prize             int // 1: the croissant; 2 and 3: those of a full card
	cycle             int
	reverses, over    int
	reversed, at      int64
	reversible        bool
	before            card // as the card was
	hasStamp, hasCent bool
}

type claim struct {
	card, cycle, threshold, prize, row int
	at                                 int64
}

// year is the business of a year. It is lived through row by row in memory;
// save takes each row when nothing can change it any more.
type year struct {
	rng       *rand.Rand
	end       time.Time
	want      int
	places    int
	save      func(*row) error
	rows      int
	held      row // the newest: it may yet be reversed
	roots     []int
	instances []card // from 1
	claimed   []claim
	completed []claim
}

// busy is how much goes on in an hour: closed at night, full at breakfast and
// noon and on Saturdays, half empty in August.
func busy(t time.Time) float64 {
	h := t.Hour()
	if h < 7 || h >= 20 || t.Weekday() == time.Sunday && h >= 14 {
		return 0
	}
	w := 1 + 1.5*math.Exp(-math.Pow(float64(h)-8.5, 2)/2) + math.Exp(-math.Pow(float64(h)-13, 2)/3)
	switch t.Weekday() {
	case time.Saturday:
		w *= 1.4
	case time.Sunday:
		w *= 0.7
	}
	w *= 1 + 0.2*math.Cos(2*math.Pi*float64(t.YearDay()-350)/365)
	if t.Month() == time.August {
		w *= 0.5
	}
	return w
}

// live goes through the year hour by hour.
func (y *year) live() error {
	type hour struct {
		at int64
		up float64 // share of the year's rows, up to its end
	}
	var hours []hour
	sum := 0.0
	for d := y.end.AddDate(-1, 0, 0); d.Before(y.end); d = d.AddDate(0, 0, 1) {
		for h := range 24 {
			t := time.Date(d.Year(), d.Month(), d.Day(), h, 0, 0, 0, d.Location())
			if w := busy(t); w > 0 {
				sum += w
				hours = append(hours, hour{t.UnixMilli(), sum})
			}
		}
	}
	for _, h := range hours {
		from, to := y.rows, int(float64(y.want)*h.up/sum+0.5)
		for y.rows < to {
			share := (float64(y.rows-from) + y.rng.Float64()) / float64(to-from)
			if err := y.happen(h.at + int64(share*3_600_000)); err != nil {
				return err
			}
		}
	}
	return y.save(&y.held)
}

// happen makes one row, or the two of an overflow.
func (y *year) happen(now int64) error {
	for len(y.roots) < cap(y.roots)*(y.rows+1)/y.want || len(y.roots) == 0 {
		y.issue(now)
	}
	if y.held.reversible && y.rng.IntN(90) == 0 {
		return y.reverse(now)
	}
	root := y.roots[y.rng.IntN(len(y.roots))]
	for y.instances[root].noted {
		root = y.roots[y.rng.IntN(len(y.roots))]
	}
	r := &y.instances[root]
	place := r.home
	if y.rng.IntN(5) == 0 {
		place = 1 + y.rng.IntN(y.places)
	}
	c, key := &y.instances[r.newest], r.newest
	if r.expires != 0 && r.expires <= now {
		r.noted, r.updated = true, now
		return y.book(row{card: key, place: place, what: store.TransactionExpiry}, now, false)
	}
	if r.activated == 0 {
		r.activated = now
		if y.rng.IntN(3) > 0 {
			r.installed = now
		}
	}
	switch c.kind {
	case discount, access:
		return y.book(row{card: key, place: place, what: names[c.kind]}, now, true)
	case prepaid:
		cents := 150 + 10*y.rng.Int64N(60)
		if c.value < cents {
			return y.book(row{card: key, place: place, what: store.TransactionTopUp, value: 500 * (2 + y.rng.Int64N(9)), hasCent: true}, now, true)
		}
		return y.book(row{card: key, place: place, what: store.TransactionSpend, value: -cents, hasCent: true}, now, true)
	}
	return y.collect(root, place, now)
}

// collect is a visit with a card that collects stamps.
func (y *year) collect(root, place int, now int64) error {
	r := &y.instances[root]
	key := r.newest
	c := &y.instances[key]
	redemption := row{card: key, place: place, what: store.TransactionRedemption, hasStamp: true, prize: 2 + y.rng.IntN(2)}
	switch {
	case r.older != 0:
		// The full one ends with its prize: another has taken its place.
		redemption.card = r.older
		old := &y.instances[r.older]
		y.completed = append(y.completed, claim{card: r.older, cycle: old.cycle, at: now})
		old.archived, r.older = now, 0
		return y.book(redemption, now, false)
	case c.stamps == total:
		redemption.stamps = -total
		y.completed = append(y.completed, claim{card: key, cycle: c.cycle, at: now})
		if err := y.book(redemption, now, false); err != nil {
			return err
		}
		c.cycle++
		c.claimed = false
		return nil
	case c.stamps >= croissant && !c.claimed && y.rng.IntN(5) == 0:
		redemption.prize = 1
		return y.book(redemption, now, true)
	}
	n := 1
	if x := y.rng.IntN(100); x >= 92 {
		n = 3
	} else if x >= 70 {
		n = 2
	}
	room := total - c.stamps
	over := n - room
	stamp := row{card: key, place: place, what: store.TransactionStamp, hasStamp: true, stamps: min(n, room)}
	if over <= 0 || y.want-y.rows < 2 || y.rng.IntN(8) > 0 {
		return y.book(stamp, now, true)
	}
	if err := y.book(stamp, now, false); err != nil {
		return err
	}
	child := card{root: root, parent: key, kind: c.kind, home: c.home, first: place, created: now, activated: r.activated, installed: r.installed, expires: r.expires}
	r.older, r.newest = key, len(y.instances)
	stamp.card, stamp.stamps, stamp.over = r.newest, over, y.rows
	y.instances = append(y.instances, child) // r and c are stale from here on
	return y.book(stamp, now, false)
}

// book adds a row to the ledger. The one before it cannot change any more.
func (y *year) book(r row, now int64, reversible bool) error {
	if y.rows > 0 {
		if err := y.save(&y.held); err != nil {
			return err
		}
	}
	y.rows++
	c := &y.instances[r.card]
	r.id, r.kind, r.cycle, r.at = y.rows, c.kind, c.cycle, now
	r.reversible, r.before = reversible, *c
	c.stamps += r.stamps
	c.value += r.value
	c.updated = now
	if c.first == 0 {
		c.first = r.place
	}
	if r.what == store.TransactionStamp {
		c.lastStamp = now
	}
	if r.what == store.TransactionRedemption {
		threshold := total
		if r.prize == 1 {
			threshold, c.claimed = croissant, true
		}
		y.claimed = append(y.claimed, claim{r.card, r.cycle, threshold, r.prize, r.id, now})
	}
	y.held = r
	return nil
}

// reverse takes the newest row back.
func (y *year) reverse(now int64) error {
	h := &y.held
	h.reversed = now
	back := row{card: h.card, place: h.place, what: store.TransactionReversal, stamps: -h.stamps, value: -h.value, hasStamp: h.hasStamp, hasCent: h.hasCent, prize: h.prize, reverses: h.id}
	before, wasClaim := h.before, h.what == store.TransactionRedemption
	if err := y.book(back, now, false); err != nil {
		return err
	}
	if wasClaim {
		y.claimed = y.claimed[:len(y.claimed)-1]
	}
	c := &y.instances[back.card]
	c.lastStamp, c.claimed = before.lastStamp, before.claimed
	return nil
}

// issue makes a card: one in three at a counter, where it is active at once.
func (y *year) issue(now int64) {
	c := card{home: 1 + y.rng.IntN(y.places), created: now, updated: now, newest: len(y.instances)}
	for x := y.rng.IntN(1000); x >= shares[c.kind]; c.kind++ {
		x -= shares[c.kind]
	}
	if y.rng.IntN(3) == 0 {
		c.activated, c.first = now, c.home
	}
	if y.rng.IntN(20) == 0 {
		c.expires = now + (60+y.rng.Int64N(240))*24*60*60*1000
	}
	y.roots = append(y.roots, len(y.instances))
	y.instances = append(y.instances, c)
}

// close ends the year: operators lock a few cards and archive some.
func (y *year) close() {
	end := y.end.UnixMilli()
	for _, root := range y.roots {
		switch x := y.rng.IntN(1000); {
		case x < 2:
			y.instances[root].locked = end
		case x < 7:
			y.instances[root].gone = true
		}
	}
	for i := range y.instances {
		c := &y.instances[i]
		r := c
		if c.root != 0 {
			r = &y.instances[c.root]
			c.locked = r.locked
		}
		if r.gone && c.archived == 0 && i > 0 {
			c.archived = end
		}
	}
}
