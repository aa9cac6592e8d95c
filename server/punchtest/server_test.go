package punchtest_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"punchcard/server/punchtest"
	"punchcard/server/servertest/require"
)

// crash is the environment variable with which this binary runs TestChild in another process.
const crash = "PUNCHTEST_CHILD"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestManyServers checks that many servers in a process are independent.
func TestManyServers(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			s := punchtest.Start(t)
			ref := fmt.Sprintf("member-%d", i)
			card := s.Issue(s.Programs["standard"], punchtest.CardFields{ExternalRef: ref})
			s.Till(s.Locations[i%2]).Stamp(card.ID, 1+i%9)
			if got := s.Card(card.ID); got.ExternalRef != ref || got.StampsCount != 1+i%9 {
				t.Errorf("the card is %+v", got)
			}
			var page struct{ Data []punchtest.Card }
			s.Do("GET", "/cards", s.Key("cards:read"), nil).Decode(&page)
			if len(page.Data) != 1 {
				t.Errorf("there are %d cards, want 1", len(page.Data))
			}
		})
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	for _, c := range []struct {
		name, key, path string
		status          int
	}{
		{"demo", s.APIKey, "/programs", 200},
		{"demo, restricted", s.RestrictedAPIKey, "/analytics/summary", 403},
		{"every scope", s.Key(), "/programs", 200},
		{"the scope", s.Key("cards:read", "programs:read"), "/programs", 200},
		{"another scope", s.Key("cards:read"), "/programs", 403},
		{"restricted", s.RestrictedKey(s.Locations[1]), "/analytics/summary", 403},
		{"restricted, of a scope", s.RestrictedKey(s.Locations[1], "cards:read"), "/cards", 200},
		{"another shop's", s.NewShop(punchtest.ShopFields{Name: "Second"}).APIKey, "/programs/" + s.Programs["standard"], 404},
		{"none", "", "/me", 401},
		{"for MCP", s.MCPKey, "/me", 401},
	} {
		if got := s.Do("GET", c.path, c.key, nil); got.Status != c.status {
			t.Errorf("%s: %d %s, want %d", c.name, got.Status, got.Body, c.status)
		}
	}
	for range 20 { // more than the default maximum of a shop
		s.Key()
	}
	no := false
	s.UpdateShop(s.Shop, punchtest.ShopFields{APIAddon: &no})
	if err := refusal(t, s.Do("GET", "/me", s.APIKey, nil).Err()); err.Code != "business_api_required" {
		t.Errorf("without the add-on: %v", err)
	}
}

// TestLimitedKey checks that one key can be limited and revoked while others go on.
func TestLimitedKey(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	id, key := s.AddKey(punchtest.KeyFields{})
	s.LimitKey(id, 1)
	getMe(s, key, 200)
	getMe(s, key, 429)
	getMe(s, s.APIKey, 200)
	s.LimitKey(id, 0)
	getMe(s, key, 200)
	s.RevokeKey(id)
	getMe(s, key, 401)
}

func TestOptions(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := punchtest.Start(
		t,
		punchtest.RateLimit(2),
		punchtest.PublicURL("https://cards.example.com/"),
		punchtest.StrictWebhookTargets(),
		punchtest.Log(&log),
	)
	if card := s.Issue(s.Programs["standard"], punchtest.CardFields{}); !strings.HasPrefix(
		card.InstallURL,
		"https://cards.example.com/i/",
	) {
		t.Errorf("the install link is %s", card.InstallURL)
	}
	err := refusal(
		t,
		s.Do("POST", "/programs/"+s.Programs["standard"]+"/webhooks", s.APIKey, map[string]any{
			"url": "http://127.0.0.1:1/", "events": []string{"*"},
		}).
			Err(),
	)
	if len(err.Details) != 1 || err.Details[0].Field != "url" {
		t.Errorf("a webhook to loopback: %v", err)
	}
	limited := getMe(s, s.APIKey, 429)
	if err := refusal(t, limited.Err()); err.Code != "rate_limited" || err.Header.Get("Retry-After") == "" || err.RequestID == "" {
		t.Errorf("over the limit: %+v", err)
	}
	s.Clock.Advance(time.Minute)
	getMe(s, s.APIKey, 200)

	if _, err := punchtest.New(punchtest.PublicURL("cards.example.com")); err == nil || !strings.Contains(err.Error(), "http or https") {
		t.Errorf("a public URL without a scheme: %v", err)
	}
}

