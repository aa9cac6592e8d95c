package kernel

import (
	"net/http"
	"strings"
	"sync"

	"punchcard/store"
)

// Guard identifies the callers of one face's routes.
type Guard interface {
	// Identify returns who makes a request.
	Identify(r *http.Request) (Caller, error)
	// Limit counts a request against the caller's rate limit, writes what the
	// limit's headers say, and refuses what is over it.
	Limit(h http.Header, c *Caller, now store.Time) error
	// Forget drops all identities that are cached, because the store's epoch
	// moved.
	Forget()
	// Status returns the HTTP status that a code has on this face.
	Status(store.Code) int
}

// Unauthenticated returns the refusal of a request without a valid credential.
func Unauthenticated(message string) *Error {
	return Refuse(store.Unauthenticated, message)
}

// Bearer returns the token of the one Authorization header. missing is the
// message where there is none.
func Bearer(r *http.Request, missing string) (string, error) {
	v := r.Header["Authorization"]
	switch len(v) {
	case 0:
		return "", Unauthenticated(missing)
	case 1:
	default:
		return "", Unauthenticated("Send one Authorization header, not several.")
	}
	scheme, token, ok := strings.Cut(v[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return "", Unauthenticated("The Authorization header must be: Bearer and your key.")
	}
	return token, nil
}

// Identities caches who the bearers of secrets are, by the secrets' hashes. An
// entry is used only together with the store's epoch, which tells when it is out
// of date. The zero value is ready to use.
type Identities[T any] struct {
	mu    sync.RWMutex
	known map[[32]byte]*T
}

// Get returns the identity of a secret, from the cache or else from find, which
// returns nil where there is none.
func (c *Identities[T]) Get(secret string, find func(hash []byte) (*T, error)) (*T, error) {
	hash := [32]byte(store.Hash(secret))
	c.mu.RLock()
	id := c.known[hash]
	c.mu.RUnlock()
	if id != nil {
		return id, nil
	}
	id, err := find(hash[:])
	if err != nil || id == nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[[32]byte]*T{}
	}
	c.known[hash] = id
	return id, nil
}

// Forget empties the cache.
func (c *Identities[T]) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.known)
}
