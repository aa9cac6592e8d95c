package google_test

import (
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"punchcard/server/wallet/google"
	"punchcard/server/wallet/wallettest"
)

const issuer = "3388000000012345678"

// counter makes requests and counts them by their paths.
type counter struct {
	mu   sync.Mutex
	seen map[string]int
}

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.seen[r.URL.Path]++
	c.mu.Unlock()
	return http.DefaultTransport.RoundTrip(r)
}

// api is a client of a Google of its own.
type api struct {
	*wallettest.Google
	google.Client
	sent  *counter
	class google.Class
}

func start(t *testing.T) *api {
	t.Helper()
	a := &api{Google: wallettest.NewGoogle(), sent: &counter{seen: map[string]int{}}}
	t.Cleanup(a.Close)
	logo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		png.Encode(w, image.NewGray(image.Rect(0, 0, 1, 1)))
	}))
	t.Cleanup(logo.Close)
	account, err := google.ParseAccount(a.Google.Account(issuer))
	if err != nil {
		t.Fatal(err)
	}
	a.Client.Account, a.Client.URL, a.Transport = account, a.Google.URL, a.sent
	a.Wait = func(context.Context) error { return nil }
	a.class = google.Class{
		ID:           issuer + ".coffee",
		IssuerName:   "Café",
		ProgramName:  "Coffee card",
		ProgramLogo:  google.Image{SourceURI: google.URI{URI: logo.URL}},
		ReviewStatus: "UNDER_REVIEW",
	}
	return a
}

func card(name string) *google.Object {
	return &google.Object{
		ID:          issuer + ".card",
		ClassID:     issuer + ".coffee",
		State:       google.StateActive,
		AccountName: &name,
		Barcode:     &google.Barcode{Type: "QR_CODE", Value: "c/1"},
	}
}

// want fails unless err is an answer with a status and a reason.
func want(t *testing.T, err error, status int, reason string) {
	t.Helper()
	e, ok := errors.AsType[*google.Error](err)
	if !ok || e.Status != status || e.Reason != reason {
		t.Errorf("the error is %v, want %d %s", err, status, reason)
	}
}

// TestClient checks that classes and objects arrive whether they exist or not, that an empty field ends the old one, and that one
// token serves all requests.
func TestClient(t *testing.T) {
	t.Parallel()
	a, ctx := start(t), t.Context()
	waits := 0
	a.Wait = func(context.Context) error { waits++; return nil }
	steps := []error{
		a.Insert(ctx, &a.class), // POST
		a.Insert(ctx, &a.class), // POST 409, PATCH
		a.Insert(ctx, card("Ada")),
		a.AddMessage(ctx, issuer+".card", google.Message{ID: "1", Header: "Café", Body: "Soon"}),
	}
	want(t, a.Patch(ctx, &google.Object{ID: issuer + ".none"}), 404, "resourceNotFound")
	for i, err := range steps {
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
	}
	if o := a.Object(issuer + ".card"); o["accountName"] != "Ada" || o["messages"] == nil {
		t.Errorf("the object is %v", o)
	}
	gone := card("")
	gone.AccountName, gone.Barcode, gone.State, gone.Messages = nil, nil, google.StateInactive, []google.Message{}
	if err := a.Patch(ctx, gone); err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(a.Object(issuer + ".card"))
	if s := string(raw); strings.Contains(s, "Ada") || strings.Contains(s, "c/1") || strings.Contains(s, "Soon") {
		t.Errorf("after its end the object is %s", s)
	}
	if n := len(a.Requests()); waits != n || n != 7 {
		t.Errorf("%d requests after %d waits, want 7", n, waits)
	}
	if a.sent.seen["/token"] != 1 {
		t.Errorf("%d requests of a token", a.sent.seen["/token"])
	}
}

// TestRefused checks what the answers of Google lead to, and that an error says nothing of the key.
func TestRefused(t *testing.T) {
	t.Parallel()
	a, ctx := start(t), t.Context()
	unauthorized := 1
	a.Answer = func(w http.ResponseWriter, _ *http.Request) bool {
		if unauthorized == 0 {
			return false
		}
		unauthorized--
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	if err := a.Insert(ctx, &a.class); err != nil || a.sent.seen["/token"] != 2 {
		t.Errorf("after a token that ended: %v, %d tokens", err, a.sent.seen["/token"])
	}
	unauthorized = 2
	want(t, a.Insert(ctx, &a.class), 401, "")
	unauthorized = 0
	bad := a.class
	bad.ProgramName = ""
	want(t, a.Insert(ctx, &bad), 400, "invalidResource")
	bad.ID = "3388000000099999999.coffee"
	want(t, a.Insert(ctx, &bad), 403, "permissionDenied")
	a.Answer = func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	}
	err := a.Patch(ctx, &a.class)
	want(t, err, 503, "")
	if e, _ := errors.AsType[*google.Error](err); e.RetryAfter != "120" {
		t.Errorf("Retry-After is %q", e.RetryAfter)
	}
	a.Answer = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		return true
	}
	want(t, a.Patch(ctx, &a.class), 307, "")
	a.Answer = nil
	for err = nil; err == nil && len(a.Requests()) < 30; {
		err = a.Patch(ctx, &a.class)
	}
	want(t, err, 429, "rateLimitExceeded")
	a.Revoke(a.Client.Account.Email)
	fresh := google.Client{Account: a.Client.Account, URL: a.Google.URL, Transport: a.sent, Wait: a.Wait}
	err = fresh.Insert(ctx, &a.class)
	want(t, err, 400, "invalid_grant")
	if e, _ := errors.AsType[*google.Error](err); !e.Token {
		t.Error("the refusal of an account looks like one of a resource")
	}
	a.Close()
	if err = a.Patch(ctx, &a.class); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("without Google: %v", err)
	}
}

// TestSaveLink checks that a link adds an object to a phone and names nothing but its id.
func TestSaveLink(t *testing.T) {
	t.Parallel()
	a, ctx := start(t), t.Context()
	if err := errors.Join(a.Insert(ctx, &a.class), a.Insert(ctx, card("Ada"))); err != nil {
		t.Fatal(err)
	}
	link, err := a.Client.Account.SaveLink(issuer+".card", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if id, err := a.Save(link); err != nil || id != issuer+".card" {
		t.Errorf("saving gives %q, %v", id, err)
	}
	changed := card("Ada")
	changed.LoyaltyPoints = &google.Points{Label: "Stamps", Balance: google.Balance{String: "1"}}
	changed.NotifyPreference = google.NotifyOnUpdate
	if err := a.Patch(ctx, changed); err != nil {
		t.Fatal(err)
	}
	if n := a.Notices(); len(n) != 1 || n[0].ObjectID != issuer+".card" {
		t.Errorf("notices %v", n)
	}
}
