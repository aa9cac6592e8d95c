package kernel

import (
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"time"

	"punchcard/store"
)

// The lifetimes of sessions of staff.
const (
	staffIdle     = 15 * time.Minute // without a write
	staffLifetime = 12 * time.Hour
)

// staffSession is a session of a member of staff at a device.
type staffSession struct {
	device      int64
	member      int64
	pin         string // the stored hash with which it began
	begun, used store.Time
	handles     map[string]heldCard
}

// ended reports whether a session has reached its end.
func (s *staffSession) ended(now store.Time) bool {
	return s.used.Add(staffIdle) <= now || s.begun.Add(staffLifetime) <= now
}

// staffSessions are the sessions of staff by the hashes of their tokens. They are in memory
// only: a restart ends them.
type staffSessions struct {
	mu  sync.Mutex
	all map[[32]byte]*staffSession
}

// pinLock is a lock that a wrong PIN caused.
type pinLock struct {
	kind store.Kind // of a device or of a location
	key  int64
}

// errStaffSession refuses a session that has ended or is unknown.
var errStaffSession = Refuse(store.InvalidCredentials, "The staff session has ended. Sign in with your PIN again.")

// find returns the session with a token at a device, and its member of staff. A session ends
// also with a new PIN, and when the person is disabled. The caller holds mu.
func (s *staffSessions) find(id *store.TillIdentity, token string, now store.Time) (*staffSession, store.Staff, error) {
	hash := [32]byte(store.Hash(token))
	session := s.all[hash]
	if session == nil || session.device != id.Device {
		return nil, store.Staff{}, errStaffSession
	}
	i := slices.IndexFunc(id.Staff, func(m store.TillStaff) bool { return m.Key == session.member && m.PIN == session.pin })
	if i < 0 || session.ended(now) {
		delete(s.all, hash)
		return nil, store.Staff{}, errStaffSession
	}
	return session, id.Staff[i].Staff, nil
}

// check returns the member of staff whose session a request names. A write keeps the session
// alive.
func (s *staffSessions) check(id *store.TillIdentity, tokens []string, now store.Time, write bool) (store.Staff, error) {
	if len(tokens) != 1 {
		return store.Staff{}, errStaffSession
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	session, member, err := s.find(id, tokens[0], now)
	if err == nil && write {
		session.used = now
	}
	return member, err
}

// begin adds a session, and removes those that have ended.
func (s *staffSessions) begin(token string, session *staffSession) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for hash, other := range s.all {
		if other.ended(session.begun) {
			delete(s.all, hash)
		}
	}
	s.all[[32]byte(store.Hash(token))] = session
}

// end removes the session with a token at a device, and returns its member of staff, 0 if
// there is none.
func (s *staffSessions) end(device int64, tokens []string) (member int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, token := range tokens {
		hash := [32]byte(store.Hash(token))
		if session := s.all[hash]; session != nil && session.device == device {
			member = session.member
			delete(s.all, hash)
		}
	}
	return member
}

// handlePrefix begins the handles of cards that a search at a till has found.
const handlePrefix = "hdl_"

// handleLifetime is how long a handle stands for its card.
const handleLifetime = 5 * time.Minute

// heldCard is the card that a handle stands for.
type heldCard struct {
	code  string // what its QR code holds
	until store.Time
}

// hold returns a handle that stands for a card for a device and a session. code is what the
// card's QR code holds. The handle is empty if the session has just ended.
func (s *staffSessions) hold(id *store.TillIdentity, tokens []string, code string, now store.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	session, _, err := s.find(id, strings.Join(tokens, ""), now)
	if err != nil {
		return ""
	}
	for handle, held := range session.handles {
		if held.until <= now {
			delete(session.handles, handle)
		}
	}
	handle := handlePrefix + rand.Text()
	session.handles[handle] = heldCard{code, now.Add(handleLifetime)}
	return handle
}

// heldCode returns what the QR code of a handle's card holds. It returns any text that is
// not a handle of the device and the session, such as a code, as it is.
func (s *staffSessions) heldCode(id *store.TillIdentity, tokens []string, text string, now store.Time) string {
	if !strings.HasPrefix(text, handlePrefix) || len(tokens) != 1 {
		return text
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	session, _, err := s.find(id, tokens[0], now)
	if err != nil {
		return text
	}
	if held, ok := session.handles[text]; ok && held.until > now {
		return held.code
	}
	return text
}
