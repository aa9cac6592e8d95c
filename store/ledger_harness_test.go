package store

import (
	"errors"
	"path"
	"testing"
	"time"
)

// till is a device at a location.
type till struct {
	*fixture
	device   Till
	location string
}

func (f *fixture) till() till {
	t := till{fixture: f, location: f.location()}
	d := must(f, func(tx *Tx) (Device, error) {
		d, _, err := tx.CreateDevice(f.a.Shop, NewDevice{LocationID: t.location, Name: "Till", AcceptsCardIDs: true})
		return d, err
	})
	t.device = Till{Shop: f.a.Shop, Location: f.key(KindLocation, t.location), Device: f.key(KindDevice, d.ID), AcceptsCardIDs: true}
	return t
}

func startTill(t *testing.T) till {
	f := start(t)
	return f.till()
}

// attempt makes a write that may be refused.
func attempt[T any](f *fixture, fn func(*Tx) (T, error)) (out T, err error) {
	err = f.do(func(tx *Tx) (err error) {
		out, err = fn(tx)
		return err
	})
	return out, err
}

func (k till) stamp(card string, n int64) (Stamped, error) {
	return attempt(k.fixture, func(tx *Tx) (Stamped, error) { return tx.Stamp(k.device, card, StampFields{Count: set(n)}) })
}

// stampLater stamps a card with an occurred_at that lies ago before now.
func (k till) stampLater(card string, ago time.Duration) (Stamped, error) {
	return attempt(k.fixture, func(tx *Tx) (Stamped, error) {
		return tx.Stamp(k.device, card, StampFields{OccurredAt: set(k.clock.at().Add(-ago))})
	})
}

func (k till) redeem(card, prize string) (Stamped, error) {
	return attempt(k.fixture, func(tx *Tx) (Stamped, error) {
		return tx.Redeem(k.device, card, RedeemFields{PrizeID: set(prize)})
	})
}

func (k till) reverse(transaction string) (Stamped, error) {
	return attempt(k.fixture, func(tx *Tx) (Stamped, error) { return tx.Reverse(k.device, transaction, UseFields{}) })
}

func (k till) topUp(card string, cents int64) (Stamped, error) {
	return attempt(k.fixture, func(tx *Tx) (Stamped, error) {
		return tx.TopUp(k.device, card, AmountFields{AmountCents: set(cents)})
	})
}

func (k till) spend(card string, cents int64) (Stamped, error) {
	return attempt(k.fixture, func(tx *Tx) (Stamped, error) {
		return tx.Spend(k.device, card, AmountFields{AmountCents: set(cents)})
	})
}

func (k till) use(card string) (Stamped, error) {
	return attempt(k.fixture, func(tx *Tx) (Stamped, error) { return tx.Use(k.device, card, UseFields{}) })
}

// atCounter issues a card at the till.
func (k till) atCounter(program string, f CounterFields) IssuedCard {
	return must(k.fixture, func(tx *Tx) (IssuedCard, error) { return tx.IssueAtCounter(k.device, program, f) })
}

func (k till) install(url string) (Installation, error) {
	return attempt(k.fixture, func(tx *Tx) (Installation, error) {
		return tx.Install(path.Base(url), InstallFields{Platform: set("apple")})
	})
}

func (k till) lookup(card string) Lookup {
	return view(k.fixture, func(v *View) (Lookup, error) { return v.Lookup(k.device, card) })
}

// stamped, redeemed and reversed make the action of their name, which must succeed.
func (k till) stamped(card string, n int64) Stamped {
	return check(k.stamp(card, n))
}

func (k till) redeemed(card, prize string) Stamped {
	return check(k.redeem(card, prize))
}

func (k till) reversed(transaction string) Stamped {
	return check(k.reverse(transaction))
}

// refuses returns a function that fails the test unless an action was refused with code and wrote no
// row since refuses was called: k.refuses(NotFound)(k.stamp("", 1)).
func (k till) refuses(code Code) func(Stamped, error) {
	k.t.Helper()
	before := k.rows()
	return func(_ Stamped, err error) {
		k.t.Helper()
		refused(k.t, err, code)
		var kept *CommittedRefusal
		if after := k.rows(); after != before || errors.As(err, &kept) {
			k.t.Errorf("a refusal with %s wrote %d rows", code, after-before)
		}
	}
}

func (k till) rows() int64 {
	return k.number("SELECT count(*) FROM transactions")
}

// expect compares the status and the stamps of a card, and checks the file.
func (k till) expect(card, status string, stamps int64) {
	k.t.Helper()
	d := k.get(card)
	if d.Status != status || d.StampsCount != stamps {
		k.t.Errorf("the card is %s with %d stamps, want %s with %d", d.Status, d.StampsCount, status, stamps)
	}
	k.checkFile()
}

func (k till) get(card string) CardDetail {
	return check(k.read(card))
}

// ladder creates a program of ten stamps with a prize at each threshold.
func (k till) ladder(repeat bool, thresholds ...int64) (program string, prizes []string) {
	fields := stamps("Coffee")
	fields.RepeatAfterReset = set(repeat)
	return k.ladderOf(fields, thresholds...)
}

func (k till) ladderOf(fields ProgramFields, thresholds ...int64) (program string, prizes []string) {
	program = k.program(fields)
	for _, t := range thresholds {
		prizes = append(prizes, k.addPrize(program, PrizeFields{Threshold: set(t), Name: set("Prize")}).ID)
	}
	return program, prizes
}

func days(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }

func prepaid(name string, cents int64) ProgramFields {
	return ProgramFields{Name: set(name), Type: set("prepaid"), InitialBalanceCents: set(cents)}
}

func discount(name string) ProgramFields {
	return ProgramFields{Name: set(name), Type: set("discount"), DiscountPercent: set(10.0)}
}

func access(name string) ProgramFields {
	return ProgramFields{Name: set(name), Type: set("access"), AccessImageURL: set("https://example.com/gate.png")}
}
