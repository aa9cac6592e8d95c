package store

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func (k till) adjust(card string, stamps int64) (Adjusted, error) {
	return k.adjustWith(card, AdjustFields{Stamps: set(stamps)})
}

// adjustWith adjusts a card at the till's location, if f says no other, for a reason.
func (k till) adjustWith(card string, f AdjustFields) (Adjusted, error) {
	if !f.LocationID.Set {
		f.LocationID = set(k.location)
	}
	f.Reason = set("Ada's \"mistake\"")
	if details := f.Check(k.clock.at()); details != nil { // as the kernel does
		return Adjusted{}, Invalid(details...)
	}
	return attempt(k.fixture, func(tx *Tx) (Adjusted, error) { return tx.AdjustCard(k.a.Shop, card, f) })
}

// TestAdjustmentIsNoPresentation checks what an adjustment leaves as it is, also of the card into which it
// overflows, and of which figures it is a part.
func TestAdjustmentIsNoPresentation(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true, 10)
	k.settings(program, ProgramSettings{MinSpendCents: setInt(500), MaxStampsPerDay: setInt(1)})
	card := k.card(program)
	k.lock(card, true)
	k.action(program, Suspend)
	k.setActive(k.location, false)
	a, err := k.adjust(card, 13)
	if err != nil || len(a.Transactions) != 2 || a.Card.StampsCount != 3 || a.Card.Status != StatusLocked {
		t.Fatalf("%+v, %v", a, err)
	}
	if got := k.history(); got != "adjustment 10, adjustment 3" {
		t.Errorf("the ledger has %s", got)
	}
	k.selects(0, `SELECT count(*) FROM cards WHERE activated_at IS NOT NULL OR first_location_id IS NOT NULL OR last_stamp_at IS NOT NULL
		OR last_seen_day<>0`)
	stats := k.statistics(program)
	if *stats.TotalStampsAwarded != 0 || *stats.ActiveCards != 0 || len(*stats.CardsByLocation) != 0 {
		t.Errorf("%+v", stats)
	}
	k.expect(a.Card.ID, StatusLocked, 3)
	k.lock(card, false)
	k.expect(a.Card.ID, StatusInvited, 3)
	k.selects(0, "SELECT count(*) FROM cards WHERE locked_at IS NOT NULL")
	d := k.dayReport(t, DayReportQuery{})
	want := TypeReport{Type: TransactionAdjustment, Rows: 2, Stamps: 13}
	if !slices.Equal(d.ByType, []TypeReport{want}) || d.Total.Stamps != 0 {
		t.Errorf("the report is %+v", d)
	}
	e := view(k.fixture, func(v *View) (LedgerEntry, error) { return v.LedgerEntry(k.a.Shop, a.Transactions[0].ID) })
	if e.Reason.V != "Ada's \"mistake\"" {
		t.Errorf("the reason is %+v", e)
	}
	// The first presentation of both cards is the next one, although an import may say that they were seen on that day.
	k.writes(func(tx *Tx) {
		tx.exec("UPDATE cards SET last_seen_day=? WHERE root_id IS NULL", Day(k.clock.at().Std()))
	})
	k.action(program, Unsuspend)
	k.settings(program, ProgramSettings{MinSpendCents: null[int64]()})
	k.stamped(card, 1)
	k.expect(a.Card.ID, StatusActive, 4)
	k.selects(1, "SELECT count(*) FROM cards WHERE root_id IS NULL AND first_location_id IS NOT NULL")
	stats = k.statistics(program)
	if at := *stats.CardsByLocation; len(at) != 1 || at[0].LocationID != k.location || at[0].Count != 1 {
		t.Errorf("the cards by location are %+v, of a card whose overflow was presented", at)
	}
}

