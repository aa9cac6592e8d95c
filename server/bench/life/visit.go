package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// row is a row of the ledger as the till's API answers it.
type row struct {
	ID          string    `json:"id"`
	CardID      string    `json:"card_id"`
	ProgramID   string    `json:"program_id"`
	Type        string    `json:"type"`
	LocationID  *string   `json:"location_id"`
	StampsDelta *int64    `json:"stamps_delta"`
	ValueDelta  *int64    `json:"value_delta"`
	PrizeID     *string   `json:"prize_id"`
	CreatedAt   time.Time `json:"created_at"`
}

// issued is a new card.
type issued struct {
	ID        string `json:"id"`
	ProgramID string `json:"program_id"`
	Stamps    int64  `json:"stamps"`
	Value     *int64 `json:"value"`
}

// done is a line of answers.jsonl: a request that changed something, and what it was answered.
type done struct {
	At         time.Time  `json:"at"`
	Shop       string     `json:"shop"`
	Face       string     `json:"face"`
	Kind       string     `json:"kind"`
	Card       string     `json:"card"`
	Rows       []row      `json:"rows"`
	Reverses   *string    `json:"reverses"`
	Issued     *issued    `json:"issued"`
	OccurredAt *time.Time `json:"occurred_at"`
	change
}

// tillCard is a card in the answer to a till.
type tillCard struct {
	ID           string
	CurrentValue *int64 `json:"current_value"`
}

// stamped is the answer to a write at a till.
type stamped struct {
	Transaction         *row
	Card                tillCard
	OverflowTransaction *row `json:"overflow_transaction"`
	OverflowCard        *struct{ ID string }
}

// late is a stamp that waits in a till without a network.
type late struct {
	m         *member
	count     int
	at        time.Time
	reference string
}

// visitor is a visit in progress.
type visitor struct {
	*year
	visit
	rand *rand.Rand
}

// perform makes the requests of a visit.
func (y *year) perform(v visit) {
	c := visitor{y, v, rand.New(rand.NewPCG(v.seed, y.seed))}
	if c.m.card == "" {
		if !c.issue() {
			return
		}
	} else if c.m.phone != nil {
		c.addPhone(c.m) // again, if the process was killed that had it
	}
	switch c.m.program.Type {
	case "standard", "private":
		c.stamp()
	case "prepaid":
		c.pay()
	default:
		c.write("use", "/uses", nil, refusals...)
	}
}

// reference returns a client_reference.
func (c *visitor) reference() string {
	a, b := c.rand.Uint64(), c.rand.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", uint32(a>>32), uint16(a>>16), a&0xfff, b>>52, b&0xffffffffffff)
}

// issue issues the member's card at the till, by the shop's system or by the page for new customers.
func (c *visitor) issue() bool {
	m := c.m
	if m.faceOfIssue == "enrol" {
		return c.issueByForm(m)
	}
	body := map[string]any{"holder_name": m.name(), "holder_email": m.email(), "external_ref": fmt.Sprint("m-", m.n)}
	f, path := m.shop.api.with("Idempotency-Key", c.reference()), "/programs/"+m.program.ID+"/cards"
	if m.faceOfIssue == "till" {
		body["client_reference"] = c.reference()
		f = c.till.api
	}
	// Who gets no card comes again.
	r, ok := c.ask(f, "POST", path, body, "201", "422 location_disabled", "422 unprocessable_entity")
	if !ok || r.status != 201 {
		c.count("card refused: " + r.code())
		return false
	}
	var made issued
	var link struct {
		InstallURL string `json:"install_url"`
	}
	if err := errors.Join(r.decode(&made), r.decode(&link)); err != nil {
		c.fault("issue: %v", err)
		return false
	}
	m.card, m.first, m.install = made.ID, made.ID, link.InstallURL
	c.count("card issued: " + f.name)
	c.answers.write(done{At: c.now, Shop: m.shop.ID, Face: f.name, Kind: "issue", Card: made.ID, Issued: &made})
	if m.platform != "" {
		c.addPhone(m)
	}
	return true
}

