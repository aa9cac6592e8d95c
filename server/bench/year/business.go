package main

import (
	"math"
	"math/rand/v2"
	"time"
)

// Thresholds of the demo program: the full card and the lower prize.
const (
	total     = 10
	croissant = 5
)

// The programs that are used, and how many of a thousand cards each has. Nearly all
// cards are of the first.
type kind uint8

const (
	standard kind = iota
	discount
	access
	prepaid
	kinds
)

var (
	names  = [kinds]string{"standard", "discount", "access", "prepaid"}
	shares = [kinds]int{970, 15, 10, 5}
)

// card is one instance of a card. Its key is its index among all instances.
type card struct {
	root, parent      int // keys; 0 for none
	kind              kind
	home, first       int // locations, counted from 1; 0 for none
	stamps, cycle     int
	value             int64
	claimed           bool // the lower prize was redeemed in this cycle
	created, updated  int64
	activated         int64 // this and all times below are 0 for never
	installed         int64
	expires, archived int64
	locked, lastStamp int64
	noted             bool // of roots: the expiry is in the ledger
	gone              bool // of roots: all instances are archived
	newest, older     int  // of roots: keys of the instance that takes stamps, and of the full one whose prize is not redeemed
}

// row is a row of the ledger. It has the values of the columns. 0 means null, except
// for deltas that belong to the type.
type row struct {
	id, card          int
	kind              kind
	location          int
	what              string
	stamps            int
	value             int64
	prize             int // 1 is the lower prize, 2 and 3 are those of a full card
	cycle             int
	reverses, over    int
	reversed, at      int64
	reversible        bool
	before            card // state of the card before the row
	hasStamp, hasCent bool
}

type claim struct {
	card, cycle, threshold, prize, row int
	at                                 int64
}

// year simulates the business of a year in memory, row by row. It calls save with
// each row when nothing can change the row any more.
type year struct {
	rng       *rand.Rand
	end       time.Time
	want      int
	locations int
	save      func(*row) error
	rows      int
	last      row // the newest row, which can still be reversed
	roots     []int
	instances []card // index 0 is unused
	claimed   []claim
	completed []claim
}

// busy returns the relative number of visits in an hour: none at night, many at
// breakfast, at noon and on Saturdays, half in August.
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

// run simulates the year hour by hour.
func (y *year) run() error {
	type hour struct {
		at int64
		up float64 // weight of all hours up to its end
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
			if err := y.next(h.at + int64(share*3_600_000)); err != nil {
				return err
			}
		}
	}
	return y.save(&y.last)
}

// next creates one row, or the two of an overflow.
func (y *year) next(now int64) error {
	for len(y.roots) < cap(y.roots)*(y.rows+1)/y.want || len(y.roots) == 0 {
		y.issue(now)
	}
	if y.last.reversible && y.rng.IntN(90) == 0 {
		return y.reverse(now)
	}
	root := y.roots[y.rng.IntN(len(y.roots))]
	for y.instances[root].noted {
		root = y.roots[y.rng.IntN(len(y.roots))]
	}
	r := &y.instances[root]
	location := r.home
	if y.rng.IntN(5) == 0 {
		location = 1 + y.rng.IntN(y.locations)
	}
	c, key := &y.instances[r.newest], r.newest
	if r.expires != 0 && r.expires <= now {
		r.noted, r.updated = true, now
		return y.write(row{card: key, location: location, what: "expiry"}, now, false)
	}
	if r.activated == 0 {
		r.activated = now
		if y.rng.IntN(3) > 0 {
			r.installed = now
		}
	}
	switch c.kind {
	case discount, access:
		return y.write(row{card: key, location: location, what: names[c.kind]}, now, true)
	case prepaid:
		cents := 150 + 10*y.rng.Int64N(60)
		if c.value < cents {
			return y.write(row{card: key, location: location, what: "topup", value: 500 * (2 + y.rng.Int64N(9)), hasCent: true}, now, true)
		}
		return y.write(row{card: key, location: location, what: "spend", value: -cents, hasCent: true}, now, true)
	}
	return y.collect(root, location, now)
}

// collect simulates a visit with a stamp card.
func (y *year) collect(root, location int, now int64) error {
	r := &y.instances[root]
	key := r.newest
	c := &y.instances[key]
	redemption := row{card: key, location: location, what: "redemption", hasStamp: true, prize: 2 + y.rng.IntN(2)}
	switch {
	case r.older != 0:
		// The full card is archived, since another has taken its place.
		redemption.card = r.older
		old := &y.instances[r.older]
		y.completed = append(y.completed, claim{card: r.older, cycle: old.cycle, at: now})
		old.archived, r.older = now, 0
		return y.write(redemption, now, false)
	case c.stamps == total:
		redemption.stamps = -total
		y.completed = append(y.completed, claim{card: key, cycle: c.cycle, at: now})
		if err := y.write(redemption, now, false); err != nil {
			return err
		}
		c.cycle++
		c.claimed = false
		return nil
	case c.stamps >= croissant && !c.claimed && y.rng.IntN(5) == 0:
		redemption.prize = 1
		return y.write(redemption, now, true)
	}
	n := 1
	if x := y.rng.IntN(100); x >= 92 {
		n = 3
	} else if x >= 70 {
		n = 2
	}
	room := total - c.stamps
	over := n - room
	stamp := row{card: key, location: location, what: "stamp", hasStamp: true, stamps: min(n, room)}
	if over <= 0 || y.want-y.rows < 2 || y.rng.IntN(8) > 0 {
		return y.write(stamp, now, true)
	}
	if err := y.write(stamp, now, false); err != nil {
		return err
	}
	child := card{root: root, parent: key, kind: c.kind, home: c.home, first: location, created: now, activated: r.activated, installed: r.installed, expires: r.expires}
	r.older, r.newest = key, len(y.instances)
	stamp.card, stamp.stamps, stamp.over = r.newest, over, y.rows
	y.instances = append(y.instances, child) // r and c are invalid from here on
	return y.write(stamp, now, false)
}

// write adds a row to the ledger and saves the row before it.
func (y *year) write(r row, now int64, reversible bool) error {
	if y.rows > 0 {
		if err := y.save(&y.last); err != nil {
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
		c.first = r.location
	}
	if r.what == "stamp" {
		c.lastStamp = now
	}
	if r.what == "redemption" {
		threshold := total
		if r.prize == 1 {
			threshold, c.claimed = croissant, true
		}
		y.claimed = append(y.claimed, claim{r.card, r.cycle, threshold, r.prize, r.id, now})
	}
	y.last = r
	return nil
}

// reverse reverses the newest row.
func (y *year) reverse(now int64) error {
	h := &y.last
	h.reversed = now
	back := row{card: h.card, location: h.location, what: "reversal", stamps: -h.stamps, value: -h.value, hasStamp: h.hasStamp, hasCent: h.hasCent, prize: h.prize, reverses: h.id}
	before, wasClaim := h.before, h.what == "redemption"
	if err := y.write(back, now, false); err != nil {
		return err
	}
	if wasClaim {
		y.claimed = y.claimed[:len(y.claimed)-1]
	}
	c := &y.instances[back.card]
	c.lastStamp, c.claimed = before.lastStamp, before.claimed
	return nil
}

// issue issues a card, one in three at a counter, where it is active at once.
func (y *year) issue(now int64) {
	c := card{home: 1 + y.rng.IntN(y.locations), created: now, updated: now, newest: len(y.instances)}
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

// close locks a few cards and archives some at the end of the year.
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
