package punchtest

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Enroll issues a card of the demo shop as its page of enrolment does for a customer who joins
// by herself: the source of the card is web_enrollment.
func (s *Server) Enroll(program string, fields CardFields) IssuedCard {
	s.t.Helper()
	return ask[IssuedCard](s, http.MethodPost, "/programs/"+url.PathEscape(program)+"/enroll", fields)
}

// Install installs a card by its install link, as the holder does on a phone, and returns the
// URL of the card's page. Name and expiry of an installed card are fixed. A link that was
// replaced or has expired fails the test.
func (s *Server) Install(installURL string) (cardURL string) {
	s.t.Helper()
	return ok(s.TryInstall(installURL))(s.t)
}

// TryInstall is [Server.Install], but returns an *[Error] if the link is refused.
func (s *Server) TryInstall(installURL string) (cardURL string, err error) {
	link, err := url.Parse(installURL)
	if err != nil {
		return "", err
	}
	var made struct {
		CardURL string `json:"card_url"`
	}
	// The link may have the origin of [PublicURL].
	err = s.send(context.Background(), http.MethodPost, s.Origin+link.EscapedPath()+"/install", "", map[string]string{"platform": "apple"}).
		decode(&made)
	return made.CardURL, err
}

// ReissueFields are what a reissue changes of a card. All are optional.
type ReissueFields struct {
	HolderName  string    `json:"holder_name,omitempty"`
	HolderEmail string    `json:"holder_email,omitempty"`
	ExpiresAt   time.Time `json:"expires_at,omitzero"`
	SendEmail   bool      `json:"send_email,omitempty"` // see [Server.Emails]
}

// Reissue replaces a card's codes and its install link, as an operator does when a phone was
// lost. Id, stamps and balance stay.
func (s *Server) Reissue(card string, fields ReissueFields) IssuedCard {
	s.t.Helper()
	return ask[IssuedCard](s, http.MethodPost, "/cards/"+url.PathEscape(card)+"/reissue", fields)
}

// SignIn signs one of the demo shop's people in without a password, owner, manager or viewer,
// and returns the cookie of the session, for a browser or a cookie jar: with it the pages
// below /dashboard are open.
func (s *Server) SignIn(role string) *http.Cookie {
	s.t.Helper()
	made := ask[struct{ Cookie, Token string }](s, http.MethodPost, "/sign-in", map[string]string{"as": role})
	return &http.Cookie{Name: made.Cookie, Value: made.Token, Path: "/", HttpOnly: true}
}
