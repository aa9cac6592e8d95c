package store

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"punchcard/store/sqlite"
)

var parameter = regexp.MustCompile(`\?(\d*)`)

// plan returns the steps of SQLite's query plan for a statement.
func plan(t *testing.T, c *sqlite.Conn, sql string) (steps []string) {
	t.Helper()
	var args []any
	for _, p := range parameter.FindAllStringSubmatch(sql, -1) {
		number, err := strconv.Atoi(p[1])
		if err != nil { // the parameter has no number: it follows the one before
			number = len(args) + 1
		}
		for len(args) < number {
			args = append(args, 1)
		}
	}
	r := c.Query("EXPLAIN QUERY PLAN "+sql, args...)
	for r.Next() {
		r.Int()
		r.Int()
		r.Int()
		steps = append(steps, r.Text())
	}
	if err := r.Close(); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return steps
}

// smallWalks has a reason for each statement that may scan a table, by a part of the statement.
// smallSorts has a reason for each sort that is allowed, by the step of the plan before it.
var (
	smallWalks = map[string]string{
		"SELECT id FROM shops ORDER BY id": "every shop once, for a rebuild",
		"SELECT id FROM shops WHERE closed IS": "every shop once, for a message about lost cards; two rows at most where " +
			"a command names no shop",
		"SELECT id FROM shops WHERE closed=?":          "every shop once, for housekeeping",
		"SELECT id FROM shops WHERE forget_after":      "the same",
		"SELECT count(*) FROM shops":                   "every shop once, for the state of the file",
		"SELECT ifnull(sum(live_cards), 0) FROM shops": "the same",
		"SELECT ifnull(sum(activity), 0) FROM day_counts": "a row for each day, program and location, for the state " +
			"of the file",
		"SELECT count(*) FROM devices WHERE accepts_card_ids":                "every device once, for the state of the file",
		"SELECT count(*) FROM webhooks WHERE active":                         "every webhook once, for the state of the file",
		"SELECT min(due_at) FROM (SELECT due_at FROM deliveries":             "an index of what waits alone, as far as the statement says",
		"FROM (SELECT id, created_at FROM idempotency ORDER BY id LIMIT":     "a bounded batch in key order",
		"SELECT created_at FROM audit ORDER BY id DESC LIMIT 1":              "one row, the last",
		"FROM deliveries WHERE outcome IS NULL AND due_at IS NOT NULL LIMIT": "an index of what waits alone, as far as the caller says",
		"FROM webhooks w CROSS JOIN deliveries d ON": "every webhook once, and what lies behind its mark, as " +
			"far as the caller says",
		"WHEN 0 THEN EXISTS (SELECT 1 FROM deliveries WHERE webhook_id=w":                 "every webhook once",
		"FROM mails WHERE shop_id NOT IN":                                                 "one row, the first but those of closed shops",
		"UPDATE mails SET due_at=? WHERE quota='shop'":                                    "the messages that wait for a quota, at a start",
		"FROM (SELECT id, sent_at FROM sent_mails ORDER BY id LIMIT":                      "a bounded batch in key order",
		"FROM import_notes n\n\t\tJOIN imports i ON i.id=n.import_id ORDER BY n.id LIMIT": "likewise",
		"WITH RECURSIVE q(id) AS (SELECT min(webhook_id)":                                 "its own result, a row for each webhook",
		"DELETE FROM links WHERE":                                                         "the open links, of which there are few",
		"FROM links l LEFT JOIN shops s ON s.id=l.shop_id WHERE l.kind":                   "the same",
		"pending FROM sessions ORDER BY created_at LIMIT":                                 "a bounded batch in the order of an index",
		"FROM users WHERE operator=1":                                                     "the persons, of whom there are few",
		"FROM users u ORDER BY u.id":                                                      "every person",
		"updated_at FROM shops WHERE closed IS NOT":                                       "every shop",
		"FROM shops s LEFT JOIN memberships":                                              "every shop, for an operator",
		"FROM link_mails ORDER BY due_at LIMIT 1":                                         "one row, the first",
		"FROM lost_mails WHERE shop_id NOT IN":                                            "one row, the first but those of closed shops",
		"UPDATE sessions SET shop_id=NULL":                                                "the sessions, when a shop is deleted",
		"DELETE FROM pairings WHERE shop_id":                                              "the open pairings, of which there are few",
		"UPDATE lost_mails SET due_at=? WHERE due_at>?":                                   "the requests that wait, at a start",
		"FROM (SELECT id, created_at FROM lost_mails ORDER BY id LIMIT":                   "a bounded batch in key order",
		"FROM sqlite_sequence":                                                            "a row for each table at most",
		"SELECT ?1, shop_id, program_id, ?2, id, 'overflow'": "looks for rows that waited for the new key, and none may " +
			"wait: never run",
	}
	smallSorts = map[string]string{
		"SEARCH program_locations USING PRIMARY KEY (program_id=?)":      "the scope of one program",
		"SEARCH cards USING INDEX cards_chain (root_id=?)":               "one chain",
		"SEARCH locations USING INDEX locations_shop (shop_id=?)":        "a shop's locations by name, for the cache",
		"SEARCH l USING INTEGER PRIMARY KEY (rowid=?)":                   "the locations of one program, by name",
		"SEARCH programs USING INDEX programs_shop (shop_id=?)":          "a year's days at most, of each of a shop's programs",
		"SEARCH programs USING COVERING INDEX programs_shop (shop_id=?)": "the same",
		"SEARCH programs USING INTEGER PRIMARY KEY (rowid=?)":            "the same of one program",
		"SEARCH s USING INTEGER PRIMARY KEY (rowid=?)":                   "the shops of a person",
		"SEARCH m USING PRIMARY KEY (staff_id=? AND location_id=?)":      "the staff of a shop, by location",
		"CREATE BLOOM FILTER": "the same, for the locations of a key",
	}
	// recounts are the beginnings of the statements that compute all sums again, from the whole ledger.
	recounts = []string{
		"DELETE FROM program_counts", "INSERT INTO program_counts SELECT p.id", "INSERT INTO place_counts SELECT",
		"INSERT INTO quarter_counts SELECT",
		"UPDATE cards SET first_location_id=(SELECT location_id FROM transactions",
		"UPDATE cards SET last_stamp_at=(SELECT max(created_at)",
		"SELECT p.id, s.timezone FROM programs p JOIN shops s ON s.id=p.shop_id AND closed IS NOT 'deleted' ORDER BY p.id",
	}
)

