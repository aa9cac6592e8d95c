package store

import (
	"context"
	"fmt"
	"strings"

	"punchcard/store/sqlite"
)

// Check verifies the whole file: its schema and id secret, as Open does, SQLite's own
// integrity, foreign keys, and the invariants that operations rely on. It returns one
// line for each finding.
func (s *Store) Check() (findings []string, err error) {
	defer s.opts.Progress.End()
	err = s.View(0, func(v *View) error {
		v.snapshot()
		if _, err := SchemaVersion(v.conn, s.path); err != nil {
			return err
		}
		m := newMeter(v.conn, s.opts.Progress)
		if findings, err = checkIntegrity(v.conn, m, Integrity); err != nil {
			return err
		}
		more, err := v.checkInvariants(m, Invariants)
		findings = append(findings, more...)
		return err
	})
	return findings, err
}

// CheckQuick does what Check does without foreign keys and invariants, for a file that may be
// of an older version and may be served meanwhile. It does not change the file. Its errors are
// one line for the operator.
func CheckQuick(ctx context.Context, path string, progress Progress) (findings []string, err error) {
	if path, err = CheckPath(path, true); err != nil {
		return nil, err
	}
	if restoring(path) {
		return nil, lockedError(path)
	}
	if _, err := Inspect(ctx, path); err != nil {
		return nil, err
	}
	c, err := openInspected(ctx, path)
	if err != nil {
		return nil, OpenError(path, err)
	}
	defer c.Close()
	defer progress.End()
	if err := c.Script("BEGIN"); err != nil {
		return nil, OpenError(path, err)
	}
	return CheckFile(c, path, Integrity, progress)
}

// Depth says how much of a file is checked.
type Depth int

const (
	Structure  Depth = iota // pages and rows, by SQLite's quick_check
	Integrity               // also that each index has the values of its table
	Invariants              // also what operations rely on, if the file has the schema of this version
	// FirstHalf and SecondHalf are the parts of Invariants that two connections check at once. They take about as
	// long: the first one has the integrity and a fourth of the invariants, the second one the others with the references.
	FirstHalf
	SecondHalf
)

// has reports whether the invariant with an index is checked.
func (d Depth) has(i int) bool { return d == Invariants || (i%4 == 2) == (d == FirstHalf) }

// CheckFile does the same as Check to a depth, for a database that nobody writes. Where the integrity check finds something,
// it does not check the invariants. It tells progress, unless that is nil, how far it is. Errors name the file as name.
func CheckFile(db *sqlite.Conn, name string, depth Depth, progress Progress) (findings []string, err error) {
	v, err := SchemaVersion(db, name)
	if err != nil {
		return nil, err
	}
	if v == 0 {
		return nil, fmt.Errorf("%s: is not a punchcard database, but an empty file", name)
	}
	m := newMeter(db, progress)
	if depth != SecondHalf {
		findings, err = checkIntegrity(db, m, depth)
	}
	if err == nil && len(findings) == 0 && depth >= Invariants && v == version() {
		findings, err = checkInvariants(db, m, depth)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, sqlite.Class(err))
	}
	return findings, nil
}

// checkInvariants does what the method of View does in a database that nobody writes.
func checkInvariants(db *sqlite.Conn, m *meter, depth Depth) ([]string, error) {
	ids, err := readIDs(db)
	if err != nil {
		return nil, err
	}
	v := &View{queries: (&Store{IDs: ids}).queries(db, 0), inSnapshot: true}
	return v.checkInvariants(m, depth)
}

// checkIntegrity returns the findings of SQLite's integrity check, or of its quick check for the structure alone.
func checkIntegrity(c *sqlite.Conn, m *meter, depth Depth) (findings []string, err error) {
	check := "PRAGMA integrity_check(20)"
	if depth == Structure {
		check = "PRAGMA quick_check(20)"
	}
	m.begin("counting the rows", 0)
	all := m.checked(depth)
	m.begin("checking the integrity", all)
	defer m.watch(check, all)()
	r := c.Query(check)
	for r.Next() {
		if found := r.Text(); found != "ok" {
			findings = append(findings, "integrity: "+found)
		}
	}
	return findings, r.Close()
}

// checkInvariants returns the rows that break an invariant which a depth has, at most 20 for each.
func (v *View) checkInvariants(m *meter, depth Depth) (findings []string, err error) {
	m.begin("checking the invariants", m.invariantRows(depth))
	deleted := v.number("SELECT count(*) FROM shops WHERE closed=?", shopDeleted) > 0
	for i, rule := range invariants {
		if !depth.has(i) {
			continue
		}
		counted := m.watch(rule.sql, m.scanned(rule.sql))
		n := 0
		for r := range v.each(rule.sql) {
			key := r.int()
			if deleted && v.ofDeletedShop(rule.kind, key) {
				continue
			}
			if n++; n > 20 {
				break
			}
			findings = append(findings, fmt.Sprintf("%s: %s", rule.finding, v.ID(rule.kind, key)))
		}
		counted()
	}
	if depth == FirstHalf {
		m.end()
		return findings, v.failed
	}
	for _, check := range []func(*meter) ([]string, error){v.checkLocalSums, v.checkCardWords, v.checkLastSeen} {
		more, err := check(m)
		v.fail(err)
		findings = append(findings, more...)
	}
	m.end()
	if n := v.checkReferences(m); n > 0 {
		findings = append(findings, fmt.Sprintf("%d rows point to rows that do not exist", n))
	}
	return findings, v.failed
}

