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

// card is one instance of a card. Its key is its index among all instances.
type card struct {
	root, parent      int    // keys; 0 for none
	kind              string // type of the program
	home, first       int    // locations, counted from 1; 0 for none
	stamps, cycle     int
	value             int64
	claimed           bool // the lower prize was redeemed in this cycle
	created, updated  int64
	activated         int64 // this and all times below are 0 for never
	installed         int64
	expires, archived int64
	locked, lastStamp int64
	noted             bool // of roots: the expiry has a row in the ledger
	ended             bool // all instances of the chain are archived
	newest, older     int  // of roots: keys of the instance that takes stamps, and of the full one whose prize is not redeemed
}

// row is a row of the ledger. It has the values of the columns. 0 means null, except
// for deltas that belong to the type.
type row struct {
	id, card       int
	location       int
	what           string // the row's type
	stamps         int
	value          int64
	prize          int // 1 is the lower prize, 2 and 3 are those of a full card
	cycle          int
	reverses, over int // keys of rows
	reversed, at   int64
	reversible     bool
	before         card // state of the card before the row
}

// year simulates the business of a year in memory, row by row. It calls save with
// each row when nothing can change the row any more.
type year struct {
	rng       *rand.Rand
	end       time.Time
	want      int
	locations int
	save      func(*row)
	rows      int
	last      row // the newest row, which can still be reversed
	roots     []int
	instances []card // index 0 is unused
}

// busy returns the relative number of visits in an hour: none at night and on Sunday
// afternoons, many at breakfast, at noon and on Saturdays, more in winter, half in August.
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
func (y *year) run() {
	start, all, past := y.end.AddDate(-1, 0, 0), 0.0, 0.0
	for t := start; t.Before(y.end); t = t.Add(time.Hour) {
		all += busy(t)
	}
	for t := start; t.Before(y.end); t = t.Add(time.Hour) {
		past += busy(t)
		from, to := y.rows, int(float64(y.want)*past/all+0.5)
		for y.rows < to {
			share := (float64(y.rows-from) + y.rng.Float64()) / float64(to-from)
			y.next(t.UnixMilli() + int64(share*3_600_000))
		}
	}
	y.save(&y.last)
}

// next creates one row, or the two of an overflow.
func (y *year) next(now int64) {
	for len(y.roots) < cap(y.roots)*(y.rows+1)/y.want || len(y.roots) == 0 {
		y.issue(now)
	}
	if y.last.reversible && y.rng.IntN(90) == 0 {
		y.reverse(now)
		return
	}
	root := y.roots[y.rng.IntN(len(y.roots))]
	for y.instances[root].noted {
		root = y.roots[y.rng.IntN(len(y.roots))]
	}
	r := &y.instances[root]
	visit := row{card: r.newest, location: r.home, at: now, reversible: true}
	if y.rng.IntN(5) == 0 {
		visit.location = 1 + y.rng.IntN(y.locations)
	}
	if r.expires != 0 && r.expires <= now {
		r.noted, r.updated = true, now
		visit.what, visit.reversible = "expiry", false
		y.write(visit)
		return
	}
	if r.activated == 0 {
		r.activated = now
		if y.rng.IntN(3) > 0 {
			r.installed = now
		}
	}
	switch r.kind {
	case "standard":
		y.collect(root, visit)
		return
	case "prepaid":
		cents := 150 + 10*y.rng.Int64N(60)
		if visit.what, visit.value = "spend", -cents; r.value < cents {
			visit.what, visit.value = "topup", 500*(2+y.rng.Int64N(9))
		}
	default:
		visit.what = r.kind
	}
	y.write(visit)
}

// collect simulates a visit with a stamp card.
func (y *year) collect(root int, visit row) {
	r, c := &y.instances[root], &y.instances[visit.card]
	prize := 2 + y.rng.IntN(2)
	switch {
	case r.older != 0:
		// The full card is archived, since another has taken its place.
		y.instances[r.older].archived = visit.at
		visit.card, r.older = r.older, 0
		y.redeem(visit, prize)
		return
	case c.stamps == total:
		visit.stamps = -total
		y.redeem(visit, prize)
		c.cycle++
		c.claimed = false
		return
	case c.stamps >= croissant && !c.claimed && y.rng.IntN(5) == 0:
		y.redeem(visit, 1)
		return
	}
	n := 1
	if x := y.rng.IntN(100); x >= 92 {
		n = 3
	} else if x >= 70 {
		n = 2
	}
	room := total - c.stamps
	visit.what, visit.stamps = "stamp", min(n, room)
	if n <= room || y.want-y.rows < 2 || y.rng.IntN(8) > 0 {
		y.write(visit)
		return
	}
	visit.reversible = false
	y.write(visit)
	child := card{
		root:      root,
		parent:    visit.card,
		kind:      c.kind,
		home:      c.home,
		first:     visit.location,
		created:   visit.at,
		activated: r.activated,
		installed: r.installed,
		expires:   r.expires,
	}
	r.older, r.newest = visit.card, len(y.instances)
	visit.card, visit.stamps, visit.over = r.newest, n-room, y.rows
	y.instances = append(y.instances, child) // r and c are invalid from here on
	y.write(visit)
}

// redeem redeems a prize. Only the lower one leaves the card in its cycle, so that the
// redemption can be reversed.
func (y *year) redeem(visit row, prize int) {
	visit.what, visit.prize, visit.reversible = "redemption", prize, prize == 1
	y.write(visit)
}

// write adds a row to the ledger and saves the row before it.
func (y *year) write(r row) {
	if y.rows > 0 {
		y.save(&y.last)
	}
	y.rows++
	c := &y.instances[r.card]
	r.id, r.cycle, r.before = y.rows, c.cycle, *c
	c.stamps += r.stamps
	c.value += r.value
	c.updated = r.at
	if c.first == 0 {
		c.first = r.location
	}
	if r.what == "stamp" {
		c.lastStamp = r.at
	}
	if r.what == "redemption" && r.prize == 1 {
		c.claimed = true
	}
	y.last = r
}

// reverse reverses the newest row.
func (y *year) reverse(now int64) {
	y.last.reversed = now
	h := y.last
	y.write(
		row{
			card:     h.card,
			location: h.location,
			what:     "reversal",
			stamps:   -h.stamps,
			value:    -h.value,
			prize:    h.prize,
			reverses: h.id,
			at:       now,
		},
	)
	c := &y.instances[h.card]
	c.lastStamp, c.claimed = h.before.lastStamp, h.before.claimed
}

// issue issues a card, one in three at a counter, where it is active at once. Nearly
// all cards collect stamps.
func (y *year) issue(now int64) {
	c := card{home: 1 + y.rng.IntN(y.locations), created: now, updated: now, newest: len(y.instances)}
	switch x := y.rng.IntN(1000); {
	case x < 970:
		c.kind = "standard"
	case x < 985:
		c.kind = "discount"
	case x < 995:
		c.kind = "access"
	default:
		c.kind = "prepaid"
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
