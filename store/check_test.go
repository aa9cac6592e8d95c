package store

import (
	"os"
	"slices"
	"strings"
	"testing"

	"punchcard/store/sqlite"
)

// brokenCase is a violation of a rule of Check in a file with a ledger.
type brokenCase struct {
	says string                    // part of the finding
	sql  []string                  // statements that violate the rule
	kind Kind                      // the kind of the row that the finding must name, or 0
	id   func(l ledgerCase) string // the id of that row, or nil for any of its kind
}

func ledgerCard(l ledgerCase) string    { return l.card }
func ledgerProgram(l ledgerCase) string { return l.program }

// Statements and a finding of several cases.
const (
	daysAndHours = "statistics that differ from the ledger: days and hours of program"
	insertHook   = `INSERT INTO webhooks (id, shop_id, program_id, url, events, program_ids, location_ids, include_shop_wide_events,
		active, description, secret, http_method,
	custom_headers, payload_version, created_at, updated_at) SELECT 1, shop_id, id, 'https://hooks.invalid/', '["*"]', '[]', '[]',
	1, 1, '', 'whsec_', 'POST', '{}', 'v2', 1, 1 FROM programs LIMIT 1`
	insertMail = "INSERT INTO mails (card_id, token, ends_at, due_at, created_at, shop_id) SELECT id, 'token', install_expires_at, 1, " +
		"1, shop_id FROM cards"
)

