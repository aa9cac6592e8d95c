package punchtest

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Staff is a member of staff, who signs in at the tills of some locations.
type Staff struct {
	ID          string    `json:"id"`
	LocationIDs []string  `json:"location_ids"` // empty: all locations
	Name        string    `json:"name"`
	DisabledAt  time.Time `json:"disabled_at"`
	CreatedAt   time.Time `json:"created_at"`
}

// NewStaff adds a member of staff with a PIN of 4 to 8 digits, who works at a location.
func (s *Server) NewStaff(location, name, pin string) Staff {
	s.t.Helper()
	return ask[Staff](s, http.MethodPost, "/staff", map[string]any{"location_ids": []string{location}, "name": name, "pin": pin})
}

// SetStaffPIN gives a member of staff another PIN, which ends the sessions at tills.
func (s *Server) SetStaffPIN(staff, pin string) {
	s.t.Helper()
	s.act("staff", staff, "pin", map[string]string{"pin": pin})
}

// DisableStaff disables a member of staff, which ends the sessions at tills.
func (s *Server) DisableStaff(staff string) {
	s.t.Helper()
	s.act("staff", staff, "disable", nil)
}

// EnableStaff enables a disabled member of staff.
func (s *Server) EnableStaff(staff string) {
	s.t.Helper()
	s.act("staff", staff, "enable", nil)
}

// SignIn signs a member of staff in and returns the same till with the session in its
// requests. Its writes need no PIN, and their rows name the person. It ends 15 minutes after
// its last write.
func (t *Till) SignIn(staff, pin string) *Till {
	t.s.t.Helper()
	return ok(t.Try().SignIn(staff, pin))(t.s.t)
}

// SignIn is [Till.SignIn].
func (t *TryTill) SignIn(staff, pin string) (*Till, error) {
	session, err := call[struct{ Token string }](t, http.MethodPost, "/session", map[string]string{"staff_id": staff, "pin": pin})
	return t.t.Session(session.Token), err
}

// SignOut ends the session of the till.
func (t *Till) SignOut() {
	t.s.t.Helper()
	if err := t.s.send(context.Background(), http.MethodDelete, t.s.TillURL+"/session", t.Token, nil, t.headers...).Err(); err != nil {
		t.s.t.Fatal(err)
	}
}

// TillInfo is what a till knows of itself.
type TillInfo struct {
	Device         NamedLocation `json:"device"` // its id and name
	Location       Location      `json:"location"`
	AcceptsCardIDs bool          `json:"accepts_card_ids"`
	Staff          []NamedStaff  `json:"staff"`      // who may sign in
	RestoreID      string        `json:"restore_id"` // another one after the file was restored from a backup
}

// Me returns what the till knows of itself.
func (t *Till) Me() TillInfo {
	t.s.t.Helper()
	return ok(call[TillInfo](t.Try(), http.MethodGet, "/me", nil))(t.s.t)
}

// Found is a card that a search at a till has found.
type Found struct {
	Name    string `json:"name"`
	Email   string `json:"email"`   // masked
	Program string `json:"program"` // its name
	Handle  string `json:"handle"`  // stands for the card in the methods of the same till for five minutes
}

// Search finds at most five cards by the beginnings of words of the holder's name, or a whole
// address, external_ref or code. It needs a session; see [Till.SignIn].
func (t *Till) Search(q string) []Found {
	t.s.t.Helper()
	return ok(t.Try().Search(q))(t.s.t)
}

// Search is [Till.Search].
func (t *TryTill) Search(q string) ([]Found, error) {
	l, err := call[list[Found]](t, http.MethodGet, "/search?q="+url.QueryEscape(q), nil)
	return l.Data, err
}

// Pairing is a link and a code by which a phone or tablet becomes a till. One of them works,
// once, for ten minutes.
type Pairing struct {
	LocationID string    `json:"location_id"`
	URL        string    `json:"url"`
	Token      string    `json:"token"` // the end of the URL
	Code       string    `json:"code"`
	ExpiresAt  time.Time `json:"expires_at"`
}

// NewPairing makes a pairing for a till at a location.
func (s *Server) NewPairing(location string) Pairing {
	s.t.Helper()
	return ask[Pairing](s, http.MethodPost, "/pairings", map[string]string{"location_id": location})
}

// Pair returns the till of a pairing, as the till page becomes one when somebody types the
// code into it. The error is an *[Error] if the code is not valid any more.
func (s *Server) Pair(code string) (*Till, error) {
	s.t.Helper()
	r := s.send(context.Background(), http.MethodPost, s.Origin+"/till/pair", "", map[string]string{"code": code})
	if err := r.Err(); err != nil {
		return nil, err
	}
	t := &Till{s: s}
	for _, c := range (&http.Response{Header: r.Header}).Cookies() {
		t.Token = c.Value // the only cookie
	}
	me, err := call[TillInfo](t.Try(), http.MethodGet, "/me", nil)
	t.ID, t.Location = me.Device.ID, me.Location.ID
	return t, err
}
