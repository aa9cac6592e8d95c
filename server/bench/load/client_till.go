package main

import (
	"encoding/json"
	"strconv"
)

// visit is a purchase with a stamp card: stamps, or a prize that is ready.
func (c *client) visit() {
	k := c.standard[c.rng.IntN(len(c.standard))]
	switch {
	case k.full != "" || k.stamps == total:
		c.redeem(k, true)
		return
	case k.stamps >= lower && !k.claimed && c.rng.IntN(5) == 0:
		c.redeem(k, false)
		return
	case k.stamps < lower && c.rng.IntN(100) == 0:
		c.post(till, c.redemption(k, false), 422, "unprocessable_entity")
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
	a, ok := c.post(till, c.till.post(c.key(), `{"count":`+strconv.FormatInt(n, 10)+`}`, tillAPI, "/cards/", k.id, "/stamps"), 201, "")
	if !ok {
		return
	}
	over := n - (total - k.stamps)
	if over <= 0 {
		k.stamps += n
		if v, ok := c.checkVisit(k, a, row{Type: "stamp", Stamps: &n}); ok {
			c.expect("stamp.assigned", v.Row.ID)
			c.last = reversible{card: k, row: v.Row.ID, kind: "stamp", stamps: n}
		}
		return
	}
	room := total - k.stamps
	k.stamps = total
	v, ok := c.checkVisit(k, a, row{Type: "stamp", Stamps: &room})
	if !ok || !c.checkRow(v.OverRow, v.OverCard, row{Type: "stamp", Stamps: &over}, over, 0) {
		return
	}
	k.full, k.live, k.stamps, k.claimed = k.live, v.OverCard.ID, over, false
	c.expect("stamp.assigned", v.Row.ID)
	c.expect("stamp.assigned", v.OverRow.ID)
	c.expect("card.added", k.live)
}

func (c *client) redemption(k *card, top bool) []byte {
	prize := c.load.shop.prizes[0]
	if top {
		prize = c.load.shop.prizes[1]
	}
	return c.till.post(c.key(), `{"prize_id":"`+prize+`"}`, tillAPI, "/cards/", k.id, "/redemptions")
}

// redeem redeems a prize. That of a full card ends its cycle, or archives the card
// if another has taken its place.
func (c *client) redeem(k *card, top bool) {
	a, ok := c.post(till, c.redemption(k, top), 201, "")
	if !ok {
		return
	}
	delta := int64(0)
	on := *k
	switch {
	case k.full != "":
		on.live, on.stamps = k.full, total
		c.expect("card.archived", k.full)
		k.full = ""
	case top:
		delta = -total
		k.stamps, k.claimed, on.stamps = 0, false, 0
	default:
		k.claimed = true
	}
	k.active = true
	v, ok := c.checkVisit(&on, a, row{Type: "redemption", Stamps: &delta})
	if !ok {
		return
	}
	c.expect("prize.redeemed", v.Row.ID)
	if !top {
		c.last = reversible{card: k, row: v.Row.ID, kind: "redemption"}
	}
}

// pay spends from a prepaid card, or tops it up.
func (c *client) pay() {
	k := c.prepaid[c.rng.IntN(len(c.prepaid))]
	cents := 150 + 10*c.rng.Int64N(60)
	kind, body := "spend", `{"amount_cents":`+strconv.FormatInt(cents, 10)+`}`
	delta := -cents
	if k.cents < cents {
		if c.rng.IntN(10) == 0 {
			c.post(till, c.till.post(c.key(), body, tillAPI, "/cards/", k.id, "/spends"), 422, "prepaid_insufficient_balance")
			return
		}
		delta = 500 * (2 + c.rng.Int64N(9))
		kind, body = "topup", `{"amount_cents":`+strconv.FormatInt(delta, 10)+`}`
	}
	a, ok := c.post(till, c.till.post(c.key(), body, tillAPI, "/cards/", k.id, "/", kind, "s"), 201, "")
	if !ok {
		return
	}
	k.cents += delta
	if v, ok := c.checkVisit(k, a, row{Type: kind, Cents: &delta}); ok {
		c.expect("value.changed", v.Row.ID)
		c.last = reversible{card: k, row: v.Row.ID, kind: kind, cents: delta}
	}
}

// reverse reverses the client's newest row, or tries that a second time. Without such
// a row it makes a visit.
func (c *client) reverse() {
	l := &c.last
	if l.card == nil {
		c.visit()
		return
	}
	req := c.till.post(c.key(), "", tillAPI, "/transactions/", l.row, "/reversal")
	if l.reverse {
		c.post(till, req, 409, "conflict")
		l.card = nil
		return
	}
	a, ok := c.post(till, req, 201, "")
	if !ok {
		l.card = nil
		return
	}
	k, want := l.card, row{Type: "reversal"}
	stamps, cents := -l.stamps, -l.cents
	k.stamps += stamps
	k.cents += cents
	if k.prepaid {
		want.Cents = &cents
	} else {
		want.Stamps = &stamps
	}
	if l.kind == "redemption" {
		k.claimed = false
	}
	done := *l
	v, ok := c.checkVisit(k, a, want)
	if !ok {
		return
	}
	c.expect("transaction.reversed", v.Row.ID)
	if k.prepaid {
		c.expect("value.changed", v.Row.ID)
	}
	if c.rng.IntN(10) == 0 {
		done.reverse = true
		c.last = done
	}
}

// checkVisit checks a till's answer, which must have the row want and the card as it
// is expected now, and adds it to the client's sums. The row before it can no longer
// be reversed.
func (c *client) checkVisit(k *card, a answer, want row) (v visit, ok bool) {
	if c.last = (reversible{}); !k.active {
		k.active = true
		c.expect("card.activated", k.id)
	}
	if err := json.Unmarshal(a.body, &v); err != nil {
		c.load.failures.add("%s: %v", till, err)
		return v, false
	}
	return v, c.checkRow(v.Row, v.Card, want, k.stamps, k.cents) && c.report(v.Card.ID == k.live, v.Card.ID)
}

// checkRow checks a row of an answer with its card, and adds it to the client's sums.
func (c *client) checkRow(got row, on instance, want row, stamps, cents int64) bool {
	t := c.answered[got.Type]
	t.rows++
	t.stamps += value(got.Stamps)
	t.cents += value(got.Cents)
	c.answered[got.Type] = t
	return c.report(got.ID != "" && got.Card == on.ID && got.Type == want.Type && equal(got.Stamps, want.Stamps) && equal(got.Cents, want.Cents) &&
		on.Stamps == stamps && value(on.Cents) == cents, on.ID)
}

// report adds a failure unless ok, and returns ok.
func (c *client) report(ok bool, id string) bool {
	if !ok {
		c.load.failures.add("%s: the answer's row or card %s is not what was asked for", till, id)
	}
	return ok
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func equal(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
