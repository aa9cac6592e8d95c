package mcp

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"punchcard/server/kernel"
	"punchcard/store"
)

var keyPattern = regexp.MustCompile(`^tmk_(live|test)_[A-Za-z0-9_-]{43}$`)

// identify returns the caller whose key is the bearer token of a request.
func (f *Face) identify(token string) (c kernel.Caller, err error) {
	id, err := f.keys.Get(token, func(hash []byte) (*store.Identity, error) {
		if !keyPattern.MatchString(token) {
			return nil, kernel.Unauthenticated("The key is malformed; " + Path + " expects a key beginning tmk_.")
		}
		id, stored, err := f.st.Identify(hash)
		if err == nil && (id == nil || subtle.ConstantTimeCompare(stored, hash) != 1 || id.Class != "mcp") {
			err = kernel.Unauthenticated("No such key.")
		}
		if err == nil && len(id.Scopes) == 0 {
			id.Scopes = readScopes()
		}
		return id, err
	})
	if err != nil {
		return c, err
	}
	if reason := id.EndReason(f.st.Now()); reason != "" {
		return c, kernel.Unauthenticated("The key is " + reason + ".")
	}
	return kernel.KeyCaller(id), nil
}

// readScopes are the scopes of a key that was made without scopes.
func readScopes() []string {
	return slices.DeleteFunc(slices.Clone(store.Scopes), func(sc string) bool { return !strings.HasSuffix(sc, ":read") })
}

// bearer returns the token of a request.
func bearer(r *http.Request) (string, error) {
	token, err := kernel.Bearer(r, "Send your key as: Authorization: Bearer tmk_…")
	if err == nil && strings.HasPrefix(token, "tsk_") {
		err = kernel.Unauthenticated("This is a key of the REST API; " + Path + " expects a key beginning tmk_.")
	}
	return token, err
}

// authenticate identifies the caller of a session, and checks the entitlement and the
// subscription of its shop. What it returns is based on an identity that is up to date.
func (s *session) authenticate() error {
	for {
		c, err := s.identify(s.token)
		if err != nil {
			return err
		}
		if err = s.Kernel.Confirm(&c); errors.Is(err, store.ErrEpoch) && s.r.Context().Err() == nil {
			s.keys.Forget()
			continue
		}
		if err != nil {
			return err
		}
		c.Actor.Context = s.caller.Actor.Context
		s.caller = c
		return entitled(c.Key)
	}
}

// entitled refuses the key of a shop that may not use the endpoint, or has moved away.
func entitled(id *store.Identity) error {
	if err := id.Closing.Refuse(false); err != nil {
		return err
	}
	switch {
	case !id.MCPAccess:
		return kernel.Refuse(store.MCPAccessRequired, "The shop may not use the MCP connector. The key is intact.")
	case id.Subscription == "suspended" || id.Subscription == "cancelled":
		return kernel.Refuse(store.SubscriptionSuspended, "The shop's subscription is "+id.Subscription+". The key is intact.")
	}
	return nil
}
