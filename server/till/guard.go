package till

import (
	"net/http"
	"regexp"

	"punchcard/server/kernel"
	"punchcard/store"
)

// Guard identifies the callers of the till API by their device tokens.
type Guard struct {
	st      *store.Store
	devices kernel.Identities[store.TillIdentity]
}

// NewGuard returns a guard.
func NewGuard(st *store.Store) *Guard { return &Guard{st: st} }

var tokenPattern = regexp.MustCompile(`^tdk_(live|test)_[A-Za-z0-9_-]{43}$`)

// Identify returns the device whose token is the bearer token of a request, with
// the staff PIN of the request. It refuses a token that is malformed, unknown or
// revoked.
func (g *Guard) Identify(r *http.Request) (c kernel.Caller, err error) {
	token, err := kernel.Bearer(r, "Send the device's token as: Authorization: Bearer tdk_…")
	if err != nil {
		return c, err
	}
	id, err := g.devices.Get(token, func(hash []byte) (*store.TillIdentity, error) {
		if !tokenPattern.MatchString(token) {
			return nil, kernel.Unauthenticated("The till API expects a device token beginning tdk_.")
		}
		id, err := g.st.IdentifyTill(hash)
		if err == nil && id == nil {
			err = kernel.Unauthenticated("No such device.")
		}
		return id, err
	})
	if err != nil {
		return c, err
	}
	if id.Revoked {
		return c, kernel.Unauthenticated("The device is revoked.")
	}
	return kernel.DeviceCaller(id, r.Header.Values("X-Staff-Pin")), nil
}

// Limit does nothing, since devices have no rate limit.
func (g *Guard) Limit(http.Header, *kernel.Caller, store.Time) error { return nil }

// Forget drops the cached identities.
func (g *Guard) Forget() { g.devices.Forget() }

// Status returns the HTTP status of a code.
func (g *Guard) Status(code store.Code) int { return Status(code) }

// Status returns the HTTP status of a code on the till API. Three codes are 422 here
// and 402 or 409 on the REST API, since nothing at the till can change their cause.
func Status(code store.Code) int {
	switch code {
	case store.CardExpired, store.LocationDisabled, store.SubscriptionSuspended:
		return http.StatusUnprocessableEntity
	}
	return kernel.StatusOf(code)
}
