package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"punchcard/server/servertest"
)

var rowTypes = []string{"stamp", "redemption", "reversal", "expiry", "topup", "spend", "discount", "access"}

// ledger reads the whole list of transactions, newest first.
func (d *day) ledger(c *servertest.Client, query string) (rows []ledgerRow) {
	d.t.Helper()
	for cursor := ""; ; {
		var page struct {
			Data       []ledgerRow
			NextCursor *string `json:"next_cursor"`
		}
		c.Get("/transactions?limit=100" + query + cursor).Want(200).Decode(&page)
		rows = append(rows, page.Data...)
		if page.NextCursor == nil {
			break
		}
		cursor = "&cursor=" + *page.NextCursor
	}
	for i := 1; i < len(rows); i++ {
		if rows[i].CreatedAt > rows[i-1].CreatedAt {
			d.t.Errorf("%s: %s comes after %s", query, rows[i].CreatedAt, rows[i-1].CreatedAt)
		}
	}
	return rows
}

// totals returns the sums of rows by type and location.
func (d *day) totals(rows []ledgerRow) map[string][3]int64 {
	sums := map[string][3]int64{}
	for _, r := range rows {
		s := sums[r.Type+" at "+d.names[r.LocationID]]
		s[0]++
		if r.StampsDelta != nil {
			s[1] += *r.StampsDelta
		}
		if r.ValueDelta != nil {
			s[2] += *r.ValueDelta
		}
		sums[r.Type+" at "+d.names[r.LocationID]] = s
	}
	return sums
}

// checkEnd checks the ledger and returns the end state without values that differ between runs.
func (d *day) checkEnd() (end []string) {
	t := d.t
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
	rows := d.ledger(d.api, "")
	d.sameRows("the ledger", rows, answered)
	at := func(location string) func(ledgerRow) bool {
		return func(r ledgerRow) bool { return r.LocationID == location }
	}
	for i, id := range d.locations {
		d.sameRows("location "+fmt.Sprint(i+1), d.ledger(d.api, "&location_id="+id), filterRows(answered, at(id)))
	}
	d.sameRows("the restricted key", d.ledger(d.firstLocation, ""), filterRows(answered, at(d.locations[0])))
	d.sameRows("the restricted key elsewhere", d.ledger(d.firstLocation, "&location_id="+d.locations[1]), nil)
	sum := 0
	for _, kind := range rowTypes {
		of := d.ledger(d.api, "&type="+kind)
		d.sameRows("type "+kind, of, filterRows(answered, func(r ledgerRow) bool { return r.Type == kind }))
		if sum += len(of); len(of) < 20 && kind != "expiry" {
			t.Errorf("only %d rows of type %s", len(of), kind)
		}
	}
	if sum != len(rows) {
		t.Errorf("the types have %d rows together, the ledger %d", sum, len(rows))
	}
	if got, want := d.totals(rows), d.totals(answered); !maps.Equal(got, want) {
		t.Errorf("totals %v, want %v", got, want)
	}
	end = append(end, d.cards(rows, owner)...)
	end = append(end, d.statistics(rows)...)
	for name, s := range d.totals(rows) {
		end = append(end, fmt.Sprintf("%s: %d rows, %d stamps, %d cents", name, s[0], s[1], s[2]))
	}
	slices.Sort(end)
	d.outcomes()
	d.lookups()
	d.checkOtherShop(rows)
	if out := d.f.run("check"); out != "ok\n" {
		t.Errorf("check printed %q", out)
	}
	return end
}

// filterRows returns the rows for which keep returns true.
func filterRows(rows []ledgerRow, keep func(ledgerRow) bool) (kept []ledgerRow) {
	for _, r := range rows {
		if keep(r) {
			kept = append(kept, r)
		}
	}
	return kept
}

// sameRows compares rows of the ledger with those of the tills' answers.
func (d *day) sameRows(what string, got, want []ledgerRow) {
	d.t.Helper()
	left := map[string]ledgerRow{}
	for _, r := range want {
		left[r.ID] = r
	}
	flat := func(r ledgerRow) string {
		show := func(n *int64) string {
			if n == nil {
				return "null"
			}
			return fmt.Sprint(*n)
		}
		prize := "null"
		if r.PrizeID != nil {
			prize = *r.PrizeID
		}
		return strings.Join([]string{r.ID, r.CardID, r.ProgramID, r.Type, r.LocationID, r.LocationName, show(r.StampsDelta), show(r.ValueDelta), prize, r.CreatedAt}, " ")
	}
	wrong := 0
	for _, r := range got {
		w, found := left[r.ID]
		if delete(left, r.ID); (!found || flat(r) != flat(w) || (r.ReversedAt != nil) != w.reversed) && wrong < 5 {
			d.t.Errorf("%s has %s, reversed %v; the answer was %s, reversed %t", what, flat(r), r.ReversedAt != nil, flat(w), w.reversed)
			wrong++
		}
	}
	if len(left) > 0 {
		d.t.Errorf("%s lacks %d rows that were answered", what, len(left))
	}
}

