package wallet_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/server/wallet/wallettest"
)

type fields = servertest.Fields

// shop is a server with a push service of browsers and a card.
type shop struct {
	*servertest.Server
	clock      *app.Clock
	push       *wallettest.PushService
	card, page string
	program    string
	key        string // of the server, in base64url
}

// start serves a new demo shop whose clock stands still, with a card that has a prize for three stamps.
func start(t testing.TB, options ...func(*app.Config)) *shop {
	t.Helper()
	servertest.Parallel(t)
	s := &shop{push: wallettest.NewPushService()}
	s.Server = servertest.Start(t, append(options, servertest.Frozen, func(c *app.Config) { s.clock = c.Dev.Clock })...)
	t.Cleanup(s.push.Close)
	program := s.Call("POST", "/programs", fields{"type": "standard", "name": "Coffee", "icon_key": "coffee", "total_stamps": 5}).NewID()
	s.Call("POST", "/programs/"+program+"/prizes", fields{"name": "Espresso", "threshold": 3}).Want(201)
	s.Call("POST", "/programs/"+program+"/publish", fields{}).Want(200)
	card := s.Call("POST", "/programs/"+program+"/cards", fields{"holder_name": "Ada"}).Want(201)
	s.program, s.card, s.page = program, card.Str("id"), s.CardPage(card.Str("install_url"))
	s.key = s.Fetch("GET", s.page+"/push", nil, http.Header{}).Want(200).Str("public_key")
	return s
}

// send makes a request about subscriptions, as the page does.
func (s *shop) send(method, body, language string) *servertest.Reply {
	s.T.Helper()
	h := http.Header{"Content-Type": {"application/json"}, "Origin": {s.Origin}}
	return s.Fetch(method, s.page+"/push?lang="+language, []byte(body), h)
}

// browser subscribes a new browser, and waits until what the card shows is noted.
func (s *shop) browser(notify, language string) *wallettest.Browser {
	s.T.Helper()
	b := require.Must(s.push.Subscribe(s.key))
	s.send("POST", b.JSON(notify), language).Want(201)
	s.settle()
	return b
}

// settle sends what is due.
func (s *shop) settle() {
	s.T.Helper()
	s.Control("POST", "/settle", nil)
}

// stamp stamps the card at the till and sends what is due.
func (s *shop) stamp(n int) {
	s.T.Helper()
	s.Till(s.TillToken).Call("POST", "/cards/"+s.card+"/stamps", fields{"count": n}).Want(201)
	s.settle()
}

// expect checks the bodies of the notices that a browser has received since the last call.
func (s *shop) expect(b *wallettest.Browser, want ...string) {
	s.T.Helper()
	var got []string
	for len(b.Notices) > 0 {
		var n struct{ Title, Body, URL string }
		require.NoError(s.T, json.Unmarshal(<-b.Notices, &n))
		if n.URL != s.page || n.Title == "" {
			s.T.Errorf("a notice of %q leads to %s, want %s", n.Title, n.URL, s.page)
		}
		got = append(got, n.Body)
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		s.T.Errorf("notices %q, want %q", got, want)
	}
}

// TestNotices checks what browsers are told, each in its language, and that what they are not told about is
// not told later.
func TestNotices(t *testing.T) {
	s := start(t)
	all, prizes := s.browser("all", "de"), s.browser("prizes", "it")
	s.stamp(1)
	s.expect(all, "1 von 5 Stempeln")
	s.expect(prizes)
	s.stamp(2)
	s.expect(all, "Espresso – bereit\n3 von 5 Stempeln")
	s.expect(prizes, "Espresso: pronto")
	s.stamp(1)
	s.expect(all, "4 von 5 Stempeln")
	s.expect(prizes)
	s.Call("PATCH", "/cards/"+s.card, fields{"holder_name": "Eva"}).Want(200)
	s.settle()
	s.expect(all)
	again := s.browser("all", "en")
	s.expect(again)
	s.send("DELETE", `{"endpoint":"`+all.Endpoint+`"}`, "de").Want(204)
	s.stamp(1)
	s.expect(all)
	s.expect(again, "5 of 5 stamps")
}

