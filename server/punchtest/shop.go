package punchtest

import (
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Key creates a key of the demo shop with the scopes, by default with every scope,
// and returns its secret.
func (s *Server) Key(scopes ...string) string {
	s.t.Helper()
	return s.NewKey(KeyFields{Scopes: scopes})
}

// RestrictedKey creates a key as [Server.Key] does, restricted to one location.
func (s *Server) RestrictedKey(location string, scopes ...string) string {
	s.t.Helper()
	return s.NewKey(KeyFields{Scopes: scopes, Locations: []string{location}})
}

// KeyFields are the fields of a new key. All are optional.
type KeyFields struct {
	Shop      string    `json:"shop_id,omitempty"`      // id; the demo shop's if empty
	Scopes    []string  `json:"scopes,omitempty"`       // all if none
	Locations []string  `json:"location_ids,omitempty"` // ids; all if none
	ExpiresAt time.Time `json:"expires_at,omitzero"`    // never if zero
	Class     string    `json:"class,omitempty"`        // api (default), mcp
}

// NewKey creates a key and returns its secret.
func (s *Server) NewKey(fields KeyFields) string {
	s.t.Helper()
	_, secret := s.AddKey(fields)
	return secret
}

// AddKey creates a key and returns its id, by which [Server.LimitKey] and
// [Server.RevokeKey] name it, and its secret.
func (s *Server) AddKey(fields KeyFields) (id, secret string) {
	s.t.Helper()
	made := ask[struct{ ID, Key string }](s, http.MethodPost, "/keys", fields)
	return made.ID, made.Key
}

// LimitKey allows a key n requests per minute, 0 for any number, from its next request on,
// whatever [RateLimit] says. All n may come at once.
func (s *Server) LimitKey(id string, n int) {
	s.t.Helper()
	s.operate(http.MethodPatch, "/keys/"+url.PathEscape(id), map[string]int{"rate_limit_per_minute": n}, nil)
}

// RevokeKey revokes a key from its next request on.
func (s *Server) RevokeKey(id string) {
	s.t.Helper()
	s.act("keys", id, "revoke", nil)
}

// Shop is a shop beside the demo shop.
type Shop struct {
	ID         string `json:"shop_id"`
	APIKey     string `json:"api_key"` // with every scope
	TillToken  string `json:"till_token"`
	LocationID string `json:"location_id"`
}

// ShopFields are a shop's settings. Nil and empty fields get their default in a new
// shop, and stay as they are in an update.
type ShopFields struct {
	Name              string `json:"name,omitempty"`
	Mode              string `json:"mode,omitempty"`               // test (default), live; not in an update
	Timezone          string `json:"timezone,omitempty"`           // IANA name
	SubscriptionState string `json:"subscription_state,omitempty"` // active, past_due, suspended, cancelled
	APIAddon          *bool  `json:"api_addon,omitempty"`          // false: its keys are refused
	MaxCards          *int   `json:"max_cards,omitempty"`
	Reason            string `json:"reason,omitempty"` // why the subscription changes, for webhooks; in an update only
}

// NewShop creates a shop with one location, a key and a till, and no programs.
func (s *Server) NewShop(fields ShopFields) Shop {
	s.t.Helper()
	return ask[Shop](s, http.MethodPost, "/shops", fields)
}

// UpdateShop changes a shop. The next request sees the change.
func (s *Server) UpdateShop(id string, fields ShopFields) {
	s.t.Helper()
	s.operate(http.MethodPatch, "/shops/"+url.PathEscape(id), fields, nil)
}

// LocationFields are the fields of a new location. Its default name is Main street.
type LocationFields struct {
	Shop            string `json:"shop_id,omitempty"` // id; the demo shop's if empty
	Name            string `json:"name,omitempty"`
	StaffPIN        string `json:"staff_pin,omitempty"` // 4 to 8 digits
	RequireStaffPIN bool   `json:"require_staff_pin,omitempty"`
}

// NewLocation creates a location.
func (s *Server) NewLocation(fields LocationFields) Location {
	s.t.Helper()
	return ask[Location](s, http.MethodPost, "/locations", fields)
}

// Issue issues a card of the demo shop over the REST API. Its status is invited
// until the holder installs it or a till acts on it.
func (s *Server) Issue(program string, fields CardFields) (card IssuedCard) {
	s.t.Helper()
	s.Do(http.MethodPost, "/programs/"+url.PathEscape(program)+"/cards", s.APIKey, fields).Decode(&card)
	return card
}

// Card returns a card of the demo shop.
func (s *Server) Card(id string) (card Card) {
	s.t.Helper()
	s.Do(http.MethodGet, "/cards/"+url.PathEscape(id), s.APIKey, nil).Decode(&card)
	return card
}

// Prizes returns the prizes of a program, in the order of their ordinals.
func (s *Server) Prizes(program string) []Prize {
	s.t.Helper()
	var l list[Prize]
	s.Do(http.MethodGet, "/programs/"+url.PathEscape(program)+"/prizes", s.APIKey, nil).Decode(&l)
	return l.Data
}

// Transactions returns the transactions of a card, oldest first.
func (s *Server) Transactions(card string) (all []Transaction) {
	s.t.Helper()
	query := url.Values{"card_id": {card}, "limit": {"100"}}
	for {
		var l list[Transaction]
		s.Do(http.MethodGet, "/transactions?"+query.Encode(), s.APIKey, nil).Decode(&l)
		all = append(all, l.Data...)
		if l.NextCursor == nil {
			slices.Reverse(all)
			return all
		}
		query.Set("cursor", *l.NextCursor)
	}
}

// Lock locks a card as an operator does.
func (s *Server) Lock(card string) { s.t.Helper(); s.act("cards", card, "lock", nil) }

// Unlock unlocks a card as an operator does.
func (s *Server) Unlock(card string) { s.t.Helper(); s.act("cards", card, "unlock", nil) }

// Archive archives a card as an operator does.
func (s *Server) Archive(card string) { s.t.Helper(); s.act("cards", card, "archive", nil) }

// Delete erases a card, as an operator does when the holder asks for it.
func (s *Server) Delete(card string) { s.t.Helper(); s.act("cards", card, "delete", nil) }

// act does something with a resource by the control API.
func (s *Server) act(resources, id, action string, body any) {
	s.t.Helper()
	s.operate(http.MethodPost, "/"+resources+"/"+url.PathEscape(id)+"/"+action, body, nil)
}

// Emails returns the mail that the server would have sent, oldest first.
func (s *Server) Emails() []Email {
	s.t.Helper()
	return ask[list[Email]](s, http.MethodGet, "/emails", nil).Data
}
