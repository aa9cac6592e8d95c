package kernel

import (
	"context"
	"net/http"
	"net/netip"
	"strings"

	"punchcard/store"
)

// Sessions identifies persons by the tokens of their sessions.
type Sessions struct {
	st     *store.Store
	cached Identities[store.SessionIdentity]
}

// NewSessions returns a Sessions for the sessions of a store.
func NewSessions(st *store.Store) *Sessions { return &Sessions{st: st} }

// tokenLen is the length of a session's token.
const tokenLen = 43

// Identify returns the person whose session has a token. It refuses one that is unknown
// or has ended.
func (s *Sessions) Identify(token string, address netip.Addr, agent string) (c Caller, err error) {
	if len(token) != tokenLen {
		return c, errSignIn
	}
	id, err := s.cached.Get(token, s.read)
	if err != nil {
		return c, err
	}
	now := s.st.Now()
	if id.Unused(now) || id.EndReason(now) != "" {
		// Another process may have recorded a use since the identity was cached.
		s.cached.Drop(token)
		if id, err = s.cached.Get(token, s.read); err != nil {
			return c, err
		}
	}
	if id.EndReason(now) != "" {
		return c, errSignIn
	}
	if id.Unused(now) {
		session := id.Session
		s.cached.Drop(token)
		if err := s.st.Write(context.Background(), store.Write{Actor: store.Actor{Type: "system"}, Do: func(tx *store.Tx) error { return tx.UseSession(session) }}); err != nil {
			return c, err
		}
	}
	c = SessionCaller(id)
	c.Address, c.Agent = address, agent
	return c, nil
}

// read returns the session whose token has a hash.
func (s *Sessions) read(hash []byte) (id *store.SessionIdentity, err error) {
	err = s.st.View(0, func(v *store.View) (err error) {
		id, err = v.IdentifySession(hash)
		return err
	})
	if err == nil && id == nil {
		err = errSignIn
	}
	return id, err
}

// errSignIn refuses a request without a session.
var errSignIn = Unauthenticated("Sign in first.")

// SessionCookie returns the cookie with the token of a session, or, with an empty token,
// the one that ends the cookie. Browsers take the __Host- prefix over https only, which
// the public URL shows.
func SessionCookie(publicURL, token string) *http.Cookie {
	c := &http.Cookie{Name: CookieName(publicURL), Value: token, Path: "/", HttpOnly: true, Secure: strings.HasPrefix(publicURL, "https://"),
		SameSite: http.SameSiteLaxMode, MaxAge: int(store.SessionLifetime.Seconds())}
	if token == "" {
		c.MaxAge = -1
	}
	return c
}

// CookieName returns the name of the cookie with the token of a session.
func CookieName(publicURL string) string {
	if strings.HasPrefix(publicURL, "https://") {
		return "__Host-punchcard"
	}
	return "punchcard"
}

// Forget drops the cached identities. It is called when the store's epoch has changed.
func (s *Sessions) Forget() { s.cached.Forget() }