// TestDeterministic checks that two deterministic servers, and one after a reset, give equal
// answers.
func TestDeterministic(t *testing.T) {
	t.Parallel()
	options := []punchtest.Option{punchtest.Deterministic(), punchtest.PublicURL("https://cards.example.com")}
	script := func(s *punchtest.Server) string {
		key := s.Key()
		card := s.Do("POST", "/programs/"+s.Programs["standard"]+"/cards", key, `{}`).Want(201)
		return key + card.Header.Get("X-Request-Id") + string(card.Body)
	}
	a, b := punchtest.Start(t, options...), punchtest.Start(t, options...)
	want := script(a)
	if !strings.Contains(want, "2026-01-31T09:00:00.000Z") { // the link ends after 30 days
		t.Errorf("the time is not that of the documentation: %s", want)
	}
	if got := script(b); got != want {
		t.Errorf("another server gives\n%s\nwant\n%s", got, want)
	}
	a.Reset()
	if got := script(a); got != want {
		t.Errorf("after a reset\n%s\nwant\n%s", got, want)
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	s := punchtest.Start(t, punchtest.Clock(at))
	key, shop, till := s.Key(), s.NewShop(punchtest.ShopFields{}), s.Till(s.Locations[0])
	card := till.Issue(s.Programs["standard"], punchtest.CardFields{HolderName: "Ada", HolderEmail: "ada@example.com"})
	s.Issue(s.Programs["prepaid"], punchtest.CardFields{HolderEmail: "ada@example.com", SendEmail: true})
	if mail := s.Emails(); len(mail) != 1 || mail[0].To != "ada@example.com" {
		t.Errorf("the mail is %+v", mail)
	}
	s.Clock.Advance(26 * time.Hour)
	s.Fault(punchtest.Fault{Status: 503})

	s.Reset()
	if now := s.Clock.Now(); !now.Equal(at) {
		t.Errorf("the clock shows %v", now)
	}
	if got, mail := s.Requests(), s.Emails(); len(got) > 0 || len(mail) > 0 {
		t.Errorf("after the reset there are %v, %v", got, mail)
	}
	s.Do("GET", "/programs/"+s.Programs["standard"], s.APIKey, nil).Want(200)
	s.Do("GET", "/cards/"+card.ID, s.APIKey, nil).Want(404)
	for _, gone := range []string{key, shop.APIKey} {
		getMe(s, gone, 401)
	}
	if _, err := till.Try().Lookup(card.ID); refusal(t, err).Status != 401 {
		t.Errorf("the till of before the reset: %v", err)
	}
	again := s.Till(s.Locations[0])
	if again.Token == till.Token {
		t.Error("the till is that of before the reset")
	}
	again.Stamp(again.Issue(s.Programs["standard"], punchtest.CardFields{}).ID, 1)
}

// recorder is a testing.TB that records failures without failing the test.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	failed   bool
	log      strings.Builder
	cleanups []func()
}

func (r *recorder) record(failed bool, args []any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = r.failed || failed
	fmt.Fprintln(&r.log, args...)
}

