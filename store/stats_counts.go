package store

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"punchcard/store/sqlite"
)

// quarterHour is a quarter of an hour in milliseconds. The days of every time
// zone consist of whole quarter hours.
const quarterHour = 15 * 60 * 1000

// noLocation is the location key of counts that belong to no location.
const noLocation = 0

// bucket is the key of a row of quarter_counts, and the shop.
type bucket struct {
	shop, program, quarter, location int64
}

// totals are the columns of program_counts that the ledger and new cards change.
// The trigger cards_counted changes the others.
type totals struct {
	active, balance, stamps, redemptions, completed, open, span, gaps, uses, entries, toppedUp, spent int64
}

func (t *totals) add(o totals) {
	t.active += o.active
	t.balance += o.balance
	t.stamps += o.stamps
	t.redemptions += o.redemptions
	t.completed += o.completed
	t.open += o.open
	t.span += o.span
	t.gaps += o.gaps
	t.uses += o.uses
	t.entries += o.entries
	t.toppedUp += o.toppedUp
	t.spent += o.spent
}

// programLocation is the key of a row of place_counts.
type programLocation struct{ program, location int64 }

// counts are the changes that a write, or a group of them, makes to the sums of the statistics.
type counts struct {
	buckets   map[bucket]*PeriodSums
	locations map[programLocation]*PeriodSums
	totals    map[int64]*totals // by program
}

func (c *counts) addBucket(b bucket, h PeriodSums)             { sumOf(&c.buckets, b).add(h) }
func (c *counts) addLocation(at programLocation, h PeriodSums) { sumOf(&c.locations, at).add(h) }
func (c *counts) addTotals(program int64, t totals)            { sumOf(&c.totals, program).add(t) }

// sumOf returns the sum of a key, which is new at first.
func sumOf[K comparable, V any](sums *map[K]*V, key K) *V {
	s := (*sums)[key]
	if s == nil {
		s = new(V)
		if *sums == nil {
			*sums = map[K]*V{}
		}
		(*sums)[key] = s
	}
	return s
}

// countRow adds a row of the ledger to the sums. With sign -1 it subtracts a row
// that was reversed. Rows of reversals, expiries and adjustments are not counted.
func (tx *Tx) countRow(shop, program, location int64, at Time, kind string, stamps, value, sign int64) {
	h, t := PeriodSums{Activity: sign}, totals{}
	switch kind {
	case TransactionReversal, TransactionExpiry, TransactionAdjustment:
		return
	case "stamp":
		h.Stamps, t.stamps = sign*stamps, sign*stamps
		tx.counts.addLocation(programLocation{program, location}, PeriodSums{Stamps: sign * stamps})
	case "redemption":
		h.Redemptions, t.redemptions = sign, sign
	case "discount":
		t.uses = sign
	case "access":
		t.entries = sign
	case "topup":
		h.ToppedUpCents, t.toppedUp = sign*value, sign*value
	case "spend":
		h.SpentCents, t.spent = -sign*value, -sign*value
	}
	tx.counts.addBucket(bucket{shop, program, int64(at) / quarterHour, location}, h)
	tx.counts.addTotals(program, t)
}

// countLocation counts a card at the location of its counter issue or first
// presentation.
func (tx *Tx) countLocation(program, location int64) {
	tx.counts.addLocation(programLocation{program, location}, PeriodSums{NewCards: 1})
}

// sumGroup adds up the counts of the jobs.
func sumGroup(group []*job) (all counts) {
	for _, j := range group {
		if j.recounted { // this includes what the jobs before it wrote
			all = counts{}
		}
		for b, h := range j.counts.buckets {
			all.addBucket(b, *h)
		}
		for at, h := range j.counts.locations {
			all.addLocation(at, *h)
		}
		for program, t := range j.counts.totals {
			all.addTotals(program, *t)
		}
	}
	return all
}

// addedUp adds a row of sums of activity to the one that is there.
const addedUp = ` ON CONFLICT DO UPDATE SET activity=activity+excluded.activity, stamps=stamps+excluded.stamps, cards=cards+excluded.cards,
	redemptions=redemptions+excluded.redemptions, topped_up=topped_up+excluded.topped_up, spent=spent+excluded.spent`