// brokenCases has at least one case for each rule. TestCheckFindings adds one for each column of
// program_counts.
var brokenCases = []brokenCase{
	{"live_cards is not the number of live chains of shop", []string{"UPDATE shops SET live_cards=7"}, KindShop, nil},
	{"counted live though no instance of the chain is unarchived", []string{"UPDATE cards SET archived_at=1"}, KindCard, ledgerCard},
	{
		"not counted live though neither archived nor expired",
		[]string{"UPDATE cards SET live=0", "UPDATE shops SET live_cards=0"},
		KindCard,
		ledgerCard,
	},
	{"consent to a text that does not exist, of card", []string{"UPDATE cards SET consent_version=1, consent_at=1"}, KindCard, ledgerCard},
	{
		"cards from the form that it did not count, of program",
		[]string{
			"INSERT INTO enrolments (program_id, enabled, slug, name_field, email_field, consent, max_cards) SELECT program_id, 1, " +
				"'tea', 'off', 'off', 0, 9 FROM cards",
			"UPDATE cards SET source='web_enrollment', client_reference='join 1 key'",
		},
		KindProgram,
		ledgerProgram,
	},
	{"card of another shop than its program", []string{"UPDATE programs SET shop_id=(SELECT max(id) FROM shops)"}, KindCard, ledgerCard},
	{
		"erased card that still names a person",
		[]string{"UPDATE cards SET deleted_at=1, holder_name='Ada', install_hash=NULL"},
		KindCard,
		ledgerCard,
	},
	{
		"erased card that still names a person",
		[]string{"UPDATE cards SET deleted_at=1, external_ref='ada', install_hash=NULL"},
		KindCard,
		ledgerCard,
	},
	{
		"erased card that still names a person",
		[]string{"UPDATE cards SET deleted_at=1, holder_email='a@example.com', install_hash=NULL"},
		KindCard,
		ledgerCard,
	},
	{
		"erased card that still names a person",
		[]string{"UPDATE cards SET deleted_at=1, email_key='a@example.com', install_hash=NULL"},
		KindCard,
		ledgerCard,
	},
	{"erased card that still names a person", []string{"UPDATE cards SET deleted_at=1"}, KindCard, ledgerCard},
	{
		"mail that waits to take a link to a card that has none",
		[]string{insertMail, "UPDATE cards SET install_hash=NULL"},
		KindCard,
		ledgerCard,
	},
	{
		"mail that waits to take a link to a card that has none",
		[]string{insertMail, "UPDATE cards SET install_expires_at=NULL"},
		KindCard,
		ledgerCard,
	},
	{
		"mail that waits to take a link to a card that has none",
		[]string{insertMail, "UPDATE mails SET ends_at=ends_at+1"},
		KindCard,
		ledgerCard,
	},
	{"mail that waits to take a link to a card that has none", []string{insertMail, "UPDATE cards SET root_id=id"}, KindCard, ledgerCard},
	{
		"contact or code of an earlier card that is not on the first card of a chain of its shop",
		[]string{"INSERT INTO contacts (card_id, shop_id, note) SELECT id, shop_id, 'x' FROM cards", "UPDATE cards SET root_id=id"},
		KindCard,
		ledgerCard,
	},
	{
		"contact or code of an earlier card that is not on the first card of a chain of its shop",
		[]string{"INSERT INTO foreign_codes (card_id, shop_id, barcode) SELECT id, shop_id+1, 'x' FROM cards"},
		KindCard,
		ledgerCard,
	},
	{"copies that do not agree with those of card", []string{"UPDATE cards SET copies=1"}, KindCard, ledgerCard},
	{
		"push to a copy that does not exist, of card",
		[]string{"INSERT INTO pushes (card_id, copy, shop_id, due_at) SELECT id, 1, shop_id, 0 FROM cards"},
		KindCard,
		ledgerCard,
	},
	{"prize above the program's total_stamps", []string{"UPDATE programs SET total_stamps=4"}, KindPrize, nil},
	{"prize above the program's total_stamps", []string{"UPDATE programs SET total_stamps=NULL"}, KindPrize, nil},
	{"stamps_count is not the sum of its ledger", []string{"UPDATE cards SET stamps_count=7"}, KindCard, ledgerCard},
	{"stamps_count is not the sum of its ledger", []string{"UPDATE transactions SET stamps_delta=NULL"}, KindCard, ledgerCard},
	{
		"stamps_count is not what is left of the stamps of its cycle",
		[]string{"UPDATE transactions SET taken=1"},
		KindCard,
		ledgerCard,
	},
	{
		"stamps_count is not what is left of the stamps of its cycle",
		[]string{"UPDATE cards SET opening_stamps=1, stamps_count=stamps_count+1"},
		KindCard,
		ledgerCard,
	},
	{"more stamps left than it began with", []string{"UPDATE cards SET opening_left=1"}, KindCard, ledgerCard},
	{"current_value is not the sum of its ledger", []string{"UPDATE cards SET initial_value=3, current_value=5"}, KindCard, ledgerCard},
	{"stamps out of bounds", []string{"UPDATE cards SET stamps_count=-1"}, KindCard, ledgerCard},
	{"stamps out of bounds", []string{"DELETE FROM prizes", "UPDATE programs SET total_stamps=NULL, icon_key=NULL"}, KindCard, ledgerCard},
	{"balance below zero", []string{"UPDATE cards SET current_value=-1"}, KindCard, ledgerCard},
	{
		"reversed row without a reversal, or with two",
		[]string{"UPDATE transactions SET reversed_at=1 WHERE id=(SELECT max(id) FROM transactions)"},
		KindTransaction,
		nil,
	},
	{
		"reversed row without a reversal, or with two",
		[]string{
			"UPDATE transactions SET type='reversal', reverses_id=(SELECT min(id) FROM transactions) WHERE id=(SELECT max(id) FROM " +
				"transactions)",
		},
		KindTransaction,
		nil,
	},
	{
		"claim of a redemption that was reversed",
		[]string{"INSERT INTO claims SELECT card_id, cycle, 5, (SELECT id FROM prizes), id FROM transactions LIMIT 1"},
		KindTransaction,
		nil,
	},
	{
		"claim of a redemption that was reversed",
		[]string{
			"UPDATE transactions SET type='redemption', reversed_at=1",
			"INSERT INTO claims SELECT card_id, cycle, 6, (SELECT id FROM prizes), id FROM transactions LIMIT 1",
		},
		KindTransaction,
		nil,
	},
	{
		"transaction older than the one before it",
		[]string{"UPDATE transactions SET created_at=1 WHERE id=(SELECT max(id) FROM transactions)"},
		KindTransaction,
		nil,
	},
	{
		"delivery of an event that does not exist, to webhook",
		[]string{insertHook, "INSERT INTO deliveries (webhook_id, event_id) VALUES (1, 7)"},
		KindWebhook,
		nil,
	},
	{
		"delivery to a webhook that does not exist",
		[]string{
			"INSERT INTO events (id, shop_id, name, occurred_at) VALUES (7, 1, 'card.added', 1)",
			"INSERT INTO deliveries (webhook_id, event_id) VALUES (1, 7)",
		},
		KindWebhook,
		nil,
	},
	{
		"first attempt where nobody looks for it, behind the mark of webhook",
		[]string{
			insertHook,
			"INSERT INTO events (id, shop_id, name, occurred_at) VALUES (7, 1, 'card.added', 1)",
			"INSERT INTO deliveries (webhook_id, event_id) VALUES (1, 7)",
			"UPDATE webhooks SET sent_through=7",
		},
		KindWebhook,
		nil,
	},
	{
		"events beyond event_sequence of shop",
		[]string{
			"INSERT INTO events (shop_id, name, occurred_at, sequence) VALUES (1, 'card.added', 1, 7)",
			"UPDATE shops SET event_sequence=6",
		},
		KindShop,
		nil,
	},
	{
		"events beyond event_sequence of shop",
		[]string{"INSERT INTO events (id, shop_id, name, occurred_at) VALUES (7, 1, 'card.added', 1)", "UPDATE shops SET event_sequence=6"},
		KindShop,
		nil,
	},
	{
		"events beyond event_sequence of shop",
		[]string{
			"INSERT INTO events (shop_id, name, occurred_at, sequence) VALUES (1, 'card.added', 1, 7), (2, 'card.added', 1, 9)",
			"UPDATE shops SET event_sequence=iif(id=1, 6, 9)",
		},
		KindShop,
		nil,
	},
	{"statistics that differ from the ledger: totals of program", []string{"DELETE FROM program_counts"}, KindProgram, ledgerProgram},
	{
		"statistics that differ from the ledger: locations of program",
		[]string{"UPDATE place_counts SET stamps=stamps-1"},
		KindProgram,
		ledgerProgram,
	},
	{
		"statistics that differ from the ledger: locations of program",
		[]string{"INSERT INTO place_counts SELECT program_id, 0, 1, 0 FROM place_counts"},
		KindProgram,
		ledgerProgram,
	},
	{
		"statistics that differ from the ledger: quarter hours of program",
		[]string{"UPDATE quarter_counts SET quarter=quarter+1"},
		KindProgram,
		ledgerProgram,
	},
	{
		"statistics that differ from the ledger: quarter hours of program",
		[]string{"DELETE FROM quarter_counts WHERE location_id=0"},
		KindProgram,
		ledgerProgram,
	},
	{"time of the last stamp that is not the ledger's, of card", []string{"UPDATE cards SET last_stamp_at=NULL"}, KindCard, ledgerCard},
	{
		"time of the last stamp that is not the ledger's, of card",
		[]string{"UPDATE cards SET last_stamp_at=last_stamp_at-1"},
		KindCard,
		ledgerCard,
	},
	{
		"location of the first presentation that is not the ledger's, of card",
		[]string{"UPDATE cards SET first_location_id=NULL"},
		KindCard,
		ledgerCard,
	},
	{
		"day on which it was last seen that is not the ledger's, of card",
		[]string{"UPDATE cards SET last_seen_day=last_seen_day+1"},
		KindCard,
		ledgerCard,
	},
	{daysAndHours, []string{"UPDATE day_counts SET activity=activity+1 WHERE location_id>0"}, KindProgram, ledgerProgram},
	{daysAndHours, []string{"UPDATE day_counts SET cards=0"}, KindProgram, ledgerProgram},
	{daysAndHours, []string{"UPDATE day_counts SET stamps=stamps-1"}, KindProgram, ledgerProgram},
	{daysAndHours, []string{"DELETE FROM hour_counts"}, KindProgram, ledgerProgram},
	{daysAndHours, []string{"UPDATE hour_counts SET weekday=(weekday+1)%7"}, KindProgram, ledgerProgram},
	{"rows point to rows that do not exist", []string{"PRAGMA foreign_keys=0", "DELETE FROM locations"}, 0, nil},
	{"integrity: ", []string{"PRAGMA ignore_check_constraints=1", "UPDATE shops SET mode='neither'"}, 0, nil},
}