// wide matches the steps that may visit all rows of a shop, program or location, and wholeShops has
// parts of the statements that may have such a step.
var (
	wide = regexp.MustCompile(
		`INDEX (cards_shop|cards_program|transactions_shop|transactions_time|` +
			`transactions_program|transactions_location|audit_shop) \((shop|program|location)_id=\?\)|` +
			`INDEX cards_seen \(program_id=\?( AND last_seen_day=\?)?\)`,
	)
	// narrow matches conditions with an index of their own, and byShop steps that use that of the shop instead.
	narrow     = regexp.MustCompile(`WHERE [ct]\.(program|card|location)_id=\?`)
	byShop     = regexp.MustCompile(`INDEX (cards|transactions)_shop \(`)
	wholeShops = []string{ // deleting a program archives all its cards, a change of its ladder may complete them, an export reads all,
		// and what is outstanding is on all cards of prepaid programs
		"WHERE p.shop_id=?3 AND p.type='prepaid' AND c.deleted_at IS N",
		"FROM transactions t CROSS JOIN cards c ON c.id=t.card_id WHERE t.shop_id=?1 ORDER BY t.id",
		"FROM audit a WHERE a.shop_id=?1 ORDER BY a.id",
		"UPDATE cards SET archived_at=ifnull(archived_at, ?1), updated_at=?1, live=0 WHERE program_id=?2",
		"SELECT id FROM cards WHERE program_id=?",
		"UPDATE shops SET live_cards=live_cards-(SELECT count(*) FROM cards WHERE program_id=?", "SELECT ifnull(sum((k.stamps_count>=",
	}
)