// TestPushServiceFails checks what the answers of a push service lead to.
func TestPushServiceFails(t *testing.T) {
	s := start(t)
	b := s.browser("all", "en")
	var answer func(http.ResponseWriter)
	status := func(status int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { w.WriteHeader(status) }
	}
	b.Answer = func(w http.ResponseWriter) { answer(w) }
	answer = func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "600")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	s.stamp(1)
	answer = status(http.StatusServiceUnavailable)
	s.Advance("10m1s")
	s.settle()
	b.Answer = nil
	s.settle()
	s.expect(b)
	s.Advance("1h")
	s.settle()
	s.expect(b, "1 of 5 stamps")
	b.Answer = status(http.StatusRequestEntityTooLarge)
	s.stamp(1)
	b.Answer = nil
	s.Advance("1h")
	s.settle()
	s.expect(b)
	b.Answer = status(http.StatusGone)
	s.stamp(1)
	b.Answer = nil
	s.stamp(1)
	s.expect(b)
}

// TestBrowsersAreApart checks that a browser which fails delays no other one of the card, and that a prize which was told is
// not told again after the card was locked.
func TestBrowsersAreApart(t *testing.T) {
	s := start(t)
	bad, good := s.browser("all", "en"), s.browser("prizes", "en")
	bad.Answer = func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	s.stamp(1)
	bad.Answer = nil
	s.stamp(2)
	s.expect(good, "Espresso ready")
	s.expect(bad)
	later := s.browser("all", "en")
	s.stamp(1)
	s.expect(later, "4 of 5 stamps")
	for _, action := range []string{"lock", "unlock"} {
		s.Control("POST", "/cards/"+s.card+"/"+action, nil)
		s.settle()
	}
	s.expect(good)
	s.expect(later, "This card is locked. Ask the shop to unlock it.", "4 of 5 stamps")
	s.Advance("1h1s")
	s.settle()
	s.expect(bad, "Espresso ready\n4 of 5 stamps")
}

// TestSubscribe checks what is refused.
func TestSubscribe(t *testing.T) {
	s := start(t)
	b := require.Must(s.push.Subscribe(s.key))
	valid := b.JSON("all")
	for body, field := range map[string]string{
		`{}`: "endpoint",
		strings.Replace(valid, `"all"`, `"some"`, 1):                             "notify",
		strings.Replace(valid, b.Endpoint, "ftp://example.com/", 1):              "endpoint",
		strings.Replace(valid, b.Endpoint, "https://10.0.0.1/", 1):               "endpoint",
		strings.Replace(valid, `"p256dh":"`, `"p256dh":"A`, 1):                   "keys.p256dh",
		strings.Replace(valid, `"auth":"`, `"auth":"AAAA`, 1):                    "keys.auth",
		strings.Replace(valid, `"keys":{`, `"keys":{"x":"y",`, 1):                "keys",
		strings.Replace(valid, `{"endpoint":`, `{"x":1,"endpoint":`, 1):          "x",
		strings.Replace(valid, b.Endpoint, strings.Repeat("https://a/", 300), 1): "endpoint",
	} {
		r := s.send("POST", body, "en").Want(400)
		if !strings.Contains(string(r.Body), `"field":"`+field) {
			t.Errorf("%s: %s, want the field %s", body, r.Body, field)
		}
	}
	s.send("POST", "{", "en").Want(400)
	s.send("DELETE", `{}`, "en").Want(400)
	s.send("DELETE", `{"endpoint":"https://push.invalid/"}`, "en").Want(204)
	h := http.Header{"Content-Type": {"application/json"}, "Origin": {"https://other.example"}}
	s.Fetch("POST", s.page+"/push", []byte(valid), h).Want(403)
	s.Fetch("GET", s.page[:len(s.page)-1]+"/push", nil, http.Header{}).Want(404)
}

// TestSubscriptionWhileMoving checks that a browser is told to try again while its shop is copied to another file.
func TestSubscriptionWhileMoving(t *testing.T) {
	s := start(t)
	s.beginMove()
	b := require.Must(s.push.Subscribe(s.key))
	s.send("POST", b.JSON("all"), "en").Want(503)
	s.send("DELETE", `{"endpoint":"https://push.example.com/1"}`, "en").Want(503)
}
