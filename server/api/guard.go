package api

import (
	"net/http"

	"punchcard/server/kernel"
	"punchcard/store"
)

// Guard identifies the callers of the REST API by their keys, and limits the
// rate of each key.
type Guard struct {
	*kernel.Keys
	limit *kernel.Limiter
}

// keys are the keys of the REST API.
var keys = kernel.KeyClass{Name: "api", Prefix: "tsk_", Face: "the REST API", Other: "tmk_", OtherName: "an MCP key"}

// NewGuard returns a guard that allows each key perMinute requests per minute; 0
// means no limit.
func NewGuard(st *store.Store, perMinute int) *Guard {
	return &Guard{kernel.NewKeys(st, keys), kernel.NewLimiter(perMinute)}
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

// Status returns the HTTP status of a code.
func (g *Guard) Status(code store.Code) int { return kernel.StatusOf(code) }
