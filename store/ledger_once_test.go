package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// uuid returns the n-th reference.
func uuid(n int) string { return fmt.Sprintf("0b6f7c0e-5d0a-4d51-9d4b-%012x", n) }

func once(n int) Once { return Once{set(strings.ToUpper(uuid(n)))} }

// again repeats a write whose reference was used, which must write nothing, and returns the
// answer that the repeat gets. known reports whether the repeat's code names a card.
func (k till) again(w Repeat, write func(*Tx) (Stamped, error)) (out Stamped, known bool, err error) {
	k.t.Helper()
	before := k.dump()
	if _, err := attempt(k.fixture, write); !errors.Is(err, ErrRepeated) {
		k.t.Errorf("the write again: %v", err)
	}
	found := false
	err = k.View(0, func(v *View) (err error) {
		out, found, known, err = v.Repeated(k.device, w)
		return err
	})
	if after := k.dump(); after != before {
		k.t.Errorf("the write again wrote %s", firstDifference(before, after))
	}
	if !found {
		k.t.Error("the reference is not found")
	}
	return out, known, err
}

// TestRepeatedWrites checks for each action that a repeat with the same reference writes nothing
// and gets the same answer, and that the reference with another card or action is a conflict.
func TestRepeatedWrites(t *testing.T) {
	k := startTill(t)
	program, prizes := k.ladder(true, 5, 10)
	stamped, other := k.card(program), k.card(program)
	money, pass := k.card(k.program(prepaid("Gift", 500))), k.card(k.program(access("Club")))
	k.stamped(stamped, 8)
	type action struct {
		card  string
		types []string
		do    func(tx *Tx, card string, o Once) (Stamped, error)
	}
	actions := []action{
		{stamped, []string{TransactionStamp}, func(tx *Tx, card string, o Once) (Stamped, error) {
			return tx.Stamp(k.device, card, StampFields{Count: setInt(5), Once: o}) // overflows
		}},
		{stamped, []string{TransactionRedemption}, func(tx *Tx, card string, o Once) (Stamped, error) {
			return tx.Redeem(k.device, card, RedeemFields{PrizeID: set(prizes[0]), Once: o})
		}},
		{money, []string{TransactionTopUp}, func(tx *Tx, card string, o Once) (Stamped, error) {
			return tx.TopUp(k.device, card, AmountFields{AmountCents: setInt(70), Once: o})
		}},
		{money, []string{TransactionSpend}, func(tx *Tx, card string, o Once) (Stamped, error) {
			return tx.Spend(k.device, card, AmountFields{AmountCents: setInt(20), Once: o})
		}},
		{pass, []string{TransactionAccess, TransactionDiscount}, func(tx *Tx, card string, o Once) (Stamped, error) {
			return tx.Use(k.device, card, UseFields{Once: o})
		}},
	}
	for i, a := range actions {
		o := once(i)
		first := must(k.fixture, func(tx *Tx) (Stamped, error) { return a.do(tx, a.card, o) })
		if first.Transaction.ClientReference != Some(uuid(i)) ||
			first.OverflowTransaction != nil && first.OverflowTransaction.ClientReference.Valid {
			t.Errorf("%s: the rows have %+v", a.types, first)
		}
		k.clock.move(days(400)) // long after every idempotency key is forgotten
		again, known, err := k.again(
			Repeat{Once: o, Types: a.types, Code: a.card},
			func(tx *Tx) (Stamped, error) { return a.do(tx, a.card, o) },
		)
		if err != nil || !known {
			t.Fatalf("%s again: %v", a.types, err)
		}
		if got, want := text(t, again), text(t, first); got != want {
			t.Errorf("%s again: %s\nwant %s", a.types, got, want)
		}
		for _, wrong := range []Repeat{
			{Once: o, Types: a.types, Code: other}, {Once: o, Types: []string{TransactionReversal}, Code: a.card},
			{Once: o, Types: []string{"none"}, Code: a.card},
		} {
			_, _, err := k.again(wrong, func(tx *Tx) (Stamped, error) { return a.do(tx, other, o) })
			refused(t, err, Conflict)
		}
		refused(t, k.View(0, func(v *View) error {
			_, _, err := v.RepeatedIssue(k.device, Repeat{Once: o, Program: program})
			return err
		}), Conflict)
		if i == 0 {
			k.repeatReversal(t, first)
			k.writes(func(tx *Tx) { check(a.do(tx, a.card, Once{})) })
		}
	}
	k.checkFile()
}

