package store

import "iter"

// The queries below compute the sums from the ledger, for "punchcard check" and for its
// --rebuild.

// countedRow is the condition on a row of transactions under which it is
// counted.
const countedRow = "reversed_at IS NULL AND type NOT IN " + unpresented

// openCycle is the condition on a card k that its cycle was not completed.
const openCycle = "NOT EXISTS (SELECT 1 FROM cycles WHERE card_id=k.id AND cycle=k.cycle)"

// firstAccepted gives the location of the first accepted presentation of a row of
// cards, or of the cards that it overflowed into.
const firstAccepted = `(SELECT location_id FROM transactions WHERE id=(SELECT min((SELECT id FROM transactions WHERE card_id=k.id
	AND type NOT IN ` + unpresented + ` ORDER BY id LIMIT 1)) FROM cards k WHERE k.id=cards.id OR k.root_id=cards.id))`

// presentedElsewhere is the condition on a row of cards that its first_location_id
// is not the one of its ledger. Cards of a counter have the location of their issue,
// and overflow children, which count at no location, that of the stamp.
const presentedElsewhere = "root_id IS NULL AND source<>'counter' AND first_location_id IS NOT " + firstAccepted

// programSums gives one row for each program, in the order of program_counts.
var programSums = `SELECT p.id AS program_id, ifnull(c.active, 0) AS active, ifnull(c.apple, 0) AS apple, ifnull(c.google, 0) AS google,
	ifnull(c.balance, 0) AS balance,
	ifnull(t.stamps, 0) AS stamps, ifnull(t.redemptions, 0) AS redemptions, ifnull(y.completed, 0)+ifnull(d.finished, 0) AS completed,
	ifnull(c.open_cards, 0)-ifnull(d.finished, 0) AS open_cards,
	ifnull(g.span_ms, 0) AS span_ms, ifnull(g.gaps, 0) AS gaps, ifnull(t.uses, 0) AS uses, ifnull(t.entries, 0) AS entries,
	ifnull(t.topped_up, 0) AS topped_up, ifnull(t.spent, 0) AS spent
	FROM programs p
	LEFT JOIN (SELECT program_id, sum(` + activeCard + `) AS active, count(DISTINCT iif(platform='apple' AND ` + installedCard + `,
		ifnull(root_id, id), NULL)) AS apple,
		count(DISTINCT iif(platform='google' AND ` + installedCard + `, ifnull(root_id, id), NULL)) AS google,
			sum(iif(archived_at IS NULL, ifnull(current_value, 0), 0)) AS balance,
		sum(stamps_count>0 AND ` + openCycle + `) AS open_cards FROM cards k GROUP BY program_id) c ON c.program_id=p.id
	LEFT JOIN (SELECT k.program_id, count(*) AS finished FROM (SELECT id, total_stamps, (SELECT max(threshold) FROM prizes
	WHERE program_id=programs.id) AS top FROM programs) e
		JOIN cards k ON k.program_id=e.id WHERE ` + openCycle + ` AND ` + isFinished("e.total_stamps", "e.top") + `
		GROUP BY k.program_id) d ON d.program_id=p.id
	LEFT JOIN (SELECT program_id, sum(iif(type='stamp', stamps_delta, 0)) AS stamps, sum(type='redemption') AS redemptions,
	sum(type='discount') AS uses, sum(type='access') AS entries,
		sum(iif(type='topup', value_delta, 0)) AS topped_up, sum(iif(type='spend', -value_delta, 0)) AS spent FROM transactions WHERE ` +
	countedRow + ` GROUP BY program_id) t ON t.program_id=p.id
	LEFT JOIN (SELECT k.program_id, count(*) AS completed FROM cycles y JOIN cards k ON k.id=y.card_id
	GROUP BY k.program_id) y ON y.program_id=p.id
	LEFT JOIN (SELECT program_id, sum(last-first) AS span_ms, sum(n-1) AS gaps
	FROM (SELECT program_id, min(created_at) AS first, max(created_at) AS last, count(*) AS n
		FROM transactions WHERE type='stamp' AND reversed_at IS NULL GROUP BY card_id) GROUP BY program_id) g ON g.program_id=p.id`

// locationSums gives the rows of place_counts.
const locationSums = `SELECT program_id, location_id, sum(cards) AS cards, sum(stamps) AS stamps FROM (
	SELECT program_id, first_location_id AS location_id, 1 AS cards, 0 AS stamps FROM cards WHERE root_id IS NULL
	AND first_location_id IS NOT NULL
	UNION ALL SELECT program_id, location_id, 0, stamps_delta FROM transactions WHERE type='stamp' AND reversed_at IS NULL)
	GROUP BY program_id, location_id`