// refusals of a till that depend on the state of a card or shop.
var refusals = []string{
	"201", "422 card_locked", "422 card_suspended", "422 card_expired", "422 card_full_no_repeat", "422 unprocessable_entity",
	"422 location_disabled", "422 threshold_already_claimed", "422 prepaid_insufficient_balance", "404 not_found",
}

// stamp gives stamps, and a prize where the card has one.
func (c *visitor) stamp() {
	n := 1 + c.rand.IntN(3)
	if c.till.isOffline {
		c.till.mu.Lock()
		defer c.till.mu.Unlock()
		c.till.offline = append(c.till.offline, late{c.m, n, c.now, c.reference()})
		c.count("stamp kept in a till without a network")
		return
	}
	c.write("stamp", "/stamps", map[string]any{"count": n}, refusals...)
	if c.rand.IntN(3) > 0 {
		return
	}
	r, ok := c.ask(c.till.api, "GET", "/cards/"+c.m.card, nil, "200", "404 not_found")
	var found struct {
		Prizes []struct {
			ID                 string
			Available, Claimed bool
		}
	}
	if !ok || r.status != 200 || r.decode(&found) != nil {
		return
	}
	for _, p := range found.Prizes {
		if p.Available && !p.Claimed {
			c.write("redeem", "/redemptions", map[string]any{"prize_id": p.ID}, refusals...)
			return
		}
	}
}

// pay spends from a prepaid card, or tops it up.
func (c *visitor) pay() {
	cents := 150 + 10*c.rand.Int64N(60)
	if c.m.cents < cents {
		c.write("topup", "/topups", map[string]any{"amount_cents": 1000 * (1 + c.rand.IntN(5))}, refusals...)
	}
	c.write("spend", "/spends", map[string]any{"amount_cents": cents}, refusals...)
}

// write makes a write at the till, sometimes twice, and sometimes takes it back.
func (c *visitor) write(kind, path string, body map[string]any, want ...string) {
	if body == nil {
		body = map[string]any{}
	}
	body["client_reference"] = c.reference()
	code := c.m.card
	if c.m.code != "" && kind == "topup" { // money goes out by our own codes only
		code = c.m.code
	}
	path = "/cards/" + code + path
	r, ok := c.ask(c.till.api, "POST", path, body, want...)
	if !ok || r.status != 201 {
		c.count(kind + " refused: " + r.code())
		return
	}
	id := c.record(kind, r, nil, nil)
	c.keep(kept{c.now, c.till, c.m, path, body, id})
	if c.rand.IntN(30) == 0 {
		// The answer has the same row, and the card as it is now, which somebody else may have changed meanwhile.
		var first, second stamped
		again, ok := c.ask(c.till.api, "POST", path, body, "201")
		if ok && (r.decode(&first) != nil || again.decode(&second) != nil || first.Transaction.ID != second.Transaction.ID) {
			c.fault("a repeated %s is answered %s, not %s", kind, again.body, r.body)
		}
		c.count("write repeated")
	}
	if id != "" && c.rand.IntN(50) == 0 {
		back := map[string]any{"client_reference": c.reference()}
		want := slices.Concat(refusals, []string{"422 cannot_reverse_completed_cycle", "409 conflict"})
		r, ok := c.ask(c.till.api, "POST", "/transactions/"+id+"/reversal", back, want...)
		if ok && r.status == 201 {
			c.record("reverse", r, &id, nil)
		}
	}
}

// record writes what a till was answered, and returns the id of the row.
func (c *visitor) record(kind string, r reply, reverses *string, occurred *time.Time) string {
	var a stamped
	if err := r.decode(&a); err != nil || a.Transaction == nil {
		c.fault("%s: %v: %s", kind, err, r.body)
		return ""
	}
	line := done{At: c.now, Shop: c.m.shop.ID, Face: "till", Kind: kind, Card: a.Card.ID, Rows: []row{*a.Transaction}, Reverses: reverses,
		OccurredAt: occurred}
	if a.Card.CurrentValue != nil {
		c.m.cents = *a.Card.CurrentValue
	}
	if a.OverflowTransaction != nil {
		line.Rows = append(line.Rows, *a.OverflowTransaction)
	}
	c.count(kind)
	c.answers.write(line)
	return a.Transaction.ID
}
