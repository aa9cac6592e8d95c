package operation_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// TestSignIn checks that a person signs in with the right password and no other, and that
// the session has the person's role.
func TestSignIn(t *testing.T) {
	t.Parallel()
	h := openHarness(t)
	for role, want := range map[string]kernel.Role{store.RoleOwner: kernel.Operator, store.RoleManager: kernel.Manager, store.RoleViewer: kernel.Viewer} {
		s, code := h.signIn(strings.ToUpper(seed.Emails[role]), seed.Password, home)
		if code != "" || len(s.Token) != 43 || s.Pending || s.Address != home {
			t.Fatalf("%+v, %s", s, code)
		}
		c := h.caller(s.Token)
		if c.Role != want || c.Access.Shop != h.Shop() || c.Session.Email != seed.Emails[role] || c.Kind != kernel.Person {
			t.Errorf("%s: %+v", role, c)
		}
		if _, code := h.signIn(seed.Emails[role], seed.Password+"x", home); code != store.InvalidCredentials {
			t.Errorf("a wrong password: %q", code)
		}
	}
	if a, b := h.token(store.RoleOwner), h.token(store.RoleOwner); a == b {
		t.Error("two sessions have one token")
	}
	if got := h.actions(3); got != "user.sign_in_failed user.sign_in user.sign_in" {
		t.Errorf("audited: %s", got)
	}
}

// TestUnknownEmail checks that a sign-in with the email of no account, or of a disabled one,
// is refused and locked as one with a wrong password is, and hashes as often.
func TestUnknownEmail(t *testing.T) {
	t.Parallel()
	h := openHarness(t)
	must[store.User](h, h.server(), operation.DisableUser, h.id(store.RoleViewer), nil)
	outcome := func(email, address string) (list []string) {
		for range 7 {
			before := h.hasher.Hashes()
			_, err := kernel.Do[operation.CreatedSession](t.Context(), h.Kernel, at(address), operation.SignIn, kernel.Args{Fields: operation.SignInFields{Email: store.Given(email), Password: store.Given("a wrong password")}})
			e := kernel.AsError(err, kernel.StatusOf)
			list = append(list, fmt.Sprint(e.Code, e.Message, e.RetryAfter, h.hasher.Hashes()-before))
		}
		return list
	}
	want := outcome(seed.OwnerEmail, "198.51.100.1")
	if !strings.HasSuffix(want[0], " 1") || !strings.HasPrefix(want[5], string(store.RateLimited)) || !strings.HasSuffix(want[5], "1m0s 0") {
		t.Errorf("%q", want)
	}
	for i, email := range []string{"nobody@demo.test", seed.ViewerEmail} {
		if got := outcome(email, fmt.Sprint("198.51.100.", i+2)); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s: %q, want %q", email, got, want)
		}
	}
}

// right signs in with the right password and returns the code of the refusal, "" for none.
func (h *harness) right(email, address string) store.Code {
	h.Helper()
	_, code := h.signIn(email, seed.Password, address)
	return code
}

// wrong signs in with a wrong password and returns the code of the refusal.
func (h *harness) wrong(email, address string) store.Code {
	h.Helper()
	_, code := h.signIn(email, "a wrong password", address)
	return code
}

// fail signs in with a wrong password n times. No lock may refuse any of them.
func (h *harness) fail(n int, email, address string) {
	h.Helper()
	for i := range n {
		if got := h.wrong(email, address); got != store.InvalidCredentials {
			h.Fatalf("try %d of %s: %q", i, email, got)
		}
	}
}