func (r *recorder) Helper()                   {}
func (r *recorder) Log(args ...any)           { r.record(false, args) }
func (r *recorder) Errorf(f string, a ...any) { r.record(true, []any{fmt.Sprintf(f, a...)}) }
func (r *recorder) Cleanup(f func())          { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Failed() bool              { return r.failed }
func (r *recorder) Fatal(args ...any)         { r.record(true, args); panic(r) }

// run runs a test function and its cleanups, and returns the log.
func (r *recorder) run(f func(t testing.TB)) string {
	func() {
		defer func() {
			if p := recover(); p != nil && p != r {
				panic(p)
			}
		}()
		f(r)
	}()
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	return r.log.String()
}

func TestFailureShowsJournal(t *testing.T) {
	t.Parallel()
	r := &recorder{TB: t}
	log := r.run(func(t testing.TB) {
		s := punchtest.Start(t)
		hook := s.Receiver()
		s.Webhook(s.Programs["standard"], hook.URL, "card.added")
		for range 2 { // the second one has a hint
			s.Do("POST", "/programs/"+s.Programs["standard"]+"/cards", s.APIKey, `{"holder_name": "Ada"}`).Want(201)
		}
		hook.Wait("card.added")
		s.Settle()
		s.Do("GET", "/cards?limit=0", s.APIKey, nil)
		s.Till(s.Locations[0]).Stamp("no-such-card", 1)
		panic("not reached")
	})
	if !r.failed {
		t.Error("the refusal did not fail the test")
	}
	for _, want := range []string{
		"/till/v1/cards/no-such-card/stamps: 404 not_found",
		"punchtest: 5 requests and 2 attempts at webhooks",
		"POST   /api/public/v1/programs/", "  201  ",
		"GET    /api/public/v1/cards?limit=0  400  ", `"field":"limit"`,
		"hint repeated_without_idempotency_key",
		"webhook card.added evt_", "attempt 1  200",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	early := &recorder{TB: t}
	if log := early.run(func(t testing.TB) { punchtest.Start(t).Issue("no-such", punchtest.CardFields{}) }); !strings.Contains(log, "404") {
		t.Errorf("the log is %s", log)
	}
	quiet := &recorder{TB: t}
	if log := quiet.run(func(t testing.TB) {
		s := punchtest.Start(t)
		s.Card(s.Issue(s.Programs["access"], punchtest.CardFields{}).ID)
	}); log != "" || quiet.failed {
		t.Errorf("a passing test logs %s", log)
	}
}

// TestPanic checks that a panicking test logs the journal and leaves no file.
func TestPanic(t *testing.T) {
	t.Parallel()
	left := t.TempDir()
	c := exec.Command(os.Args[0], "-test.run", "^TestChild$", "-test.v")
	c.Env = append(os.Environ(), crash+"=1", "TMPDIR="+left)
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !bytes.Contains(out, []byte("a bug in the code under test")) ||
		!bytes.Contains(out, []byte("GET    /api/public/v1/me  200")) {
		t.Errorf("%v\n%s", err, out)
	}
	entries, err := os.ReadDir(left)
	if err != nil || len(entries) > 0 {
		t.Errorf("the files left are %v, %v", entries, err)
	}
}

func TestChild(t *testing.T) {
	if os.Getenv(crash) == "" {
		return
	}
	s := punchtest.Start(t)
	getMe(s, s.APIKey, 200)
	panic("a bug in the code under test")
}

// TestCloseDespiteClients checks that connections of clients, used or unused, do not delay Close
// and do not fail the test.
func TestCloseDespiteClients(t *testing.T) {
	t.Parallel()
	s := require.Must(punchtest.New())
	unused := require.Must(net.Dial("tcp", strings.TrimPrefix(s.Origin, "http://")))
	defer unused.Close()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	resp := require.Must(client.Get(s.Origin + "/healthz"))
	resp.Body.Close()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := unused.Read(make([]byte, 1)); err == nil {
		t.Error("the connection is open")
	}
	if got := s.Do("GET", "/me", s.APIKey, nil); got.Status != 0 || got.Err() == nil {
		t.Errorf("a closed server answers %d", got.Status)
	}
}

// refusal returns the error as one of the server's.
func refusal(t testing.TB, err error) *punchtest.Error {
	t.Helper()
	var e *punchtest.Error
	if !errors.As(err, &e) {
		t.Fatalf("no refusal: %v", err)
	}
	return e
}

// failure returns the error of a call.
func failure[T any](_ T, err error) error { return err }

// refuses checks that an error is a refusal with a code.
func refuses(t testing.TB, what, code string, err error) {
	t.Helper()
	if e := refusal(t, err); e.Code != code {
		t.Errorf("%s: %v", what, e)
	}
}

// newCard issues a stamp card and returns its id.
func newCard(s *punchtest.Server) string {
	return s.Issue(s.Programs["standard"], punchtest.CardFields{}).ID
}

// getMe calls GET /me with a key, which must be answered with a status.
func getMe(s *punchtest.Server, key string, status int) *punchtest.Response {
	return s.Do("GET", "/me", key, nil).Want(status)
}

// TestSeed checks that a server of a seed has its content, that a reset restores it, and that the
// error of an invalid file names line and path.
func TestSeed(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t, punchtest.Seed("../../testdata/seeds/bakery.json"))
	id := s.Refs["bread-01"]
	before := s.Card(id)
	if before.CurrentValue == nil || before.HolderName == "" || len(s.Locations) != 2 || s.Programs["prepaid"] == "" {
		t.Errorf("the seed gives %+v, %v, %v", before, s.Locations, s.Programs)
	}
	if now := s.Clock.Now(); now.Year() > 2026 || now.IsZero() {
		t.Errorf("the clock is at %s, not at the seed's start", now)
	}
	s.Lock(id)
	s.Reset()
	if after := s.Card(id); after.Status != before.Status || *after.CurrentValue != *before.CurrentValue {
		t.Errorf("after the reset %+v, before it %+v", after, before)
	}
	bad := filepath.Join(t.TempDir(), "bad.json")
	require.NoError(t, os.WriteFile(bad, []byte("{\"shops\":\n[{\"name\": 3}]}"), 0o600))
	if _, err := punchtest.New(punchtest.Seed(bad)); err == nil ||
		!strings.Contains(err.Error(), "bad.json:2: shops.0.name: must be a string") {
		t.Errorf("a bad seed: %v", err)
	}
}
