package punchtest

import (
	"net/http"
	"net/url"
	"slices"
	"time"
)

// Key makes a key of the demo shop with these scopes, or with every scope where
// none is named, and returns its secret.
func (s *Server) Key(scopes ...string) string {
	s.t.Helper()
	return s.NewKey(KeyFields{Scopes: scopes})
}

// RestrictedKey is [Server.Key] for one location only.
func (s *Server) RestrictedKey(location string, scopes ...string) string {
	s.t.Helper()
	return s.NewKey(KeyFields{Scopes: scopes, Locations: []string{location}})
}

// KeyFields are what a key is made with. All are optional.
type KeyFields struct {
	Shop      string    `json:"shop_id,omitempty"`      // id; the demo shop's if empty
	Scopes    []string  `json:"scopes,omitempty"`       // all if none
	Locations []string  `json:"location_ids,omitempty"` // ids; all if none
	ExpiresAt time.Time `json:"expires_at,omitzero"`    // never if zero
	Class     string    `json:"class,omitempty"`        // api (default), mcp
}

// NewKey makes a key and returns its secret.
func (s *Server) NewKey(fields KeyFields) string {
	s.t.Helper()
	var made struct{ Key string }
	if err := s.control(http.MethodPost, "/keys", fields, &made); err != nil {
		s.t.Fatal(err)
	}
	return made.Key
}

// Shop is a shop beside the demo shop.
type Shop struct {
	ID         string `json:"shop_id"`
	APIKey     string `json:"api_key"` // with every scope
	TillToken  string `json:"till_token"`
	LocationID string `json:"location_id"`
}

// ShopFields are a shop's settings; what is nil or empty gets its default, and
// in an update stays.
type ShopFields struct {
	Name              string `json:"name,omitempty"`
	Mode              string `json:"mode,omitempty"`               // test (default), live; not in an update
	Timezone          string `json:"timezone,omitempty"`           // IANA name
	SubscriptionState string `json:"subscription_state,omitempty"` // active, past_due, suspended, cancelled
	APIAddon          *bool  `json:"api_addon,omitempty"`          // false: its keys are refused
	MaxCards          *int   `json:"max_cards,omitempty"`
}

// NewShop makes a shop with one location, a key and a till, and no programs.
func (s *Server) NewShop(fields ShopFields) Shop {
	s.t.Helper()
	var made Shop
	if err := s.control(http.MethodPost, "/shops", fields, &made); err != nil {
		s.t.Fatal(err)
	}
	return made
}

// UpdateShop changes a shop; the next request sees it.
func (s *Server) UpdateShop(id string, fields ShopFields) {
	s.t.Helper()
	s.operate(http.MethodPatch, "/shops/"+url.PathEscape(id), fields)
}

// LocationFields are what a location is made with. Without a Name it is called
// Main street.
type LocationFields struct {
	Shop            string `json:"shop_id,omitempty"` // id; the demo shop's if empty
	Name            string `json:"name,omitempty"`
	StaffPIN        string `json:"staff_pin,omitempty"` // 4 to 8 digits
	RequireStaffPIN bool   `json:"require_staff_pin,omitempty"`
}

// NewLocation makes a location.
func (s *Server) NewLocation(fields LocationFields) Location {
	s.t.Helper()
	var made Location
	if err := s.control(http.MethodPost, "/locations", fields, &made); err != nil {
		s.t.Fatal(err)
	}
	return made
}

// Issue issues a card of the demo shop over the REST API. Its status is invited
// until the holder installs it or a till sees it.
func (s *Server) Issue(program string, fields CardFields) (card IssuedCard) {
	s.t.Helper()
	s.Do(http.MethodPost, "/programs/"+url.PathEscape(program)+"/cards", s.APIKey, fields).Decode(&card)
	return card
}

// Card is a card of the demo shop as it is now.
func (s *Server) Card(id string) (card Card) {
	s.t.Helper()
	s.Do(http.MethodGet, "/cards/"+url.PathEscape(id), s.APIKey, nil).Decode(&card)
	return card
}

// Prizes are a program's, by ordinal.
func (s *Server) Prizes(program string) []Prize {
	s.t.Helper()
	var l list[Prize]
	s.Do(http.MethodGet, "/programs/"+url.PathEscape(program)+"/prizes", s.APIKey, nil).Decode(&l)
	return l.Data
}

// Transactions are a card's, oldest first.
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
func (s *Server) Lock(card string) { s.t.Helper(); s.onCard(card, "lock") }

// Unlock undoes [Server.Lock].
func (s *Server) Unlock(card string) { s.t.Helper(); s.onCard(card, "unlock") }

// Archive archives a card as an operator does.
func (s *Server) Archive(card string) { s.t.Helper(); s.onCard(card, "archive") }

// Delete erases a card as an operator does, when a holder asks for it.
func (s *Server) Delete(card string) { s.t.Helper(); s.onCard(card, "delete") }

func (s *Server) onCard(card, action string) {
	s.t.Helper()
	s.operate(http.MethodPost, "/cards/"+url.PathEscape(card)+"/"+action, nil)
}

// Emails is the mail that the server would have sent, oldest first.
func (s *Server) Emails() []Email {
	s.t.Helper()
	var l list[Email]
	if err := s.control(http.MethodGet, "/emails", nil, &l); err != nil {
		s.t.Fatal(err)
	}
	return l.Data
}
