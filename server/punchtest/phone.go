package punchtest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Phone is a phone with a wallet in the server itself. It has the passes of the cards that are added to it, and reads a pass again
// when the server tells it that the card has changed, as a real phone does. A reset removes it.
type Phone struct {
	Platform string // apple or google
	// Timeout is how long Await waits, in real time.
	Timeout time.Duration

	s  *Server
	mu sync.Mutex
	id string // empty before the first Add
}

// Phone returns a new phone without cards. The platform is apple or google. Fields have the same keys on both.
func (s *Server) Phone(platform string) *Phone {
	return &Phone{Platform: platform, Timeout: 10 * time.Second, s: s}
}

// Pass is the pass of a card on a phone.
type Pass struct {
	Card       string      `json:"card_id"` // that was added
	Serial     string      `json:"serial_number"`
	Voided     bool        `json:"voided"`      // the card is locked, has expired or has ended
	PictureURL string      `json:"picture_url"` // of a PNG of the front
	Fields     []PassField `json:"fields"`      // in English, from the top of the front to the back
}

// PassField is a field of a pass.
type PassField struct {
	Key   string `json:"key"`   // such as count, balance, holder
	Place string `json:"place"` // header, primary, secondary, auxiliary, back
	Label string `json:"label"`
	Value string `json:"value"`
}

// Field returns the value of a field, and nothing if the pass does not have it.
func (p Pass) Field(key string) string {
	if i := slices.IndexFunc(p.Fields, func(f PassField) bool { return f.Key == key }); i >= 0 {
		return p.Fields[i].Value
	}
	return ""
}

// phoneState is what the server says of a phone.
type phoneState struct {
	ID      string   `json:"id"`
	Arrived int      `json:"arrived"`
	Notices []string `json:"notices"`
	Passes  []Pass   `json:"passes"`
}

// Add adds a card of the demo shop to the phone and returns its pass. A pass that a phone would refuse fails the test. Nothing of the
// card changes.
func (p *Phone) Add(card string) Pass {
	p.s.t.Helper()
	return ok(p.TryAdd(card))(p.s.t)
}

// TryAdd is [Phone.Add], but returns an *[Error] if the card cannot be added.
func (p *Phone) TryAdd(card string) (Pass, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	body := map[string]string{"card_id": card, "platform": p.Platform}
	if p.id != "" {
		body["phone_id"] = p.id
	}
	var made phoneState
	if err := p.s.control(http.MethodPost, "/wallet/phones", body, &made); err != nil {
		return Pass{}, err
	}
	p.id = made.ID
	pass, _ := made.find(func(one Pass) bool { return one.Card == card })
	return pass, nil
}

// find returns the pass that was added last of those that fit.
func (s phoneState) find(fits func(Pass) bool) (Pass, bool) {
	for _, pass := range slices.Backward(s.Passes) {
		if fits(pass) {
			return pass, true
		}
	}
	return Pass{}, false
}

// Await returns the pass of a card as soon as a field has a value, such as "count" "3/10". If it does not have it within Timeout, or the
// server is reset, the test fails with what the field has then.
func (p *Phone) Await(card, field, value string) Pass {
	p.s.t.Helper()
	return ok(p.TryAwait(card, field, value))(p.s.t)
}

// TryAwait is [Phone.Await], but returns the failure.
func (p *Phone) TryAwait(card, field, value string) (Pass, error) {
	deadline := time.Now().Add(p.Timeout)
	for wanted := 0; ; {
		left := time.Until(deadline)
		state, err := p.fetch(p.s.t.Context(), wanted, left)
		if err != nil {
			return Pass{}, fmt.Errorf("waiting for %s %q on a phone: %w", field, value, err)
		}
		pass, found := state.find(func(one Pass) bool { return one.Card == card && one.Field(field) == value })
		if found {
			return pass, nil
		}
		if left <= 0 {
			var has []string
			for _, one := range state.Passes {
				if one.Card == card {
					has = append(has, fmt.Sprintf("%q", one.Field(field)))
				}
			}
			return Pass{}, fmt.Errorf("no pass of %s has the %s %q within %v; it has %s", card, field, value, p.Timeout,
				strings.Join(has, ", "))
		}
		wanted = state.Arrived + 1
	}
}

// Passes returns the passes as the phone has them now, in the order in which they were added.
func (p *Phone) Passes() []Pass {
	p.s.t.Helper()
	return ok(p.fetch(context.Background(), 0, 0))(p.s.t).Passes
}

// Notices returns what the phone has told its owner of changes, in English.
func (p *Phone) Notices() []string {
	p.s.t.Helper()
	return ok(p.fetch(context.Background(), 0, 0))(p.s.t).Notices
}

// fetch returns the state of the phone. It waits until passes have arrived as many times as wanted, or until the timeout has passed.
func (p *Phone) fetch(ctx context.Context, wanted int, timeout time.Duration) (state phoneState, err error) {
	p.mu.Lock()
	id := p.id
	p.mu.Unlock()
	if id == "" {
		return state, errors.New("no card was added to this phone")
	}
	err = p.s.await(ctx, "phone", fmt.Sprintf("/wallet/phones/%s?arrived=%d", id, wanted), timeout, &state)
	return state, err
}
