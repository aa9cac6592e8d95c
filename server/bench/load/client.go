package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
)

// card is the state of a card according to the answers so far. Only one client
// writes to it, so that the next answer is known in advance.
type card struct {
	id      string // of the first instance, which stands for all that overflowed from it
	live    string // id of the instance that takes stamps
	full    string // id of an older instance whose prize is not redeemed, or empty
	prepaid bool
	active  bool // a till has acted on it
	claimed bool // the lower prize was redeemed in this cycle
	stamps  int64
	cents   int64
}

// sum is the sum of the ledger's rows of a type.
type sum struct{ rows, stamps, cents int64 }

// client is a connection with the cards that it uses. It has the key of the office
// and the token of a till.
type client struct {
	n            int
	load         *load
	c            conn
	rng          *rand.Rand
	office, till *caller
	standard     []*card
	prepaid      []*card
	issued       int
	keys         int            // Idempotency-Keys used so far
	cursor       string         // of the next page of the list; empty for the first
	answered     map[string]sum // what the answers wrote to the ledger, by type of row
	last         reversible
	retry        *retry // a request to send again
	err          error  // of the connection, after which the client stops
}

// reversible is the newest row that the client wrote, while it can be reversed.
// Reversing it a second time is refused.
type reversible struct {
	card    *card
	row     string
	kind    string // the row's type
	stamps  int64
	cents   int64
	reverse bool // it was reversed already
}

// retry is a request that was answered, with its answer.
type retry struct {
	kind   kind
	req    []byte
	status int
	body   []byte
}

// instance is a card in a till's answer.
type instance struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Stamps int64  `json:"stamps_count"`
	Cents  *int64 `json:"current_value"`
}

// row is a row of the ledger in a till's answer.
type row struct {
	ID     string `json:"id"`
	Card   string `json:"card_id"`
	Type   string `json:"type"`
	Stamps *int64 `json:"stamps_delta"`
	Cents  *int64 `json:"value_delta"`
}

// visit is a till's answer.
type visit struct {
	Row      row      `json:"transaction"`
	Card     instance `json:"card"`
	OverRow  row      `json:"overflow_transaction"`
	OverCard instance `json:"overflow_card"`
}

// step makes one request. This is the mix:
//
//	42 %  GET a card by its id, which must be as its last write left it
//	18 %  GET the till's lookup, the same
//	 9 %  GET a list of 100: cards from the first page or further on, or the newest rows
//	 1 %  GET statistics: a program's, the shop's summary, the heatmap of a year
//	15 %  POST a visit: 1 to 3 stamps, or the prize that the card has ready; some overflow into a new card
//	 4 %  POST a spend where the balance allows it, else a top-up
//	 1 %  POST a reversal
//	10 %  POST a card over REST
//
// Every POST has an Idempotency-Key; one in 50 is sent again, as by a till that lost
// the answer. A few requests must be refused.
func (c *client) step() {
	if c.retry != nil {
		c.sendAgain()
		return
	}
	switch x := c.rng.IntN(100); {
	case x < 42:
		c.readCard()
	case x < 60:
		c.lookUp()
	case x < 69:
		c.list()
	case x < 70:
		c.statistics()
	case x < 85:
		c.visit()
	case x < 89:
		c.pay()
	case x < 90:
		c.reverse()
	default:
		c.issue()
	}
}

// ask makes a request and records its time. ok is false if the connection failed or
// the answer has another status.
func (c *client) ask(k kind, req []byte, status int) (answer, bool) {
	a, err := c.c.roundTrip(req)
	c.load.note(k, c.load.begun(c.n))
	if err != nil {
		c.err = err
		c.load.failures.add("%s: the connection ended: %v", k, err)
		return a, false
	}
	if a.status != status {
		c.load.failures.add("%s: status %d where %d had to come: %s", k, a.status, status, refusal(a))
		return a, false
	}
	return a, true
}

// refusal returns the body of an error. Other bodies may contain secrets.
func refusal(a answer) string {
	if a.status < 400 {
		return fmt.Sprintf("%d bytes", len(a.body))
	}
	return fmt.Sprintf("%.300s", a.body)
}

// randomCard returns one of the client's cards.
func (c *client) randomCard() *card {
	if n := c.rng.IntN(len(c.standard) + len(c.prepaid)); n < len(c.standard) {
		return c.standard[n]
	} else {
		return c.prepaid[n-len(c.standard)]
	}
}

// json returns the part that every answer about the card has.
func (k *card) json() string {
	if k.prepaid {
		return `"stamps_count":0,"current_value":` + strconv.FormatInt(k.cents, 10) + `,`
	}
	return `"stamps_count":` + strconv.FormatInt(k.stamps, 10) + `,"current_value":null,`
}

