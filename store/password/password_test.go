package password_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"punchcard/store/password"
)

// TestHash checks that a hash matches its password and no other, is salted, and that a damaged one
// is an error.
func TestHash(t *testing.T) {
	t.Parallel()
	h := password.New(1, time.Minute)
	hash := func(p string) string {
		s, err := h.Hash(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b := hash("a long enough password"), hash("a long enough password")
	if a == b || !strings.HasPrefix(a, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("%s, %s", a, b)
	}
	for given, want := range map[string]bool{"a long enough password": true, "A long enough password": false, "": false} {
		if got, err := h.Check(t.Context(), given, a); got != want || err != nil {
			t.Errorf("%q: %t, %v", given, got, err)
		}
	}
	for _, damaged := range []string{
		"x", a[:len(a)-60], strings.Replace(a, "m=19456", "m=999999999", 1), strings.Replace(a, "argon2id", "argon2i", 1),
		strings.Replace(a, "p=1", "p=0", 1),
	} {
		if ok, err := h.Check(t.Context(), "a long enough password", damaged); ok || err == nil {
			t.Errorf("%q: %t, %v", damaged, ok, err)
		}
	}
}

// TestUnknownCosts checks that a password is also hashed if there is no hash to compare it with, as
// for an unknown account.
func TestUnknownCosts(t *testing.T) {
	t.Parallel()
	h := password.New(1, time.Minute)
	if ok, err := h.Check(t.Context(), "whatever it is", ""); ok || err != nil || h.Hashes() != 1 {
		t.Errorf("%t, %v, %d hashes", ok, err, h.Hashes())
	}
}

// TestBound checks that as many passwords are hashed at once as New allows, and that others wait no
// longer than it allows, or until their context ends.
func TestBound(t *testing.T) {
	t.Parallel()
	h := password.New(1, time.Millisecond)
	var wg sync.WaitGroup
	busy, done := 0, 0
	var mu sync.Mutex
	for range 20 {
		wg.Go(func() {
			_, err := h.Check(context.Background(), "whatever it is", "")
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, password.ErrBusy):
				busy++
			case err == nil:
				done++
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if busy == 0 || done == 0 || h.Hashes() != int64(done) {
		t.Errorf("%d were refused, %d done, %d hashed", busy, done, h.Hashes())
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	slow := password.New(0, time.Minute) // hashes none at once
	if _, err := slow.Hash(ended, "whatever it is"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestWeakness checks the rules for new passwords.
func TestWeakness(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"ninechars":                 "must be at least 10 characters",
		"größer als":                "",
		"ö€öööööö9":                 "must be at least 10 characters",
		"kettle drum 41":            "",
		strings.Repeat("ab", 128):   "",
		strings.Repeat("a€b", 86):   "must be at most 256 characters",
		"Password123":               "must not be one of the commonest passwords",
		"1234567890":                "must not be one of the commonest passwords",
		"QWERTYUIOP":                "must not be one of the commonest passwords",
		"aaaaaaaaaa":                "must not be one of the commonest passwords",
		"correcthorsebatterystaple": "must not be one of the commonest passwords",
		"Ada.Lovelace@example.com":  "must not be the email",
		"ada.lovelace":              "must not be the email",
		"long enough\xff":           "must be text",
	} {
		if got := password.Weakness(given, "ada.lovelace@example.com"); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}