// TestLocks checks that five wrong passwords lock the account at the address for a minute, also
// for the right password and after a restart, and that the next lock is longer.
func TestLocks(t *testing.T) {
	t.Parallel()
	h := openHarness(t)
	h.fail(5, seed.OwnerEmail, home)
	if got := h.right(seed.OwnerEmail, home); got != store.RateLimited {
		t.Errorf("after five failures: %q", got)
	}
	if got := h.actions(6); !strings.HasSuffix(got, "user.sign_in_failed user.lock") {
		t.Errorf("audited: %s", got)
	}
	h.reopen()
	if got := h.right(seed.OwnerEmail, home); got != store.RateLimited {
		t.Errorf("after a restart: %q", got)
	}
	if got := h.right(seed.OwnerEmail, "198.51.100.8"); got != "" {
		t.Errorf("at another address: %q", got)
	}
	h.advance(time.Minute)
	if got := h.right(seed.OwnerEmail, home); got != "" {
		t.Errorf("after a minute: %q", got)
	}
	h.fail(5, seed.ManagerEmail, home)
	h.advance(16 * time.Minute) // the lock has ended, and the failures do not count any more
	h.fail(5, seed.ManagerEmail, home)
	h.advance(time.Minute)
	if got := h.wrong(seed.ManagerEmail, home); got != store.RateLimited {
		t.Errorf("the second lock lasts no longer: %q", got)
	}
}

// TestSuccessForgetsFailures checks that failures before a sign-in do not count for the lock of
// the account at the address.
func TestSuccessForgetsFailures(t *testing.T) {
	t.Parallel()
	h := openHarness(t)
	for range 2 {
		h.fail(4, seed.OwnerEmail, home)
		if got := h.right(seed.OwnerEmail, home); got != "" {
			t.Errorf("after four failures: %q", got)
		}
	}
}

// TestLockOfAddress checks that 20 failures lock an address for all accounts, and that of IPv6 its
// network counts.
func TestLockOfAddress(t *testing.T) {
	t.Parallel()
	h := openHarness(t)
	for i := range 20 {
		h.fail(1, fmt.Sprintf("nobody%d@demo.test", i), fmt.Sprintf("2001:db8::%x", i))
	}
	if got := h.right(seed.OwnerEmail, "2001:db8::ffff"); got != store.RateLimited {
		t.Errorf("after 20 failures of the network: %q", got)
	}
	if got := h.right(seed.OwnerEmail, "2001:db8:0:1::1"); got != "" {
		t.Errorf("from another network: %q", got)
	}
}

// TestLockOfAccount checks that ten failures at any addresses slow an account down to one try in 30
// seconds, except at an address at which the person is signed in.
func TestLockOfAccount(t *testing.T) {
	t.Parallel()
	h := openHarness(t)
	for i := range 10 {
		h.fail(1, seed.ViewerEmail, fmt.Sprint("203.0.113.", i))
	}
	tries := func() (n int) {
		for i := range 5 {
			if h.wrong(seed.ViewerEmail, fmt.Sprint("203.0.113.", 100+i)) == store.InvalidCredentials {
				n++
			}
		}
		return n
	}
	if n := tries(); n != 0 {
		t.Errorf("%d tries at once after ten failures", n)
	}
	for range 10 {
		h.advance(30 * time.Second)
		if n := tries(); n != 1 {
			t.Errorf("%d tries in 30 seconds", n)
		}
	}
	h.advance(30 * time.Second)
	if got := h.right(seed.ViewerEmail, home); got != "" {
		t.Errorf("the person is kept out: %q", got)
	}
	if h.wrong(seed.ViewerEmail, "203.0.113.200") != store.InvalidCredentials || h.wrong(seed.ViewerEmail, "203.0.113.201") != store.RateLimited {
		t.Error("the attack is not slowed any more")
	}
	if got := h.right(seed.ViewerEmail, home); got != "" {
		t.Errorf("the person at a known address is slowed: %q", got)
	}
}

// TestLockWithoutAddress checks that failures without an address count for the account alone.
func TestLockWithoutAddress(t *testing.T) {
	t.Parallel()
	h := openHarness(t)
	h.fail(10, seed.ManagerEmail, "")
	if got := h.wrong(seed.ManagerEmail, ""); got != store.RateLimited {
		t.Errorf("after ten failures: %q", got)
	}
}