// TestAdjustmentTakesTheNewest checks which stamps are taken, and that these neither expire nor are
// reversed.
func TestAdjustmentTakesTheNewest(t *testing.T) {
	k, program, prizes := welcoming(t, 3)
	card := k.card(program)
	old := k.stamped(card, 4)
	k.clock.move(days(6))
	k.redeemed(card, prizes[0])
	check(k.adjust(card, 2))
	young := k.stamped(card, 1)
	taken := func(want ...string) {
		t.Helper()
		k.selectsLines(want, "SELECT concat_ws(' ', type, stamps_delta, taken) FROM transactions WHERE taken>0 ORDER BY id")
	}
	check(k.adjust(card, -4)) // the last one, the two given, and one of the four
	taken("stamp 4 1", "adjustment 2 2", "stamp 1 1")
	for _, row := range []string{old.Transaction.ID, young.Transaction.ID} {
		k.refuses(Unprocessable)(k.reverse(row))
	}
	k.expect(card, StatusActive, 5)
	if l := k.lookup(card); !l.Prizes[0].Claimed {
		t.Error("the claim has gone")
	}
	check(k.adjust(card, 3))
	k.clock.move(days(5))
	k.stamped(card, 1) // two at issue and three of the four expire
	if got := k.history(); !strings.HasSuffix(got, "adjustment -4, adjustment 3, expiry -5, stamp 1") {
		t.Errorf("the ledger has %s", got)
	}
	k.clock.move(days(9))
	k.stamped(card, 1)
	if got := k.history(); !strings.HasSuffix(got, "stamp 1, expiry -3, stamp 1") {
		t.Errorf("given stamps do not expire: %s", got)
	}
	// What a card began with goes last.
	fresh := k.card(program)
	k.stamped(fresh, 1)
	check(k.adjust(fresh, -2))
	k.clock.move(days(10))
	k.stamped(fresh, 1)
	if got := k.history(); !strings.HasSuffix(got, "adjustment -2, expiry -1, stamp 1") {
		t.Errorf("the ledger has %s", got)
	}
	// Of two cards, the newest loses its stamps first.
	root := k.card(program)
	child := k.stamped(root, 11).OverflowCard.ID
	a := check(k.adjust(root, -5))
	if len(a.Transactions) != 2 || a.Transactions[0].CardID != child || a.Transactions[1].StampsDelta.V != -2 || a.Card.ID != root {
		t.Errorf("%+v", a)
	}
	k.expect(child, StatusActive, 0)
}

// TestAdjustmentOfACompletedCycle checks that a card that loses all stamps of a completed cycle begins a
// new one, and that the statistics stay exact.
func TestAdjustmentOfACompletedCycle(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(false, 10)
	card := k.card(program)
	check(k.adjust(card, 10))
	k.redeemed(card, prizes[0])
	check(k.adjust(card, -9))
	k.expect(card, StatusActive, 1)
	check(k.adjust(card, -1))
	k.stamped(card, 10)
	k.redeemed(card, prizes[0])
	k.expect(card, StatusActive, 10)
}

func TestAdjustmentRefusals(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(false)
	repeating, _ := k.ladder(true)
	card, gift, pass := k.card(program), k.card(k.program(prepaid("Gift", 500))), k.card(k.program(access("Club")))
	archived, foreign := k.card(program), k.in(k.shop(ShopFields{})).location()
	k.archive(archived)
	check(k.adjust(card, 8))
	scoped := k.program(onlyAt(stamps("Scoped"), k.fixture.location()))
	refusedBy := func(code Code, card string, f AdjustFields) {
		t.Helper()
		before := k.rows()
		_, err := k.adjustWith(card, f)
		if refused(t, err, code); k.rows() != before {
			t.Error("it wrote a row")
		}
	}
	n, cents := func(n int64) AdjustFields { return AdjustFields{Stamps: set(n)} }, func(n int64) AdjustFields {
		return AdjustFields{AmountCents: set(n)}
	}
	refusedBy(ValidationFailed, card, AdjustFields{})
	refusedBy(ValidationFailed, card, n(0))
	refusedBy(ValidationFailed, gift, cents(0))
	refusedBy(ValidationFailed, card, AdjustFields{Stamps: setInt(1), AmountCents: setInt(1)})
	refusedBy(ValidationFailed, card, AdjustFields{Stamps: setInt(1), LocationID: set(foreign)})
	refusedBy(NotFound, "crd_", n(1))
	refusedBy(Conflict, archived, n(1))
	refusedBy(Unprocessable, card, cents(1))
	refusedBy(Unprocessable, gift, n(1))
	refusedBy(Unprocessable, pass, n(1))
	refusedBy(Unprocessable, k.card(scoped), n(1))
	refusedBy(Unprocessable, card, n(-9))
	refusedBy(Unprocessable, card, n(3)) // one would be lost
	refusedBy(Unprocessable, k.card(repeating), n(21))
	refusedBy(PrepaidInsufficientBalance, gift, cents(-501))
	a := check(k.adjust(card, 2))
	refusedBy(CardFullNoRepeat, card, n(1))
	k.refuses(Unprocessable)(k.reverse(a.Transactions[0].ID))
	k.updateShop(ShopFields{SubscriptionState: set("suspended")})
	refusedBy(SubscriptionSuspended, card, n(-1))
	k.updateShop(ShopFields{SubscriptionState: set("past_due")})
	if a := check(k.adjustWith(gift, cents(-500))); a.Card.CurrentValue.V != 0 || a.Transactions[0].ValueDelta.V != -500 {
		t.Errorf("%+v", a)
	}
	k.checkFile()
}

