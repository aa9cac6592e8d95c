package dashboard_test

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"punchcard/server/dashboard"
	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
	"punchcard/server/web"
	"punchcard/store"
)

// credentials are the fields of the form by which a person of the demo shop signs in.
func credentials(email string) url.Values {
	return url.Values{"email": {email}, "password": {seed.Password}}
}

// tokenOf returns the session's token in the cookie that an answer sets.
func (p *page) tokenOf() string {
	p.T.Helper()
	for _, c := range (&http.Response{Header: p.header}).Cookies() {
		if c.Name == "punchcard" {
			if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" {
				p.T.Errorf("%s sets the cookie %v", p.what, c)
			}
			return c.Value
		}
	}
	p.T.Fatalf("%s sets no cookie: %d %.500s", p.what, p.status, p.text())
	return ""
}

// with returns the browser with the cookie of a session.
func (s *demo) with(token string) *browser {
	b := s.as("")
	b.cookie = &http.Cookie{Name: "punchcard", Value: token}
	return b
}

// enter signs a person of the demo shop in by the page and returns their browser.
func (s *demo) enter(email string) *browser {
	s.T.Helper()
	return s.with(s.as("").post("/sign-in", credentials(email)).want(http.StatusSeeOther).tokenOf())
}

// wantSignedOut checks that the browser is led to the sign-in page.
func (b *browser) wantSignedOut() {
	b.T.Helper()
	if to := b.get("/dashboard/account").want(http.StatusSeeOther).header.Get("Location"); !strings.HasPrefix(to, "/sign-in") {
		b.T.Errorf("leads to %s", to)
	}
}

// now returns the server's time.
func (s *demo) now() time.Time { return s.App.Store.Now().Std() }

// TestForeignOrigins checks that no form takes what a page of another origin sends.
func TestForeignOrigins(t *testing.T) {
	t.Parallel()
	s := start(t)
	ids := s.sample(s.Server, "Sample")
	ids["reset"], ids["invite"], ids["setup"] = "x", "x", "x"
	for _, header := range []http.Header{
		{"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"https://evil.example"}}, {"Origin": {"null"}, "Sec-Fetch-Site": {"cross-site"}},
	} {
		b := s.as("operator")
		b.header = header.Clone()
		b.header.Set("Accept", "text/html")
		for _, form := range servertest.Sample(dashboard.Bindings()) {
			if form.Method != http.MethodPost {
				continue
			}
			s.Unchanged(func() {
				b.post(ids.path(t, form.Pattern), url.Values{"name": {"Evil"}, "email": {seed.OwnerEmail}, "password": {seed.Password}}).
					want(http.StatusForbidden).has("Not allowed", "only from a page of this server").lacks("{\"error\"")
			})
		}
	}
}

// isErrorPage reports whether an element is the one that only pages of errors have.
func isErrorPage(n *html.Node) bool { return n.Data == "section" && attribute(n, "class") == "message" }

// TestHeadersOfPages checks that no page may be framed, stored or made to run foreign
// scripts, and that each has a request id.
func TestHeadersOfPages(t *testing.T) {
	t.Parallel()
	s := start(t)
	ids := s.sample(s.Server, "Sample")
	ids["reset"], ids["invite"], ids["setup"] = "x", "x", "x"
	seen := map[string]bool{}
	for _, b := range dashboard.Bindings() {
		for _, role := range []string{"", "viewer", "operator"} {
			if role != "" && slices.Contains(streams, b.Pattern) {
				continue
			}
			p := s.as(role).send(b.Method, ids.path(t, b.Pattern), url.Values{})
			if p.status < 300 && !strings.HasPrefix(p.header.Get("Content-Type"), "text/html") {
				continue // a download
			}
			csp := p.header.Get("Content-Security-Policy")
			if !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") || p.header.Get("X-Frame-Options") != "DENY" {
				t.Errorf("%s: policy %q", p.what, csp)
			}
			if p.header.Get("Cache-Control") != "no-store" || p.header.Get("Referrer-Policy") != "no-referrer" || p.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %v", p.what, p.header)
			}
			id := p.header.Get("X-Request-Id")
			if id == "" || seen[id] || p.status >= 400 && p.find(isErrorPage) != nil && !strings.Contains(p.text(), id) {
				t.Errorf("%s: request id %q", p.what, id)
			}
			seen[id] = true
		}
	}
	// Errors of paths that are no route are pages too.
	b := s.as("operator")
	b.header = http.Header{"Accept": {"text/html"}}
	for path, status := range map[string]int{"/dashboard/nothing": 404, "/sign-out": 405, "/dashboard//x": 404, "/reset/a/b": 404} {
		p := b.get(path).want(status)
		if id := p.header.Get("X-Request-Id"); id == "" || !strings.Contains(p.text(), id) || p.header.Get("Content-Security-Policy") != web.CSP || !p.link("/dashboard") {
			t.Errorf("%s: %v %s", path, p.header, p.text())
		}
	}
	b.header = nil
	if p := b.get("/dashboard/nothing").want(404); p.header.Get("Content-Type") != "application/json" {
		t.Errorf("a program gets %s", p.header.Get("Content-Type"))
	}
}

