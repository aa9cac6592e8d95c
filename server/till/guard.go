package till

import (
	"net/http"

	"punchcard/server/kernel"
	"punchcard/store"
)

// Guard identifies the callers of the till API by their device tokens, and limits
// the rate of each device.
type Guard struct {
	st      *store.Store
	devices kernel.Identities[store.TillIdentity]
	limit   *kernel.Limiter
	hosts   *kernel.Hosts // of the till page, whose cookie is accepted; nil: none is
}

// NewGuard returns a guard that allows each device perMinute requests per minute; 0
// means no limit.
func NewGuard(st *store.Store, perMinute int) *Guard {
	return &Guard{st: st, limit: kernel.NewLimiter(perMinute)}
}

// Identify returns the device whose token is the bearer token of a request, or in the
// cookie of the till page, with the staff PIN and the staff session of the request. It
// refuses a token that is malformed, unknown or revoked.
func (g *Guard) Identify(r *http.Request) (c kernel.Caller, err error) {
	token, err := g.token(r)
	if err != nil {
		return c, err
	}
	id, err := g.devices.Get(token, func(hash []byte) (*store.TillIdentity, error) {
		if !kernel.IsDeviceToken(token) {
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
	c = kernel.DeviceCaller(id, r.Header.Values("X-Staff-Pin"))
	c.StaffSession = r.Header.Values("X-Staff-Session")
	return c, nil
}

// Limit refuses requests over the rate limit of the device.
func (g *Guard) Limit(h http.Header, c *kernel.Caller, now store.Time) error {
	if g.limit.Take(h, c.Device.Device, now) {
		return nil
	}
	return kernel.Refuse(store.RateLimited, "The device's requests for this minute are used up; see Retry-After.")
}

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
