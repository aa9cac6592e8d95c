package store

import "testing"

func TestPrepaid(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	card := k.card(k.program(prepaid("Gift", 1000)))
	balance := func(want int64) {
		t.Helper()
		if d := k.get(card); d.CurrentValue != Some(want) {
			t.Errorf("the balance is %v, want %d", d.CurrentValue, want)
		}
		k.checkFile()
	}
	balance(1000)
	k.refuses(PrepaidInsufficientBalance)(k.spend(card, 1001))
	k.expect(card, StatusInvited, 0)
	spent := k.ok(k.spend(card, 1000))
	if spent.Transaction.ValueDelta != Some[int64](-1000) || spent.Transaction.StampsDelta.Valid || spent.Transaction.Type != "spend" {
		t.Errorf("a spend is %+v", spent.Transaction)
	}
	balance(0)
	top := k.ok(k.topUp(card, 300)).Transaction
	if top.ValueDelta != Some[int64](300) || top.Type != "topup" {
		t.Errorf("a top-up is %+v", top)
	}
	k.ok(k.spend(card, 1))
	k.refuses(PrepaidInsufficientBalance)(k.reverse(top.ID)) // below zero
	if r := k.ok(k.reverse(spent.Transaction.ID)).Transaction; r.ValueDelta != Some[int64](1000) || r.Type != "reversal" {
		t.Errorf("a reversed spend is %+v", r)
	}
	k.ok(k.reverse(top.ID))
	balance(999)
}