// ofDeletedShop reports whether a row is of a shop that was deleted and is not erased yet, or of none.
func (v *View) ofDeletedShop(kind Kind, key int64) bool {
	shop := map[Kind]string{
		KindShop:        "?",
		KindProgram:     "SELECT shop_id FROM programs WHERE id=?",
		KindPrize:       "SELECT p.shop_id FROM prizes z JOIN programs p ON p.id=z.program_id WHERE z.id=?",
		KindCard:        "SELECT shop_id FROM cards WHERE id=?",
		KindTransaction: "SELECT shop_id FROM transactions WHERE id=?",
		KindWebhook:     "SELECT shop_id FROM webhooks WHERE id=?",
	}[kind]
	return v.number("SELECT count(*) FROM shops WHERE id=("+shop+") AND "+notDeleted, key) == 0
}

// invariantRows returns the number of rows that checkInvariants reads before the
// references.
func (m *meter) invariantRows(depth Depth) int64 {
	sum := m.scanned(namedCards) + m.rows("quarter_counts") + m.chains()
	for i, rule := range invariants {
		if depth.has(i) {
			sum += m.scanned(rule.sql)
		}
	}
	return sum
}

// checkReferences returns the number of rows that point to rows that do not exist.
func (v *View) checkReferences(m *meter) (n int64) {
	const check = "PRAGMA foreign_key_check"
	all := m.referring()
	m.begin("checking the references", all)
	defer m.watch(check, all)()
	for range v.each(check) {
		n++
	}
	return n
}

// invariant is a rule that rows of a kind must not break. sql selects those that do.
type invariant struct {
	finding string
	kind    Kind
	sql     string
}