// TestConcurrentGuesses checks that of concurrent tries as many are answered as the rules allow.
func TestConcurrentGuesses(t *testing.T) {
	t.Parallel()
	h := openHarness(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	counts := map[store.Code]int{}
	for range 40 {
		wg.Go(func() {
			_, err := kernel.Do[operation.CreatedSession](t.Context(), h.Kernel, at(home), operation.SignIn, kernel.Args{Fields: operation.SignInFields{Email: store.Given(seed.OwnerEmail), Password: store.Given("a wrong password")}})
			mu.Lock()
			defer mu.Unlock()
			counts[code(err)]++
		})
	}
	wg.Wait()
	if counts[store.InvalidCredentials] != 5 || counts[store.RateLimited] != 35 {
		t.Errorf("forty wrong passwords at once: %v", counts)
	}
	if _, code := h.signIn(seed.OwnerEmail, seed.Password, home); code != store.RateLimited {
		t.Errorf("then the right password: %q", code)
	}
}

// TestSessionsEnd checks that a session ends with the next request, whatever ends it.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	h := openHarness(t)
	for name, end := range map[string]func(token string){
		"sign-out": func(token string) { must[kernel.None](h, h.caller(token), operation.SignOut, "", nil) },
		"everywhere": func(token string) {
			must[operation.EndedSessions](h, h.person(store.RoleManager), operation.SignOutEverywhere, "", nil)
		},
		"another session": func(token string) {
			must[kernel.None](h, h.person(store.RoleManager), operation.EndSession, h.caller(token).Session.SessionID, nil)
		},
		"password": func(token string) {
			f := operation.PasswordFields{CurrentPassword: store.Given(seed.Password), Password: store.Given("another kettle 71")}
			s := must[operation.CreatedSession](h, h.caller(token), operation.ChangePassword, "", f)
			back := operation.PasswordFields{CurrentPassword: f.Password, Password: f.CurrentPassword}
			must[operation.CreatedSession](h, h.caller(s.Token), operation.ChangePassword, "", back)
		},
		"reset": func(string) { h.restorePassword() },
		"disabled": func(string) {
			must[store.User](h, h.server(), operation.DisableUser, h.id(store.RoleManager), nil)
			must[store.User](h, h.server(), operation.EnableUser, h.id(store.RoleManager), nil)
		},
		"operator": func(string) {
			must[operation.EndedSessions](h, h.server(), operation.SignOutUser, h.id(store.RoleManager), nil)
		},
		"role": func(string) {
			for _, role := range []string{store.RoleViewer, store.RoleManager} {
				must[store.Member](h, h.person(store.RoleOwner), operation.SetRole, h.id(store.RoleManager), operation.RoleFields{Role: store.Given(role)})
			}
		},
		"age": func(string) { h.advance(7 * 24 * time.Hour) },
		"file": func(string) { // the manager is the second person of the file
			h.write(func(tx *store.Tx) error { return tx.SetPassword(2, "x", "user.reset_password") })
			h.restorePassword()
		},
	} {
		token := h.token(store.RoleManager)
		if _, ok := h.as(token); !ok {
			t.Fatalf("%s: no session", name)
		}
		end(token)
		if _, ok := h.as(token); ok {
			t.Errorf("%s does not end the session", name)
		}
	}
	token := h.token(store.RoleManager)
	must[kernel.None](h, h.caller(token), operation.Prove, "", operation.ProofFields{Password: store.Given(seed.Password)})
	if _, ok := h.as(token); !ok {
		t.Error("a proof ends the session")
	}
	h.reopen()
	if _, ok := h.as(token); !ok {
		t.Error("a restart ends the session")
	}
	// Used once a day, it lasts for thirty days.
	for range 29 {
		h.advance(24 * time.Hour)
		if _, ok := h.as(token); !ok {
			t.Fatal("the session ended though it was used")
		}
	}
	h.advance(24 * time.Hour)
	if _, ok := h.as(token); ok {
		t.Error("the session is older than thirty days")
	}
	h.write(func(tx *store.Tx) error { _, err := tx.PruneSessions(1000); return err })
	if n := len(must[operation.List[store.Session]](h, h.person(store.RoleManager), operation.ListSessions, "", nil).Data); n != 1 {
		t.Errorf("%d sessions are left", n)
	}
}
