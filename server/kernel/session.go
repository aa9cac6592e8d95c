package kernel

import (
	"context"
	"net/netip"

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
		if err := s.st.SystemWrite(context.Background(), func(tx *store.Tx) error { return tx.UseSession(session) }); err != nil {
			return c, err
		}
	}
	c = SessionCaller(id)
	c.Address, c.Agent = address, agent
	return c, nil
}

// read returns the session whose token has a hash.
func (s *Sessions) read(hash []byte) (id *store.SessionIdentity, err error) {
	id, err = store.Read(s.st, func(v *store.View) (*store.SessionIdentity, error) { return v.IdentifySession(hash) })
	if err == nil && id == nil {
		err = errSignIn
	}
	return id, err
}

// errSignIn refuses a request without a session.
var errSignIn = Unauthenticated("Sign in first.")

// Forget drops the cached identities. It is called when the store's epoch has changed.
func (s *Sessions) Forget() { s.cached.Forget() }
