package main

import (
	"encoding/json"
	"fmt"
)

// The stamp card of the demo shop repeats after it is full. It has prizes at both of
// these numbers of stamps.
const (
	total = 10
	lower = 5
)

// instance is a card in an answer.
type instance struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Stamps int64  `json:"stamps_count"`
	Cents  int64  `json:"current_value"`
}

// row is a row of the ledger in a till's answer.
type row struct {
	ID     string `json:"id"`
	Card   string `json:"card_id"`
	Type   string `json:"type"`
	Stamps int64  `json:"stamps_delta"`
	Cents  int64  `json:"value_delta"`
}

// visit is a till's answer.
type visit struct {
	Row      row      `json:"transaction"`
	Card     instance `json:"card"`
	OverRow  row      `json:"overflow_transaction"`
	OverCard instance `json:"overflow_card"`
}

// visit is a purchase with a stamp card: stamps, or a prize that is ready.
func (c *client) visit() {
	k := c.pick(false)
	switch {
	case k.full != "" || k.stamps == total:
		c.redeem(k, 1)
		return
	case k.stamps >= lower && !k.claimed && c.rng.IntN(5) == 0:
		c.redeem(k, 0)
		return
	}
	n := int64(1)
	if x := c.rng.IntN(100); x >= 92 {
		n = 3
	} else if x >= 70 {
		n = 2
	}
	if room := total - k.stamps; n > room && c.rng.IntN(8) > 0 {
		n = room
	}
	c.stamp(k, n)
}

// stamp gives n stamps to a card that is not full.
func (c *client) stamp(k *card, n int64) {
	over := max(0, n-(total-k.stamps))
	v, ok := c.write(k, row{Type: "stamp", Stamps: n - over}, "/cards/"+k.id+"/stamps", fmt.Sprintf(`{"count":%d}`, n))
	if !ok || over == 0 {
		return
	}
	k.full, k.live, k.stamps, k.claimed = k.live, v.OverCard.ID, over, false
	c.check(k, v.OverRow, v.OverCard, row{Type: "stamp", Stamps: over})
	c.expect("card.added", k.live)
}

// redeem redeems a prize: 0 is the lower one, 1 the first of a full card. That of a full card ends its cycle, or archives the card
// if another has taken its place.
func (c *client) redeem(k *card, prize int) {
	want, on := row{Type: "redemption"}, k
	if k.full != "" {
		on = &card{live: k.full, stamps: total, active: true}
	} else if prize == 1 {
		want.Stamps = -total
	}
	c.write(on, want, "/cards/"+k.id+"/redemptions", fmt.Sprintf(`{"prize_id":%q}`, c.prizes[prize].ID))
	if k.full != "" {
		c.expect("card.archived", k.full)
		k.full = ""
	} else {
		k.claimed = prize == 0
	}
}

// pay spends from a prepaid card, or tops it up.
func (c *client) pay() {
	k := c.pick(true)
	cents := 150 + 10*c.rng.Int64N(60)
	want := row{Type: "spend", Cents: -cents}
	if k.cents < cents {
		cents = 500 * (2 + c.rng.Int64N(9))
		want = row{Type: "topup", Cents: cents}
	}
	c.write(k, want, "/cards/"+k.id+"/"+want.Type+"s", fmt.Sprintf(`{"amount_cents":%d}`, cents))
}

// events are the webhooks' events of the ledger's rows, by type of row.
var events = map[string]string{
	"stamp": "stamp.assigned", "redemption": "prize.redeemed", "spend": "value.changed", "topup": "value.changed",
}

// write makes a write to a card, which must add the row want to the ledger.
func (c *client) write(k *card, want row, path, body string) (v visit, ok bool) {
	a, ok := c.post("till", till, path, body)
	if !ok {
		return v, false
	}
	k.stamps += want.Stamps
	k.cents += want.Cents
	if !k.active {
		k.active = true
		c.expect("card.activated", k.id)
	}
	if err := json.Unmarshal(a.body, &v); err != nil {
		c.fail("till: %v", err)
		return v, false
	}
	return v, c.check(k, v.Row, v.Card, want)
}

// check compares a row of an answer with want, and the card of the answer with k, and
// adds the row to the client's sums.
func (c *client) check(k *card, got row, shown instance, want row) bool {
	t := c.answered[got.Type]
	c.answered[got.Type] = sum{t.rows + 1, t.stamps + got.Stamps, t.cents + got.Cents}
	c.expect(events[got.Type], got.ID)
	want.ID, want.Card = got.ID, k.live
	ok := got.ID != "" && got == want && shown.ID == k.live && shown.Stamps == k.stamps && shown.Cents == k.cents
	if !ok {
		c.fail("till: the answer's row or card %s is not what was asked for", shown.ID)
	}
	return ok
}
