package webhook_test

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
	"punchcard/webhook"
)

// signed reports whether a request has both signatures of a secret.
func signed(r request, secret string) bool {
	stamp, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get(webhook.HeaderSignature), "t="), ",")
	unix, err := strconv.ParseInt(stamp, 10, 64)
	at := time.Unix(unix, 0)
	return err == nil && r.Header.Get(webhook.HeaderSignature) == webhook.Sign(secret, at, r.Body) &&
		r.Header.Get(webhook.HeaderID) == r.EventID &&
		r.Header.Get(webhook.HeaderTimestamp) == stamp &&
		r.Header.Get(webhook.HeaderStandardSignature) == webhook.SignStandard(secret, r.EventID, at, r.Body)
}

// first returns a webhook whose first attempt has failed. Changes take effect from
// the second attempt on.
func first(t *testing.T, more ...fields) (s *server, r *receiver, h hook, got request, card string) {
	t.Helper()
	s = start(t)
	r = listen(t, status(500))
	h = s.hook(r.url, more...)
	card = s.issue(fields{"holder_name": "Ada Lovelace", "holder_email": "ada@example.com", "external_ref": "member-1"})
	s.settle()
	return s, r, h, r.next(), card
}

// TestRotatedSecret checks that the next attempt is signed with the new secret alone.
func TestRotatedSecret(t *testing.T) {
	_, r, h, got, _ := first(t)
	if !signed(got, h.secret) {
		t.Errorf("not signed: %v", got.Header)
	}
	secret := h.patch(fields{"rotate_secret": true}).Secret
	again := h.next(r)
	if !signed(again, secret) || signed(again, h.secret) {
		t.Errorf("not signed with the new secret alone: %v", again.Header)
	}
	for _, name := range []string{webhook.HeaderSignature, webhook.HeaderStandardSignature} {
		if n := len(again.Header.Values(name)); n != 1 || strings.Contains(again.Header.Get(name), " ") {
			t.Errorf("%s: %q", name, again.Header.Values(name))
		}
	}
	// Signatures have the real time, although the clock was set.
	if stamp, _ := strconv.ParseInt(again.Header.Get(webhook.HeaderTimestamp), 10, 64); time.Since(time.Unix(stamp, 0)).Abs() > time.Hour {
		t.Errorf("signed at %v", time.Unix(stamp, 0))
	}
}

// TestBearerToken checks that the next attempt has the new token or none, and that the log masks
// it.
func TestBearerToken(t *testing.T) {
	_, r, h, got, _ := first(t, fields{"bearer_token": "old-token"})
	holds := func(got request, want string) {
		t.Helper()
		if have := got.Header.Get("Authorization"); have != want {
			t.Errorf("Authorization %q, want %q", have, want)
		}
		shown, ok := h.only().RequestHeaders["Authorization"]
		if ok != (want != "") || ok && shown != "***" {
			t.Errorf("the log has %q", shown)
		}
	}
	holds(got, "Bearer old-token")
	h.patch(fields{"bearer_token": "new-token"})
	holds(h.next(r), "Bearer new-token")
	h.patch(fields{"bearer_token": nil})
	holds(h.next(r), "")
}

// TestHeadersOfTheLog checks that the log has the headers as they were sent, with
// secrets masked.
func TestHeadersOfTheLog(t *testing.T) {
	t.Parallel()
	custom := fields{"bearer_token": "token", "custom_headers": fields{"x-customer": "blue", "X-Other": "green"}}
	for _, sends := range []bool{false, true} {
		s := start(t, func(c *app.Config) { c.CustomHeaders = sends })
		r := listen(t)
		h := s.hook(r.url, custom)
		s.issue()
		s.settle()
		got, shown := r.next(), h.only().RequestHeaders
		if have := got.Header.Get("X-Customer") + got.Header.Get("X-Other"); have != map[bool]string{true: "bluegreen"}[sends] {
			t.Errorf("custom headers sent: %v, got %q", sends, have)
		}
		want := map[string]string{
			"Authorization": "***",
			"Content-Type":  "application/json",
			"User-Agent":    "punchcard-webhook/" + app.Version,
		}
		if sends {
			want["X-Customer"], want["X-Other"] = "***", "***"
		}
		for _, name := range []string{
			webhook.HeaderSignature, webhook.HeaderID, webhook.HeaderTimestamp, webhook.HeaderStandardSignature,
			webhook.HeaderSequence,
		} {
			want[http.CanonicalHeaderKey(name)] = got.Header.Get(name)
		}
		for name, value := range want {
			if shown[name] != value || value == "" {
				t.Errorf("the log shows %s: %q, want %q", name, shown[name], value)
			}
		}
		if len(shown) != len(want) {
			t.Errorf("the log shows %v, want %v", shown, want)
		}
		if got.Header.Get("User-Agent") != want["User-Agent"] || got.Header.Get("Content-Type") != want["Content-Type"] ||
			got.Header.Get("Accept-Encoding") != "" {
			t.Errorf("sent %v", got.Header)
		}
	}
}

// TestErasedBetweenAttempts checks that the next attempt has no data of a holder who was erased.
func TestErasedBetweenAttempts(t *testing.T) {
	s, r, h, got, card := first(t)
	if !bytes.Contains(got.Body, []byte("Ada Lovelace")) {
		t.Errorf("got %s", got.Body)
	}
	s.Control("POST", "/cards/"+card+"/delete", nil)
	again := h.next(r)
	for _, personal := range []string{"Ada", "ada@example.com", "member-1"} {
		if bytes.Contains(again.Body, []byte(personal)) {
			t.Errorf("the erased %s is in %s", personal, again.Body)
		}
	}
	if again.EventID != got.EventID || again.Card != card || !signed(again, h.secret) {
		t.Errorf("got %s", again.Body)
	}
}

