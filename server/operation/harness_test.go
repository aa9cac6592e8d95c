package operation_test

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/password"
	"punchcard/store"
)

// harness is a store with a clock, the mail that it sends, and the sessions of its people.
type harness struct {
	*testing.T
	*kernel.Kernel
	*seed.Ready
	st       *store.Store
	path     string
	clock    *app.Clock
	hasher   *password.Hasher
	sessions *kernel.Sessions
	mail     []store.Mail
}

// newHarness returns a harness with an empty store.
func newHarness(t *testing.T) *harness {
	h := &harness{T: t, path: filepath.Join(t.TempDir(), "test.db"), clock: app.NewClock(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)), hasher: password.New(2, time.Minute)}
	h.reopen()
	t.Cleanup(func() { h.st.Close() })
	return h
}

// openHarness returns a harness with the demo shop and its people.
func openHarness(t *testing.T) *harness {
	h := newHarness(t)
	var err error
	if h.Ready, err = seed.Demo(h.st, ""); err != nil {
		t.Fatal(err)
	}
	return h
}

// reopen opens the file, as a restart of the server does.
func (h *harness) reopen() {
	h.Helper()
	if h.st != nil {
		h.st.Close()
	}
	var err error
	if h.st, err = store.Open(h.path, store.Options{IDSecret: seed.IDSecret, PublicURL: "https://cards.example.com", Now: h.clock.Now, Mail: func(m store.Mail) { h.mail = append(h.mail, m) }}); err != nil {
		h.Fatal(err)
	}
	h.Kernel = kernel.New(h.st, kernel.Config{Fields: app.DefaultLimits().Fields(), Passwords: h.hasher, IdempotencyWait: time.Minute})
	h.sessions = kernel.NewSessions(h.st)
}

// advance moves the clock forward.
func (h *harness) advance(d time.Duration) { h.clock.Set(h.clock.Now().Add(d)) }

// at returns a visitor with an address, or with none if it is empty.
func at(address string) kernel.Caller {
	if address == "" {
		return kernel.VisitorCaller(netip.Addr{})
	}
	return kernel.VisitorCaller(netip.MustParseAddr(address))
}

// home is the address of most sessions.
const home = "198.51.100.7"

// code returns the code of a refusal, "" for none.
func code(err error) store.Code {
	if err == nil {
		return ""
	}
	return kernel.AsError(err, kernel.StatusOf).Code
}

// do invokes an operation and returns its answer and the code of its refusal.
func do[O any](h *harness, c kernel.Caller, op *kernel.Operation, id string, fields any) (O, store.Code) {
	h.Helper()
	out, err := kernel.Do[O](h.Context(), h.Kernel, c, op, kernel.Args{Params: map[string]string{"id": id, "token": id}, Fields: fields})
	if code(err) == store.InternalError || err == store.ErrEpoch {
		h.Fatalf("%s: %v", op.ID, err)
	}
	return out, code(err)
}

// must invokes an operation, which must not be refused, and returns its answer.
func must[O any](h *harness, c kernel.Caller, op *kernel.Operation, id string, fields any) O {
	h.Helper()
	out, code := do[O](h, c, op, id, fields)
	if code != "" {
		h.Fatalf("%s: %s", op.ID, code)
	}
	return out
}

// signIn signs in at an address and returns the session, or the code of the refusal.
func (h *harness) signIn(email, pass, address string) (operation.CreatedSession, store.Code) {
	h.Helper()
	return do[operation.CreatedSession](h, at(address), operation.SignIn, "", operation.SignInFields{Email: store.Given(email), Password: store.Given(pass)})
}

// as returns the caller of a session, and whether the session is valid.
func (h *harness) as(token string) (kernel.Caller, bool) {
	h.Helper()
	for {
		c, err := h.sessions.Identify(token, netip.MustParseAddr(home), "test")
		if err != nil {
			return c, false
		}
		// A call with an identity that is out of date makes a face forget it.
		if h.st.View(c.Epoch, func(*store.View) error { return nil }) != store.ErrEpoch {
			return c, true
		}
		h.sessions.Forget()
	}
}

// person signs one of the demo shop's people in and returns the caller.
func (h *harness) person(role string) kernel.Caller {
	h.Helper()
	return h.caller(h.token(role))
}

// token signs one of the demo shop's people in and returns the token of the session.
func (h *harness) token(role string) string {
	h.Helper()
	s, code := h.signIn(seed.Emails[role], seed.Password, home)
	if code != "" {
		h.Fatal(code)
	}
	return s.Token
}

// caller returns the caller of a session that must be valid.
func (h *harness) caller(token string) kernel.Caller {
	h.Helper()
	c, ok := h.as(token)
	if !ok {
		h.Fatal("the session has ended")
	}
	return c
}

// server returns the caller of the command line.
func (h *harness) server() kernel.Caller { return kernel.OperatorCaller("root", h.Shop()) }

// actions returns the newest n actions of the shop's audit log, oldest first.
func (h *harness) actions(n int) string {
	h.Helper()
	var page store.Page[store.AuditRow]
	if err := h.st.View(0, func(v *store.View) (err error) {
		page, err = v.AuditLog(h.Shop(), store.PageQuery{Limit: store.Given(int64(n))})
		return err
	}); err != nil {
		h.Fatal(err)
	}
	var list []string
	for _, r := range page.Data {
		list = append([]string{r.Action}, list...)
	}
	return strings.Join(list, " ")
}

// id returns the id of one of the demo shop's people.
func (h *harness) id(role string) (id string) {
	h.Helper()
	if err := h.st.View(0, func(v *store.View) (err error) {
		id, err = v.UserByEmail(seed.Emails[role])
		return err
	}); err != nil {
		h.Fatal(err)
	}
	return id
}

// view reads the store.
func (h *harness) view(read func(*store.View) error) {
	h.Helper()
	if err := h.st.View(0, read); err != nil {
		h.Fatal(err)
	}
}

// write makes a write of the system.
func (h *harness) write(do func(*store.Tx) error) {
	h.Helper()
	if err := h.st.Write(h.Context(), store.Write{Actor: store.Actor{Type: "system"}, Do: do}); err != nil {
		h.Fatal(err)
	}
}

// restorePassword gives the manager the demo password again.
func (h *harness) restorePassword() {
	h.Helper()
	l := must[store.CreatedLink](h, h.server(), operation.CreateResetLink, h.id(store.RoleManager), nil)
	must[operation.KnownBrowser](h, at(home), operation.ResetPassword, l.Token, operation.ResetFields{Password: store.Given(seed.Password)})
}
