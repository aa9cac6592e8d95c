package store

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"punchcard/store/sqlite"
)

// quarterHour is the unit that every time zone's days are made of.
const quarterHour = 15 * 60 * 1000 // ms

// noPlace stands for the location of what happened nowhere.
const noLocation = 0

// bucket is where something is counted by time and place.
type bucket struct {
	shop, program, quarter, location int64
}

// happened is what is counted there.
type activity struct{ activity, stamps, cards int64 }

func (h *activity) add(o activity) {
	h.activity, h.stamps, h.cards = h.activity+o.activity, h.stamps+o.stamps, h.cards+o.cards
}

// totals are a program's sums for all time, as far as the ledger and new cards
// change them; program_counts says what they are.
type totals struct {
	active, balance, stamps, redemptions, completed, open, span, gaps, uses, entries, toppedUp, spent int64
}

func (t *totals) add(o totals) {
	t.active, t.balance, t.stamps, t.redemptions = t.active+o.active, t.balance+o.balance, t.stamps+o.stamps, t.redemptions+o.redemptions
	t.completed, t.open, t.span, t.gaps = t.completed+o.completed, t.open+o.open, t.span+o.span, t.gaps+o.gaps
	t.uses, t.entries, t.toppedUp, t.spent = t.uses+o.uses, t.entries+o.entries, t.toppedUp+o.toppedUp, t.spent+o.spent
}

// place is a location as one program has it.
type programLocation struct{ program, location int64 }

// tallies are what is to be added, and to what, in the order it came. A list is
// enough for one write, which counts one or two things; an import counts
// many of one kind, which are one entry.
type tallies[K comparable, V any] []tally[K, V]

type tally[K comparable, V any] struct {
	key K
	sum V
}

// at is what is to be added to k.
func (s *tallies[K, V]) entry(k K) *V {
	if n := len(*s); n == 0 || (*s)[n-1].key != k {
		*s = append(*s, tally[K, V]{key: k})
	}
	return &(*s)[len(*s)-1].sum
}

// counts are what a write changes in the sums that statistics read.
type counts struct {
	buckets   tallies[bucket, activity]
	locations tallies[programLocation, activity]
	totals    tallies[int64, totals] // by program
}

func (c *counts) addBucket(b bucket, h activity) { c.buckets.entry(b).add(h) }
func (c *counts) addLocation(p, location int64, h activity) {
	c.locations.entry(programLocation{p, location}).add(h)
}
func (c *counts) addTotals(program int64, t totals) { c.totals.entry(program).add(t) }

// countRow counts a row of the ledger, or with sign -1 takes one that was
// reversed out again. Reversals and expiries themselves are no activity.
func (tx *Tx) countRow(shop, program, location int64, at Time, kind string, stamps, value, sign int64) {
	h, t := activity{activity: sign}, totals{}
	switch kind {
	case TransactionReversal, TransactionExpiry:
		return
	case TransactionStamp:
		h.stamps, t.stamps = sign*stamps, sign*stamps
		tx.counts.addLocation(program, location, activity{stamps: sign * stamps})
	case TransactionRedemption:
		t.redemptions = sign
	case TransactionDiscount:
		t.uses = sign
	case TransactionAccess:
		t.entries = sign
	case TransactionTopUp:
		t.toppedUp = sign * value
	case TransactionSpend:
		t.spent = -sign * value
	}
	tx.counts.addBucket(bucket{shop, program, int64(at) / quarterHour, location}, h)
	tx.counts.addTotals(program, t)
}

// countCard counts a new card that is not an overflow of another.
func (tx *Tx) countCard(shop, program int64) {
	tx.counts.addBucket(bucket{shop, program, int64(tx.Now) / quarterHour, noLocation}, activity{cards: 1})
}

// countPlace counts a card at the location of its counter issue or first
// presentation.
func (tx *Tx) countLocation(program, location int64) {
	tx.counts.addLocation(program, location, activity{cards: 1})
}

// gathered are the counts of a whole group.
type groupCounts struct {
	buckets   map[bucket]activity
	locations map[programLocation]activity
	totals    map[int64]totals
}

func sumGroup(group []*job) groupCounts {
	all := groupCounts{map[bucket]activity{}, map[programLocation]activity{}, map[int64]totals{}}
	for _, j := range group {
		if j.recounted { // it saw what the members before it wrote
			all = sumGroup(nil)
		}
		addTallies(all.buckets, j.counts.buckets)
		addTallies(all.locations, j.counts.locations)
		addTallies(all.totals, j.counts.totals)
		j.counts = counts{}
	}
	return all
}

// pool adds the tallies of a write to those of its group.
func addTallies[K comparable, V any, P interface {
	*V
	add(V)
}](all map[K]V, of tallies[K, V]) {
	for _, e := range of {
		v := all[e.key]
		P(&v).add(e.sum)
		all[e.key] = v
	}
}

