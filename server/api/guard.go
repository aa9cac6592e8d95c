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

// NewGuard returns a guard that allows each key perMinute requests per minute; 0
// means no limit.
func NewGuard(st *store.Store, perMinute int) *Guard {
	return &Guard{st: st, limit: kernel.NewLimiter(perMinute)}
}

var keyPattern = regexp.MustCompile(`^tsk_(live|test)_[A-Za-z0-9_-]{43}$`)

// Identify returns the caller whose key is the bearer token of a request. It
// refuses a key that is malformed, unknown, revoked, expired or of another class.
func (g *Guard) Identify(r *http.Request) (c kernel.Caller, err error) {
	token, err := kernel.Bearer(r, "Send your key as: Authorization: Bearer tsk_…")
	if err != nil {
		return c, err
	}
	if strings.HasPrefix(token, "tmk_") {
		return c, kernel.Unauthenticated("This is an MCP key; the REST API expects a key beginning tsk_.")
	}
	id, err := g.keys.Get(token, func(hash []byte) (*store.Identity, error) {
		if !keyPattern.MatchString(token) {
			return nil, kernel.Unauthenticated("The key is malformed; the REST API expects a key beginning tsk_.")
		}
		id, stored, err := g.st.Identify(hash)
		if err == nil && (id == nil || subtle.ConstantTimeCompare(stored, hash) != 1 || id.Class != "api") {
			err = kernel.Unauthenticated("No such key.")
		}
		return id, err
	})
	if err != nil {
		return c, err
	}
	if reason := id.EndReason(g.st.Now()); reason != "" {
		return c, kernel.Unauthenticated("The key is " + reason + ".")
	}
	return kernel.KeyCaller(id), nil
}

// Limit refuses requests over the rate limit of the key.
func (g *Guard) Limit(h http.Header, c *kernel.Caller, now store.Time) error {
	if g.limit.Take(h, c.Key.Key, now) {
		return nil
	}
	return kernel.Refuse(store.RateLimited, "The key's requests for this minute are used up; see Retry-After.")
}

// SetLimit gives a key a limit of its own, 0 for none, in place of that of all keys.
func (g *Guard) SetLimit(key int64, perMinute int) { g.limit.Set(key, perMinute) }

// Forget drops the cached identities.
func (g *Guard) Forget() { g.keys.Forget() }

// Status returns the HTTP status of a code.
func (g *Guard) Status(code store.Code) int { return kernel.StatusOf(code) }
