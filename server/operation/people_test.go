package operation_test

import (
	"fmt"
	"slices"
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
	h := openHarness(t)
	for role, want := range map[string]kernel.Role{
		store.RoleOwner:   kernel.Operator,
		store.RoleManager: kernel.Manager,
		store.RoleViewer:  kernel.Viewer,
	} {
		s, code := h.signIn(strings.ToUpper(seed.Emails[role]), seed.Password, home)
		if code != "" || len(s.Token) != 43 || s.Pending || s.Address != home {
			t.Fatalf("%+v, %s", s, code)
		}
		c := h.caller(s.Token)
		if c.Role != want || c.Access.Shop != h.Shop() || c.Session.Email != seed.Emails[role] || c.Kind != kernel.Person {
			t.Errorf("%s: %+v", role, c)
		}
		h.is(store.InvalidCredentials, "a wrong password", codeOf(h.signIn(seed.Emails[role], seed.Password+"x", home)))
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
	h := openHarness(t)
	h.ok(h.server(), operation.DisableUser, h.id(store.RoleViewer), nil)
	outcome := func(email, address string) (list []string) {
		for range 12 {
			before := h.hasher.Hashes()
			_, err := kernel.Do[operation.CreatedSession](
				t.Context(), h.Kernel,
				at(address),
				operation.SignIn,
				kernel.Args{Fields: operation.SignInFields{Email: store.Given(email), Password: store.Given("a wrong password")}},
			)
			e := kernel.AsError(err, kernel.StatusOf)
			list = append(list, fmt.Sprint(e.Code, e.Message, e.RetryAfter, h.hasher.Hashes()-before))
		}
		return list
	}
	want := outcome(seed.OwnerEmail, "198.51.100.1")
	if !strings.HasSuffix(want[0], " 1") || !strings.HasPrefix(want[10], string(store.RateLimited)) ||
		!strings.HasSuffix(want[10], "30s 0") {
		t.Errorf("%q", want)
	}
	for i, email := range []string{"nobody@demo.test", seed.ViewerEmail} {
		if got := outcome(email, fmt.Sprint("198.51.100.", i+2)); strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%s: %q, want %q", email, got, want)
		}
	}
}

// in signs in in a browser and returns the session, or the code of the refusal.
func (h *harness) in(browser, email, pass, address string) (operation.CreatedSession, store.Code) {
	h.Helper()
	c := at(address)
	c.BrowserCookie = browser
	return do[operation.CreatedSession](
		h, c, operation.SignIn, "",
		operation.SignInFields{Email: store.Given(email), Password: store.Given(pass)},
	)
}

// right signs in with the right password and returns the code of the refusal, "" for none.
func (h *harness) right(browser, email, address string) store.Code {
	h.Helper()
	_, code := h.in(browser, email, seed.Password, address)
	return code
}

// wrong signs in with a wrong password and returns the code of the refusal.
func (h *harness) wrong(browser, email, address string) store.Code {
	h.Helper()
	_, code := h.in(browser, email, "a wrong password", address)
	return code
}

// fail signs in with a wrong password n times. No lock may refuse any of them.
func (h *harness) fail(n int, browser, email, address string) {
	h.Helper()
	for i := range n {
		if got := h.wrong(browser, email, address); got != store.InvalidCredentials {
			h.Fatalf("try %d of %s: %q", i, email, got)
		}
	}
}

// known signs a person in and returns the cookie by which the browser is known.
func (h *harness) known(browser, email string) string {
	h.Helper()
	s, code := h.in(browser, email, seed.Password, home)
	if code != "" || s.BrowserCookie == "" {
		h.Fatalf("%s: %q", email, code)
	}
	return s.BrowserCookie
}

// TestLockOfBrowser checks that five wrong passwords in a browser that is known lock it for a
// minute, also for the right password and after a restart, that the next lock is longer, and that
// no other browser is locked.
func TestLockOfBrowser(t *testing.T) {
	h := openHarness(t)
	browser, other := h.known("", seed.OwnerEmail), h.known("", seed.OwnerEmail)
	h.fail(4, browser, seed.OwnerEmail, home)
	browser = h.known(browser, seed.OwnerEmail) // which forgets the failures
	h.fail(5, browser, seed.OwnerEmail, home)
	h.is(store.RateLimited, "after five failures", h.right(browser, seed.OwnerEmail, "203.0.113.9"))
	h.reopen()
	h.is(store.RateLimited, "after a restart", h.right(browser, seed.OwnerEmail, home))
	for _, free := range []string{other, ""} {
		h.is("", "another browser", h.right(free, seed.OwnerEmail, home))
	}
	h.advance(time.Minute)
	h.fail(5, browser, seed.OwnerEmail, home)
	h.advance(time.Minute)
	h.is(store.RateLimited, "the second lock lasts no longer", h.right(browser, seed.OwnerEmail, home))
	h.advance(time.Minute)
	h.is("", "after the second lock", h.right(browser, seed.OwnerEmail, home))
}

