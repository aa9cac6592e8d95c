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
	pinTries = 5                // consecutive wrong PINs that lock a device
	pinLock  = 60 * time.Second // duration of the lock
)

// staffPINs checks the staff PINs of requests. Comparing with the stored hash is
// slow on purpose, so a PIN that was right is recognised by a keyed digest the next
// time. The digests are only in memory.
type staffPINs struct {
	secret  [32]byte // key of the digests
	devices sync.Map // int64 to *pinState
}

// pinState is the state of a device.
type pinState struct {
	mu     sync.Mutex // held while a PIN is checked, so that the count is exact
	wrong  int        // consecutive wrong PINs
	locked store.Time // end of the lock
	right  [32]byte   // digest of the last right PIN
}

func newStaffPINs() *staffPINs {
	p := &staffPINs{}
	rand.Read(p.secret[:])
	return p
}

// check returns an error if the PIN of a write is missing or wrong, or if the
// device is locked because of wrong PINs.
func (p *staffPINs) check(id *store.TillIdentity, given []string, now store.Time) error {
	known, _ := p.devices.LoadOrStore(id.Device, &pinState{})
	s := known.(*pinState)
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