func (c *client) readCard() {
	k := c.randomCard()
	if a, ok := c.ask(cardRead, c.office.get(api, "/cards/", k.live), 200); ok && !bytes.Contains(a.body, []byte(k.json())) {
		c.load.failures.add("%s %s: a read does not show %s", cardRead, k.live, k.json())
	}
}

func (c *client) lookUp() {
	k := c.randomCard()
	a, ok := c.ask(lookup, c.till.get(tillAPI, "/cards/", k.id), 200)
	if shown, _, _ := bytes.Cut(a.body, []byte(`"program":`)); ok && !bytes.Contains(shown, []byte(k.json())) {
		c.load.failures.add("%s %s: it does not show %s", lookup, k.live, k.json())
	}
}

func (c *client) list() {
	switch c.rng.IntN(4) {
	case 0:
		c.ask(list, c.office.get(api, "/transactions?limit=100"), 200)
	case 1:
		c.ask(list, c.office.get(api, "/cards?limit=100"), 200)
	default:
		c.page(list)
	}
}

// page reads the next page of all cards, or the first one after the last.
func (c *client) page(k kind) {
	a, ok := c.ask(k, c.office.get(api, "/cards?limit=100", c.cursor), 200)
	if c.cursor = ""; ok {
		_, next, _ := bytes.Cut(a.body[max(0, len(a.body)-400):], []byte(`"next_cursor":"`))
		if next, _, ok := bytes.Cut(next, []byte(`"`)); ok {
			c.cursor = "&cursor=" + string(next)
		}
	}
}

func (c *client) statistics() {
	sh := c.load.shop
	switch c.rng.IntN(3) {
	case 0:
		c.ask(stats, c.office.get(api, "/programs/", sh.standard, "/stats"), 200)
	case 1:
		c.ask(stats, c.office.get(api, "/analytics/summary"), 200)
	default:
		c.ask(stats, c.office.get(api, "/analytics/heatmap"), 200)
	}
}

// key returns a new Idempotency-Key.
func (c *client) key() string {
	c.keys++
	return "load-" + strconv.Itoa(c.n) + "-" + strconv.Itoa(c.keys)
}

// post makes a write that must be answered with the status and, if that is not 201,
// the error code.
func (c *client) post(k kind, req []byte, status int, code string) (answer, bool) {
	a, ok := c.ask(k, req, status)
	if !ok {
		return a, false
	}
	if a.replayed || code != "" && !bytes.Contains(a.body, []byte(`"code":"`+code+`"`)) {
		c.load.failures.add("%s: %d, replayed %t, where %s had to come: %s", k, a.status, a.replayed, code, refusal(a))
		return a, false
	}
	if !c.load.filling && c.rng.IntN(50) == 0 {
		c.retry = &retry{k, bytes.Clone(req), status, bytes.Clone(a.body)}
	}
	return a, status == 201
}

// sendAgain sends a request again, which must get the same answer.
func (c *client) sendAgain() {
	r := c.retry
	c.retry = nil
	a, ok := c.ask(r.kind, r.req, r.status)
	if ok && (!a.replayed || a.status == 201 && !bytes.Equal(a.body, r.body)) {
		c.load.failures.add("%s: sent again it was answered anew", r.kind)
	}
}

// issue issues a card over REST; one in five is prepaid.
func (c *client) issue() {
	sh := c.load.shop
	k := &card{prepaid: c.issued%5 == 4}
	c.issued++
	program := sh.standard
	if k.prepaid {
		program, k.cents = sh.prepaid, 500
	}
	ref := strconv.Itoa(c.n) + "-" + strconv.Itoa(c.issued)
	body := `{"external_ref":"member-` + ref + `","holder_name":"Giulia Bianchi","holder_email":"m` + ref + `@example.com"}`
	a, ok := c.post(issue, c.office.post(c.key(), body, api, "/programs/", program, "/cards"), 201, "")
	if !ok {
		return
	}
	var made instance
	if err := json.Unmarshal(a.body, &made); err != nil || made.ID == "" {
		c.load.failures.add("%s: the answer names no card", issue)
		return
	}
	k.id, k.live = made.ID, made.ID
	if k.prepaid {
		c.prepaid = append(c.prepaid, k)
	} else {
		c.standard = append(c.standard, k)
	}
	c.expect("card.added", k.id)
}

// expect notes that the webhook must send an event.
func (c *client) expect(event, id string) {
	if !c.load.filling {
		c.load.webhooks.expect(event, id)
	}
}
