package punchtest

import (
	"context"
	"net/http"
	"net/url"
)

// Till is a shop's device at one location, with a token of its own. A card is
// named by its id or by what its QR code holds, which stands for all cards that
// overflowed from one another. Each method is one request; a refusal fails the
// test. [Till.Try] returns refusals instead.
type Till struct {
	Location string // id
	Token    string // bearer token, for other clients of the till API

	s       *Server
	headers []string
}

// Till is the till of the fixture at a location of any shop: always the same
// device, until a reset, which ends it. For another one use [Server.NewTill].
func (s *Server) Till(location string) *Till {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	token, made := s.tills[location]
	if !made {
		token = ok(s.newDevice(location))(s.t)
		s.tills[location] = token
	}
	return &Till{Location: location, Token: token, s: s}
}

// NewTill is one more device at a location.
func (s *Server) NewTill(location string) *Till {
	s.t.Helper()
	return &Till{Location: location, Token: ok(s.newDevice(location))(s.t), s: s}
}

func (s *Server) newDevice(location string) (token string, err error) {
	var device struct{ Token string }
	err = s.control(http.MethodPost, "/devices", map[string]string{"location_id": location}, &device)
	return device.Token, err
}

// PIN is the same till with the staff PIN keyed in.
func (t *Till) PIN(pin string) *Till { return t.with("X-Staff-Pin", pin) }

// IdempotencyKey is the same till, whose writes bear that key: it is good for
// one of them, and for its repetition.
func (t *Till) IdempotencyKey(key string) *Till { return t.with("Idempotency-Key", key) }

func (t *Till) with(name, value string) *Till {
	c := *t
	c.headers = append(c.headers[:len(c.headers):len(c.headers)], name, value)
	return &c
}

// Stamped is what an action at a till did. A stamp that overflows one card, and
// its reversal, touch a second.
type Stamped struct {
	Transaction         Transaction  `json:"transaction"`
	Card                Card         `json:"card"`
	OverflowTransaction *Transaction `json:"overflow_transaction"`
	OverflowCard        *Card        `json:"overflow_card"`
}

// Lookup is a card as a till shows it: the one of its chain that takes the next
// stamp.
type Lookup struct {
	Card    Card    `json:"card"`
	Prizes  []Prize `json:"prizes"`
	Earlier []struct {
		Card
		Prizes []Prize `json:"prizes"`
	} `json:"earlier_cards"` // the other live ones, oldest first
	Transactions []Transaction `json:"transactions"` // the last ten, newest first
}

// Lookup shows a card. It writes nothing.
func (t *Till) Lookup(card string) Lookup {
	t.s.t.Helper()
	return ok(t.Try().Lookup(card))(t.s.t)
}

// Issue issues a card at the counter. It is active at once.
func (t *Till) Issue(program string, fields CardFields) IssuedCard {
	t.s.t.Helper()
	return ok(t.Try().Issue(program, fields))(t.s.t)
}

// Stamp gives a card 1 to 100 stamps.
func (t *Till) Stamp(card string, n int) Stamped {
	t.s.t.Helper()
	return ok(t.Try().Stamp(card, n))(t.s.t)
}

// Redeem hands out a prize.
func (t *Till) Redeem(card, prize string) Stamped {
	t.s.t.Helper()
	return ok(t.Try().Redeem(card, prize))(t.s.t)
}

// TopUp puts money on a prepaid card.
func (t *Till) TopUp(card string, cents int64) Stamped {
	t.s.t.Helper()
	return ok(t.Try().TopUp(card, cents))(t.s.t)
}

// Spend takes money from a prepaid card.
func (t *Till) Spend(card string, cents int64) Stamped {
	t.s.t.Helper()
	return ok(t.Try().Spend(card, cents))(t.s.t)
}

// Use notes the use of an access or discount card.
func (t *Till) Use(card string) Stamped {
	t.s.t.Helper()
	return ok(t.Try().Use(card))(t.s.t)
}

// Reverse takes back a transaction of the till's location.
func (t *Till) Reverse(transaction string) Stamped {
	t.s.t.Helper()
	return ok(t.Try().Reverse(transaction))(t.s.t)
}

// Try is the same till, whose methods return refusals as *[Error].
func (t *Till) Try() *TryTill { return &TryTill{t} }

// TryTill is a [Till] whose methods return refusals as *[Error].
type TryTill struct{ t *Till }

// Lookup is [Till.Lookup].
func (t *TryTill) Lookup(card string) (l Lookup, err error) {
	err = t.call(http.MethodGet, "/cards/"+url.PathEscape(card), nil, &l)
	return l, err
}

// Issue is [Till.Issue].
func (t *TryTill) Issue(program string, fields CardFields) (c IssuedCard, err error) {
	err = t.call(http.MethodPost, "/programs/"+url.PathEscape(program)+"/cards", fields, &c)
	return c, err
}

// Stamp is [Till.Stamp].
func (t *TryTill) Stamp(card string, n int) (Stamped, error) {
	return t.act(card, "stamps", map[string]int{"count": n})
}

// Redeem is [Till.Redeem].
func (t *TryTill) Redeem(card, prize string) (Stamped, error) {
	return t.act(card, "redemptions", map[string]string{"prize_id": prize})
}

// TopUp is [Till.TopUp].
func (t *TryTill) TopUp(card string, cents int64) (Stamped, error) {
	return t.act(card, "topups", map[string]int64{"amount_cents": cents})
}

// Spend is [Till.Spend].
func (t *TryTill) Spend(card string, cents int64) (Stamped, error) {
	return t.act(card, "spends", map[string]int64{"amount_cents": cents})
}

// Use is [Till.Use].
func (t *TryTill) Use(card string) (Stamped, error) { return t.act(card, "uses", nil) }

// Reverse is [Till.Reverse].
func (t *TryTill) Reverse(transaction string) (s Stamped, err error) {
	err = t.call(http.MethodPost, "/transactions/"+url.PathEscape(transaction)+"/reversal", nil, &s)
	return s, err
}

func (t *TryTill) act(card, action string, body any) (s Stamped, err error) {
	err = t.call(http.MethodPost, "/cards/"+url.PathEscape(card)+"/"+action, body, &s)
	return s, err
}

func (t *TryTill) call(method, path string, body, out any) error {
	r := t.t.s.send(context.Background(), method, t.t.s.TillURL+path, t.t.Token, body, t.t.headers...)
	if err := r.Err(); err != nil {
		return err
	}
	return r.decode(out)
}