// walked returns the steps of a plan that scan a table. A step "CO-ROUTINE c" allows one "SCAN c",
// of its own result. A recursive step reads the result of the step before.
func walked(steps []string) (found []string) {
	routines, latest := map[string]int{}, ""
	for _, step := range steps {
		if name, ok := strings.CutPrefix(step, "CO-ROUTINE "); ok {
			routines[name]++
			latest = name
		}
		if step == "RECURSIVE STEP" {
			routines[latest]++
		}
		name, ok := strings.CutPrefix(step, "SCAN ")
		switch {
		case !ok, strings.Contains(step, "VIRTUAL TABLE"), name == "CONSTANT ROW", name == "meta":
		case routines[name] > 0:
			routines[name]--
		default:
			found = append(found, step)
		}
	}
	return found
}

// TestStatementsFollowIndexes checks the query plan of every statement that the store prepares: it
// scans and sorts no table, except as listed above. Each index is used by a statement.
func TestStatementsFollowIndexes(t *testing.T) {
	statements := map[string]bool{}
	var started atomic.Pointer[fixture]
	collect := func(error) {
		if f := started.Load(); f != nil {
			for _, sql := range f.writer.Statements() { // the only connection
				statements[sql] = true
			}
		}
	}
	// After an erasure, connections keep no statement. Each group of writes is observed before that.
	f := start(t, Options{Readers: 1, QueueMail: true, Observe: func(int) func(error) { return collect }})
	started.Store(f)
	runOperations(f)
	runClosing(f)
	collect(nil) // all writes were answered, so the writer is idle
	c := <-f.readers
	if len(statements) < 100 {
		t.Errorf("only %d statements were prepared", len(statements))
	}
	used := map[string]bool{} // words of the plans
	for sql := range statements {
		if strings.HasPrefix(sql, "PRAGMA") ||
			slices.Contains(
				[]string{"BEGIN", "BEGIN IMMEDIATE", "COMMIT", "ROLLBACK", "SAVEPOINT job", "RELEASE job", "ROLLBACK TO job"},
				sql,
			) {
			continue
		}
		if slices.ContainsFunc(recounts, func(start string) bool { return strings.HasPrefix(sql, start) }) {
			continue
		}
		steps := plan(t, c, sql)
		for i, step := range steps {
			for _, word := range strings.Fields(step) {
				used[word] = true
			}
			if strings.Contains(step, "TEMP B-TREE") && (i == 0 || smallSorts[steps[i-1]] == "") {
				t.Errorf("sorts: %s\nplan %s", sql, strings.Join(steps, " | "))
			}
		}
		// Searching an index by the shop alone visits all rows of the shop.
		if m := wide.FindString(strings.Join(steps, " | ")); m != "" && !strings.Contains(sql, "LIMIT") &&
			!slices.ContainsFunc(wholeShops, func(part string) bool { return strings.Contains(sql, part) }) {
			t.Errorf("visits all rows of a shop or program, %q: %s\nplan %s", m, sql, strings.Join(steps, " | "))
		}
		if narrow.MatchString(sql) && byShop.MatchString(strings.Join(steps, " | ")) {
			t.Errorf("looks through the rows of a shop for those of a program, card or location: %s\nplan %s", sql, strings.Join(steps, " | "))
		}
		small := false
		for part := range smallWalks {
			small = small || strings.Contains(sql, part)
		}
		steps = slices.DeleteFunc(steps, func(step string) bool { return strings.HasSuffix(step, "-ROW VALUES CLAUSE") })
		if found := walked(steps); len(found) > 0 && !small {
			t.Errorf("scans a table, %q: %s\nplan %s", found, sql, strings.Join(steps, " | "))
		}
	}
	f.readers <- c
	for _, index := range strings.Fields(`
		cards_shop cards_program cards_ref cards_email cards_chain cards_due cards_forget transactions_shop transactions_time
		transactions_prize transactions_card transactions_program transactions_location idempotency_key idempotency_card events_card
		audit_shop programs_shop locations_shop keys_hash keys_shop webhooks_shop webhooks_program webhooks_deleted deliveries_due
		deliveries_special prizes_program transactions_overflow claims_transaction devices_hash devices_shop cards_lapse
		cards_installed_lapse cards_erased mails_due mails_ends mails_shop sent_mails_shop sent_mails_address sent_mails_card
		sent_mails_public enrolments_slug lost_mails_due lost_mails_email
	`) {
		if !used[index] {
			t.Errorf("no plan uses the index %s", index)
		}
	}
}
