package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"
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

// client makes one request after the other, with cards of its own.
type client struct {
	*load
	visitor
	n        int // its number, from 0
	conn     conn
	rng      *rand.Rand
	began    time.Time // when the request in progress began or, with a rate, was due
	cards    []*card
	keys     int            // Idempotency-Keys used so far
	cursor   string         // of the next page of the list; empty for the first
	answered map[string]sum // what the answers wrote to the ledger, by type of row
	lost     bool           // the connection failed, after which the client stops
}

// step makes one request. This is the mix:
//
//	42 %  GET a card by its id, which must be as its last write left it
//	18 %  GET the till's lookup of a card, with the same check
//	 9 %  GET a list of 100: cards from the first page or further on, or the newest rows
//	 1 %  GET statistics: a program's, the shop's summary, the heatmap of a year
//	15 %  POST a visit: 1 to 3 stamps, or the prize that the card has ready; some overflow into a new card
//	 5 %  POST a spend where the balance allows it, else a top-up
//	10 %  POST a card over REST
//
// Every POST of the mix has an Idempotency-Key. In a soak 40 of 100 requests are those of other.
func (c *client) step() {
	if c.soak && c.rng.IntN(100) < 40 {
		c.other()
		return
	}
	switch x := c.rng.IntN(100); {
	case x < 42:
		k := one(c, c.cards)
		c.read("card", office, k.live, k)
	case x < 60:
		k := one(c, c.cards)
		c.read("lookup", till, k.id, k)
	case x < 69:
		c.list()
	case x < 70:
		c.get("stats", office, one(c, []string{"/programs/" + c.program + "/stats", "/analytics/summary", "/analytics/heatmap"}))
	case x < 85:
		c.visit()
	case x < 90:
		c.pay()
	default:
		c.issue()
	}
}

// ask makes a request and records its time. ok is false if the connection failed or
// the answer has another status.
func (c *client) ask(kind string, r request, status int) (a answer, ok bool) {
	a, err := c.conn.do(r)
	c.note(kind, time.Since(c.began))
	c.lost = err != nil
	if err != nil {
		c.fail("%s: the connection ended: %v", kind, err)
	} else if a.status != status {
		if a.status < 400 {
			a.body = nil // it may contain secrets
		}
		c.fail("%s: status %d, want %d: %.300s", kind, a.status, status, a.body)
	}
	return a, err == nil && a.status == status
}

func (c *client) get(kind string, f face, path string) (answer, bool) {
	return c.ask(kind, request{face: f, path: path}, 200)
}

// one returns one of a list.
func one[T any](c *client, list []T) T { return list[c.rng.IntN(len(list))] }

// pick returns one of the client's cards of a type.
func (c *client) pick(prepaid bool) *card {
	for {
		if k := one(c, c.cards); k.prepaid == prepaid {
			return k
		}
	}
}

// read reads a card, whose state must be that of its last write.
func (c *client) read(kind string, f face, id string, k *card) {
	want := fmt.Sprintf(`"stamps_count":%d,"current_value":null,`, k.stamps)
	if k.prepaid {
		want = fmt.Sprintf(`"stamps_count":0,"current_value":%d,`, k.cents)
	}
	a, ok := c.get(kind, f, "/cards/"+id)
	// A lookup shows the older instance after the program.
	if shown, _, _ := bytes.Cut(a.body, []byte(`"program":`)); ok && !bytes.Contains(shown, []byte(want)) {
		c.fail("%s %s: it does not show %s", kind, k.live, want)
	}
}

// list reads the newest rows of the ledger, or a page of the cards.
func (c *client) list() {
	if x := c.rng.IntN(4); x < 2 {
		c.get("list", office, []string{"/transactions", "/cards"}[x]+"?limit=100")
	} else {
		c.page("list")
	}
}

// page reads the next page of all cards, or the first one after the last.
func (c *client) page(kind string) {
	a, ok := c.get(kind, office, "/cards?limit=100"+c.cursor)
	if c.cursor = ""; ok {
		_, next, _ := bytes.Cut(a.body[max(0, len(a.body)-400):], []byte(`"next_cursor":"`))
		if next, _, ok := bytes.Cut(next, []byte(`"`)); ok {
			c.cursor = "&cursor=" + string(next)
		}
	}
}

// post makes a write, which must be answered with 201 and for the first time.
func (c *client) post(kind string, f face, path, body string) (a answer, ok bool) {
	c.keys++
	a, ok = c.ask(kind, request{face: f, path: path, key: fmt.Sprintf("load-%d-%d", c.n, c.keys), body: body}, 201)
	if a.replayed {
		c.fail("%s: the answer to a new request is a replay", kind)
	}
	return a, ok && !a.replayed
}

// issue issues a card over REST; one in five is prepaid.
func (c *client) issue() {
	k, program, n := &card{}, c.program, len(c.cards)
	if n%5 == 4 {
		k.prepaid, program = true, c.prepaidProgram
	}
	body := fmt.Sprintf(`{"external_ref":"member-%d-%d","holder_name":"Giulia Bianchi","holder_email":"m%[1]d-%d@example.com"}`, c.n, n)
	a, ok := c.post("issue", office, "/programs/"+program+"/cards", body)
	if !ok {
		return
	}
	var made struct {
		instance
		Link string `json:"install_url"`
	}
	if err := json.Unmarshal(a.body, &made); err != nil || made.ID == "" {
		c.fail("issue: the answer names no card")
		return
	}
	k.id, k.live = made.ID, made.ID
	c.cards = append(c.cards, k)
	c.expect("card.added", k.id)
	if c.soak && len(c.held) < installed {
		c.install(k, made.Link)
	}
}
