package wallet_test

import (
	"bytes"
	"net/http"
	"net/url"
	"testing"
	"time"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/server/wallet/wallettest"
	"punchcard/store"
)

// person returns functions that get a page of the dashboard and send a form as a person of a role does, and check the answer's status
// and texts.
func (s *shop) person(role string) (get func(path string, has ...string), post func(path string, status int, has ...string)) {
	s.T.Helper()
	r := s.Fetch("POST", s.Origin+"/dev/sign-in", []byte(`{"as":"`+role+`"}`), http.Header{"Content-Type": {"application/json"}})
	cookie := require.Must(http.ParseSetCookie(r.Header.Get("Set-Cookie")))
	keys := 0
	send := func(method, path string, body []byte, status int, has []string) {
		s.T.Helper()
		r := s.Fetch(method, s.Origin+path, body, http.Header{
			"Cookie": {cookie.Name + "=" + cookie.Value}, "Origin": {s.Origin}, "Content-Type": {"application/x-www-form-urlencoded"},
		}).Want(status)
		for _, text := range has {
			if !bytes.Contains(r.Body, []byte(text)) {
				s.T.Errorf("%s %s lacks %q:\n%s", method, path, text, r.Body)
			}
		}
	}
	get = func(path string, has ...string) { s.T.Helper(); send("GET", path, nil, 200, has) }
	post = func(path string, status int, has ...string) {
		s.T.Helper()
		keys++
		send("POST", path, []byte(url.Values{"idempotency_key": {"key-0123456789-" + string(rune('a'+keys))}}.Encode()), status, has)
	}
	return get, post
}

// TestPushReport sends test pushes, and checks what the dashboard says of them and of pushes that fail, are refused and are held.
func TestPushReport(t *testing.T) {
	p, apns := startApple(t)
	const list = "/dashboard/settings/wallet/pushes"
	at := "/dashboard/card/" + p.card
	get, post := p.person("manager")
	post(at+"/test-push", 422, "No phone has a pass of this card")
	get(list, "No push yet")
	b := p.browser(store.NotifyPrizes, "en")
	p.call("POST", p.registration("phone"), `{"pushToken":"aa11"}`).Want(201)
	get(at, "Send a test push", "On 1 phone", "In 1 browser")
	p.settle()
	p.lastUpdated = "0"
	p.changed("phone")

	post(at+"/test-push", 303)
	p.settle()
	const test = "A test of the shop: notices about your card arrive here."
	p.expect(b, test)
	got := servertest.Await(t, apns.Woken, "a test push")
	if got != "aa11" || p.changed("phone") != nil || p.fetch().Status != http.StatusNotModified {
		t.Errorf("the test woke %q, or the phone is told that the pass has changed", got)
	}
	get(list, "Ada", "The push service has accepted it.", "api.push.apple.com", "Passes on phones")
	get(at, "Test push sent")
	p.settle()
	p.expect(b)

	p.stamp(1)
	p.expect(b) // of no prize
	b.Answer = func(w http.ResponseWriter) { w.WriteHeader(http.StatusRequestEntityTooLarge) }
	apns.Fail(wallettest.APNsFailure{Status: 503})
	post(at+"/test-push", 303)
	p.settle()
	get(list, "it answered 413", "The push service answered 503.", "The next attempt is on")
	p.health(1, 2)
	b.Answer = nil
	p.stamp(2)
	p.expect(b, "Espresso ready")
	apns.Fail(wallettest.APNsFailure{Status: 503})
	post(at+"/test-push", 303)
	p.stamp(1) // before the test was sent, or after
	p.Advance("2h")
	p.settle()
	p.expect(b, test)

	p.SQL("UPDATE apple_wallets SET not_after=0")
	p.stamp(1)
	get(list, "The certificate for Apple Wallet has ended.")
	p.copies(1, 1)
	p.health(1, 0)
	p.call("DELETE", p.registration("phone"), "").Want(200)
	p.send("DELETE", `{"endpoint":"`+b.Endpoint+`"}`, "en").Want(204)
	p.copies(0, 0)
}

// health checks what the health of the server says about pushes.
func (s *shop) health(waiting, failed int64) {
	s.T.Helper()
	err := s.App.Store.View(0, func(v *store.View) error {
		h, err := v.Health()
		if h.WaitingPushes != waiting || h.FailedPushes != failed || h.OldestWaitingPush.Valid != (waiting > 0) ||
			!h.AppleCertificateEnds.Valid {
			s.T.Errorf("the health is %+v", h)
		}
		return err
	})
	require.NoError(s.T, err)
	get, _ := s.person("owner") // who is an operator, too
	get("/dashboard/health", "Pushes that wait", "Pushes that failed", "Certificate for Apple Wallet")
}

// copies checks how many passes and browsers the program of the card has.
func (s *shop) copies(passes, browsers int64) {
	s.T.Helper()
	err := s.App.Store.View(0, func(v *store.View) error {
		all, err := v.CopiesByProgram(s.Row(store.KindShop, s.ShopID))
		for _, c := range all {
			if c.ProgramID == s.program && (c.ApplePasses != passes || c.Browsers != browsers) {
				s.T.Errorf("the program has %d passes on phones and %d browsers", c.ApplePasses, c.Browsers)
			}
		}
		return err
	})
	require.NoError(s.T, err)
}

// TestPushAfterClockSetBack checks that a phone is woken by a stamp after the clock was set back behind
// the time of its next attempt, which has come by the times of the file.
func TestPushAfterClockSetBack(t *testing.T) {
	p, apns := startApple(t)
	p.call("POST", p.registration("phone"), `{"pushToken":"aa11"}`).Want(201)
	p.settle()
	apns.Fail(wallettest.APNsFailure{Status: 503})
	p.stamp(1)
	p.settle()
	p.clock.Set(p.clock.Now().Add(-time.Hour))
	p.SQL("UPDATE apple_devices SET due_at=due_at-1800000")
	p.stamp(1)
	if got := servertest.Await(t, apns.Woken, "a push"); got != "aa11" {
		t.Errorf("%q was woken", got)
	}
}
