package punchtest

import (
	"context"
	"net/http"
	"net/url"
)

// Till is a device at one location, with its own token. Methods take the id of a
// card or the content of its QR code, which stands for all cards that overflowed
// from one another. Each method makes one request and fails the test if that is
// refused; those of [Till.Try] return the error instead.
type Till struct {
	Location string // id
	Token    string // bearer token, for other clients of the till API

	s       *Server
	headers []string
}

// Till returns a till at a location of any shop. It is always the same device until
// a reset, which revokes it. [Server.NewTill] creates further devices.
func (s *Server) Till(location string) *Till {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	token, made := s.tills[location]
	if !made {
		token = s.newDevice(location)
		s.tills[location] = token
	}
	return &Till{Location: location, Token: token, s: s}
}

// NewTill creates a further device at a location.
func (s *Server) NewTill(location string) *Till {
	s.t.Helper()
	return &Till{Location: location, Token: s.newDevice(location), s: s}
}

func (s *Server) newDevice(location string) (token string) {
	s.t.Helper()
	return ask[struct{ Token string }](s, http.MethodPost, "/devices", map[string]string{"location_id": location}).Token
}

// PIN returns the same till with a staff PIN in its requests.
func (t *Till) PIN(pin string) *Till { return t.with("X-Staff-Pin", pin) }

// IdempotencyKey returns the same till with an Idempotency-Key in its requests. Use
// it for one write and its retries.
func (t *Till) IdempotencyKey(key string) *Till { return t.with("Idempotency-Key", key) }

func (t *Till) with(name, value string) *Till {
	c := *t
	c.headers = append(c.headers[:len(c.headers):len(c.headers)], name, value)
	return &c
}

// TillResult is the result of an action at a till. A stamp that overflows a card,
// and its reversal, also change a second card.
type TillResult struct {
	Transaction         Transaction  `json:"transaction"`
	Card                Card         `json:"card"`
	OverflowTransaction *Transaction `json:"overflow_transaction"`
	OverflowCard        *Card        `json:"overflow_card"`
}

// Lookup is a card as a till shows it: of the cards that overflowed from one another
// the one that takes the next stamp.
type Lookup struct {
	Card    Card    `json:"card"`
	Prizes  []Prize `json:"prizes"`
	Earlier []struct {
		Card
		Prizes []Prize `json:"prizes"`
	} `json:"earlier_cards"` // the other live cards, oldest first
	Transactions []Transaction `json:"transactions"` // the last ten, newest first
}

// Lookup returns a card. It changes nothing.
func (t *Till) Lookup(card string) Lookup {
	t.s.t.Helper()
	return ok(t.Try().Lookup(card))(t.s.t)
}

// Issue issues a card, which is active at once.
func (t *Till) Issue(program string, fields CardFields) IssuedCard {
	t.s.t.Helper()
	return ok(t.Try().Issue(program, fields))(t.s.t)
}

// Stamp gives a card 1 to 100 stamps.
func (t *Till) Stamp(card string, n int) TillResult {
	t.s.t.Helper()
	return ok(t.Try().Stamp(card, n))(t.s.t)
}

// Redeem redeems a prize.
func (t *Till) Redeem(card, prize string) TillResult {
	t.s.t.Helper()
	return ok(t.Try().Redeem(card, prize))(t.s.t)
}

// TopUp adds money to a prepaid card.
func (t *Till) TopUp(card string, cents int64) TillResult {
	t.s.t.Helper()
	return ok(t.Try().TopUp(card, cents))(t.s.t)
}

// Spend takes money from a prepaid card.
func (t *Till) Spend(card string, cents int64) TillResult {
	t.s.t.Helper()
	return ok(t.Try().Spend(card, cents))(t.s.t)
}

// Use records the use of an access or discount card.
func (t *Till) Use(card string) TillResult {
	t.s.t.Helper()
	return ok(t.Try().Use(card))(t.s.t)
}

// Reverse reverses a transaction of the till's location.
func (t *Till) Reverse(transaction string) TillResult {
	t.s.t.Helper()
	return ok(t.Try().Reverse(transaction))(t.s.t)
}

// Try returns the same till with methods that return an *[Error] if a request is
// refused.
func (t *Till) Try() *TryTill { return &TryTill{t} }

// TryTill is a [Till] whose methods return an *[Error] if a request is refused.
type TryTill struct{ t *Till }

// Lookup is [Till.Lookup].
func (t *TryTill) Lookup(card string) (Lookup, error) {
	return call[Lookup](t, http.MethodGet, "/cards/"+url.PathEscape(card), nil)
}

// Issue is [Till.Issue].
func (t *TryTill) Issue(program string, fields CardFields) (IssuedCard, error) {
	return call[IssuedCard](t, http.MethodPost, "/programs/"+url.PathEscape(program)+"/cards", fields)
}

// Stamp is [Till.Stamp].
func (t *TryTill) Stamp(card string, n int) (TillResult, error) {
	return t.act(card, "stamps", map[string]int{"count": n})
}

// Redeem is [Till.Redeem].
func (t *TryTill) Redeem(card, prize string) (TillResult, error) {
	return t.act(card, "redemptions", map[string]string{"prize_id": prize})
}

// TopUp is [Till.TopUp].
func (t *TryTill) TopUp(card string, cents int64) (TillResult, error) {
	return t.act(card, "topups", map[string]int64{"amount_cents": cents})
}

// Spend is [Till.Spend].
func (t *TryTill) Spend(card string, cents int64) (TillResult, error) {
	return t.act(card, "spends", map[string]int64{"amount_cents": cents})
}

// Use is [Till.Use].
func (t *TryTill) Use(card string) (TillResult, error) { return t.act(card, "uses", nil) }

// Reverse is [Till.Reverse].
func (t *TryTill) Reverse(transaction string) (TillResult, error) {
	return call[TillResult](t, http.MethodPost, "/transactions/"+url.PathEscape(transaction)+"/reversal", nil)
}

func (t *TryTill) act(card, action string, body any) (TillResult, error) {
	return call[TillResult](t, http.MethodPost, "/cards/"+url.PathEscape(card)+"/"+action, body)
}

// call calls the till API and returns the decoded answer.
func call[T any](t *TryTill, method, path string, body any) (answer T, err error) {
	err = t.t.s.send(context.Background(), method, t.t.s.TillURL+path, t.t.Token, body, t.t.headers...).decode(&answer)
	return answer, err
}