// TestKnownBrowser checks what makes a browser known to an account and what ends that, and that
// the cookie admits to nothing.
func TestKnownBrowser(t *testing.T) {
	h := openHarness(t)
	known := h.known("", seed.OwnerEmail)
	both := h.known(known, seed.ManagerEmail)
	// The account's bucket of unknown browsers is full.
	for i := range 10 {
		h.fail(1, "", seed.OwnerEmail, fmt.Sprint("203.0.113.", i))
	}
	free := func(browser string) bool { return h.wrong(browser, seed.OwnerEmail, home) == store.InvalidCredentials }
	for name, browser := range map[string]string{
		"no cookie": "", "of another account": h.known("", seed.ManagerEmail), "nonsense": "x.y.z", "changed": known[:len(known)-1] + "-",
		"of a session": h.token(store.RoleManager),
		"after many":   strings.Repeat("x.", 50) + known,
	} {
		if free(browser) {
			t.Errorf("%s makes the browser known", name)
		}
	}
	if !free(known) || !free(both) {
		t.Error("a browser in which the person has signed in is not known")
	}
	if _, ok := h.as(known); ok {
		t.Error("the cookie is a session")
	}
	h.reopen()
	if !free(known) {
		t.Error("it is not known after a restart")
	}
	h.advance(400*24*time.Hour - time.Minute)
	for i := range 10 {
		h.fail(1, "", seed.OwnerEmail, fmt.Sprint("203.0.113.", i))
	}
	if !free(known) {
		t.Error("it is not known before the end of 400 days")
	}
	h.advance(time.Minute)
	h.fail(1, "", seed.OwnerEmail, "203.0.113.77")
	if free(known) {
		t.Error("it is known after 400 days")
	}
	h.advance(30 * time.Second)
	old := h.known("", seed.OwnerEmail)
	link := must[store.CreatedLink](h, h.server(), operation.CreateResetLink, h.id(store.RoleOwner), nil)
	fresh := h.reset(link.Token, "another kettle 71")
	h.fail(1, "", seed.OwnerEmail, "203.0.113.78")
	if free(old) || !free(fresh) {
		t.Error("a change of the password leaves a browser known, or the browser of the reset is not")
	}
}

// TestAttackFromOwnNetwork attacks an account from the owner's own address, from many others, and
// behind proxies: that never delays a browser in which the owner has signed in. Another one waits
// for its turn, and if the attack takes each turn, the way in is a reset link.
func TestAttackFromOwnNetwork(t *testing.T) {
	h := openHarness(t)
	known := h.known("", seed.OwnerEmail)
	attack := func() {
		for i := range 50 {
			for _, address := range []string{home, "", fmt.Sprintf("203.0.113.%d", i), fmt.Sprintf("2001:db8:%x::1", i)} {
				h.wrong("", seed.OwnerEmail, address)
				h.code(at(address), operation.RequestReset, "", operation.RequestFields{Email: store.Given(seed.OwnerEmail)})
			}
			h.wrong("", fmt.Sprintf("nobody%d@demo.test", i), home)
		}
	}
	for range 5 {
		attack()
		if got := h.wrong(known, seed.OwnerEmail, home); got != store.InvalidCredentials {
			t.Fatalf("a typing error in the owner's browser: %q", got)
		}
		known = h.known(known, seed.OwnerEmail)
		h.is(store.RateLimited, "an unknown browser during the attack", h.right("", seed.OwnerEmail, "198.51.100.99"))
		h.advance(time.Minute)
	}
	h.is("", "an unknown browser in its turn", h.right("", seed.OwnerEmail, "198.51.100.99"))
	attack()
	minutes := map[string]int{}
	for _, shop := range []int64{0, h.Shop()} {
		for _, r := range h.audit(shop, 100) {
			if slices.Contains([]string{"user.sign_in_failed", "user.lock", "user.request_reset"}, r.Action) {
				minutes[fmt.Sprint(r.At/60_000)]++
			}
		}
	}
	for minute, n := range minutes { // one for each bucket: the account's, the browser's, two of addresses, and that of requests
		if n > 5 {
			t.Errorf("%d audit rows in the minute %s", n, minute)
		}
	}
	// The links of all ten messages work, and lead in while the attack goes on.
	if n := len(h.mail); n != 10 {
		t.Fatalf("%d messages", n)
	}
	token := h.mail[0].Link[strings.LastIndex(h.mail[0].Link, "/")+1:]
	fresh := h.reset(token, "another kettle 71")
	attack()
	h.is("", "the sign-in after the reset", codeOf(h.in(fresh, seed.OwnerEmail, "another kettle 71", home)))
}

