package kernel

import (
	"net/http"
	"strings"
	"sync"

	"punchcard/store"
)

// Guard identifies the callers of one face's routes.
type Guard interface {
	// Identify returns the caller of a request.
	Identify(r *http.Request) (Caller, error)
	// Limit counts a request against the caller's rate limit and sets the headers
	// of the limit. It returns an error if the request is over the limit.
	Limit(h http.Header, c *Caller, now store.Time) error
	// Forget drops all cached identities. It is called when the store's epoch has
	// changed.
	Forget()
	// Status returns the HTTP status of a code on this face.
	Status(store.Code) int
}

// Unauthenticated returns the refusal of a request without a valid credential.
func Unauthenticated(message string) *Error {
	return Refuse(store.Unauthenticated, message)
}

// Bearer returns the bearer token of a request, which must have exactly one
// Authorization header. missing is the message if it has none.
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

// Identities caches the identities of the owners of secrets, by the hashes of the
// secrets. An identity must have the store's epoch, by which Invoke notices that
// it is out of date. The zero value is ready to use.
type Identities[T any] struct {
	mu     sync.RWMutex
	cached map[[32]byte]*T
}

// Get returns the identity for a secret from the cache or, if it is not there, from
// find, which returns an error if there is none.
func (c *Identities[T]) Get(secret string, find func(hash []byte) (*T, error)) (*T, error) {
	hash := [32]byte(store.Hash(secret))
	c.mu.RLock()
	id := c.cached[hash]
	c.mu.RUnlock()
	if id != nil {
		return id, nil
	}
	id, err := find(hash[:])
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cached == nil {
		c.cached = map[[32]byte]*T{}
	}
	c.cached[hash] = id
	return id, nil
}

// Drop removes the identity for a secret from the cache.
func (c *Identities[T]) Drop(secret string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.cached, [32]byte(store.Hash(secret)))
}

// Forget empties the cache.
func (c *Identities[T]) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.cached)
}
