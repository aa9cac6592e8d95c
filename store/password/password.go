// Package password hashes passwords and PINs of people with argon2id, checks them, and says
// which passwords are too easy to guess.
package password

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// The rule for the length of a password, in characters.
const (
	MinLength = 10
	MaxLength = 256
)

// The cost of a hash, which is OWASP's minimum for argon2id.
const (
	passes  = 2
	memory  = 19 * 1024 // KiB
	threads = 1
	keySize = 32
)

// Memory is the KiB that a new hash takes. It is changed by tests alone, which set it to 8
// before they start a server, so that they do not spend their time on hashing.
var Memory uint32 = memory

// maxWait is how long a password waits for its turn to be hashed.
const maxWait = 5 * time.Second

// ErrBusy means that too many passwords wait to be hashed.
var ErrBusy = errors.New("too many passwords wait to be checked")

// Hasher hashes passwords, only so many at once. Each takes 19 MiB and tens of
// milliseconds of a processor, and requests that need no password must not wait for it.
// While others wait for their turn, a slot rests after each password for as long as that
// one took, so that a flood of passwords leaves processors to other requests
// (BenchmarkPasswordFlood in server/app).
type Hasher struct {
	slots   chan struct{}
	wait    time.Duration
	waiting atomic.Int64
	hashes  atomic.Int64
}

// Shared is the hasher of the whole process, which uses at most half of the processors, and of
// GOMEMLIMIT, if that is set, less than a third.
var Shared = New(max(1, int(min(int64(runtime.GOMAXPROCS(0)/2), debug.SetMemoryLimit(-1)/(3*memory<<10)))), maxWait)

// New returns a hasher that hashes at most n passwords at once. Others wait for their
// turn, but not longer than wait.
func New(n int, wait time.Duration) *Hasher {
	return &Hasher{slots: make(chan struct{}, n), wait: wait}
}

// Hashes returns how many passwords were hashed.
func (h *Hasher) Hashes() int64 { return h.hashes.Load() }

// do calls hash when it is its turn.
func (h *Hasher) do(ctx context.Context, hash func()) error {
	if err := h.take(ctx); err != nil {
		return err
	}
	start := time.Now()
	defer func() {
		if h.waiting.Load() == 0 {
			<-h.slots
			return
		}
		time.AfterFunc(time.Since(start), func() { <-h.slots })
	}()
	h.hashes.Add(1)
	hash()
	return nil
}

// take waits for a slot.
func (h *Hasher) take(ctx context.Context) error {
	select {
	case h.slots <- struct{}{}:
		return nil
	default:
	}
	h.waiting.Add(1)
	defer h.waiting.Add(-1)
	t := time.NewTimer(h.wait)
	defer t.Stop()
	select {
	case h.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return ErrBusy
	}
}

// Hash returns the hash of a password in PHC form, as the function Hash does. The error is ErrBusy if it was
// not the password's turn in time.
func (h *Hasher) Hash(ctx context.Context, password string) (hash string, err error) {
	err = h.do(ctx, func() { hash = Hash(password) })
	return hash, err
}

// Check reports whether a password is the one of a hash, as the function Check does. If the hash is empty,
// since there is no such account, it takes as long and reports false. The error is ErrBusy if it was not the
// password's turn in time.
func (h *Hasher) Check(ctx context.Context, password, hash string) (ok bool, err error) {
	busy := h.do(ctx, func() {
		if hash == "" {
			Hash(password)
			return
		}
		ok, err = Check(password, hash)
	})
	return ok, cmp.Or(busy, err)
}

// Hash returns the hash of a password or a PIN in PHC form. It takes tens of milliseconds.
func Hash(password string) string {
	salt := make([]byte, 16)
	rand.Read(salt)
	sum := argon2.IDKey([]byte(password), salt, passes, Memory, threads, keySize)
	e := base64.RawStdEncoding
	return fmt.Sprintf(
		"$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, Memory, passes, threads,
		e.EncodeToString(salt),
		e.EncodeToString(sum),
	)
}

// Check reports whether a password or a PIN is the one of a hash.
func Check(password, hash string) (bool, error) {
	var version, m, t, p int
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, errHash
	}
	if _, err := fmt.Sscanf(parts[2]+" "+parts[3], "v=%d m=%d,t=%d,p=%d", &version, &m, &t, &p); err != nil || version != argon2.Version {
		return false, errHash
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	want, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil || len(want) == 0 || m < 8 || m > 1<<20 || t < 1 || t > 100 || p < 1 || p > 16 {
		return false, errHash
	}
	got := argon2.IDKey([]byte(password), salt, uint32(t), uint32(m), uint8(p), uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

var errHash = errors.New("password: the stored hash is damaged")

// Weakness says why a new password of the account with an email is too easy to guess,
// in words that follow its name, such as "must be at least 10 characters". It is empty
// if the password is good.
func Weakness(password, email string) string {
	n := utf8.RuneCountInString(password)
	lower := strings.ToLower(strings.TrimSpace(password))
	local, _, _ := strings.Cut(email, "@")
	switch {
	case !utf8.ValidString(password):
		return "must be text"
	case n < MinLength:
		return fmt.Sprintf("must be at least %d characters", MinLength)
	case n > MaxLength:
		return fmt.Sprintf("must be at most %d characters", MaxLength)
	case email != "" && (strings.EqualFold(lower, email) || strings.EqualFold(lower, local)):
		return "must not be the email"
	case common(lower):
		return "must not be one of the commonest passwords"
	}
	return ""
}

// list has the commonest passwords of at least MinLength characters, in lower case, one
// to a line: passwords that the published lists of the commonest ones agree on, and common
// words and keyboard rows followed by the usual numbers and years.
//
//go:embed common.txt.gz
var list string

// common reports whether a password in lower case is in the list. The list is not kept
// in memory, since it is needed only where somebody sets a password.
func common(lower string) bool {
	z, err := gzip.NewReader(strings.NewReader(list))
	if err != nil {
		panic("password: " + err.Error())
	}
	for lines := bufio.NewScanner(io.Reader(z)); lines.Scan(); {
		if lines.Text() == lower {
			return true
		}
	}
	return false
}
