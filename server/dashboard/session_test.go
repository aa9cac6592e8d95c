package dashboard_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// credentials are the fields of the form by which a person signs in, one of the demo shop without a
// password.
func credentials(email string, password ...string) url.Values {
	return url.Values{"email": {email}, "password": append(password, seed.Password)[:1]}
}

// cookieOf returns the cookie of a name that an answer sets, nil if there is none.
func (p *page) cookieOf(name string) *http.Cookie {
	p.T.Helper()
	for _, c := range (&http.Response{Header: p.header}).Cookies() {
		if c.Name == name {
			if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
				p.T.Errorf("%s sets the cookie %v", p.what, c)
			}
			return c
		}
	}
	return nil
}

// tokenOf returns the session's token in the cookie that an answer sets.
func (p *page) tokenOf() string {
	p.T.Helper()
	c := p.cookieOf("punchcard")
	if c == nil {
		p.T.Fatalf("%s sets no cookie: %d %.500s", p.what, p.status, p.text())
	}
	return c.Value
}

// with returns the browser with the cookie of a session.
func (s *demo) with(token string) *browser {
	b := s.as("")
	b.cookie = &http.Cookie{Name: "punchcard", Value: token}
	return b
}

// try sends the form by which a person signs in.
func (b *browser) try(email string, password ...string) *page {
	b.T.Helper()
	return b.post("/sign-in", credentials(email, password...))
}

// enter signs a person in by the page and returns their browser.
func (s *demo) enter(email string, password ...string) *browser {
	s.T.Helper()
	return s.with(s.as("").try(email, password...).want(303).tokenOf())
}

// wantSignedOut checks that the browser is led to the sign-in page.
func (b *browser) wantSignedOut() {
	b.T.Helper()
	b.get("/dashboard/account").to("/sign-in")
}

// now returns the server's time.
func (s *demo) now() time.Time { return s.App.Store.Now().Std() }

// TestKnownBrowser checks the cookie by which a browser is known: sign-ins and resets set it, a
// sign-out leaves it, and with it no failures elsewhere delay a sign-in, whatever address a header
// of theirs names.
func TestKnownBrowser(t *testing.T) {
	s := start(t, servertest.Frozen)
	cookie := func(p *page) *http.Cookie {
		t.Helper()
		k := p.cookieOf("punchcard-browser")
		if k != nil && (k.MaxAge != 400*24*60*60 || k.Secure) {
			t.Errorf("%s sets the cookie %v", p.what, k)
		}
		return k
	}
	known := cookie(s.as("").try(seed.OwnerEmail).want(303))
	if known == nil {
		t.Fatal("a sign-in does not set the cookie")
	}
	if cookie(s.as("owner").post("/sign-out", nil).want(303)) != nil {
		t.Error("a sign-out ends the cookie of the browser")
	}
	for i := range 12 {
		b := s.as("")
		b.header = http.Header{"X-Forwarded-For": {"203.0.113." + strconv.Itoa(i)}}
		want := 401
		if i >= 10 {
			want = 429
		}
		b.try(seed.OwnerEmail, "a wrong password").want(want)
	}
	s.as("").try(seed.OwnerEmail).want(429)
	b := s.as("")
	b.cookie = known
	if cookie(b.try(seed.OwnerEmail).want(303)) == nil {
		t.Error("the second sign-in does not renew the cookie")
	}
	b.get("/dashboard").want(303) // to the sign-in page
	s.as("").post("/reset", url.Values{"email": {seed.OwnerEmail}}).want(200)
	token := s.mailed(seed.OwnerEmail, "/reset/")
	if cookie(s.as("").post("/reset/"+token, url.Values{"password": {"another kettle 71"}}).want(303)) == nil {
		t.Error("a reset does not set the cookie")
	}
	s = start(t, func(c *app.Config) { c.PublicURL = "https://cards.example.com" })
	if k := s.as("").try(seed.OwnerEmail).want(303).cookieOf("__Host-punchcard-browser"); k == nil || !k.Secure {
		t.Errorf("over https a sign-in sets the cookie %v", k)
	}
}

// TestSlash checks that the first page's path with a slash at its end leads to that without, for
// people who are signed in and visitors.
func TestSlash(t *testing.T) {
	s := start(t)
	for _, role := range []string{"viewer", ""} {
		if p := s.as(role).get("/dashboard/").want(303); p.header.Get("Location") != "/dashboard" || p.body != "" {
			t.Errorf("it leads to %q with %q", p.header.Get("Location"), p.body)
		}
	}
	s.as("viewer").get("/dashboard/").next().has("Today")
	s.as("viewer").post("/dashboard/", nil).want(405)
}

// TestForeignHostPage checks that a request for a host that is not the server's is refused, with a
// page for a browser and JSON for a program.
func TestForeignHostPage(t *testing.T) {
	s := start(t)
	for accept, want := range map[string]string{"text/html": "text/html; charset=utf-8", "application/json": "application/json"} {
		req := require.Must(http.NewRequestWithContext(t.Context(), "GET", s.Origin+"/dashboard", nil))
		req.Host = "evil.example"
		req.Header.Set("Accept", accept)
		p := s.as("").do(req).want(403)
		if got := p.header.Get("Content-Type"); got != want {
			t.Errorf("%s: %s", accept, got)
		}
	}
}