// invariants are the queries that select the keys of the rows that break a rule.
var invariants = []invariant{
	{"live_cards is not the number of live chains of shop", KindShop,
		"SELECT id FROM shops s WHERE live_cards<>(SELECT count(*) FROM cards WHERE shop_id=s.id AND live=1)"},
	{"counted live though no instance of the chain is unarchived", KindCard,
		`SELECT id FROM cards c WHERE live=1 AND NOT EXISTS (SELECT 1 FROM cards i WHERE (i.id=c.id OR i.root_id=c.id)
			AND i.archived_at IS NULL)`},
	{"not counted live though neither archived nor expired", KindCard,
		"SELECT id FROM cards c WHERE live=0 AND root_id IS NULL AND archived_at IS NULL AND expires_at IS NULL"},
	{"card of another shop than its program", KindCard,
		"SELECT c.id FROM cards c JOIN programs p ON p.id=c.program_id WHERE p.shop_id<>c.shop_id"},
	{"erased card that still names a person", KindCard,
		stillPersonalSQL()},
	{"mail that waits to take a link to a card that has none", KindCard,
		`SELECT m.card_id FROM mails m JOIN cards c ON c.id=m.card_id WHERE c.root_id IS NOT NULL OR c.install_hash IS NULL
			OR c.install_expires_at IS NOT m.ends_at OR c.shop_id<>m.shop_id`},
	{"contact or code of an earlier card that is not on the first card of a chain of its shop", KindCard,
		`SELECT c.id FROM (SELECT card_id, shop_id FROM contacts UNION SELECT card_id, shop_id FROM foreign_codes) x
			JOIN cards c ON c.id=x.card_id WHERE c.root_id IS NOT NULL OR c.shop_id<>x.shop_id`},
	{"copies that do not agree with those of card", KindCard,
		"SELECT id FROM cards c WHERE copies<>" + strings.ReplaceAll(copiesSQL, "?1", "c.id AND shop_id=c.shop_id")},
	{"push to a copy that does not exist, of card", KindCard,
		"SELECT c.id FROM pushes p JOIN cards c ON c.id=p.card_id WHERE p.copy & c.copies=0 OR p.shop_id<>c.shop_id"},
	{"consent to a text that does not exist, of card", KindCard,
		`SELECT id FROM cards c WHERE (consent_version IS NULL)<>(consent_at IS NULL) OR consent_version IS NOT NULL
			AND NOT EXISTS (SELECT 1 FROM consents WHERE program_id=c.program_id AND version=c.consent_version)`},
	{"cards from the form that it did not count, of program", KindProgram,
		`SELECT e.program_id FROM enrolments e WHERE cards<(SELECT count(*) FROM cards WHERE program_id=e.program_id
			AND source='web_enrollment' AND client_reference LIKE 'join %')`},
	{"prize above the program's total_stamps", KindPrize,
		"SELECT z.id FROM prizes z JOIN programs p ON p.id=z.program_id WHERE p.total_stamps IS NULL OR z.threshold>p.total_stamps"},
	{"stamps, balance or time of the last stamp that are not the ledger's, of card", KindCard, // one pass, since it takes long
		`SELECT c.id FROM cards c LEFT JOIN transactions t ON t.card_id=c.id GROUP BY c.id HAVING archived_at IS NULL AND (
			stamps_count<>opening_stamps+ifnull(sum(stamps_delta), 0) OR current_value<>initial_value+ifnull(sum(value_delta), 0)
			OR stamps_count<>iif(c.cycle=0, opening_left, 0)+ifnull(sum(iif(t.cycle=c.cycle AND ` + heldRow + `, stamps_delta-taken, 0)), 0))
			OR last_stamp_at IS NOT max(iif(type='stamp' AND reversed_at IS NULL, t.created_at, NULL))`},
	{"more stamps left than it began with", KindCard,
		"SELECT id FROM cards WHERE opening_left NOT BETWEEN 0 AND opening_stamps"},
	{"stamps out of bounds", KindCard,
		`SELECT c.id FROM cards c JOIN programs p ON p.id=c.program_id WHERE c.stamps_count<0 OR p.total_stamps IS NULL
			AND c.stamps_count<>0`},
	{"balance below zero", KindCard, "SELECT id FROM cards WHERE current_value<0"},
	{"reversed row without a reversal, or with two", KindTransaction,
		"SELECT id FROM transactions t WHERE (reversed_at IS NOT NULL)<>(SELECT count(*) FROM transactions WHERE reverses_id=t.id)"},
	{"claim of a redemption that was reversed", KindTransaction,
		"SELECT t.id FROM claims cl JOIN transactions t ON t.id=cl.transaction_id WHERE t.reversed_at IS NOT NULL OR t.type<>'redemption'"},
	{"delivery of an event that does not exist, to webhook", KindWebhook,
		"SELECT DISTINCT webhook_id FROM deliveries d WHERE NOT EXISTS (SELECT 1 FROM events WHERE id=d.event_id)"},
	{"delivery to a webhook that does not exist", KindWebhook,
		"SELECT DISTINCT webhook_id FROM deliveries d WHERE NOT EXISTS (SELECT 1 FROM webhooks WHERE id=d.webhook_id)"},
	{"first attempt where nobody looks for it, behind the mark of webhook", KindWebhook,
		`SELECT id FROM webhooks w WHERE EXISTS (SELECT 1 FROM deliveries WHERE webhook_id=w.id AND event_id<=w.sent_through
			AND outcome IS NULL AND due_at IS NULL)`},
	{"events beyond event_sequence of shop", KindShop,
		`SELECT s.id FROM (SELECT shop_id, max(ifnull(sequence, id)) AS last FROM events GROUP BY shop_id) e
			JOIN shops s ON s.id=e.shop_id WHERE e.last>s.event_sequence`},
	{"statistics that differ from the ledger: totals of program", KindProgram,
		differing("program_id", programSums, "SELECT * FROM program_counts")},
	{"statistics that differ from the ledger: locations of program", KindProgram,
		differing("program_id", "SELECT * FROM ("+locationSums+") WHERE cards<>0 OR stamps<>0",
			"SELECT * FROM place_counts WHERE cards<>0 OR stamps<>0")},
	{"statistics that differ from the ledger: quarter hours of program", KindProgram,
		differing("program_id", "SELECT * FROM ("+quarterSums+") WHERE "+quarterHasAny,
			"SELECT * FROM quarter_counts WHERE "+quarterHasAny)},
	{"location of the first presentation that is not the ledger's, of card", KindCard,
		"SELECT id FROM cards WHERE " + presentedElsewhere},
	{"transaction older than the one before it", KindTransaction,
		"SELECT id FROM (SELECT id, created_at, lag(created_at) OVER (ORDER BY id) AS before FROM transactions) WHERE created_at<before"},
}

// quarterHasAny is the condition on sums of a quarter hour that one of them is not 0.
const quarterHasAny = "activity<>0 OR stamps<>0 OR cards<>0 OR redemptions<>0 OR topped_up<>0 OR spent<>0"

// differing returns a query for the keys of the rows that only one of two queries
// gives.
func differing(key, a, b string) string {
	return "WITH a AS MATERIALIZED (" + a + "), b AS MATERIALIZED (" + b + ") SELECT DISTINCT " + key +
		" FROM (SELECT * FROM (SELECT * FROM a EXCEPT SELECT * FROM b) UNION ALL SELECT * FROM (SELECT * FROM b EXCEPT SELECT * FROM a))"
}
