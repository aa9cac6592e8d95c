package store

import (
	"slices"
	"strings"
	"testing"

	"punchcard/store/sqlite"
)

// brokenRule is a rule of Check, and scripts that violate it in a file with a ledger.
type brokenRule struct {
	says   string // part of the finding
	kind   Kind   // the kind of the row that the finding must name, or 0
	breaks []string
}

// Statements of several scripts.
const (
	insertHook = `INSERT INTO webhooks (id, shop_id, program_id, url, events, program_ids, location_ids, include_shop_wide_events,
		active, description, secret, http_method,
	custom_headers, payload_version, created_at, updated_at) SELECT 1, shop_id, id, 'https://hooks.invalid/', '["*"]', '[]', '[]',
	1, 1, '', 'whsec_', 'POST', '{}', 'v2', 1, 1 FROM programs LIMIT 1`
	insertEvent    = "INSERT INTO events (id, shop_id, name, occurred_at) VALUES (7, 1, 'card.added', 1)"
	insertDelivery = "INSERT INTO deliveries (webhook_id, event_id) VALUES (1, 7)"
	insertMail     = `INSERT INTO mails (card_id, token, ends_at, due_at, created_at, shop_id)
		SELECT id, 'token', install_expires_at, 1, 1, shop_id FROM cards`
)

// brokenRules has all rules of Check.
var brokenRules = []brokenRule{
	{"live_cards is not the number of live chains of shop", KindShop, []string{"UPDATE shops SET live_cards=7"}},
	{"counted live though no instance of the chain is unarchived", KindCard, []string{"UPDATE cards SET archived_at=1"}},
	{"not counted live though neither archived nor expired", KindCard, []string{"UPDATE cards SET live=0; UPDATE shops SET live_cards=0"}},
	{"consent to a text that does not exist, of card", KindCard, []string{"UPDATE cards SET consent_version=1, consent_at=1"}},
	{"cards from the form that it did not count, of program", KindProgram, []string{
		`INSERT INTO enrolments (program_id, enabled, slug, name_field, email_field, consent, max_cards)
			SELECT program_id, 1, 'tea', 'off', 'off', 0, 9 FROM cards;
			UPDATE cards SET source='web_enrollment', client_reference='join 1 key'`,
	}},
	{"card of another shop than its program", KindCard, []string{"UPDATE programs SET shop_id=(SELECT max(id) FROM shops)"}},
	{"erased card that still names a person", KindCard, []string{
		"UPDATE cards SET deleted_at=1, holder_name='Ada', install_hash=NULL",
		"UPDATE cards SET deleted_at=1, external_ref='ada', install_hash=NULL",
		"UPDATE cards SET deleted_at=1, holder_email='a@example.com', install_hash=NULL",
		"UPDATE cards SET deleted_at=1, email_key='a@example.com', install_hash=NULL",
		"UPDATE cards SET deleted_at=1",
	}},
	{"mail that waits to take a link to a card that has none", KindCard, []string{
		insertMail + "; UPDATE cards SET install_hash=NULL",
		insertMail + "; UPDATE cards SET install_expires_at=NULL",
		insertMail + "; UPDATE mails SET ends_at=ends_at+1",
		insertMail + "; UPDATE cards SET root_id=id",
	}},
	{"contact or code of an earlier card that is not on the first card of a chain of its shop", KindCard, []string{
		"INSERT INTO contacts (card_id, shop_id, note) SELECT id, shop_id, 'x' FROM cards; UPDATE cards SET root_id=id",
		"INSERT INTO foreign_codes (card_id, shop_id, barcode) SELECT id, shop_id+1, 'x' FROM cards",
	}},
	{"copies that do not agree with those of card", KindCard, []string{"UPDATE cards SET copies=1"}},
	{"push to a copy that does not exist, of card", KindCard, []string{
		"INSERT INTO pushes (card_id, copy, shop_id, due_at) SELECT id, 1, shop_id, 0 FROM cards",
	}},
	{"prize above the program's total_stamps", KindPrize, []string{
		"UPDATE programs SET total_stamps=4",
		"UPDATE programs SET total_stamps=NULL",
	}},
	{"stamps, balance or time of the last stamp that are not the ledger's, of card", KindCard, []string{
		"UPDATE cards SET stamps_count=7",
		"UPDATE cards SET stamps_count=7, opening_left=5",
		"DELETE FROM transactions; UPDATE cards SET last_stamp_at=NULL",
		"UPDATE transactions SET stamps_delta=NULL",
		"UPDATE transactions SET taken=1",
		"UPDATE cards SET opening_stamps=1, stamps_count=stamps_count+1",
		"UPDATE cards SET initial_value=3, current_value=5",
		"UPDATE cards SET last_stamp_at=NULL",
		"UPDATE cards SET last_stamp_at=last_stamp_at-1",
	}},
	{"more stamps left than it began with", KindCard, []string{"UPDATE cards SET opening_left=1"}},
	{"stamps out of bounds", KindCard, []string{
		"UPDATE cards SET stamps_count=-1",
		"DELETE FROM prizes; UPDATE programs SET total_stamps=NULL, icon_key=NULL",
	}},
	{"balance below zero", KindCard, []string{"UPDATE cards SET current_value=-1"}},
	{"reversed row without a reversal, or with two", KindTransaction, []string{
		"UPDATE transactions SET reversed_at=1 WHERE id=(SELECT max(id) FROM transactions)",
		`UPDATE transactions SET type='reversal', reverses_id=(SELECT min(id) FROM transactions)
			WHERE id=(SELECT max(id) FROM transactions)`,
	}},
	{"claim of a redemption that was reversed", KindTransaction, []string{
		"INSERT INTO claims SELECT card_id, cycle, 5, (SELECT id FROM prizes), id FROM transactions LIMIT 1",
		`UPDATE transactions SET type='redemption', reversed_at=1;
			INSERT INTO claims SELECT card_id, cycle, 6, (SELECT id FROM prizes), id FROM transactions LIMIT 1`,
	}},
	{"transaction older than the one before it", KindTransaction, []string{
		"UPDATE transactions SET created_at=1 WHERE id=(SELECT max(id) FROM transactions)",
	}},
	{"delivery of an event that does not exist, to webhook", KindWebhook, []string{insertHook + ";" + insertDelivery}},
	{"delivery to a webhook that does not exist", KindWebhook, []string{insertEvent + ";" + insertDelivery}},
	{"first attempt where nobody looks for it, behind the mark of webhook", KindWebhook, []string{
		insertHook + ";" + insertEvent + ";" + insertDelivery + "; UPDATE webhooks SET sent_through=7",
	}},
	{"events beyond event_sequence of shop", KindShop, []string{
		"INSERT INTO events (shop_id, name, occurred_at, sequence) VALUES (1, 'card.added', 1, 7); UPDATE shops SET event_sequence=6",
		insertEvent + "; UPDATE shops SET event_sequence=6",
		`INSERT INTO events (shop_id, name, occurred_at, sequence) VALUES (1, 'card.added', 1, 7), (2, 'card.added', 1, 9);
			UPDATE shops SET event_sequence=iif(id=1, 6, 9)`,
	}},
	{"statistics that differ from the ledger: totals of program", KindProgram, []string{
		"DELETE FROM program_counts",
		"UPDATE program_counts SET active=active+1",
		"UPDATE program_counts SET apple=apple+1",
		"UPDATE program_counts SET google=google+1",
		"UPDATE program_counts SET balance=balance+1",
		"UPDATE program_counts SET stamps=stamps+1",
		"UPDATE program_counts SET redemptions=redemptions+1",
		"UPDATE program_counts SET completed=completed+1",
		"UPDATE program_counts SET open_cards=open_cards+1",
		"UPDATE program_counts SET span_ms=span_ms+1",
		"UPDATE program_counts SET gaps=gaps+1",
		"UPDATE program_counts SET uses=uses+1",
		"UPDATE program_counts SET entries=entries+1",
		"UPDATE program_counts SET topped_up=topped_up+1",
		"UPDATE program_counts SET spent=spent+1",
	}},
	{"statistics that differ from the ledger: locations of program", KindProgram, []string{
		"UPDATE place_counts SET stamps=stamps-1",
		"INSERT INTO place_counts SELECT program_id, 0, 1, 0 FROM place_counts",
	}},
	{"statistics that differ from the ledger: quarter hours of program", KindProgram, []string{
		"UPDATE quarter_counts SET quarter=quarter+1",
		"DELETE FROM quarter_counts WHERE location_id=0",
	}},
	{"location of the first presentation that is not the ledger's, of card", KindCard, []string{"UPDATE cards SET first_location_id=NULL"}},
	{"day on which it was last seen that is not the ledger's, of card", KindCard, []string{
		"UPDATE cards SET last_seen_day=last_seen_day+1",
	}},
	{"statistics that differ from the ledger: days and hours of program", KindProgram, []string{
		"UPDATE day_counts SET activity=activity+1 WHERE location_id>0",
		"UPDATE day_counts SET cards=0",
		"UPDATE day_counts SET stamps=stamps-1",
		"DELETE FROM hour_counts",
		"UPDATE hour_counts SET weekday=(weekday+1)%7",
	}},
	{"rows point to rows that do not exist", 0, []string{"DELETE FROM locations"}},
	{"integrity: ", 0, []string{"PRAGMA ignore_check_constraints=1; UPDATE shops SET mode='neither'"}},
}

