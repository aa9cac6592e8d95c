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
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
	"punchcard/store/password"
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
	servertest.Parallel(t)
	h := &harness{
		T:      t,
		path:   filepath.Join(t.TempDir(), "test.db"),
		clock:  app.NewClock(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)),
		hasher: password.New(2, time.Minute),
	}
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
	if h.st, err = store.Open(h.path, store.Options{
		IDSecret:  seed.IDSecret,
		PublicURL: "https://cards.example.com",
		Now:       h.clock.Now,
		Mail:      func(m store.Mail) { h.mail = append(h.mail, m) },
	}); err != nil {
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

// refusal returns the code of a refusal, "" for none.
func refusal(err error) store.Code {
	if err == nil {
		return ""
	}
	return kernel.AsError(err, kernel.StatusOf).Code
}

// args returns the input of an operation. id is the first parameter of the path, whatever its name,
// followed by that of a webhook after a slash.
func args(id string, fields any) kernel.Args {
	id, webhook, _ := strings.Cut(id, "/")
	return kernel.Args{Params: map[string]string{"id": id, "token": id, "hash": id, "webhookId": webhook}, Fields: fields}
}

// try invokes an operation and returns its error, which must be a refusal.
func (h *harness) try(c kernel.Caller, op *kernel.Operation, id string, fields any) (kernel.Result, error) {
	h.Helper()
	r, err := h.Invoke(h.Context(), c, op, args(id, fields))
	if refusal(err) == store.InternalError || err == store.ErrEpoch {
		h.Fatalf("%s: %v", op.ID, err)
	}
	return r, err
}

// code invokes an operation and returns the code of its refusal, "" for none.
func (h *harness) code(c kernel.Caller, op *kernel.Operation, id string, fields any) store.Code {
	h.Helper()
	_, err := h.try(c, op, id, fields)
	return refusal(err)
}

// want checks the code with which an operation is refused. what says what is special about the call.
func (h *harness) want(code store.Code, what string, c kernel.Caller, op *kernel.Operation, id string, fields any) {
	h.Helper()
	h.is(code, op.ID+", "+what, h.code(c, op, id, fields))
}

// is checks the code of a refusal.
func (h *harness) is(want store.Code, what string, got store.Code) {
	h.Helper()
	if got != want {
		h.Errorf("%s: %q, want %q", what, got, want)
	}
}

// codeOf returns the code beside an answer.
func codeOf[A any](_ A, code store.Code) store.Code { return code }

// do invokes an operation and returns its answer and the code of its refusal.
func do[O any](h *harness, c kernel.Caller, op *kernel.Operation, id string, fields any) (O, store.Code) {
	h.Helper()
	out, err := kernel.Do[O](h.Context(), h.Kernel, c, op, args(id, fields))
	if refusal(err) == store.InternalError || err == store.ErrEpoch {
		h.Fatalf("%s: %v", op.ID, err)
	}
	return out, refusal(err)
}

// ok invokes an operation, which must not be refused.
func (h *harness) ok(c kernel.Caller, op *kernel.Operation, id string, fields any) {
	h.Helper()
	if code := h.code(c, op, id, fields); code != "" {
		h.Fatalf("%s: %s", op.ID, code)
	}
}

// must does what ok does and returns the answer.
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
	return do[operation.CreatedSession](
		h,
		at(address),
		operation.SignIn, "",
		operation.SignInFields{Email: store.Given(email), Password: store.Given(pass)},
	)
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

// withRole returns somebody with a role in the demo shop, who is not signed in.
func (h *harness) withRole(role kernel.Role) kernel.Caller {
	c := kernel.OperatorCaller("ada", h.Shop())
	c.Role = role
	return c
}

// key returns the identity of the demo key, and tillIdentity that of the demo till.
func (h *harness) key() *store.Identity {
	h.Helper()
	id, err := h.st.Identify(store.Hash(seed.APIKey))
	noError(h.T, err)
	return id
}

func (h *harness) tillIdentity() *store.TillIdentity {
	h.Helper()
	id, err := h.st.IdentifyTill(store.Hash(seed.TillToken))
	noError(h.T, err)
	return id
}

// server returns the caller of the command line.
func (h *harness) server() kernel.Caller { return kernel.OperatorCaller("root", h.Shop()) }

// actions returns the newest n actions of the shop's audit log, oldest first.
func (h *harness) actions(n int64) string {
	h.Helper()
	var list []string
	for _, r := range h.audit(h.Shop(), n) {
		list = append([]string{r.Action}, list...)
	}
	return strings.Join(list, " ")
}

// audit returns the newest n rows of the audit log of a shop, 0 for that of the server.
func (h *harness) audit(shop, n int64) []store.AuditRow {
	h.Helper()
	var page store.Page[store.AuditRow]
	h.view(func(v *store.View) (err error) {
		page, err = v.AuditLog(shop, store.PageQuery{Limit: store.Given(n)})
		return err
	})
	return page.Data
}

// id returns the id of one of the demo shop's people.
func (h *harness) id(role string) (id string) {
	h.Helper()
	h.view(func(v *store.View) (err error) {
		id, err = v.UserByEmail(seed.Emails[role])
		return err
	})
	return id
}

// view reads the store.
func (h *harness) view(read func(*store.View) error) {
	h.Helper()
	noError(h.T, h.st.View(0, read))
}

// write makes a write of the system.
func (h *harness) write(do func(*store.Tx) error) {
	h.Helper()
	noError(h.T, h.st.Write(h.Context(), store.Write{Actor: store.Actor{Type: "system"}, Do: do}))
}

// reset sets a password by a reset link and returns the cookie by which the browser is known.
func (h *harness) reset(token, pass string) (browser string) {
	h.Helper()
	f := operation.ResetFields{Password: store.Given(pass)}
	return must[operation.KnownBrowser](h, at(home), operation.ResetPassword, token, f).BrowserCookie
}

// restorePassword gives the manager the demo password again.
func (h *harness) restorePassword() {
	h.Helper()
	h.reset(must[store.CreatedLink](h, h.server(), operation.CreateResetLink, h.id(store.RoleManager), nil).Token, seed.Password)
}

var noError = require.NoError
