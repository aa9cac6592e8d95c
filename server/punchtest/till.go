package punchtest

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Till is a device at one location, with its own token. Methods take the id of a
// card or the content of its QR code, which stands for all cards that overflowed
// from one another. Each method makes one request and fails the test if that is
// refused; those of [Till.Try] return the error instead.
type Till struct {
	ID       string // of the device
	Location string // id
	Token    string // bearer token, for other clients of the till API

	s         *Server
	headers   []string
	reference string
	occurred  time.Time
}

// Till returns a till at a location of any shop. It is always the same device until
// a reset, which revokes it. [Server.NewTill] creates further devices.
func (s *Server) Till(location string) *Till {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	d, made := s.tills[location]
	if !made {
		d = s.newDevice(location)
		s.tills[location] = d
	}
	return &Till{ID: d.ID, Location: location, Token: d.Token, s: s}
}

// NewTill creates a further device at a location.
func (s *Server) NewTill(location string) *Till {
	s.t.Helper()
	d := s.newDevice(location)
	return &Till{ID: d.ID, Location: location, Token: d.Token, s: s}
}

// device is a device with its token.
type device struct{ ID, Token string }

func (s *Server) newDevice(location string) device {
	s.t.Helper()
	return ask[device](s, http.MethodPost, "/devices", map[string]string{"location_id": location})
}

// Revoke ends the token of the till from its next request on. [Server.Till] returns a new
// device for the location afterwards.
func (t *Till) Revoke() {
	t.s.t.Helper()
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.act("devices", t.ID, "revoke", nil)
	if t.s.tills[t.Location].ID == t.ID {
		delete(t.s.tills, t.Location)
	}
}

// PIN returns the same till with a staff PIN in its requests.
func (t *Till) PIN(pin string) *Till { return t.with("X-Staff-Pin", pin) }

// Session returns the same till with the token of a staff session in its requests; see
// [Till.SignIn].
func (t *Till) Session(token string) *Till { return t.with("X-Staff-Session", token) }

// ClientReference returns the same till with a client_reference, a UUID, in its writes. Use it
// for one write and its retries: the server makes a write with the same reference only once,
// however late a retry comes.
func (t *Till) ClientReference(reference string) *Till {
	c := *t
	c.reference = reference
	return &c
}

// OccurredAt returns the same till with an occurred_at in its stamps, as a till sends it that
// was offline when it gave them. when is at most seven days ago.
func (t *Till) OccurredAt(when time.Time) *Till {
	c := *t
	c.occurred = when
	return &c
}

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
	HeldCode     string        `json:"held_code"`    // of a lookup by a handle: names the card in writes for eight days
}

// Lookup returns a card. It changes nothing.
func (t *Till) Lookup(card string) Lookup {
	t.s.t.Helper()
	return ok(t.Try().Lookup(card))(t.s.t)
}

// Transactions returns the latest rows that the till itself made, at most 50, newest first.
func (t *Till) Transactions() []Transaction {
	t.s.t.Helper()
	return ok(t.Try().Transactions())(t.s.t)
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

// Reverse reverses a transaction of the till's location. transaction is its id, or the
// client_reference of the write that made it.
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

// Transactions is [Till.Transactions].
func (t *TryTill) Transactions() ([]Transaction, error) {
	l, err := call[list[Transaction]](t, http.MethodGet, "/transactions", nil)
	return l.Data, err
}

// Issue is [Till.Issue].
func (t *TryTill) Issue(program string, fields CardFields) (IssuedCard, error) {
	body := struct {
		CardFields
		ClientReference string `json:"client_reference,omitempty"`
	}{fields, t.t.reference}
	return call[IssuedCard](t, http.MethodPost, "/programs/"+url.PathEscape(program)+"/cards", body)
}

// Stamp is [Till.Stamp].
func (t *TryTill) Stamp(card string, n int) (TillResult, error) {
	body := map[string]any{"count": n}
	if !t.t.occurred.IsZero() {
		body["occurred_at"] = t.t.occurred
	}
	return t.act(card, "stamps", body)
}

// Redeem is [Till.Redeem].
func (t *TryTill) Redeem(card, prize string) (TillResult, error) {
	return t.act(card, "redemptions", map[string]any{"prize_id": prize})
}

// TopUp is [Till.TopUp].
func (t *TryTill) TopUp(card string, cents int64) (TillResult, error) {
	return t.act(card, "topups", map[string]any{"amount_cents": cents})
}

// Spend is [Till.Spend].
func (t *TryTill) Spend(card string, cents int64) (TillResult, error) {
	return t.act(card, "spends", map[string]any{"amount_cents": cents})
}

// Use is [Till.Use].
func (t *TryTill) Use(card string) (TillResult, error) {
	return t.act(card, "uses", map[string]any{})
}

// Reverse is [Till.Reverse].
func (t *TryTill) Reverse(transaction string) (TillResult, error) {
	return t.write("/transactions/"+url.PathEscape(transaction)+"/reversal", map[string]any{})
}

func (t *TryTill) act(card, action string, body map[string]any) (TillResult, error) {
	return t.write("/cards/"+url.PathEscape(card)+"/"+action, body)
}

// write makes a write to the ledger with the till's client_reference, if it has one.
func (t *TryTill) write(path string, body map[string]any) (TillResult, error) {
	if t.t.reference != "" {
		body["client_reference"] = t.t.reference
	}
	return call[TillResult](t, http.MethodPost, path, body)
}

// call calls the till API and returns the decoded answer.
func call[T any](t *TryTill, method, path string, body any) (answer T, err error) {
	err = t.t.s.send(context.Background(), method, t.t.s.TillURL+path, t.t.Token, body, t.t.headers...).decode(&answer)
	return answer, err
}
