package kernel

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"

	"punchcard/store"
)

const (
	pinTries = 5                // wrong PINs in a row that lock a device
	pinLock  = 60 * time.Second // how long it stays locked
)

// staffPINs checks the PINs that tills send along. The stored hash is slow on
// purpose, so it is asked once per PIN and device: a PIN that was right is then
// recognised by a keyed digest, which is kept in memory only.
type staffPINs struct {
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

func newStaffPINs() *staffPINs {
	p := &staffPINs{devices: map[int64]*pinState{}}
	rand.Read(p.secret[:])
	return p
}

func (p *staffPINs) of(device int64) *pinState {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.devices[device]
	if s == nil {
		s = &pinState{}
		p.devices[device] = s
	}
	return s
}

// check refuses a write whose PIN is missing or wrong, and any write of a device
// that is locked for wrong ones.
func (p *staffPINs) check(id *store.TillIdentity, given []string, now store.Time) error {
	s := p.of(id.Device)
	s.mu.Lock()
	defer s.mu.Unlock()
	if now < s.locked {
		e := Refuse(store.RateLimited, "Too many wrong staff PINs; the device is locked for a minute.")
		e.RetryAfter = s.locked.Std().Sub(now.Std())
		return e
	}
	switch {
	case id.PIN == "":
		return Refuse(store.InvalidCredentials, "The location demands a staff PIN but none is set; set one with: punchcard location set-pin.")
	case len(given) == 0:
		return Refuse(store.InvalidCredentials, "The location demands the staff PIN: send it as X-Staff-Pin.")
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
	return Refuse(store.InvalidCredentials, "The staff PIN is wrong.")
}