// quarterSums gives the rows of quarter_counts.
const quarterSums = `SELECT program_id, quarter, location_id, sum(activity) AS activity, sum(stamps) AS stamps, sum(cards) AS cards,
	sum(redemptions) AS redemptions, sum(topped_up) AS topped_up, sum(spent) AS spent FROM (
	SELECT program_id, ifnull(occurred_at, created_at)/900000 AS quarter, location_id, 1 AS activity, iif(type='stamp', stamps_delta,
	0) AS stamps, 0 AS cards,
		type='redemption' AS redemptions, iif(type='topup', value_delta, 0) AS topped_up, iif(type='spend', -value_delta, 0) AS spent
		FROM transactions WHERE ` + countedRow + `
	UNION ALL SELECT program_id, created_at/900000, 0, 0, 0, 1, 0, 0, 0 FROM cards WHERE root_id IS NULL)
	GROUP BY program_id, quarter, location_id`

// RecountStats computes all sums of the statistics again from the ledger, and the days on
// which cards were last seen. Other writes wait meanwhile. The audit log has a row for each open shop.
func (tx *Tx) RecountStats() error {
	tx.counts, tx.recounted = counts{}, true
	for _, shop := range tx.keys("SELECT id FROM shops WHERE closed IS NULL ORDER BY id") {
		tx.audit(shop, "statistics.rebuild", KindShop, shop)
	}
	defer tx.s.opts.Progress.End()
	m := newMeter(tx.conn, tx.s.opts.Progress)
	statements := []string{
		"DELETE FROM program_counts", "DELETE FROM place_counts", "DELETE FROM quarter_counts", "DELETE FROM day_counts", `DELETE
			FROM hour_counts`,
		"UPDATE cards SET first_location_id=" + firstAccepted + " WHERE " + presentedElsewhere,
		"INSERT INTO program_counts " + programSums, "INSERT INTO place_counts " + locationSums, "INSERT INTO quarter_counts " +
			quarterSums,
		`UPDATE cards SET last_stamp_at=(SELECT max(created_at) FROM transactions WHERE card_id=cards.id AND type='stamp'
			AND reversed_at IS NULL)`,
	}
	m.begin("counting the statistics", m.scanned(statements...))
	for _, sql := range statements {
		counted := m.watch(sql, m.scanned(sql))
		tx.exec(sql)
		counted()
	}
	m.begin("counting the statistics by day", m.number("sum(1) FROM quarter_counts"))
	tx.recountLocal(m, "")
	tx.fillLastSeen(m, "")
	return tx.failed
}

// recountLocal computes the sums by day and hour again from those by quarter
// hour, of the programs p that the clause where selects.
func (q *queries) recountLocal(m *meter, where string, args ...any) {
	for _, table := range []string{"day_counts", "hour_counts"} {
		q.exec("DELETE FROM "+table+" WHERE program_id IN (SELECT p.id FROM programs p"+where+")", args...)
	}
	for _, p := range q.programZones(where, args...) {
		var l localSums
		for b, h := range q.quarters(p.key) {
			m.add(1)
			if l.add(b, h, p.zone); len(l.days) >= 20_000 { // bounds the memory
				q.writeLocalSums(&l)
			}
		}
		q.writeLocalSums(&l)
	}
}

// quarters returns a program's sums by quarter hour.
func (q *queries) quarters(program int64) iter.Seq2[bucket, PeriodSums] {
	return func(yield func(bucket, PeriodSums) bool) {
		for r := range q.each(`SELECT quarter, location_id, activity, stamps, cards, redemptions, topped_up, spent FROM quarter_counts
			WHERE program_id=? ORDER BY quarter`, program) {
			b := bucket{program: program, quarter: r.int(), location: r.int()}
			if !yield(b, r.periodSums()) {
				return
			}
		}
	}
}

// programZone is a program with the time zone of its shop.
type programZone struct {
	key  int64
	zone string
}

// programZones returns the programs p that the clause where selects.
func (q *queries) programZones(where string, args ...any) []programZone {
	return collect(q, func(r *rows) programZone { return programZone{r.int(), r.str()} },
		"SELECT p.id, s.timezone FROM programs p JOIN shops s ON s.id=p.shop_id AND "+notDeleted+where+" ORDER BY p.id", args...)
}

// checkLocalSums returns a finding for each program whose sums by day and hour
// differ from those by quarter hour in the shop's time zone.
func (v *View) checkLocalSums(m *meter) (findings []string, err error) {
	for _, p := range v.programZones("") {
		var l localSums
		for b, h := range v.quarters(p.key) {
			m.add(1)
			l.add(b, h, p.zone)
		}
		for r := range v.each(`SELECT day, location_id, -activity, -stamps, -cards, -redemptions, -topped_up, -spent FROM day_counts
			WHERE program_id=?`, p.key) {
			sumOf(&l.days, localDay{p.key, r.int(), r.int()}).add(r.periodSums())
		}
		for r := range v.each("SELECT weekday, hour, stamps FROM hour_counts WHERE program_id=?", p.key) {
			*sumOf(&l.hours, localHour{p.key, r.int(), r.int()}) -= r.int()
		}
		if !l.zero() {
			findings = append(findings, "statistics that differ from the ledger: days and hours of program: "+v.ID(KindProgram, p.key))
		}
	}
	return findings, v.failed
}
