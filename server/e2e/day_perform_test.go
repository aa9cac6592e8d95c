package e2e

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// dayRequest is the request of an action, and the outcomes that it may have.
type dayRequest struct {
	api     *servertest.Client
	path    string
	body    any
	headers []string
	want    []string
	target  *ledgerRow // of a reversal; nil for none
}

// request returns the request of an action. It returns false if there is nothing to reverse.
func (d *day) request(c *dayTill, a action) (q dayRequest, ok bool) {
	p := a.p
	q = dayRequest{api: c.api, path: "/cards/" + p.id, want: []string{"201"}}
	switch a.kind {
	case "issue", "second card":
		if p.rest {
			q.api = d.api
		}
		q.path, q.body = "/programs/"+d.programs[p.program]+"/cards", p.fields()
		if a.kind == "second card" {
			q.want = []string{"409 conflict"}
		}
	case "stamp":
		q.path, q.body = q.path+"/stamps", map[string]int64{"count": a.n}
		q.want = []string{"201", "422 card_full_no_repeat", "422 unprocessable_entity"}
	case "locked":
		q.path += "/stamps"
		q.want = []string{"422 card_suspended"}
	case "reissue":
		q.api, q.path = d.api, "/cards/"+p.liveID+"/reissue"
		q.want = []string{"200"}
	case "redeem":
		q.path, q.body = q.path+"/redemptions", map[string]string{"prize_id": d.prizes[a.n]}
		q.want = []string{"201", "422 unprocessable_entity", "422 threshold_already_claimed"}
	case "topup", "spend":
		q.path, q.body = q.path+"/"+a.kind+"s", map[string]int64{"amount_cents": a.n}
		if a.kind == "spend" && p.value < a.n {
			q.want = []string{"422 prepaid_insufficient_balance"}
		}
	case "use":
		q.path += "/uses"
	case "reverse":
		if q.target = p.lastToReverse(); q.target == nil {
			return q, false
		}
		q.path = "/transactions/" + q.target.ID + "/reversal"
		q.want = []string{
			"201", "422 cannot_reverse_completed_cycle", "422 unprocessable_entity", "422 prepaid_insufficient_balance",
			"409 conflict",
		}
		if q.target.LocationID != d.locations[c.location] {
			q.want = []string{"404 not_found"}
		}
	}
	return q, true
}

// lastToReverse returns the last row that was not reversed; nil if there is none.
func (p *cardHolder) lastToReverse() *ledgerRow {
	for _, r := range slices.Backward(p.rows) {
		if !r.reversed && r.Type != "reversal" {
			return r
		}
	}
	return nil
}

// perform executes one action, whose idempotency key is key, and records the answer.
func (d *day) perform(c *dayTill, key string, a action) {
	p := a.p
	q, ok := d.request(c, a)
	if !ok {
		return
	}
	q.headers = []string{"Idempotency-Key", key}
	if q.api.Key == c.api.Key && c.location == 1 {
		if a.badPIN {
			d.ask(q.api, "POST", q.path, q.body, "Idempotency-Key", key, "X-Staff-Pin", "1357").Want(401, "invalid_credentials")
			c.outcomes["wrong PIN"]++
		}
		q.headers = append(q.headers, "X-Staff-Pin", pin)
	}
	r := d.ask(q.api, "POST", q.path, q.body, q.headers...)
	got := r.Outcome()
	if !slices.Contains(q.want, got) {
		d.t.Errorf("%s: %s of member %d (%s, with %v stamps and %d cents): %s, want %v: %s", key, a.kind, p.n, p.program, p.stamps,
			p.value, got, q.want, r.Body)
		return
	}
	c.outcomes[a.kind+" "+got]++
	switch {
	case got == "201" && a.kind == "issue", a.kind == "reissue":
		d.recordIssue(p, r, a)
	case got == "201":
		before, rows := maps.Clone(p.stamps), len(p.rows)
		d.recordRows(c, p, r, q.target)
		d.checkRows(p, a, before, p.rows[rows:])
	}
	if a.repeat > 0 {
		c.outcomes["retry "+got[:1]]++
	}
	switch repeat := func() { d.repeat(key, q, r) }; a.repeat {
	case 1:
		repeat()
	case 2:
		c.later = append(c.later, repeat)
	}
}

// repeat retries a request and checks that the answer equals the first one.
func (d *day) repeat(key string, q dayRequest, first *servertest.Reply) {
	second := d.ask(q.api, "POST", q.path, q.body, q.headers...)
	if second.Header.Get("Idempotent-Replayed") != "true" || second.Outcome() != first.Outcome() || first.Status < 400 &&
		!bytes.Equal(second.Body, first.Body) {
		d.t.Errorf("%s: the retry of %s got (%v) %d %s, the first request %d %s", key, q.path, second.Header, second.Status, second.Body,
			first.Status, first.Body)
	}
}

// recordIssue records the card of an answer. After a reissue it checks that the old code and link
// are invalid and that the new code works.
func (d *day) recordIssue(p *cardHolder, r *servertest.Reply, a action) {
	var made card
	r.Decode(&made)
	if made.asMember(d.programs) != p.member || p.id != "" && made.ID != p.liveID || made.InstallURL == p.link {
		d.t.Errorf("%s of member %d: %s", a.kind, p.n, r.Body)
	}
	old := p.link
	p.link = strings.TrimPrefix(made.InstallURL, d.origin)
	if a.kind == "issue" {
		p.id, p.cards = made.ID, []string{made.ID}
		return
	}
	c := d.tills[0].api
	d.ask(c, "GET", "/cards/"+p.oldCode, nil).Want(404, "not_found")
	d.ask(c, "POST", "/cards/"+p.oldCode+"/stamps", nil).Want(404, "not_found")
	d.ask(newClient(d.t, d.origin, ""), "GET", old, nil).Want(410, "gone")
	if code := d.readCode(p); code == p.oldCode {
		d.t.Errorf("member %d has the same code after the reissue", p.n)
	} else if found := d.lookup(c, code); found.ID != p.liveID || found.Status != "invited" {
		d.t.Errorf("member %d's new code finds %+v, want %s", p.n, found, p.liveID)
	}
}

