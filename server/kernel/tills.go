package kernel

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"time"

	"punchcard/store"
)

var tillPattern = regexp.MustCompile(`^tdk_(live|test)_[A-Za-z0-9_-]{43}$`)

// Tills is the guard of the till API: device tokens and staff PINs (contract
// section 7).
type Tills struct {
	st    *store.Store
	mu    sync.RWMutex
	known map[[32]byte]*store.TillIdentity
	pins  pins
}

// NewTills makes the guard.
func NewTills(st *store.Store) *Tills {
	t := &Tills{st: st, known: map[[32]byte]*store.TillIdentity{}, pins: pins{devices: map[int64]*pinState{}}}
	rand.Read(t.pins.secret[:])
	return t
}

func (t *Tills) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.known)
}

func (t *Tills) status(c store.Code) int { return TillStatus(c) }

// TillStatus is the HTTP status of a code on the till API.
func TillStatus(c store.Code) int {
	if s, ok := tillStatuses[c]; ok {
		return s
	}
	return Statuses[c]
}

// tillStatuses are the statuses that differ from the REST API's, and those of
// codes that it has not (spec "Platform codes").
var tillStatuses = map[store.Code]int{
	store.CardExpired:           http.StatusUnprocessableEntity,
	store.LocationDisabled:      http.StatusUnprocessableEntity,
	store.SubscriptionSuspended: http.StatusUnprocessableEntity,
}

func (t *Tills) identify(r *http.Request) (*caller, error) {
	if len(r.Header["Authorization"]) == 0 {
		return nil, unauthenticated("Send the device's token as: Authorization: Bearer tdk_…")
	}
	token, p := bearer(r)
	if p != nil {
		return nil, p
	}
	const malformed = "The till API expects a device token beginning tdk_."
	if len(token) != 52 {
		return nil, unauthenticated(malformed)
	}
	hash := [32]byte(store.Hash(token))
	t.mu.RLock()
	id := t.known[hash]
	t.mu.RUnlock()
	if id == nil {
		if !tillPattern.MatchString(token) {
			return nil, unauthenticated(malformed)
		}
		found, err := t.st.IdentifyTill(hash[:])
		if err != nil {
			return nil, err
		}
		if found == nil {
			return nil, unauthenticated("No such device.")
		}
		id = found
		t.mu.Lock()
		t.known[hash] = id
		t.mu.Unlock()
	}
	c := &caller{epoch: id.Epoch, actor: store.Actor{Type: "device", Key: id.Device}, claims: store.DeviceCaller(id.Device)}
	c.call.Access, c.call.Till = store.Access{Shop: id.Shop}, id
	if id.Revoked {
		return c, unauthenticated("The device is revoked.")
	}
	return c, nil
}

// gate applies what comes before every write at a till.
func (t *Tills) gate(x *exchange, c *caller) error {
	id := c.call.Till
	if !x.rt.Writes() {
		return nil
	}
	switch {
	case id.Subscription == "suspended" || id.Subscription == "cancelled":
		return fail(http.StatusUnprocessableEntity, store.SubscriptionSuspended, "The shop's subscription is "+id.Subscription+".")
	case id.LocationDisabled:
		return fail(http.StatusUnprocessableEntity, store.LocationDisabled, "This location is disabled.")
	case !id.PINRequired || x.refused != nil:
		return x.refused
	}
	// A try is counted against the PIN that is set now, and once: whoever is
	// let in here is asked again when the PIN changes before the write.
	if err := x.confirm(c, nil); err != nil {
		return err
	}
	x.refused = t.pins.check(x.w.Header(), id, x.r.Header.Values("X-Staff-Pin"), t.st.Now())
	return x.refused
}

const (
	pinTries = 5                // wrong ones in a row that lock a device
	pinLock  = 60 * time.Second // for so long
)

// pins checks staff PINs. A hash made to be slow is asked once per PIN and
// device; what was right is then known by a keyed digest, in memory only.
type pins struct {
	secret  [32]byte
	mu      sync.Mutex
	devices map[int64]*pinState
}

type pinState struct {
	mu     sync.Mutex // one try at a time, so that tries are counted exactly
	wrong  int
	locked store.Time
	right  [32]byte
}

func (p *pins) of(device int64) *pinState {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.devices[device]
	if s == nil {
		s = &pinState{}
		p.devices[device] = s
	}
	return s
}

func (p *pins) check(h http.Header, id *store.TillIdentity, given []string, now store.Time) error {
	s := p.of(id.Device)
	s.mu.Lock()
	defer s.mu.Unlock()
	if now < s.locked {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(s.locked.Std().Sub(now.Std()).Seconds()))))
		return fail(http.StatusTooManyRequests, store.RateLimited, "Too many wrong staff PINs; the device is locked for a minute.")
	}
	switch {
	case id.PIN == "":
		return fail(http.StatusUnauthorized, store.InvalidCredentials, "The location demands a staff PIN but none is set; set one with: punchcard location set-pin.")
	case len(given) == 0:
		return fail(http.StatusUnauthorized, store.InvalidCredentials, "The location demands the staff PIN: send it as X-Staff-Pin.")
	}
	mac := hmac.New(sha256.New, p.secret[:])
	mac.Write([]byte(id.PIN + "\x00" + given[0]))
	sum := [32]byte(mac.Sum(nil))
	if len(given) == 1 && (hmac.Equal(sum[:], s.right[:]) || store.CheckPIN(given[0], id.PIN)) {
		s.wrong, s.right = 0, sum
		return nil
	}
	if s.wrong++; s.wrong >= pinTries {
		s.wrong, s.locked = 0, now.Add(pinLock)
	}
	return fail(http.StatusUnauthorized, store.InvalidCredentials, "The staff PIN is wrong.")
}
