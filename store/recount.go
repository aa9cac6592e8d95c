package store

import "fmt"

// The sums as the ledger gives them, for a file from before there were any, for
// "punchcard check" and for its --rebuild. counted is what a row of the ledger
// must be to be counted.
const counted = "reversed_at IS NULL AND type NOT IN ('reversal', 'expiry')"

const activeCard = "activated_at IS NOT NULL AND locked_at IS NULL AND archived_at IS NULL AND deleted_at IS NULL AND lapsed=0"

// programSums gives one row for each program, in the order of program_counts.
const programSums = `SELECT p.id AS program_id, ifnull(c.active, 0) AS active, ifnull(c.apple, 0) AS apple, ifnull(c.google, 0) AS google, ifnull(c.balance, 0) AS balance,
	ifnull(t.stamps, 0) AS stamps, ifnull(t.redemptions, 0) AS redemptions, ifnull(y.completed, 0) AS completed, ifnull(c.open_cards, 0) AS open_cards,
	ifnull(g.span_ms, 0) AS span_ms, ifnull(g.gaps, 0) AS gaps, ifnull(t.uses, 0) AS uses, ifnull(t.entries, 0) AS entries, ifnull(t.topped_up, 0) AS topped_up, ifnull(t.spent, 0) AS spent
	FROM programs p
	LEFT JOIN (SELECT program_id, sum(` + activeCard + `) AS active, sum(root_id IS NULL AND installed_at IS NOT NULL AND platform='apple') AS apple,
		sum(root_id IS NULL AND installed_at IS NOT NULL AND platform='google') AS google, sum(iif(archived_at IS NULL, ifnull(current_value, 0), 0)) AS balance,
		sum(stamps_count>0 AND NOT EXISTS (SELECT 1 FROM cycles WHERE card_id=k.id AND cycle=k.cycle)) AS open_cards FROM cards k GROUP BY program_id) c ON c.program_id=p.id
	LEFT JOIN (SELECT program_id, sum(iif(type='stamp', stamps_delta, 0)) AS stamps, sum(type='redemption') AS redemptions, sum(type='discount') AS uses, sum(type='access') AS entries,
		sum(iif(type='topup', value_delta, 0)) AS topped_up, sum(iif(type='spend', -value_delta, 0)) AS spent FROM transactions WHERE ` + counted + ` GROUP BY program_id) t ON t.program_id=p.id
	LEFT JOIN (SELECT k.program_id, count(*) AS completed FROM cycles y JOIN cards k ON k.id=y.card_id GROUP BY k.program_id) y ON y.program_id=p.id
	LEFT JOIN (SELECT program_id, sum(last-first) AS span_ms, sum(n-1) AS gaps FROM (SELECT program_id, min(created_at) AS first, max(created_at) AS last, count(*) AS n
		FROM transactions WHERE type='stamp' AND reversed_at IS NULL GROUP BY card_id) GROUP BY program_id) g ON g.program_id=p.id`

const placeSums = `SELECT program_id, location_id, sum(cards) AS cards, sum(stamps) AS stamps FROM (
	SELECT program_id, first_location_id AS location_id, 1 AS cards, 0 AS stamps FROM cards WHERE root_id IS NULL AND first_location_id IS NOT NULL
	UNION ALL SELECT program_id, location_id, 0, stamps_delta FROM transactions WHERE type='stamp' AND reversed_at IS NULL) GROUP BY program_id, location_id`

const quarterSums = `SELECT program_id, quarter, location_id, sum(activity) AS activity, sum(stamps) AS stamps, sum(cards) AS cards FROM (
	SELECT program_id, created_at/900000 AS quarter, location_id, 1 AS activity, iif(type='stamp', stamps_delta, 0) AS stamps, 0 AS cards FROM transactions WHERE ` + counted + `
	UNION ALL SELECT program_id, created_at/900000, 0, 0, 0, 1 FROM cards WHERE root_id IS NULL) GROUP BY program_id, quarter, location_id`

// fillCounts makes all sums anew, on the writing connection and inside its
// transaction.
func (s *Store) fillCounts() error {
	for _, sql := range []string{
		"DELETE FROM program_counts", "DELETE FROM place_counts", "DELETE FROM quarter_counts", "DELETE FROM day_counts", "DELETE FROM hour_counts",
		"INSERT INTO program_counts " + programSums, "INSERT INTO place_counts " + placeSums, "INSERT INTO quarter_counts " + quarterSums,
		"UPDATE cards SET last_stamp_at=(SELECT max(created_at) FROM transactions WHERE card_id=cards.id AND type='stamp' AND reversed_at IS NULL) WHERE last_stamp_at IS NOT NULL OR stamps_count>0",
	} {
		if _, err := s.writer.exec(sql); err != nil {
			return err
		}
	}
	return s.fillLocal("")
}

// fillLocal makes the days and hours of shops anew from the quarter hours;
// where selects programs p.
func (s *Store) fillLocal(where string, args ...any) error {
	for _, table := range []string{"day_counts", "hour_counts"} {
		if _, err := s.writer.exec("DELETE FROM "+table+" WHERE program_id IN (SELECT p.id FROM programs p"+where+")", args...); err != nil {
			return err
		}
	}
	const most = 20000 // buckets in memory at once
	buckets := map[bucket]happened{}
	flush := func() error {
		err := s.writeLocal(buckets)
		clear(buckets)
		return err
	}
	programs, err := s.writer.keys("SELECT p.id FROM programs p"+where+" ORDER BY p.id", args...)
	if err != nil {
		return err
	}
	for _, program := range programs {
		shop, err := s.writer.number("SELECT shop_id FROM programs WHERE id=?", program)
		if err != nil {
			return err
		}
		from, more := int64(-1<<62), true
		for more {
			n, last := 0, from
			r := s.writer.query("SELECT "+packed("quarter", "location_id", "activity", "stamps", "cards")+
				" FROM quarter_counts WHERE program_id=? AND quarter>? ORDER BY quarter LIMIT ?", program, from, most)
			var rows []struct {
				b bucket
				h happened
			}
			for r.next() {
				b := bucket{shop: shop, program: program, quarter: r.int(), location: r.int()}
				rows = append(rows, struct {
					b bucket
					h happened
				}{b, happened{r.int(), r.int(), r.int()}})
				last = b.quarter
				n++
			}
			if err := r.close(); err != nil {
				return err
			}
			// The last quarter may go on behind the limit: it waits for the next turn.
			if more = n == most; more {
				for n > 0 && rows[n-1].b.quarter == last {
					n--
				}
				if n == 0 { // one quarter hour of very many places
					return fmt.Errorf("more than %d places in a quarter of an hour", most)
				}
			}
			for _, row := range rows[:n] {
				buckets[row.b] = row.h
			}
			if n > 0 {
				from = rows[n-1].b.quarter
			}
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Recount makes all sums that statistics read anew from the ledger. It holds
// up every other write meanwhile.
func (tx *Tx) Recount() error { return tx.s.fillCounts() }