// TestSignInOverPlainHTTP checks that nobody is signed in over plain http at another host than loopback, where the right
// password begins no session, unless --insecure-cookies is given.
func TestSignInOverPlainHTTP(t *testing.T) {
	for _, insecure := range []bool{false, true} {
		s := start(t, func(c *app.Config) { c.AllowHosts, c.InsecureCookies = []string{"shop.lan"}, insecure })
		signIn := func() *page {
			fields := strings.NewReader(credentials(seed.OwnerEmail).Encode())
			req := require.Must(http.NewRequestWithContext(t.Context(), "POST", s.Origin+"/sign-in", fields))
			req.Host = "shop.lan"
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			return s.as("").do(req)
		}
		if insecure {
			signIn().want(303).tokenOf()
			continue
		}
		s.Unchanged(func() {
			if p := signIn().want(403).has("You cannot sign in over plain http"); len(p.header["Set-Cookie"]) > 0 {
				t.Errorf("it sets %v", p.header["Set-Cookie"])
			}
		})
	}
}

// TestLinks checks one-time links: a page does not use them up, a form does, and then the
// page says what to do.
func TestLinks(t *testing.T) {
	s := start(t, servertest.Frozen)
	var reset store.CreatedLink
	servertest.Write(t, s.App.Store, func(tx *store.Tx) error {
		user, err := tx.UserKey(s.userID(seed.ViewerEmail))
		if err == nil {
			reset, err = tx.NewResetLink(user)
		}
		return err
	})
	s.invite(s.ShopID, "ada@example.com", "manager")
	at := "/reset/" + reset.Token
	for range 2 {
		s.as("").get(at).shows(seed.ViewerEmail)
	}
	form := s.as("").open(at)
	form.set("password", "short").refused("password")
	form.set("password", "kettle drum 41").send().next().has("Your new password is set.")
	if p := form.send().want(410).has("This link was used already", "Ask for another link"); !p.link("/reset") {
		t.Error("no way forward")
	}
	s.as("").get(at).want(410)
	s.as("").try(seed.ViewerEmail, "kettle drum 41").want(303)

	at = "/invite/" + s.mailed("ada@example.com", "/invite/")
	visitor := s.as("")
	visitor.header = http.Header{"Accept-Language": {"it"}}
	create := visitor.get(at).shows("ada@example.com", "Responsabile").form()
	create.set("name", "Ada", "password", "short").refused("password")
	made := create.set("password", "kettle drum 42").send().want(303).header.Get("Location")
	visitor.get(made).shows("Ora accedi per accettare")
	if next, err := url.Parse(made); err != nil || next.Query().Get("next") != at+"/accept" {
		t.Errorf("leads to %s", made)
	}
	if to := s.as("").get(at + "/accept").to("/sign-in"); !strings.Contains(to, url.QueryEscape(at+"/accept")) {
		t.Errorf("a visitor is led to %s", to)
	}
	s.as("owner").get(at + "/accept").shows("You are signed in as owner@test.example").form("/sign-out")
	s.Unchanged(func() { s.as("owner").post(at+"/accept", nil).want(409).has("is for another email") })
	signIn := url.Values{"email": {"ada@example.com"}, "password": {"kettle drum 42"}, "_next": {at + "/accept"}}
	in := s.as("").post("/sign-in", signIn).want(303)
	ada := s.with(in.tokenOf())
	accept := ada.get(in.header.Get("Location")).shows("Responsabile", "ada@example.com").form()
	accept.sendTwice().next().has("Hai accettato")
	ada.get("/dashboard/settings").want(200)
	if got := s.Value("SELECT language FROM users WHERE email='ada@example.com'"); got != "it" {
		t.Errorf("the language of the account is %s", got)
	}
	accept.post(at+"/accept", nil).want(410).has("Questo invito è già stato accettato")

	s.invite(s.ShopID, "bob@example.com", "viewer")
	at = "/invite/" + s.mailed("bob@example.com", "/invite/")
	s.Advance("169h")
	if p := s.as("").get(at).want(410).has("more than seven days old"); !p.link("/sign-in") {
		t.Error("no way forward")
	}
}

// userID returns the id of the person with an email.
func (s *demo) userID(email string) string {
	s.T.Helper()
	key := require.Must(strconv.ParseInt(s.Value("SELECT id FROM users WHERE email=?", email), 10, 64))
	return s.App.Store.ID(store.KindUser, key)
}

// TestLanguages checks the language of pages before the sign-in.
func TestLanguages(t *testing.T) {
	s := start(t)
	for _, c := range []struct{ query, accept, want string }{
		{"", "", "en"}, {"", "de-AT,de;q=0.9,en;q=0.5", "de"}, {"?lang=it", "de", "it"}, {"?lang=xx", "fr", "fr"}, {"?lang=xx", "ja", "en"},
	} {
		b := s.as("")
		b.header = http.Header{"Accept-Language": {c.accept}}
		p := b.get("/sign-in" + c.query).want(200)
		if !strings.Contains(p.body, `<html lang="`+c.want+`">`) {
			t.Errorf("%+v: %.200s", c, p.body)
		}
	}
}