// repeatReversal reverses both rows of an overflow, twice with one reference.
func (k till) repeatReversal(t *testing.T, pair Stamped) {
	t.Helper()
	o, id := once(100), pair.OverflowTransaction.ID
	reverse := func(tx *Tx) (Stamped, error) { return tx.Reverse(k.device, id, UseFields{Once: o}) }
	first := must(k.fixture, reverse)
	again, known, err := k.again(Repeat{Once: o, Types: []string{TransactionReversal}, Reverses: id}, reverse)
	if got, want := text(t, again), text(t, first); err != nil || !known || got != want || first.OverflowTransaction == nil {
		t.Errorf("the reversal again: %s, %v\nwant %s", got, err, want)
	}
	_, _, err = k.again(Repeat{Once: o, Types: []string{TransactionReversal}, Reverses: pair.Transaction.ID}, reverse)
	refused(t, err, Conflict)
}

// TestReverseByReference checks that a reversal may name a row by the reference of the write
// that made it, if the row is of the till's location.
func TestReverseByReference(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true, 5)
	card := k.card(program)
	row := must(k.fixture, func(tx *Tx) (Stamped, error) {
		return tx.Stamp(k.device, card, StampFields{Count: setInt(12), Once: once(1)})
	})
	elsewhere, abroad := k.device, k.in(k.shop(ShopFields{})).till().device
	elsewhere.Location = -1
	for _, from := range []Till{elsewhere, abroad} {
		k.refuses(NotFound)(attempt(k.fixture, func(tx *Tx) (Stamped, error) { return tx.Reverse(from, uuid(1), UseFields{}) }))
	}
	for _, text := range []string{uuid(2), "", "%", uuid(1) + " "} {
		k.refuses(NotFound)(k.reverse(text))
	}
	reverse := func(tx *Tx) (Stamped, error) {
		return tx.Reverse(k.device, strings.ToUpper(uuid(1)), UseFields{Once: once(2)})
	}
	back := must(k.fixture, reverse)
	if back.Card.StampsCount != 0 || back.OverflowTransaction == nil {
		t.Errorf("%+v", back)
	}
	for _, name := range []string{uuid(1), row.Transaction.ID} {
		again, _, err := k.again(Repeat{Once: once(2), Types: []string{TransactionReversal}, Reverses: name}, reverse)
		if err != nil || text(t, again) != text(t, back) {
			t.Errorf("again: %s, %v\nwant %s", text(t, again), err, text(t, back))
		}
	}
	_, _, err := k.again(Repeat{Once: once(2), Types: []string{TransactionReversal}, Reverses: uuid(2)}, reverse)
	refused(t, err, Conflict)
	k.refuses(Conflict)(k.reverse(uuid(1)))
}

// TestRepeatAfterChanges checks a repeat after a reissue, which ended the code, from another
// device, after a reversal, and after the card was erased.
func TestRepeatAfterChanges(t *testing.T) {
	k := startTill(t)
	program, _ := k.ladder(true)
	card := k.card(program)
	old, short := k.cardCode(k.key(KindCard, card), 0), k.shortCode(card)
	stamp := func(code string) func(*Tx) (Stamped, error) {
		return func(tx *Tx) (Stamped, error) { return tx.Stamp(k.device, code, StampFields{Once: once(1)}) }
	}
	row := must(k.fixture, stamp(short)).Transaction.ID
	k.reissue(card, ReissueFields{})
	k.reversed(row)
	k.stamped(card, 3)
	for code, wantKnown := range map[string]bool{old: true, short: false, card: true, "nonsense": false} {
		for _, from := range []till{k, k.till()} {
			out, known, err := from.again(Repeat{Once: once(1), Types: []string{TransactionStamp}, Code: code}, stamp(code))
			if err != nil || out.Transaction.ID != row || !out.Transaction.ReversedAt.Valid || out.Card.StampsCount != 3 ||
				known != wantKnown {
				t.Errorf("with %q: %+v, known %t, %v", code, out, known, err)
			}
		}
	}
	// Another shop may use the same reference.
	there := k.in(k.shop(ShopFields{})).till()
	theirs := there.card(there.program(stamps("Theirs")))
	k.writes(func(tx *Tx) { check(tx.Stamp(there.device, theirs, StampFields{Once: once(1)})) })
	k.erase(card)
	for _, code := range []string{old, short, card} {
		_, _, err := k.again(Repeat{Once: once(1), Types: []string{TransactionStamp}, Code: code}, stamp(code))
		refused(t, err, NotFound)
	}
}

