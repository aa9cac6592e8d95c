package kernel

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"sync"
	"time"

	"punchcard/store"
)

// The rules for wrong staff PINs. Those of a device count in a row, those of all
// devices of a location also when right ones come between.
var (
	devicePINRule   = guessRule{most: 5, lock: time.Minute}
	locationPINRule = guessRule{most: 10, window: 15 * time.Minute, lock: 5 * time.Minute}
)

// staffPINs checks the staff PINs of requests. Comparing with the stored hash is
// slow on purpose, so a PIN that was right is recognised by a keyed digest the next
// time. The digests and counts are only in memory.
type staffPINs struct {
	secret    [32]byte // key of the digests
	locations sync.Map // int64 to *locationPINs
}

// locationPINs is the state of a location and its devices.
type locationPINs struct {
	mu      sync.Mutex // held while a PIN is checked, so that no concurrent ones exceed the rules
	wrong   guesses
	devices map[int64]*guesses
	right   [32]byte // digest of the last right PIN
}

func newStaffPINs() *staffPINs {
	p := &staffPINs{}
	rand.Read(p.secret[:])
	return p
}

// pinLock is a lock that a wrong PIN caused.
type pinLock struct {
	kind store.Kind // of a device or of a location
	key  int64
}

// check returns an error if the PIN of a write is missing or wrong, or if the device
// or the location is locked because of wrong PINs. It also returns the locks that
// this PIN caused.
func (p *staffPINs) check(id *store.TillIdentity, given []string, now store.Time) (locks []pinLock, err error) {
	known, _ := p.locations.LoadOrStore(id.Location, &locationPINs{devices: map[int64]*guesses{}})
	l := known.(*locationPINs)
	l.mu.Lock()
	defer l.mu.Unlock()
	device := l.devices[id.Device]
	if device == nil {
		device = &guesses{}
		l.devices[id.Device] = device
	}
	atDevice, atLocation := device.locked(now), l.wrong.locked(now)
	switch {
	case atLocation > 0:
		return nil, refuseLocked("Too many wrong staff PINs at this location; it takes none for five minutes.", max(atLocation, atDevice))
	case atDevice > 0:
		return nil, refuseLocked("Too many wrong staff PINs; the device is locked for a minute.", atDevice)
	case id.PIN == "":
		return nil, Refuse(store.InvalidCredentials, "The location demands a staff PIN but none is set; set one with: punchcard location set-pin.")
	case len(given) == 0:
		return nil, Refuse(store.InvalidCredentials, "The location demands the staff PIN: send it as X-Staff-Pin.")
	}
	mac := hmac.New(sha256.New, p.secret[:])
	mac.Write([]byte(id.PIN + "\x00" + given[0]))
	sum := [32]byte(mac.Sum(nil))
	if len(given) == 1 && (hmac.Equal(sum[:], l.right[:]) || store.CheckPIN(given[0], id.PIN)) {
		device.wrong, l.right = nil, sum
		return nil, nil
	}
	if device.add(devicePINRule, now) {
		locks = append(locks, pinLock{store.KindDevice, id.Device})
	}
	if l.wrong.add(locationPINRule, now) {
		locks = append(locks, pinLock{store.KindLocation, id.Location})
	}
	return locks, Refuse(store.InvalidCredentials, "The staff PIN is wrong.")
}
