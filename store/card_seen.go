package store

import "time"

// lastPresented is the time of the last presentation of a row of cards.
func lastPresented(card string) string {
	return "(SELECT created_at FROM transactions WHERE card_id=" +
		card + ".id AND type NOT IN " + unpresented + " ORDER BY id DESC LIMIT 1)"
}

// seenAt returns when a card was last presented, at, or the beginning of the day on which its chain was, if that is later.
func seenAt(at Null[Time], day int64, zone *time.Location) Null[Time] {
	if day == 0 || at.Valid && Day(at.V.Std().In(zone)) >= day {
		return at
	}
	return Some(TimeOf(time.Date(1970, 1, 1+int(day), 0, 0, 0, 0, zone)))
}

// seenChainsSQL gives, for each chain of a program, its root, the day that the root has, and
// the time at which one of its cards was last presented.
var seenChainsSQL = "SELECT r.id, r.last_seen_day, max(ifnull(" + lastPresented("r") + ", 0), ifnull((SELECT max(" + lastPresented(
	"i",
) + `) FROM cards i WHERE i.root_id=r.id), 0)) FROM cards r WHERE r.program_id=? AND r.root_id IS NULL
	AND r.deleted_at IS NULL`

// wrongDays returns the roots whose last_seen_day is not that of the ledger, with the right
// day. where selects the programs p.
func (q *queries) wrongDays(m *meter, where string, args ...any) map[int64]int64 {
	days := map[int64]int64{}
	for _, p := range q.programZones(where, args...) {
		for r := range q.each(seenChainsSQL, p.key) {
			m.add(1)
			root, have, at := r.int(), r.int(), r.time()
			if day := Day(at.Std().In(Zone(p.zone))); at != 0 && day != have {
				days[root] = day
			}
		}
	}
	return days
}

// fillLastSeen sets last_seen_day from the ledger, of the cards of the programs p that the
// clause where selects.
func (q *queries) fillLastSeen(m *meter, where string, args ...any) {
	m.begin("computing the days on which cards were seen", m.chains())
	days := q.wrongDays(m, where, args...)
	m.begin("writing the days on which cards were seen", int64(len(days)))
	for root, day := range days {
		m.add(1)
		q.exec("UPDATE cards SET last_seen_day=? WHERE id=?", day, root)
	}
}

// chains returns the number of chains that wrongDays reads, of all programs.
func (m *meter) chains() int64 {
	return m.number("sum(1) FROM cards WHERE root_id IS NULL AND deleted_at IS NULL")
}

// checkLastSeen returns a finding for each chain whose last_seen_day is not that of its
// ledger.
func (v *View) checkLastSeen(m *meter) (findings []string, err error) {
	for root := range v.wrongDays(m, "") {
		if len(findings) == 20 {
			break
		}
		findings = append(findings, "day on which it was last seen that is not the ledger's, of card: "+v.ID(KindCard, root))
	}
	return findings, v.failed
}