// TestChangedURL checks that the next attempt goes to the new URL.
func TestChangedURL(t *testing.T) {
	_, r, h, got, _ := first(t)
	other := listen(t)
	h.patch(fields{"url": other.url})
	if again := h.next(other); string(again.Body) != string(got.Body) {
		t.Errorf("got %s", again.Body)
	}
	r.none("the URL was changed")
}

// TestChangedWhileQueued checks that a delivery which waits for the previous one to connect is sent
// with changes of the webhook made meanwhile.
func TestChangedWhileQueued(t *testing.T) {
	s := start(t)
	reached, release := make(chan struct{}, 16), make(chan struct{})
	hold := listenRaw(t, nil, func(net.Conn) {
		reached <- struct{}{}
		<-release
	})
	letGo := sync.OnceFunc(func() { close(release) })
	t.Cleanup(letGo)
	h := s.hook(strings.Replace(hold.url, "http:", "https:", 1)) // hangs in the handshake
	s.burst(3)
	servertest.Await(t, reached, "a connection")
	other := listen(t)
	secret := h.patch(fields{"url": other.url, "rotate_secret": true}).Secret
	letGo()
	for range 2 {
		if got := other.next(); !signed(got, secret) {
			t.Errorf("signed with the old secret: %s", got.Body)
		}
	}
	s.settle()
	hold.mu.Lock()
	defer hold.mu.Unlock()
	if hold.count != 1 {
		t.Errorf("%d connections to the old URL, want one", hold.count)
	}
}

// TestRedelivery checks that a redelivery has the same event and body and as many attempts, and
// is refused while the delivery is pending.
func TestRedelivery(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Limits.WebhookDeliveryAttempts = 2 })
	r := listen(t, status(500))
	h := s.hook(r.url)
	s.issue()
	s.settle()
	got := r.next()
	again := func() *servertest.Reply {
		return s.Call("POST", h.path()+"/deliveries/"+h.only().ID+"/redeliver", nil)
	}
	again().Want(409)
	h.next(r)
	if d := h.only(); d.Attempts != 2 {
		t.Errorf("%s", d.outcome())
	}
	for range 2 {
		again().Want(202)
		if repeat := r.next(); repeat.EventID != got.EventID || string(repeat.Body) != string(got.Body) || !signed(repeat, h.secret) {
			t.Errorf("got %s", repeat.Body)
		}
		s.settle()
		if d := h.only(); d.outcome() != "500 after 1: the receiver answered 500" {
			t.Errorf("%s", d.outcome())
		}
		checkWait(t, h.wait(), 5*time.Second)
		h.next(r)
	}
	r.answers(status(202))
	again().Want(202)
	s.settle()
	r.next()
	if d := h.only(); d.outcome() != "202 after 1: " || d.DeliveredAt == nil {
		t.Errorf("%s", d.outcome())
	}
	r.answers(status(500))
	again().Want(202)
	s.settle()
	r.next()
	if d := h.only(); d.outcome() != "500 after 1: the receiver answered 500" || d.DeliveredAt != nil {
		t.Errorf("%s, delivered at %v", d.outcome(), d.DeliveredAt)
	}
}

// TestAnotherProcess checks that deliveries and changes of webhooks that another process writes
// to the file take effect.
func TestAnotherProcess(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Dev.Clock = app.NewClock(time.Time{}) })
	other := require.Must(store.Open(s.App.Store.Path(), store.Options{}))
	defer other.Close()
	a := store.Access{Shop: s.Shop()}
	do := func(fn func(*store.Tx) error) {
		t.Helper()
		require.NoError(t, other.Write(t.Context(), store.Write{Actor: store.Actor{Type: "user"}, Do: fn}))
	}
	issue := func() {
		t.Helper()
		do(func(tx *store.Tx) error {
			_, err := tx.IssueCard(a, s.program(), store.CardFields{}, store.SourceAPI)
			return err
		})
	}
	r, moved := listen(t), listen(t)
	h := s.hook(r.url)
	update := func(f store.WebhookFields) {
		t.Helper()
		do(func(tx *store.Tx) error {
			tx.CheckedTarget = f.URL.V
			_, err := tx.UpdateWebhook(a, s.program(), h.id, store.WebhookPatch{WebhookFields: f})
			return err
		})
	}
	issue()
	r.next()
	update(store.WebhookFields{URL: set(moved.url)})
	s.issue()
	moved.next()
	update(store.WebhookFields{Active: set(false)})
	s.issue()
	s.settle()
	moved.none("switched off")
	// A delivery that waits for the webhook is sent when the other process enables it.
	moved.answers(status(500))
	h.patch(fields{"active": true})
	waits := s.issue()
	moved.next()
	s.settle()
	h.patch(fields{"active": false})
	s.advance(time.Hour)
	moved.none("switched off")
	moved.answers(status(200))
	update(store.WebhookFields{Active: set(true)})
	if got := moved.next(); got.Card != waits {
		t.Errorf("got %s", got.Body)
	}
	do(func(tx *store.Tx) error { return tx.DeleteWebhook(a, s.program(), h.id) })
	s.issue()
	s.settle()
	moved.none("deleted")
	r.none("moved")
}