var (
	locationsInsert = sqlite.InsertOfRows("INSERT INTO place_counts (program_id, location_id, cards, stamps) VALUES ", "(?,?,?,?)",
		" ON CONFLICT DO UPDATE SET cards=cards+excluded.cards, stamps=stamps+excluded.stamps")
	quartersInsert = sqlite.InsertOfRows("INSERT INTO quarter_counts (program_id, quarter, location_id, activity, stamps, cards) VALUES ", "(?,?,?,?,?,?)",
		" ON CONFLICT DO UPDATE SET activity=activity+excluded.activity, stamps=stamps+excluded.stamps, cards=cards+excluded.cards")
	daysInsert = sqlite.InsertOfRows("INSERT INTO day_counts (program_id, day, location_id, activity, stamps, cards) VALUES ", "(?,?,?,?,?,?)",
		" ON CONFLICT DO UPDATE SET activity=activity+excluded.activity, stamps=stamps+excluded.stamps, cards=cards+excluded.cards")
	hoursInsert = sqlite.InsertOfRows("INSERT INTO hour_counts (program_id, weekday, hour, stamps) VALUES ", "(?,?,?,?)",
		" ON CONFLICT DO UPDATE SET stamps=stamps+excluded.stamps")
)

// writeCounts adds up what a whole group counted and writes each sum once,
// before the group's commit: sixty-four stamps at one till change the same few
// rows.
func (s *Store) writeCounts(group []*job) error {
	all := sumGroup(group)
	for program, t := range all.totals {
		if _, err := s.writer.exec(`UPDATE program_counts SET active=active+?2, balance=balance+?3, stamps=stamps+?4, redemptions=redemptions+?5, completed=completed+?6,
			open_cards=open_cards+?7, span_ms=span_ms+?8, gaps=gaps+?9, uses=uses+?10, entries=entries+?11, topped_up=topped_up+?12, spent=spent+?13 WHERE program_id=?1`,
			program, t.active, t.balance, t.stamps, t.redemptions, t.completed, t.open, t.span, t.gaps, t.uses, t.entries, t.toppedUp, t.spent); err != nil {
			return err
		}
	}
	var args []any
	for p, h := range all.locations {
		args = append(args, p.program, p.location, h.cards, h.stamps)
	}
	if err := s.writer.db().InsertRows(locationsInsert, args); err != nil {
		return err
	}
	args = args[:0]
	for b, h := range all.buckets {
		args = append(args, b.program, b.quarter, b.location, h.activity, h.stamps, h.cards)
	}
	if err := s.writer.db().InsertRows(quartersInsert, args); err != nil {
		return err
	}
	tx := Tx{conn: s.writer, s: s}
	return s.addLocalSums(all.buckets, func(b bucket) (string, error) {
		sh, err := tx.cachedShop(b.shop)
		return sh.Timezone, err
	})
}

type (
	localDay  struct{ program, day, location int64 }
	localHour struct{ program, weekday, hour int64 }
)

// local are sums by the days and hours of shops' own calendars.
type localSums struct {
	days  map[localDay]activity
	hours map[localHour]int64
}

func newLocalSums() localSums { return localSums{map[localDay]activity{}, map[localHour]int64{}} }

func (l localSums) addDay(d localDay, h activity) {
	sum := l.days[d]
	sum.add(h)
	l.days[d] = sum
}

// add puts a bucket where it belongs in a zone.
func (l localSums) add(b bucket, h activity, zone string) {
	at := time.UnixMilli(b.quarter * quarterHour).In(Zone(zone))
	l.addDay(localDay{b.program, Day(at), b.location}, h)
	if h.stamps != 0 {
		l.hours[localHour{b.program, int64(at.Weekday()), int64(at.Hour())}] += h.stamps
	}
}

// zero tells that all sums are nothing.
func (l localSums) zero() bool {
	for _, h := range l.days {
		if h != (activity{}) {
			return false
		}
	}
	for _, n := range l.hours {
		if n != 0 {
			return false
		}
	}
	return true
}

// writeLocal adds buckets to the days and hours of their shops, whose zones
// zone tells.
func (s *Store) addLocalSums(buckets map[bucket]activity, zone func(bucket) (string, error)) error {
	l := newLocalSums()
	for b, h := range buckets {
		z, err := zone(b)
		if err != nil {
			return err
		}
		l.add(b, h, z)
	}
	var args []any
	// In the order of the keys: a rebuild writes many.
	for _, d := range slices.SortedFunc(maps.Keys(l.days), func(a, b localDay) int {
		return cmp.Or(cmp.Compare(a.program, b.program), cmp.Compare(a.day, b.day), cmp.Compare(a.location, b.location))
	}) {
		h := l.days[d]
		args = append(args, d.program, d.day, d.location, h.activity, h.stamps, h.cards)
	}
	if err := s.writer.db().InsertRows(daysInsert, args); err != nil {
		return err
	}
	args = args[:0]
	for h, n := range l.hours {
		args = append(args, h.program, h.weekday, h.hour, n)
	}
	return s.writer.db().InsertRows(hoursInsert, args)
}