// TestSlash checks that the first page's path with a slash at its end leads to that without, for
// people who are signed in and visitors.
func TestSlash(t *testing.T) {
	s := start(t)
	for _, role := range []string{"viewer", ""} {
		if p := s.as(role).get("/dashboard/").want(http.StatusSeeOther); p.header.Get("Location") != "/dashboard" || p.body != "" {
			t.Errorf("it leads to %q with %q", p.header.Get("Location"), p.body)
		}
	}
	s.as("viewer").get("/dashboard/").next().has("Today")
	s.as("viewer").post("/dashboard/", nil).want(http.StatusMethodNotAllowed)
}

// TestForeignHostPage checks that a request for a host that is not the server's is refused, with a
// page for a browser and JSON for a program.
func TestForeignHostPage(t *testing.T) {
	t.Parallel()
	s := start(t)
	for accept, want := range map[string]string{"text/html": "text/html; charset=utf-8", "application/json": "application/json"} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.Origin+"/dashboard", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "evil.example"
		req.Header.Set("Accept", accept)
		resp, err := s.HTTP.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusForbidden || got != want {
			t.Errorf("%s: %d %s", accept, resp.StatusCode, got)
		}
	}
}

// TestSessionOfSignIn checks that signing in makes a new session, whatever cookie was
// there before, that a stolen cookie is of no use after signing out, and that signing in leads
// to no page elsewhere.
func TestSessionOfSignIn(t *testing.T) {
	t.Parallel()
	s := start(t)
	given := strings.Repeat("a", 43)
	b := s.with(given)
	b.wantSignedOut()
	first := b.post("/sign-in", credentials(seed.OwnerEmail)).want(http.StatusSeeOther).tokenOf()
	b.wantSignedOut()
	second := s.with(first).post("/sign-in", credentials(seed.OwnerEmail)).want(http.StatusSeeOther).tokenOf()
	if first == given || second == first || len(first) != 43 {
		t.Errorf("tokens %q, %q", first, second)
	}
	owner, stolen := s.with(first), s.with(first)
	stolen.get("/dashboard/account").want(http.StatusOK)
	out := owner.post("/sign-out", nil).want(http.StatusSeeOther)
	if out.tokenOf() != "" || out.header.Get("Location") != "/sign-in" {
		t.Errorf("%v", out.header)
	}
	s.Unchanged(func() {
		stolen.wantSignedOut()
		stolen.post("/dashboard/account", url.Values{"name": {"Evil"}}).want(http.StatusSeeOther)
	})
	s.with(second).get("/dashboard/account").want(http.StatusOK)
	for _, next := range []string{"https://evil.example", "//evil.example", "/\\evil.example", "/dashboard/../..//evil.example\r\n", "/dashboardx"} {
		fields := credentials(seed.OwnerEmail)
		fields.Set("_next", next)
		if to := s.as("").post("/sign-in", fields).want(http.StatusSeeOther).header.Get("Location"); to != "/dashboard" {
			t.Errorf("%q leads to %s", next, to)
		}
	}
}

// TestConcurrentSignIns checks that people who sign in at once get sessions of their own.
func TestConcurrentSignIns(t *testing.T) {
	t.Parallel()
	s := start(t)
	tokens := servertest.Simultaneously(4, func(i int) string {
		return s.as("").post("/sign-in", credentials([]string{seed.OwnerEmail, seed.ViewerEmail}[i%2])).want(http.StatusSeeOther).tokenOf()
	})
	for i, token := range tokens {
		want := []string{seed.OwnerEmail, seed.ViewerEmail}[i%2]
		s.with(token).get("/dashboard/account").want(http.StatusOK).has(want)
		if slices.Index(tokens, token) != i {
			t.Error("two sessions have one token")
		}
	}
}