// cards checks each card against its rows and returns a line about each member's cards.
func (d *day) cards(rows []ledgerRow, owner map[string]*cardHolder) (lines []string) {
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
		line := fmt.Sprintf("member %04d %s:", p.n, p.program)
		for i, id := range p.cards {
			c, found := byID[id]
			if !found {
				d.t.Errorf("member %d's card %s is not in the list", p.n, id)
			}
			if c.asMember(d.programs) != p.member {
				d.t.Errorf("member %d's card is %+v, want %+v", p.n, c, p.member)
			}
			children += min(i, 1)
			line += fmt.Sprintf(" %s with %d stamps;", c.Status, c.StampsCount)
		}
		line += fmt.Sprintf(" %d cents", p.value)
		for _, r := range p.rows {
			line += "; " + d.describe(p, r)
		}
		lines = append(lines, line)
	}
	if children < 50 {
		d.t.Errorf("only %d cards overflowed", children)
	}
	return lines
}

// outcomes checks that every kind of outcome occurred.
func (d *day) outcomes() {
	seen := map[string]int{}
	for _, line := range d.transcript() {
		_, what, _ := strings.Cut(line, ": ")
		kind, _, _ := strings.Cut(what, " member ")
		_, outcome, _ := strings.Cut(what, ": ")
		outcome, _, _ = strings.Cut(outcome, ";")
		seen[kind+" "+outcome]++
	}
	d.t.Log(seen)
	for _, want := range []string{"issue 201", "second card 409 conflict", "stamp 201", "stamp 422 card_full_no_repeat", "stamp 422 unprocessable_entity", "redeem 201",
		"redeem 422 unprocessable_entity", "redeem 422 threshold_already_claimed", "topup 201", "spend 201", "spend 422 prepaid_insufficient_balance", "use 201",
		"reverse 201", "reverse 404 not_found", "reverse 422 cannot_reverse_completed_cycle", "locked 422 card_suspended", "reissue 200",
		"wrong PIN 401", "retry 2", "retry 4"} {
		if seen[want] == 0 {
			d.t.Errorf("%s did not happen: %v", want, seen)
		}
	}
}

// lookups checks that a till's lookup returns the same as the earlier answers.
func (d *day) lookups() {
	for _, p := range d.cardHolders {
		if p.n%10 != 0 && !p.lost {
			continue
		}
		var found struct {
			Card         stampedCard
			Earlier      []stampedCard `json:"earlier_cards"`
			Transactions []ledgerRow
		}
		d.tills[p.n%3].api.Get("/cards/" + p.id).Want(200).Decode(&found)
		for _, c := range append(found.Earlier, found.Card) {
			if c.StampsCount != p.stamps[c.ID] || !slices.Contains(p.cards, c.ID) {
				d.t.Errorf("the till reads %+v of member %d, who has %v", c, p.n, p.stamps)
			}
		}
		last := p.rows[max(0, len(p.rows)-10):]
		if len(found.Transactions) != len(last) {
			d.t.Errorf("the till reads %d rows of member %d, want %d", len(found.Transactions), p.n, len(last))
			continue
		}
		for i, r := range found.Transactions {
			if want := last[len(last)-1-i]; r.ID != want.ID || (r.ReversedAt != nil) != want.reversed {
				d.t.Errorf("row %d of member %d is %+v, want %+v", i, p.n, r, want)
			}
		}
	}
}

// checkOtherShop checks that another shop sees no data.
func (d *day) checkOtherShop(rows []ledgerRow) {
	d.sameRows("the other shop", d.ledger(d.otherShop, ""), nil)
	for _, query := range []string{"card_id=" + rows[0].CardID, "program_id=" + rows[0].ProgramID, "location_id=" + rows[0].LocationID} {
		d.sameRows("the other shop's "+query, d.ledger(d.otherShop, "&"+query), nil)
	}
	if n := len(listCards(d.otherShop, 100)); n != 0 {
		d.t.Errorf("the other shop sees %d cards", n)
	}
	d.otherShop.Get("/cards/"+rows[0].CardID).Want(404, "not_found")
}