var (
	locationsInsert = sqlite.InsertOfRows("INSERT INTO place_counts (program_id, location_id, cards, stamps) VALUES ", "(?,?,?,?)",
		" ON CONFLICT DO UPDATE SET cards=cards+excluded.cards, stamps=stamps+excluded.stamps")
	quartersInsert = sqlite.InsertOfRows(
		"INSERT INTO quarter_counts (program_id, quarter, location_id, activity, stamps, cards, redemptions, topped_up, spent) VALUES ",
		"(?,?,?,?,?,?,?,?,?)", addedUp)
	daysInsert = sqlite.InsertOfRows(
		"INSERT INTO day_counts (program_id, day, location_id, activity, stamps, cards, redemptions, topped_up, spent) VALUES ",
		"(?,?,?,?,?,?,?,?,?)", addedUp)
	hoursInsert = sqlite.InsertOfRows("INSERT INTO hour_counts (program_id, weekday, hour, stamps) VALUES ", "(?,?,?,?)",
		" ON CONFLICT DO UPDATE SET stamps=stamps+excluded.stamps")
)

// writeCounts adds up the counts of a whole group and writes each sum once,
// before the group's commit: 64 stamps at one till change the same few rows.
func (tx *Tx) writeCounts(group []*job) {
	all := sumGroup(group)
	for program, t := range all.totals {
		tx.exec(`UPDATE program_counts SET active=active+?2, balance=balance+?3, stamps=stamps+?4, redemptions=redemptions+?5,
				completed=completed+?6,
			open_cards=open_cards+?7, span_ms=span_ms+?8, gaps=gaps+?9, uses=uses+?10, entries=entries+?11, topped_up=topped_up+?12,
			spent=spent+?13
			WHERE program_id=?1`, program, t.active, t.balance, t.stamps, t.redemptions, t.completed, t.open, t.span, t.gaps, t.uses,
			t.entries, t.toppedUp, t.spent)
	}
	var args []any
	for p, h := range all.locations {
		args = append(args, p.program, p.location, h.NewCards, h.Stamps)
	}
	tx.insertRows(locationsInsert, args)
	args = args[:0]
	var l localSums
	for b, h := range all.buckets {
		args = append(args, b.program, b.quarter, b.location, h.Activity, h.Stamps, h.NewCards, h.Redemptions, h.ToppedUpCents,
			h.SpentCents)
		l.add(b, *h, tx.cachedShop(b.shop).Timezone)
	}
	tx.insertRows(quartersInsert, args)
	tx.writeLocalSums(&l)
}

type (
	localDay  struct{ program, day, location int64 }
	localHour struct{ program, weekday, hour int64 }
)

// localSums are sums by the days and hours of the shops' time zones.
type localSums struct {
	days  map[localDay]*PeriodSums
	hours map[localHour]*int64
}

// add adds a bucket to its day and hour in a time zone.
func (l *localSums) add(b bucket, h PeriodSums, zone string) {
	at := time.UnixMilli(b.quarter * quarterHour).In(Zone(zone))
	sumOf(&l.days, localDay{b.program, Day(at), b.location}).add(h)
	if h.Stamps != 0 {
		*sumOf(&l.hours, localHour{b.program, int64(at.Weekday()), int64(at.Hour())}) += h.Stamps
	}
}

// zero reports whether all sums are 0.
func (l *localSums) zero() bool {
	zero := true
	for _, h := range l.days {
		zero = zero && *h == PeriodSums{}
	}
	for _, n := range l.hours {
		zero = zero && *n == 0
	}
	return zero
}

// writeLocalSums adds sums to the stored ones by day and hour, and empties l.
func (q *queries) writeLocalSums(l *localSums) {
	var args []any
	// Sorted by key, since a rebuild writes many rows.
	for _, d := range slices.SortedFunc(maps.Keys(l.days), func(a, b localDay) int {
		return cmp.Or(cmp.Compare(a.program, b.program), cmp.Compare(a.day, b.day), cmp.Compare(a.location, b.location))
	}) {
		h := l.days[d]
		args = append(args, d.program, d.day, d.location, h.Activity, h.Stamps, h.NewCards, h.Redemptions, h.ToppedUpCents, h.SpentCents)
	}
	q.insertRows(daysInsert, args)
	args = args[:0]
	for h, n := range l.hours {
		args = append(args, h.program, h.weekday, h.hour, *n)
	}
	q.insertRows(hoursInsert, args)
	*l = localSums{}
}