// TestRefusedReference checks that a refused write does not use its reference.
func TestRefusedReference(t *testing.T) {
	k := startTill(t)
	card := k.card(k.program(prepaid("Gift", 0)))
	spend := func(tx *Tx) (Stamped, error) {
		return tx.Spend(k.device, card, AmountFields{AmountCents: setInt(5), Once: once(1)})
	}
	k.refuses(PrepaidInsufficientBalance)(attempt(k.fixture, spend))
	check(k.topUp(card, 5))
	must(k.fixture, spend)
}

// TestOccurredAt checks the bounds of occurred_at, that statistics count a stamp and its
// reversal in the hour and on the day of occurred_at, and that occurred_at changes neither the
// order of the ledger nor the age at which the stamp expires.
func TestOccurredAt(t *testing.T) {
	k := startTill(t)
	fields := stamps("Coffee")
	fields.StampsExpireAfterDays = setInt(7)
	program, _ := k.ladderOf(fields)
	card := k.card(program)
	_, err := k.stampLater(card, longestDelay+time.Millisecond)
	refused(t, err, ValidationFailed)
	if e, _ := AsError(err); fmt.Sprint(e.Details) != "[{occurred_at invalid_value must be at most 7 days ago}]" {
		t.Errorf("%v", e.Details)
	}
	if s := check(k.stampLater(card, -time.Hour)); s.Transaction.OccurredAt != Some(k.clock.at()) {
		t.Errorf("a stamp of the future: %+v", s.Transaction)
	}
	buckets := func() string {
		return fmt.Sprint(
			k.lines(
				"SELECT concat(day, ' ', sum(activity), ' ', sum(stamps)) FROM day_counts WHERE location_id<>0 AND (activity<>0 OR "+
					"stamps<>0) GROUP BY day ORDER BY day",
			),
			k.lines("SELECT concat(weekday, ' ', hour, ' ', stamps) FROM hour_counts WHERE stamps<>0 ORDER BY weekday, hour"),
		)
	}
	// The clock shows Friday, 2 January 2026, 03:04.
	late := check(k.stampLater(card, 30*time.Hour))
	if got, want := buckets(), "[20453 1 1 20455 1 1] [3 21 1 5 3 1]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	report := func(date string) int64 { return k.dayReport(t, DayReportQuery{Date: set(date)}).Total.Stamps }
	if a, b := report("2025-12-31"), report("2026-01-02"); a != 1 || b != 1 {
		t.Errorf("the reports have %d and %d stamps", a, b)
	}
	k.checkFile()
	before := k.dump()
	k.must((*Tx).RecountStats)
	if got := k.dump(); tableOf(got, "quarter_counts") != tableOf(before, "quarter_counts") {
		t.Error("a recount gives other sums")
	}
	if l := k.lookup(card); l.Transactions[0].ID != late.Transaction.ID || l.Transactions[0].OccurredAt != late.Transaction.OccurredAt ||
		!l.Transactions[0].OccurredAt.Valid {
		t.Errorf("the lookup shows %+v", l.Transactions)
	}
	k.reversed(late.Transaction.ID)
	if got, want := buckets(), "[20455 1 1] [5 3 1]"; got != want {
		t.Errorf("after the reversal %s, want %s", got, want)
	}
	k.checkFile()
	// A stamp that was given six days ago expires no earlier than others that are sent now.
	check(k.stampLater(card, 6*24*time.Hour))
	k.clock.move(days(6))
	if s := k.stamped(card, 1); s.Card.StampsCount != 3 {
		t.Errorf("%d stamps after six days", s.Card.StampsCount)
	}
}

// tableOf returns the part of a dump from a table to sent_mails, which must follow it.
func tableOf(dump, table string) string {
	_, rest, _ := strings.Cut(dump, "\n"+table+"\n")
	part, _, _ := strings.Cut(rest, "\nsent_mails\n")
	return part
}
