package store

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestExpiryRowOncePerExpiryDate(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	program, prizes := k.ladder(true, 5)
	soon := func() Opt[Time] { return set(k.clock.at().Add(time.Hour)) }
	card := k.cardWith(program, CardFields{ExpiresAt: soon()})
	expire := func(want int64, action func() (Stamped, error)) {
		t.Helper()
		before := k.rows()
		_, err := action()
		refused(t, err, CardExpired)
		var kept *CommittedRefusal
		if got := k.rows() - before; got != want || errors.As(err, &kept) != (want > 0) {
			t.Errorf("%d rows and %T, want %d", got, err, want)
		}
	}
	stamp := func() (Stamped, error) { return k.stamp(card, 1) }
	k.clock.move(time.Hour) // to the instant of the expiry
	expire(1, stamp)
	expire(0, stamp)
	expire(0, func() (Stamped, error) { return k.redeem(card, prizes[0]) })
	if got := k.lines("SELECT concat_ws(',', type, stamps_delta, value_delta, location_id) FROM transactions"); !slices.Equal(got, []string{fmt.Sprint("expiry,", k.device.Location)}) {
		t.Errorf("the ledger has %q", got)
	}
	k.expect(card, StatusExpired, 0)
	k.update(card, CardPatch{ExpiresAt: soon()})
	row := k.ok(k.stamp(card, 2)).Transaction.ID
	k.clock.move(2 * time.Hour)
	expire(1, func() (Stamped, error) { return k.reverse(row) })
	expire(0, stamp)
	k.checkFile()
}

// startExpiring starts a till and issues a card whose stamps expire after ten days. Its prizes are for
// three and ten stamps.
func startExpiring(t *testing.T, repeat bool) (k till, card string, prizes []string) {
	k = startTill(t)
	fields := stamps("Coffee")
	fields.RepeatAfterReset, fields.StampsExpireAfterDays = set(repeat), set(int64(10))
	program, prizes := k.ladderOf(fields, 3, 10)
	return k, k.card(program), prizes
}

// kinds returns the types of the rows of the ledger, in order, and their stamps.
func (k till) kinds() string {
	return strings.Join(k.lines("SELECT concat_ws(' ', type, stamps_delta) FROM transactions ORDER BY id"), ", ")
}

func TestStampsExpire(t *testing.T) {
	t.Parallel()
	t.Run("as one row before the action", func(t *testing.T) {
		k, card, _ := startExpiring(t, true)
		old := k.ok(k.stamp(card, 2)).Transaction.ID
		k.ok(k.stamp(card, 1))
		k.clock.move(days(6))
		k.ok(k.stamp(card, 3))
		k.clock.move(days(4) - time.Millisecond)
		k.ok(k.stamp(card, 1)) // not yet expired
		k.clock.move(time.Millisecond)
		if k.get(card).StampsCount != 7 || k.lookup(card).Card.StampsCount != 7 {
			t.Error("a lookup expired stamps")
		}
		if s := k.ok(k.stamp(card, 1)); s.Transaction.StampsDelta != Some[int64](1) || s.Card.StampsCount != 5 {
			t.Errorf("the answer is %+v", s)
		}
		if got := k.kinds(); got != "stamp 2, stamp 1, stamp 3, stamp 1, expiry -3, stamp 1" {
			t.Errorf("the ledger has %s", got)
		}
		k.refuses(Unprocessable)(k.reverse(old))
		k.checkFile()
	})
	t.Run("the row stays although the action is refused", func(t *testing.T) {
		k, card, prizes := startExpiring(t, true)
		k.ok(k.stamp(card, 4))
		k.clock.move(days(10))
		_, err := k.redeem(card, prizes[0])
		refused(t, err, Unprocessable)
		var kept *CommittedRefusal
		if !errors.As(err, &kept) || k.kinds() != "stamp 4, expiry -4" {
			t.Errorf("%T, and the ledger has %s", err, k.kinds())
		}
		k.expect(card, StatusActive, 0)
		k.refuses(Unprocessable)(k.redeem(card, prizes[0]))
	})
	t.Run("claims stay unless all stamps expire", func(t *testing.T) {
		k, card, prizes := startExpiring(t, true)
		k.ok(k.stamp(card, 3))
		claim := k.ok(k.redeem(card, prizes[0])).Transaction.ID
		k.clock.move(days(9))
		k.ok(k.stamp(card, 4))
		k.clock.move(days(1))
		_, err := k.redeem(card, prizes[0])
		refused(t, err, ThresholdAlreadyClaimed)
		k.expect(card, StatusActive, 4)
		k.clock.move(days(10))
		k.ok(k.stamp(card, 3))
		k.expect(card, StatusActive, 3)
		k.ok(k.redeem(card, prizes[0])) // starts a new cycle
		k.selects(0, "SELECT count(*) FROM cycles")
		k.ok(k.reverse(claim)) // the old cycle was not completed
		k.refuses(ThresholdAlreadyClaimed)(k.redeem(card, prizes[0]))
	})
	t.Run("one row for each card of a chain", func(t *testing.T) {
		k, card, _ := startExpiring(t, true)
		child := k.ok(k.stamp(card, 12)).OverflowCard.ID
		k.clock.move(days(10))
		s := k.ok(k.stamp(card, 1))
		if got := k.kinds(); got != "stamp 10, stamp 2, expiry -10, expiry -2, stamp 1" || s.Card.ID != card {
			t.Errorf("the ledger has %s, the stamp is on %+v", got, s.Card)
		}
		k.expect(card, StatusActive, 1)
		k.expect(child, StatusActive, 0)
	})
	t.Run("a full card that does not repeat has room again", func(t *testing.T) {
		k, card, _ := startExpiring(t, false)
		k.ok(k.stamp(card, 10))
		k.clock.move(days(10))
		k.ok(k.stamp(card, 1))
		k.expect(card, StatusActive, 1)
	})
}

func TestStampsDoNotExpire(t *testing.T) {
	t.Parallel()
	t.Run("reversed stamps and stamps of completed cycles do not expire", func(t *testing.T) {
		k, card, prizes := startExpiring(t, true)
		k.ok(k.stamp(card, 10))
		k.ok(k.redeem(card, prizes[1]))
		k.ok(k.reverse(k.ok(k.stamp(card, 2)).Transaction.ID))
		k.clock.move(days(11))
		k.ok(k.stamp(card, 1))
		if got := k.kinds(); got != "stamp 10, redemption -10, stamp 2, reversal -2, stamp 1" {
			t.Errorf("the ledger has %s", got)
		}
	})
	t.Run("stamps of an expired card do not expire", func(t *testing.T) {
		k, card, _ := startExpiring(t, true)
		k.ok(k.stamp(card, 4))
		k.update(card, CardPatch{ExpiresAt: set(k.clock.at().Add(days(1)))})
		k.clock.move(days(10))
		_, err := k.stamp(card, 1)
		refused(t, err, CardExpired)
		if got := k.kinds(); got != "stamp 4, expiry" {
			t.Errorf("the ledger has %s", got)
		}
	})
}
