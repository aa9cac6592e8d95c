package webhook_test

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
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

// TestChangesBetweenAttempts changes the webhook, and erases the holder, between the attempts of a delivery. Each
// attempt must be as the webhook is then.
func TestChangesBetweenAttempts(t *testing.T) {
	s := start(t)
	r, other := listen(t, status(500)), listen(t, status(500))
	h := s.hook(r.url, fields{"bearer_token": "old-token", "custom_headers": fields{"X-Customer": "blue"}})
	card := s.issue(fields{"holder_name": "Ada Lovelace", "holder_email": "ada@example.com", "external_ref": "member-1"})
	s.settle()
	first := r.next()
	authorized := func(got request, want string) {
		t.Helper()
		if have := got.Header.Get("Authorization"); have != want {
			t.Errorf("Authorization %q, want %q", have, want)
		}
		shown, ok := h.only().RequestHeaders["Authorization"]
		if ok != (want != "") || ok && shown != "***" {
			t.Errorf("the log has %q", shown)
		}
	}
	authorized(first, "Bearer old-token")
	if !signed(first, h.secret) || !bytes.Contains(first.Body, []byte("Ada Lovelace")) || first.Header.Get("X-Customer") != "" {
		t.Errorf("got %v %s", first.Header, first.Body)
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

	h.patch(fields{"bearer_token": "new-token"})
	authorized(h.next(r), "Bearer new-token")

	h.patch(fields{"url": other.url, "bearer_token": nil, "custom_headers": nil})
	moved := h.next(other)
	authorized(moved, "")
	if string(moved.Body) != string(first.Body) {
		t.Errorf("got %s", moved.Body)
	}
	r.none("the URL was changed")

	s.Control("POST", "/cards/"+card+"/delete", nil)
	erased := h.next(other)
	for _, personal := range []string{"Ada", "ada@example.com", "member-1"} {
		if bytes.Contains(erased.Body, []byte(personal)) {
			t.Errorf("the erased %s is in %s", personal, erased.Body)
		}
	}
	if erased.EventID != first.EventID || erased.Card != card || !signed(erased, secret) {
		t.Errorf("got %s", erased.Body)
	}
}

// TestHeadersOfTheLog checks that the log has the headers as they were sent, with
// secrets masked.
func TestHeadersOfTheLog(t *testing.T) {
	s := start(t, func(c *app.Config) { c.CustomHeaders = true })
	r := listen(t)
	h := s.hook(r.url, fields{"bearer_token": "token", "custom_headers": fields{"x-customer": "blue", "X-Other": "green"}})
	s.issue()
	s.settle()
	got, shown := r.next(), h.only().RequestHeaders
	if got.Header.Get("X-Customer") != "blue" || got.Header.Get("X-Other") != "green" || got.Header.Get("Accept-Encoding") != "" {
		t.Errorf("sent %v", got.Header)
	}
	want := map[string]string{"Authorization": "***", "X-Customer": "***", "X-Other": "***"}
	for _, name := range []string{
		"Content-Type", "User-Agent", webhook.HeaderSignature, webhook.HeaderID, webhook.HeaderTimestamp,
		webhook.HeaderStandardSignature, webhook.HeaderSequence,
	} {
		want[http.CanonicalHeaderKey(name)] = got.Header.Get(name)
	}
	if want["Content-Type"] != "application/json" || want["User-Agent"] != "punchcard-webhook/"+app.Version {
		t.Errorf("sent %v", got.Header)
	}
	for name, value := range want {
		if shown[name] != value || value == "" {
			t.Errorf("the log shows %s: %q, want %q", name, shown[name], value)
		}
	}
	if len(shown) != len(want) {
		t.Errorf("the log shows %v, want %v", shown, want)
	}
}

// TestChangedWhileQueued checks that a delivery which waits for the previous one to connect is sent
// with changes of the webhook made meanwhile.
func TestChangedWhileQueued(t *testing.T) {
	s := start(t)
	hold, reached, letGo := listenHeld(t)
	h := s.hook(hold.url)
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
	if n := hold.connections(); n != 1 {
		t.Errorf("%d connections to the old URL, want one", n)
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
