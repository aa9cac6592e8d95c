package api

import (
	"crypto/subtle"
	"net/http"
	"regexp"
	"strings"

	"punchcard/server/kernel"
	"punchcard/store"
)

// Guard identifies the callers of the REST API by their keys, and limits the
// rate of each key.
type Guard struct {
	st    *store.Store
	keys  kernel.Identities[store.Identity]
	limit *kernel.Limiter
}

// NewGuard returns a guard that lets each key make so many requests per minute;
// 0 means no limit.
func NewGuard(st *store.Store, perMinute int) *Guard {
	return &Guard{st: st, limit: kernel.NewLimiter(perMinute)}
}

var keyPattern = regexp.MustCompile(`^tsk_(live|test)_[A-Za-z0-9_-]{43}$`)

// keyLength is the number of bytes of every key.
const keyLength = 52

var errMalformed = kernel.Unauthenticated("The key is malformed; the REST API expects a key beginning tsk_.")

// Identify returns the key that a request bears. A key that is malformed,
// unknown, revoked, expired or of another class is unauthenticated.
func (g *Guard) Identify(r *http.Request) (c kernel.Caller, err error) {
	token, err := kernel.Bearer(r, "Send your key as: Authorization: Bearer tsk_…")
	if err != nil {
		return c, err
	}
	if strings.HasPrefix(token, "tmk_") {
		return c, kernel.Unauthenticated("This is an MCP key; the REST API expects a key beginning tsk_.")
	}
	if len(token) != keyLength {
		return c, errMalformed
	}
	id, err := g.keys.Get(token, func(hash []byte) (*store.Identity, error) {
		if !keyPattern.MatchString(token) {
			return nil, errMalformed
		}
		return g.find(hash)
	})
	switch {
	case err != nil:
		return c, err
	case id == nil:
		return c, kernel.Unauthenticated("No such key.")
	}
	if why := id.EndReason(g.st.Now()); why != "" {
		return c, kernel.Unauthenticated("The key is " + why + ".")
	}
	return kernel.KeyCaller(id), nil
}

// find returns the API key with a hash; nil where there is none.
func (g *Guard) find(hash []byte) (*store.Identity, error) {
	id, stored, err := g.st.Identify(hash)
	if err != nil || id == nil || subtle.ConstantTimeCompare(stored, hash) != 1 || id.Class != "api" {
		return nil, err
	}
	return id, nil
}

// Limit refuses requests beyond the key's rate.
func (g *Guard) Limit(h http.Header, c *kernel.Caller, now store.Time) error {
	if g.limit.Take(h, c.Key.Key, now) {
		return nil
	}
	return kernel.Refuse(store.RateLimited, "The key's requests for this minute are used up; see Retry-After.")
}

// Forget drops the cached identities.
func (g *Guard) Forget() { g.keys.Forget() }

// Status returns the HTTP status of a code.
func (g *Guard) Status(code store.Code) int { return kernel.StatusOf(code) }
