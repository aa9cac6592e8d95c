package e2e

import (
	"encoding/json"

	"punchcard/server/servertest/require"
)

// ledger reads the whole list of transactions, newest first.
func (d *day) ledger() (rows []ledgerRow) {
	d.t.Helper()
	for cursor := ""; ; {
		var page struct {
			Data       []ledgerRow
			NextCursor *string `json:"next_cursor"`
		}
		d.api.Get("/transactions?limit=100" + cursor).Want(200).Decode(&page)
		rows = append(rows, page.Data...)
		if page.NextCursor == nil {
			break
		}
		cursor = "&cursor=" + *page.NextCursor
	}
	for i := 1; i < len(rows); i++ {
		if rows[i].CreatedAt > rows[i-1].CreatedAt {
			d.t.Errorf("%s comes after %s", rows[i].CreatedAt, rows[i-1].CreatedAt)
		}
	}
	return rows
}

// checkEnd checks the ledger and the cards against the answers.
func (d *day) checkEnd() {
	var answered []ledgerRow
	owner := map[string]*cardHolder{}
	for _, p := range d.cardHolders {
		for _, r := range p.rows {
			answered = append(answered, *r)
		}
		for _, id := range p.cards {
			owner[id] = p
		}
	}
	rows := d.ledger()
	d.sameRows(rows, answered)
	d.checkCards(rows, owner)
	d.checkOutcomes()
	checkFile(d.t, d.f.db)
}

// sameRows compares the ledger with the rows of the tills' answers.
func (d *day) sameRows(got, want []ledgerRow) {
	d.t.Helper()
	left := map[string]ledgerRow{}
	for _, r := range want {
		left[r.ID] = r
	}
	text := func(r ledgerRow) string {
		r.ReversedAt = nil // a row may have been reversed after its answer
		return string(require.Must(json.Marshal(r)))
	}
	for _, r := range got {
		w := left[r.ID]
		if delete(left, r.ID); text(r) != text(w) || (r.ReversedAt != nil) != w.reversed {
			d.t.Errorf("the ledger has %s, reversed %v; the answer was %s, reversed %t", text(r), r.ReversedAt != nil, text(w), w.reversed)
		}
	}
	if len(left) > 0 {
		d.t.Errorf("the ledger lacks %d rows that were answered", len(left))
	}
}

// checkCards checks each card against its rows and its holder's answers.
func (d *day) checkCards(rows []ledgerRow, owner map[string]*cardHolder) {
	stamps, value := map[string]int64{}, map[string]int64{}
	for _, r := range rows {
		if r.StampsDelta != nil {
			stamps[r.CardID] += *r.StampsDelta
		}
		if r.ValueDelta != nil {
			value[r.CardID] += *r.ValueDelta
		}
	}
	children := 0
	byID := map[string]stampedCard{}
	for cursor := ""; ; {
		var page struct {
			Data       []stampedCard
			NextCursor *string `json:"next_cursor"`
		}
		d.api.Get("/cards?limit=100" + cursor).Want(200).Decode(&page)
		for _, c := range page.Data {
			byID[c.ID] = c
			if owner[c.ID] == nil {
				d.t.Errorf("a card that was never answered: %+v", c)
			}
			if c.StampsCount != stamps[c.ID] || c.CurrentValue != nil && *c.CurrentValue != 500+value[c.ID] {
				d.t.Errorf("%+v; its rows add up to %d stamps and %d cents", c, stamps[c.ID], value[c.ID])
			}
		}
		if page.NextCursor == nil {
			break
		}
		cursor = "&cursor=" + *page.NextCursor
	}
	for _, p := range d.cardHolders {
		for i, id := range p.cards {
			c, found := byID[id]
			if !found {
				d.t.Errorf("member %d's card %s is not in the list", p.n, id)
			}
			if c.asMember(d.programs) != p.member {
				d.t.Errorf("member %d's card is %+v, want %+v", p.n, c, p.member)
			}
			children += min(i, 1)
		}
	}
	if children < 50 {
		d.t.Errorf("only %d cards overflowed", children)
	}
}

// checkOutcomes checks that every kind of outcome occurred.
func (d *day) checkOutcomes() {
	seen := map[string]int{}
	for _, c := range d.tills {
		for outcome, n := range c.outcomes {
			seen[outcome] += n
		}
	}
	d.t.Log(seen)
	for _, want := range []string{
		"issue 201", "second card 409 conflict",
		"stamp 201", "stamp 422 card_full_no_repeat", "stamp 422 unprocessable_entity",
		"redeem 201", "redeem 422 unprocessable_entity", "redeem 422 threshold_already_claimed",
		"topup 201", "spend 201", "spend 422 prepaid_insufficient_balance", "use 201",
		"reverse 201", "reverse 404 not_found", "reverse 422 cannot_reverse_completed_cycle",
		"locked 422 card_suspended", "reissue 200", "wrong PIN", "retry 2", "retry 4",
	} {
		if seen[want] == 0 {
			d.t.Errorf("%s did not happen: %v", want, seen)
		}
	}
}