// TestCheckFindings violates each rule of Check and compares the findings, which must name the row.
func TestCheckFindings(t *testing.T) {
	f := start(t)
	l := f.withLedger()
	f.shop(ShopFields{})
	f.row(l, "stamp")
	f.row(l, "stamp")
	f.addPrize(l.program, PrizeFields{Threshold: setInt(5), Name: set("Cup")})
	f.checkFile()
	f.Close()
	c := check(sqlite.Open(f.path, sqlite.ReadWrite)) // which does not enforce foreign keys
	defer c.Close()
	named := map[Kind]string{KindCard: l.card, KindProgram: l.program}
	broken := map[string]bool{}
	for _, rule := range sample(brokenRules) {
		broken[rule.says] = true
		for _, script := range rule.breaks {
			succeed(c.Script("BEGIN; " + script + "; PRAGMA ignore_check_constraints=0"))
			found := check(CheckFile(c, f.path, Invariants, nil))
			succeed(c.Script("ROLLBACK"))
			i := slices.IndexFunc(found, func(line string) bool { return strings.Contains(line, rule.says) })
			if i < 0 {
				t.Errorf("after %s: found %q, want %q", script, found, rule.says)
				continue
			}
			_, id, _ := strings.Cut(found[i], rule.says+": ")
			if _, ok := f.Key(rule.kind, id); rule.kind != 0 && (!ok || named[rule.kind] != "" && id != named[rule.kind]) {
				t.Errorf("after %s: %q does not name the row", script, found[i])
			}
		}
	}
	for _, rule := range invariants {
		if !broken[rule.finding] && !testing.Short() {
			t.Errorf("nothing breaks the rule %q", rule.finding)
		}
	}
}
