package kernel

import (
	"crypto/subtle"
	"net/http"
	"regexp"
	"slices"
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
	const malformed = "The key is malformed; the REST API expects a key beginning tsk_."
	if len(token) != 52 {
		return nil, unauthenticated(malformed)
	}
	hash := [32]byte(store.Hash(token))
	c.mu.RLock()
	id := c.known[hash]
	c.mu.RUnlock()
	if id == nil {
		if !keyPattern.MatchString(token) {
			return nil, unauthenticated(malformed)
		}
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

// caller is who makes a request, as a guard found out.
type caller struct {
	epoch  int64
	actor  store.Actor
	claims int64 // the scope of its Idempotency-Keys
	call   Call
}

// Guard is what stands before the routes of one face.
type Guard interface {
	// identify finds the caller. With an error it gives one too where the
	// error rests on what may be out of date.
	identify(r *http.Request) (*caller, error)
	// gate applies the checks between authentication and the request itself.
	gate(x *exchange, c *caller) error
	// forget drops all that is known, because the epoch moved.
	forget()
	// status is the HTTP status that a code has on this face.
	status(store.Code) int
}

// Keys is the guard of the REST API.
func (k *Kernel) Keys() Guard { return keyGuard{k} }

type keyGuard struct{ k *Kernel }

func (g keyGuard) forget()                 { g.k.ids.forget() }
func (g keyGuard) status(c store.Code) int { return Statuses[c] }

func (g keyGuard) identify(r *http.Request) (*caller, error) {
	id, err := g.k.ids.identify(r)
	if err != nil {
		return nil, err
	}
	return &caller{id.Epoch, store.Actor{Type: "api_key", Key: id.Key}, store.APICaller(id.Family), Call{Access: id.Access, Identity: id}}, nil
}

func (g keyGuard) gate(x *exchange, c *caller) error {
	id := c.call.Identity
	if !x.counted {
		x.counted = true
		x.limited = !x.k.limits.take(x.w.Header(), id.Key, x.call.now.Std())
	}
	switch {
	case x.limited:
		return fail(http.StatusTooManyRequests, store.RateLimited, "The key's requests for this minute are used up; see Retry-After.")
	case !id.APIAccess(x.call.now).Valid:
		return fail(http.StatusUnauthorized, store.BusinessAPIRequired, "The shop has no active Business API add-on. The key is intact and works again once it has.")
	case id.Subscription == "suspended" || id.Subscription == "cancelled":
		return fail(http.StatusPaymentRequired, store.SubscriptionSuspended, "The shop's subscription is "+id.Subscription+". The key is intact.")
	case id.LocationsGone && !x.rt.DisabledToo:
		return fail(http.StatusPaymentRequired, store.LocationDisabled, "Every location of this key is disabled.")
	case x.rt.Scope != "" && !slices.Contains(id.Scopes, x.rt.Scope):
		return fail(http.StatusForbidden, store.Unauthorized, "The key lacks the scope "+x.rt.Scope+".")
	}
	return nil
}