// TestWrongPasswords checks how many wrong passwords are tried, and what the page says then.
func TestWrongPasswords(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	form := s.as("").get("/sign-in").form("/sign-in").set("email", seed.OwnerEmail, "password", "a wrong password")
	statuses := map[int]int{}
	var last *page
	for range 20 {
		last = form.send()
		statuses[last.status]++
	}
	if statuses[http.StatusUnauthorized] != 5 || statuses[http.StatusTooManyRequests] != 15 {
		t.Errorf("%v", statuses)
	}
	last.has("Too many attempts. Try again in 60 seconds.")
	if after := last.header.Get("Retry-After"); after != "60" {
		t.Errorf("Retry-After %q", after)
	}
	if value := last.form("/sign-in").fields; value.Get("email") != seed.OwnerEmail || value.Get("password") != "" {
		t.Errorf("the form has %v", value)
	}
	s.as("").post("/sign-in", credentials(seed.OwnerEmail)).want(http.StatusTooManyRequests)
	s.Advance("61s")
	for range 5 {
		form.send().want(http.StatusUnauthorized).has("The email or the password is wrong.")
	}
	form.send().want(http.StatusTooManyRequests).has("Try again in 2 minutes.")
	s.Advance("121s")
	s.enter(seed.OwnerEmail).get("/dashboard/account").want(http.StatusOK)
}

// TestProof checks that a form waits for the password where the last proof is too old, and
// is then carried out once.
func TestProof(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	owner := s.enter(seed.OwnerEmail)
	form := owner.get("/dashboard/people/invite").form("/dashboard/people/invite").set("email", "ada@example.com", "role", "viewer")
	s.Advance("16m")
	var asked *page
	s.Unchanged(func() { asked = form.send().want(http.StatusForbidden).has("Confirm that it is you") })
	prove := asked.form("/dashboard/prove")
	prove.set("_password", "").send().want(http.StatusBadRequest).problem("_password")
	again := prove.set("_password", "wrong password").send().want(http.StatusUnauthorized)
	if got := again.problem("_password"); !strings.Contains(got, "The password is wrong.") {
		t.Error(got)
	}
	prove = again.form("/dashboard/prove").set("_password", seed.Password)
	done := prove.send().want(http.StatusTemporaryRedirect)
	if to := done.header.Get("Location"); to != "/dashboard/people/invite" {
		t.Fatalf("leads to %s", to)
	}
	owner.post("/dashboard/people/invite", prove.fields).want(http.StatusOK).has("ada@example.com")
	s.Unchanged(func() {
		owner.post("/dashboard/people/invite", prove.fields).want(http.StatusOK).has("was shown once")
	})
	prove.fields.Set("_action", "https://evil.example/")
	if to := prove.send().header.Get("Location"); strings.Contains(to, "evil") {
		t.Errorf("leads to %s", to)
	}
}

// TestRoleTakenAway checks that a form which was opened before the role changed does
// nothing.
func TestRoleTakenAway(t *testing.T) {
	t.Parallel()
	s := start(t)
	manager := s.enter(seed.ManagerEmail)
	form := manager.get("/dashboard/location/"+s.LocationIDs[0]+"/edit").form("").set("name", "Mine")
	person := s.userID(seed.ManagerEmail)
	s.as("owner").get("/dashboard/person/"+person+"/role").form("/dashboard/person/"+person+"/role").set("role", "viewer").send().next().has("The role was changed.")
	s.Unchanged(func() {
		if to := form.send().want(http.StatusSeeOther).header.Get("Location"); !strings.HasPrefix(to, "/sign-in") {
			t.Errorf("leads to %s", to)
		}
	})
	form.browser = s.enter(seed.ManagerEmail)
	s.Unchanged(func() { form.send().want(http.StatusForbidden).has("Your role in this shop does not include this.") })
	s.as("owner").get("/dashboard/person/" + person + "/remove").form("/dashboard/person/" + person + "/remove").send().next().has("no longer belongs")
	removed := s.enter(seed.ManagerEmail)
	removed.get("/dashboard").want(http.StatusOK).has("You belong to no shop")
	removed.get("/dashboard/locations").want(http.StatusForbidden).has("You belong to no shop", seed.ManagerEmail)
	removed.get("/dashboard/account").want(http.StatusOK)
	s.Unchanged(func() { removed.post("/dashboard/new/location", url.Values{"name": {"x"}}).want(http.StatusForbidden) })
}