// TestAdjustmentOfAnExpiredCard checks that the card into which an expired one overflows is counted as
// what it is, before and after it is valid again.
func TestAdjustmentOfAnExpiredCard(t *testing.T) {
	t.Parallel()
	for _, mark := range []bool{false, true} {
		k := startTill(t)
		program, _ := k.ladder(true, 10)
		issued := k.issue(program, CardFields{ExpiresAt: set(k.clock.at().Add(time.Hour))})
		check(k.install(issued.InstallURL))
		k.clock.move(time.Hour)
		if mark {
			k.markExpired()
		}
		a := check(k.adjust(issued.ID, 12))
		k.expect(a.Card.ID, StatusExpired, 2)
		k.markExpired()
		k.reissue(issued.ID, ReissueFields{})
		k.stamped(issued.ID, 1)
		k.expect(a.Card.ID, StatusActive, 3)
	}
}

// TestErasureOfAReason checks that erasing a card removes the reason of its adjustments, and of no
// others, from the ledger, the audit log and the events.
func TestErasureOfAReason(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true)
	k.hook(program, hookFields{})
	card, other := k.card(program), k.card(program)
	for _, id := range []string{card, other} {
		check(k.adjust(id, 13)) // two rows
	}
	const audit = "SELECT count(*) FROM audit WHERE detail->>'reason'='Ada''s \"mistake\"'"
	k.selects(4, audit)
	k.erase(card)
	k.selects(2, audit)
	k.selects(2, "SELECT count(*) FROM transactions WHERE metadata->>'reason' IS NOT NULL")
	k.selects(0, "SELECT count(*) FROM events WHERE card_id IN (SELECT id FROM cards WHERE deleted_at IS NOT NULL)"+
		" AND instr(CAST(payload_v2 AS TEXT), 'mistake')>0")
	k.checkFile()
}

// TestEventsOfAdjustments checks the events of adjustments: of money, value.changed beside transaction.created.
func TestEventsOfAdjustments(t *testing.T) {
	c := startEvents(t, prepaid("Gift", 500), false)
	card := c.newCard()
	check(c.adjustWith(card, AdjustFields{AmountCents: setInt(-200)}))
	c.fires("an adjustment of money", []string{card},
		"value.changed #0 invited tx_type=adjustment delta=-200 balance=300",
		"transaction.created #0 invited tx_type=adjustment stamps_delta=<nil> value_delta=-200")
	card = c.card(c.till.fixture.program(repeating()))
	c.skip()
	check(c.adjust(card, 11))
	c.fires("an adjustment of stamps", []string{card},
		"card.added #2 invited source=overflow here",
		"transaction.created #0 archived tx_type=adjustment stamps_delta=10 value_delta=<nil>",
		"transaction.created #2 invited tx_type=adjustment stamps_delta=1 value_delta=<nil>",
		"card.archived #0 archived")
}