// TestCheckFindings violates each rule of Check and compares the findings, which must name the row.
func TestCheckFindings(t *testing.T) {
	cases := slices.Clone(brokenCases)
	for _, column := range strings.Fields(`
		active apple google balance stamps redemptions completed open_cards span_ms gaps uses entries topped_up spent
	`) {
		cases = append(
			cases,
			brokenCase{
				"statistics that differ from the ledger: totals of program",
				[]string{"UPDATE program_counts SET " + column + "=" + column + "+1"},
				KindProgram,
				ledgerProgram,
			},
		)
	}
	f := start(t)
	l := f.withLedger()
	f.shop(ShopFields{})
	f.row(l, "stamp")
	f.row(l, "stamp")
	f.addPrize(l.program, PrizeFields{Threshold: set(int64(5)), Name: set("Cup")})
	f.checkFile()
	f.Close()
	whole := check(os.ReadFile(f.path))
	for _, c := range sample(cases) {
		t.Run(c.sql[len(c.sql)-1], func(t *testing.T) { c.check(t, whole, l, f.clock) })
	}
	said := map[string]bool{}
	for _, c := range cases {
		said[c.says] = true
	}
	for _, rule := range invariants {
		if !said[rule.finding] {
			t.Errorf("no case breaks the rule %q", rule.finding)
		}
	}
}

// check breaks a copy of a whole file, and checks what Check finds in it.
func (c brokenCase) check(t *testing.T, whole []byte, l ledgerCase, clock *clock) {
	path := newPath(t)
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	by := check(sqlite.Open(path, sqlite.ReadWrite))
	for _, sql := range c.sql {
		if err := by.Script(sql); err != nil {
			t.Fatal(err)
		}
	}
	if err := by.Close(); err != nil {
		t.Fatal(err)
	}
	f := open(t, path, Options{Now: clock.now})
	found := check(f.Check())
	line := ""
	for _, l := range found {
		if strings.Contains(l, c.says) {
			line = l
		}
	}
	if line == "" {
		t.Fatalf("found %q, want %q", found, c.says)
	}
	if _, id, ok := strings.Cut(line, c.says+": "); c.kind != 0 {
		if _, named := f.Key(c.kind, id); !ok || !named || c.id != nil && id != c.id(l) {
			t.Errorf("%q does not name the row", line)
		}
	}
}