// TestLockOfAddress checks that 20 failures lock an address for all accounts, that of IPv6 its
// network counts, and that a hundred lock all clients whose address is not known.
func TestLockOfAddress(t *testing.T) {
	h := openHarness(t)
	known := h.known("", seed.OwnerEmail)
	for i := range 20 {
		h.fail(1, "", fmt.Sprintf("nobody%d@demo.test", i), fmt.Sprintf("2001:db8::%x", i))
	}
	h.is(store.RateLimited, "after 20 failures of the network", h.right("", seed.OwnerEmail, "2001:db8::ffff"))
	h.is("", "in a browser that is known", h.right(known, seed.OwnerEmail, "2001:db8::ffff"))
	h.is("", "from another network", h.right("", seed.OwnerEmail, "2001:db8:0:1::1"))
	for i := range 100 {
		h.fail(1, "", fmt.Sprintf("nobody%d@demo.test", 100+i), "")
	}
	h.is(store.RateLimited, "after a hundred failures at unknown addresses", h.right("", seed.OwnerEmail, ""))
	h.is("", "in a browser that is known", h.right(known, seed.OwnerEmail, ""))
}

// TestLockOfAccount checks that ten failures at any addresses slow an account down to one try in 30
// seconds.
func TestLockOfAccount(t *testing.T) {
	h := openHarness(t)
	for i := range 10 {
		h.fail(1, "", seed.ViewerEmail, fmt.Sprint("203.0.113.", i))
	}
	tries := func() (n int) {
		for i := range 5 {
			if h.wrong("", seed.ViewerEmail, fmt.Sprint("203.0.113.", 100+i)) == store.InvalidCredentials {
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
	h.is("", "the person is kept out", h.right("", seed.ViewerEmail, home))
	if h.wrong("", seed.ViewerEmail, "203.0.113.200") != store.InvalidCredentials ||
		h.wrong("", seed.ViewerEmail, "203.0.113.201") != store.RateLimited {
		t.Error("the attack is not slowed any more")
	}
}

// TestConcurrentGuesses checks that of concurrent tries as many are answered as the rules allow.
func TestConcurrentGuesses(t *testing.T) {
	h := openHarness(t)
	for browser, want := range map[string]int{"": 10, h.known("", seed.OwnerEmail): 5} {
		var wg sync.WaitGroup
		var mu sync.Mutex
		counts := map[store.Code]int{}
		for range 40 {
			wg.Go(func() {
				c := at(home)
				c.BrowserCookie = browser
				_, err := kernel.Do[operation.CreatedSession](
					t.Context(), h.Kernel, c, operation.SignIn,
					kernel.Args{
						Fields: operation.SignInFields{Email: store.Given(seed.OwnerEmail), Password: store.Given("a wrong password")},
					},
				)
				mu.Lock()
				defer mu.Unlock()
				counts[refusal(err)]++
			})
		}
		wg.Wait()
		if counts[store.InvalidCredentials] != want || counts[store.RateLimited] != 40-want {
			t.Errorf("forty wrong passwords at once: %v", counts)
		}
		h.is(store.RateLimited, "then the right password", h.right(browser, seed.OwnerEmail, home))
	}
}

// TestCopyProgram checks that a person copies a program only into a shop that the person manages.
func TestCopyProgram(t *testing.T) {
	h := openHarness(t)
	other := must[store.Shop](h, h.server(), operation.CreateShop, "", store.ShopFields{Name: store.Given("Test")})
	to := store.ProgramTarget{Shop: store.Given(other.ID)}
	manager := h.token(store.RoleManager)
	h.want(store.NotFound, "of another shop", h.caller(manager), operation.CopyProgram, h.ProgramIDs["standard"], to)
	id := h.id(store.RoleManager)
	h.write(func(tx *store.Tx) error {
		key, _ := tx.Key(store.KindShop, other.ID)
		user, _ := tx.Key(store.KindUser, id)
		return tx.AddMember(user, key, store.RoleViewer)
	})
	h.want(store.NotFound, "as a viewer there", h.caller(manager), operation.CopyProgram, h.ProgramIDs["standard"], to)
	c := h.caller(manager)
	h.write(func(tx *store.Tx) error {
		key, _ := tx.Key(store.KindShop, other.ID)
		_, err := tx.SetRole(key, id, store.RoleManager, c.SessionKey())
		return err
	})
	h.ok(h.caller(manager), operation.CopyProgram, h.ProgramIDs["standard"], to)
	h.want("", "at the command line", h.server(), operation.CopyProgram, h.ProgramIDs["prepaid"], to)
}
