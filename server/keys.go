package server

import (
	"crypto/subtle"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"punchcard/store"
)

var keyPattern = regexp.MustCompile(`^tsk_(live|test)_[A-Za-z0-9_-]{43}$`)

// identities remembers who a key is until the store's auth epoch moves.
type identities struct {
	st    *store.Store
	mu    sync.RWMutex
	known map[[32]byte]*store.Identity
}

func newIdentities(st *store.Store) *identities {
	return &identities{st: st, known: map[[32]byte]*store.Identity{}}
}

func unauthenticated(message string) *Problem {
	return fail(http.StatusUnauthorized, store.Unauthenticated, message)
}

// bearer takes the token out of the one Authorization header.
func bearer(r *http.Request) (string, *Problem) {
	v := r.Header["Authorization"]
	switch len(v) {
	case 0:
		return "", unauthenticated("Send your key as: Authorization: Bearer tsk_…")
	case 1:
	default:
		return "", unauthenticated("Send one Authorization header, not several.")
	}
	scheme, token, ok := strings.Cut(v[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", unauthenticated("The Authorization header must be: Bearer and your key.")
	}
	return token, nil
}

// identify finds out whose key a request bears (spec Authentication 1 to 6).
func (c *identities) identify(r *http.Request) (*store.Identity, error) {
	token, p := bearer(r)
	if p != nil {
		return nil, p
	}
	if strings.HasPrefix(token, "tmk_") {
		return nil, unauthenticated("This is an MCP key; the REST API expects a key beginning tsk_.")
	}
	// A linear check on a short text; the pattern is for the rest.
	if len(token) != 52 || !keyPattern.MatchString(token) {
		return nil, unauthenticated("The key is malformed; the REST API expects a key beginning tsk_.")
	}
	hash := [32]byte(store.Hash(token))
	c.mu.RLock()
	id := c.known[hash]
	c.mu.RUnlock()
	if id == nil {
		found, stored, err := c.st.Identify(hash[:])
		if err != nil {
			return nil, err
		}
		if found == nil || subtle.ConstantTimeCompare(stored, hash[:]) != 1 || found.Class != "api" {
			return nil, unauthenticated("No such key.")
		}
		id = found
		c.mu.Lock()
		c.known[hash] = id
		c.mu.Unlock()
	}
	if why := id.Ended(c.st.Now()); why != "" {
		return nil, unauthenticated("The key is " + why + ".")
	}
	return id, nil
}

// forget drops all that is known, because the epoch moved.
func (c *identities) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.known)
}
