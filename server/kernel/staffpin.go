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
	devicePINRule   = attemptRule{max: 5, lock: time.Minute}
	locationPINRule = attemptRule{max: 10, window: 15 * time.Minute, lock: 5 * time.Minute}
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
	wrong   failedAttempts
	devices attemptsByDevice
	right   [32]byte // digest of the last right PIN
}

func newStaffPINs() *staffPINs {
	p := &staffPINs{}
	rand.Read(p.secret[:])
	return p
}

// check returns an error if the PIN of a write is missing or wrong, or if the device
// or the location is locked because of wrong PINs. It also returns the locks that
// this PIN caused.
func (p *staffPINs) check(id *store.TillIdentity, given []string, now store.Time) (locks []pinLock, err error) {
	return p.attempt(id, now, func(l *locationPINs) error {
		switch {
		case id.PIN == "":
			return Refuse(
				store.InvalidCredentials, "The location demands a staff PIN but none is set; set one with: punchcard location set-pin.",
			)
		case len(given) == 0:
			return Refuse(store.InvalidCredentials, "The location demands the staff PIN: send it as X-Staff-Pin.")
		}
		mac := hmac.New(sha256.New, p.secret[:])
		mac.Write([]byte(id.PIN + "\x00" + given[0]))
		sum := [32]byte(mac.Sum(nil))
		if len(given) == 1 && (hmac.Equal(sum[:], l.right[:]) || store.CheckPIN(given[0], id.PIN)) {
			l.right = sum
			return nil
		}
		return errWrongPIN
	})
}

// checkMember returns an error if the PIN of a member of staff is wrong, or if the device or
// the location is locked. It counts for the same rules as check.
func (p *staffPINs) checkMember(id *store.TillIdentity, member store.TillStaff, given string, now store.Time) (locks []pinLock, err error) {
	return p.attempt(id, now, func(*locationPINs) error {
		if store.CheckPIN(given, member.PIN) {
			return nil
		}
		return errWrongMemberPIN
	})
}

// The refusals that count.
var (
	errWrongPIN       error = Refuse(store.InvalidCredentials, "The staff PIN is wrong.")
	errWrongMemberPIN error = Refuse(store.InvalidCredentials, "The PIN is wrong.")
)

// attempt counts what try says of a PIN, unless the device or the location is locked.
func (p *staffPINs) attempt(id *store.TillIdentity, now store.Time, try func(*locationPINs) error) (locks []pinLock, err error) {
	l := p.location(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	device := l.devices.of(id.Device)
	if err := l.locked(device, now); err != nil {
		return nil, err
	}
	switch err = try(l); err {
	case nil:
		device.wrong = nil
	case errWrongPIN, errWrongMemberPIN:
		locks = l.countWrong(id, device, now)
	}
	return locks, err
}

// location returns the state of the location of a till.
func (p *staffPINs) location(id *store.TillIdentity) *locationPINs {
	known, _ := p.locations.LoadOrStore(id.Location, &locationPINs{devices: attemptsByDevice{}})
	return known.(*locationPINs)
}

// locked returns an error while the location or the device is locked.
func (l *locationPINs) locked(device *failedAttempts, now store.Time) error {
	atDevice, atLocation := device.locked(now), l.wrong.locked(now)
	switch {
	case atLocation > 0:
		return refuseLocked("Too many wrong staff PINs at this location; it takes none for five minutes.", max(atLocation, atDevice))
	case atDevice > 0:
		return refuseLocked("Too many wrong staff PINs; the device is locked for a minute.", atDevice)
	}
	return nil
}

// countWrong counts a wrong PIN and returns the locks that it causes.
func (l *locationPINs) countWrong(id *store.TillIdentity, device *failedAttempts, now store.Time) (locks []pinLock) {
	if device.add(devicePINRule, now) {
		locks = append(locks, pinLock{store.KindDevice, id.Device})
	}
	if l.wrong.add(locationPINRule, now) {
		locks = append(locks, pinLock{store.KindLocation, id.Location})
	}
	return locks
}