// readCode reads the code on a card's page.
func (d *day) readCode(p *cardHolder) string {
	d.t.Helper()
	r := d.ask(newClient(d.t, d.origin, ""), "GET", p.link, nil, "Accept", "text/html")
	return scan(d.t, string(r.Want(200).Body))
}

// lookup reads a card by its code or id.
func (d *day) lookup(c *servertest.Client, code string) stampedCard {
	d.t.Helper()
	var found struct{ Card stampedCard }
	d.ask(c, "GET", "/cards/"+code, nil).Want(200).Decode(&found)
	return found.Card
}

// recordRows records the rows of an answer and checks that the cards in it have their sums.
func (d *day) recordRows(c *dayTill, p *cardHolder, r *servertest.Reply, reversed *ledgerRow) {
	var answer struct {
		Transaction         *ledgerRow   `json:"transaction"`
		Card                stampedCard  `json:"card"`
		OverflowTransaction *ledgerRow   `json:"overflow_transaction"`
		OverflowCard        *stampedCard `json:"overflow_card"`
	}
	r.Decode(&answer)
	note := func(row *ledgerRow, on stampedCard) {
		if !slices.Contains(p.cards, row.CardID) {
			p.cards = append(p.cards, row.CardID)
		}
		if row.StampsDelta != nil {
			p.stamps[row.CardID] += *row.StampsDelta
		}
		if row.ValueDelta != nil {
			p.value += *row.ValueDelta
		}
		if on.ID != row.CardID || on.StampsCount != p.stamps[on.ID] || (p.program == "prepaid") != (on.CurrentValue != nil) ||
			on.CurrentValue != nil && *on.CurrentValue != p.value ||
			row.LocationID != d.locations[c.location] || row.ProgramID != d.programs[p.program] || row.ReversedAt != nil {
			d.t.Errorf("member %d, with %v stamps and %d cents: %s", p.n, p.stamps, p.value, r.Body)
		}
		p.rows = append(p.rows, row)
	}
	note(answer.Transaction, answer.Card)
	if over := answer.OverflowTransaction; over != nil {
		note(over, *answer.OverflowCard)
		answer.Transaction.partner, over.partner = over, answer.Transaction
	}
	if reversed != nil {
		checkReversal(d.t, reversed, answer.Transaction)
		if reversed.partner != nil {
			checkReversal(d.t, reversed.partner, answer.OverflowTransaction)
		}
	}
}

// newest returns the newest instance of the card that is not archived, given the stamps of
// each. An instance that took what was too much for the one before is archived when a
// reversal leaves it with nothing, but not when a redemption does.
func (p *cardHolder) newest(stamps map[string]int64) string {
	i := len(p.cards) - 1
	for i > 0 && stamps[p.cards[i]] == 0 && !slices.ContainsFunc(p.rows, func(r *ledgerRow) bool {
		return r.CardID == p.cards[i] && r.Type == "redemption" && *r.StampsDelta < 0
	}) {
		i--
	}
	return p.cards[i]
}

// checkRows checks that the rows are what the till requested. before are the stamps of each
// instance before the request.
func (d *day) checkRows(p *cardHolder, a action, before map[string]int64, rows []*ledgerRow) {
	first, ok := rows[0], true
	switch a.kind {
	case "stamp":
		want, got := a.n, int64(0)
		if p.program == "private" {
			want = min(want, 8-before[first.CardID])
		}
		for _, r := range rows {
			ok = ok && r.Type == "stamp" && *r.StampsDelta > 0
			got += *r.StampsDelta
		}
		ok = ok && got == want
	case "redeem":
		was := before[first.CardID]
		completes := p.program == "standard" && was == 10 && a.n > 0 && first.CardID == p.newest(before)
		ok = first.Type == "redemption" && *first.PrizeID == d.prizes[a.n] &&
			(*first.StampsDelta == 0 || completes && *first.StampsDelta == -was) && (!completes || *first.StampsDelta != 0)
	case "topup", "spend":
		ok = first.Type == a.kind && *first.ValueDelta == map[string]int64{"topup": a.n, "spend": -a.n}[a.kind] && first.StampsDelta == nil
	case "use":
		ok = first.Type == p.program && first.StampsDelta == nil && first.ValueDelta == nil
	}
	if ok = ok && (len(rows) == 1 || a.kind == "stamp" || a.kind == "reverse"); !ok {
		d.t.Errorf("member %d, with %v: %+v was answered %+v", p.n, before, a, *first)
	}
}

// checkReversal checks that reversal is the reversal of row.
func checkReversal(t *testing.T, row, reversal *ledgerRow) {
	row.reversed = true
	negated := func(a, b *int64) bool { return a == nil && b == nil || a != nil && b != nil && *a == -*b }
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	if reversal == nil || reversal.Type != "reversal" || reversal.CardID != row.CardID || text(row.PrizeID) != text(reversal.PrizeID) ||
		!negated(row.StampsDelta, reversal.StampsDelta) || !negated(row.ValueDelta, reversal.ValueDelta) {
		t.Errorf("%+v was reversed by %+v", row, reversal)
	}
}