// TestLinks checks one-time links: a page does not use them up, a form does, and then the
// page says what to do.
func TestLinks(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	var reset, invitation store.CreatedLink
	servertest.Write(t, s.App.Store, func(tx *store.Tx) error {
		user, err := tx.UserKey(s.userID(seed.ViewerEmail))
		if err == nil {
			reset, err = tx.NewResetLink(user)
		}
		if err == nil {
			invitation, err = tx.Invite(s.Row(store.KindShop, s.ShopID), "ada@example.com", "manager")
		}
		return err
	})
	before := s.enter(seed.ViewerEmail)
	at := "/reset/" + reset.Token
	for range 2 {
		s.as("").get(at).want(http.StatusOK).has(seed.ViewerEmail)
	}
	form := s.as("").get(at).form("")
	form.set("password", "short").send().want(http.StatusBadRequest).problem("password")
	form.set("password", "kettle drum 41").send().next().has("Your new password is set.")
	before.wantSignedOut()
	if p := form.send().want(http.StatusGone).has("This link was used already", "Ask for another link"); !p.link("/reset") {
		t.Error("no way forward")
	}
	s.as("").get(at).want(http.StatusGone)
	s.as("").post("/sign-in", url.Values{"email": {seed.ViewerEmail}, "password": {"kettle drum 41"}}).want(http.StatusSeeOther)

	at = "/invite/" + invitation.Token
	s.as("").get("/reset/" + invitation.Token).want(http.StatusGone)
	accept := s.as("").get(at+"?lang=it").want(http.StatusOK).has("ada@example.com", "Responsabile").form("")
	accept.action = at + "?lang=it"
	ada := s.with(accept.set("name", "Ada", "password", "kettle drum 42").send().want(http.StatusSeeOther).tokenOf())
	ada.get("/dashboard/settings").want(http.StatusOK)
	if got := s.Value("SELECT language FROM users WHERE email='ada@example.com'"); got != "it" {
		t.Errorf("language %s", got)
	}
	accept.send().want(http.StatusGone).has("Questo invito è già stato accettato")

	servertest.Write(t, s.App.Store, func(tx *store.Tx) (err error) {
		invitation, err = tx.Invite(s.Row(store.KindShop, s.ShopID), "bob@example.com", "viewer")
		return err
	})
	s.Advance("169h")
	if p := s.as("").get("/invite/" + invitation.Token).want(http.StatusGone).has("more than seven days old"); !p.link("/sign-in") {
		t.Error("no way forward")
	}
}

// userID returns the id of the person with an email.
func (s *demo) userID(email string) string {
	s.T.Helper()
	key, err := strconv.ParseInt(s.Value("SELECT id FROM users WHERE email=?", email), 10, 64)
	if err != nil {
		s.T.Fatal(err)
	}
	return s.App.Store.ID(store.KindUser, key)
}

// TestLanguages checks the language of pages before the sign-in.
func TestLanguages(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []struct{ query, accept, want string }{
		{"", "", "en"}, {"", "de-AT,de;q=0.9,en;q=0.5", "de"}, {"?lang=it", "de", "it"}, {"?lang=xx", "fr", "fr"}, {"?lang=xx", "ja", "en"},
	} {
		b := s.as("")
		b.header = http.Header{"Accept-Language": {c.accept}}
		p := b.get("/sign-in" + c.query).want(http.StatusOK)
		if !strings.Contains(p.body, `<html lang="`+c.want+`">`) {
			t.Errorf("%+v: %.200s", c, p.body)
		}
	}
	if p := s.as("").get("/sign-in?lang=it&next=%2Fdashboard%2Fcards"); !p.link("/reset?lang=it") || !p.link("/sign-in?lang=pt&next=%2Fdashboard%2Fcards") {
		t.Errorf("the links lose the language: %s", p.body)
	}
}
