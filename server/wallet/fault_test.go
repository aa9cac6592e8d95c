package wallet_test

import (
	"encoding/json"
	"net/http"
	"path"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/server/wallet/wallettest"
	"punchcard/store"
	"punchcard/webhook"
)

// TestPushServiceDown checks that phones and browsers are told when their services have been down for an hour.
func TestPushServiceDown(t *testing.T) {
	p, apns := startApple(t)
	p.call("POST", p.registration("phone"), `{"pushToken":"aa11"}`).Want(201)
	b := p.browser("all", "en")
	b.Answer = func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }
	for range 10 { // attempts within an hour, after 5, 10, 20 seconds and so on
		apns.Fail(wallettest.APNsFailure{Status: 503})
	}
	p.stamp(1)
	p.stamp(1)
	for range 12 {
		p.Advance("5m")
		p.settle()
	}
	if p.expect(b); len(apns.Woken) > 0 {
		t.Error("a phone was woken while the service was down")
	}
	b.Answer = nil
	for range 24 {
		p.Advance("5m")
		p.settle()
	}
	p.expect(b, "2 of 5 stamps")
	if got := servertest.Await(t, apns.Woken, "a push"); got != "aa11" || len(apns.Woken) > 0 {
		t.Errorf("%q was woken, and %d more", got, len(apns.Woken))
	}
}

// TestReceiverThatNeverAnswers checks that a browser whose push service never answers delays no other one, of the same card and of
// another.
func TestReceiverThatNeverAnswers(t *testing.T) {
	s := start(t)
	silent, same := s.browser("all", "en"), s.browser("all", "en")
	first, page := s.card, s.page
	card := s.Call("POST", "/programs/"+s.program+"/cards", fields{}).Want(201)
	s.page = s.CardPage(card.Str("install_url"))
	other := s.browser("all", "en")
	end := make(chan struct{})
	asked := make(chan struct{}, 100)
	silent.Answer = func(http.ResponseWriter) {
		asked <- struct{}{}
		<-end
	}
	defer close(end)
	till := s.Till(s.TillToken)
	till.Call("POST", "/cards/"+first+"/stamps", fields{}).Want(201)
	servertest.Await(t, asked, "a push to the browser that does not answer")
	servertest.Await(t, same.Notices, "a notice about the same card")
	till.Call("POST", "/cards/"+card.Str("id")+"/stamps", fields{}).Want(201)
	servertest.Await(t, other.Notices, "a notice about another card")
	s.page = page
}

// TestPrivateEndpoint checks that a browser with an endpoint at a private address cannot subscribe, and that nothing is sent to one whose
// name leads to a private address later.
func TestPrivateEndpoint(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Guard = &webhook.Guard{AllowHTTP: true} })
	b := require.Must(s.push.Subscribe(s.key))
	s.send("POST", b.JSON("all"), "en").Want(400)
	var raw struct {
		Endpoint string
		Keys     map[string]string
	}
	require.NoError(t, json.Unmarshal([]byte(b.JSON("all")), &raw))
	servertest.Write(t, s.App.Store, func(tx *store.Tx) error {
		tx.CheckedTarget = raw.Endpoint // it was public then
		return tx.Subscribe(path.Base(s.page), "en", store.PushFields{
			Endpoint: store.Given(raw.Endpoint),
			Keys:     store.Given(raw.Keys),
			Notify:   store.Given(store.NotifyAll),
		})
	})
	s.settle()
	s.stamp(1)
	s.expect(b)
	if got := s.Value("SELECT outcome||attempts FROM push_subscriptions"); got != "failed1" {
		t.Errorf("the attempt is noted as %q", got)
	}
}
