package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
	"punchcard/store"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	s := start(t)
	owner := s.as("owner")
	form := owner.get("/dashboard/settings").has("Caffè Centrale").form("")
	form.set("name", " ").send().want(http.StatusBadRequest).problem("name")
	form.set("name", "Bar Sport", "timezone", "Europe/Atlantis").send().want(http.StatusBadRequest).problem("timezone")
	form.set("timezone", "Europe/Madrid", "country_code", "Spain").send().want(http.StatusBadRequest).problem("country_code")
	form.set("country_code", "ES", "currency", "XXX").send().want(http.StatusBadRequest).problem("currency")
	form.set("currency", "CHF", "language", "de").sendTwice(s).next().has("The settings were saved.", "Bar Sport")
	s.as("viewer").
		get("/dashboard/settings").
		has("Bar Sport", "Europe/Madrid", "España", "CHF", "Deutsch", "An owner of the shop changes these.")
	if got := s.Value("SELECT name||' '||timezone||' '||currency||' '||language||' '||require_totp||' '||country_code FROM shops LIMIT 1"); got != "Bar Sport Europe/Madrid CHF de 0 ES" {
		t.Error(got)
	}
}

func TestPeople(t *testing.T) {
	t.Parallel()
	s := start(t)
	owner := s.as("owner")
	owner.get("/dashboard/people").has("Olivia Owner", "Marco Manager", "The viewer", "Runs the shop")
	form := owner.get("/dashboard/people/invite").form("/dashboard/people/invite")
	form.send().want(http.StatusBadRequest).problem("email")
	form.set("email", seed.ManagerEmail).send().want(http.StatusConflict).has("belongs to the shop already")
	form = owner.get("/dashboard/people/invite").form("/dashboard/people/invite")
	shown := form.set("email", "ada@example.com", "role", "viewer").sendTwice(s).want(http.StatusOK).has("on its way to ada@example.com")
	shown.lacks("is not mailed", "/invite/")
	form = owner.get("/dashboard/people/invite").form("/dashboard/people/invite")
	form.set("email", "eve@example.com", "role", "operator").send().want(http.StatusForbidden)

	people := owner.get("/dashboard/people").has("ada@example.com")
	invitation := s.Value("SELECT id FROM links WHERE kind='invitation'")
	var at string
	for n := range people.root.Descendants() {
		if to := attribute(n, "href"); strings.HasPrefix(to, "/dashboard/invitation/") {
			at = to
		}
	}
	owner.get(at).has("ada@example.com").form(at).send().next().has("The invitation was cancelled.").lacks("ada@example.com")
	if left := s.Value("SELECT count(*) FROM links WHERE id=" + invitation); left != "0" {
		t.Error("the invitation is still there")
	}

	// The last owners keep the shop.
	olivia, mine := s.userID(seed.OwnerEmail), s.userID("owner@test.example")
	owner.get("/dashboard/person/"+olivia+"/role").
		form("/dashboard/person/"+olivia+"/role").
		set("role", "viewer").
		sendTwice(s).
		want(http.StatusSeeOther)
	own := "/dashboard/person/" + mine
	owner.get(own+"/role").form(own+"/role").set("role", "viewer").send().want(http.StatusConflict).has("The shop has no other owner.")
	owner.get(own + "/remove").
		has("This is you.").
		form(own + "/remove").
		send().
		want(http.StatusConflict).
		has("The shop has no other owner.")
	owner.get(own+"/role").form(own+"/role").set("role", "king").send().want(http.StatusBadRequest).problem("role")
}

// TestUnmailedLink checks that a server without mail shows the link of an invitation once, and that
// a server with mail, which shows none, refuses an invitation that it may not mail.
func TestUnmailedLink(t *testing.T) {
	t.Parallel()
	s := start(t)
	form := s.as("owner").get("/dashboard/people/invite").form("/dashboard/people/invite").set("email", "ada@example.com", "role", "viewer")
	for range 5 {
		form.set("idempotency_key", "")
		form.send().want(http.StatusOK).has("on its way to ada@example.com")
	}
	s.Unchanged(func() {
		if again := form.send().want(http.StatusTooManyRequests).has("Too many attempts."); again.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	})
}

func TestAccount(t *testing.T) {
	t.Parallel()
	s := start(t)
	viewer, other := s.enter(seed.ViewerEmail), s.enter(seed.ViewerEmail)
	other.header = http.Header{
		"User-Agent": {
			"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
		},
	}
	form := viewer.get("/dashboard/account").form("")
	form.set("name", "").send().want(http.StatusBadRequest).problem("name")
	form.set("name", "Vera V.", "language", "en").sendTwice(s).next().has("Vera V.", "Your account was saved.")

	form = viewer.get("/dashboard/account/password").form("")
	form.set("current_password", "a wrong password", "password", "kettle drum 41").
		send().
		want(http.StatusUnauthorized).
		problem("current_password")
	form.set("current_password", seed.Password, "password", "1234567890").send().want(http.StatusBadRequest).problem("password")
	form.set("password", seed.ViewerEmail).send().want(http.StatusBadRequest).problem("password")
	changed := form.set("password", "kettle drum 41").send().want(http.StatusSeeOther)
	other.wantSignedOut()
	viewer.wantSignedOut()
	viewer = s.with(changed.tokenOf())
	viewer.get(changed.header.Get("Location")).want(http.StatusOK).has("Your password was changed.")

	enter := url.Values{"email": {seed.ViewerEmail}, "password": {"kettle drum 41"}}
	other.cookie = nil
	other.cookie = &http.Cookie{Name: "punchcard", Value: other.post("/sign-in", enter).want(http.StatusSeeOther).tokenOf()}
	list := viewer.get("/dashboard/account").has("Safari on iPhone", "This device")
	var end string
	for n := range list.root.Descendants() {
		if to := attribute(n, "action"); strings.HasSuffix(to, "/end") {
			end = to
		}
	}
	list.form(end).send().next().has("That device is signed out.")
	other.wantSignedOut()
	viewer.get("/dashboard/account/sign-out-everywhere").form("/dashboard/account/sign-out-everywhere").send().want(http.StatusSeeOther)
	viewer.wantSignedOut()
}

func TestUsers(t *testing.T) {
	t.Parallel()
	s := start(t)
	operator, viewer := s.as("operator"), s.enter(seed.ViewerEmail)
	operator.get("/dashboard/users").has(seed.OwnerEmail, seed.ViewerEmail, "Operator")
	at := "/dashboard/user/" + s.userID(seed.ViewerEmail)
	operator.get(at).has("Vera Viewer", "Active")
	operator.get(at + "/sign-out").form(at + "/sign-out").sendTwice(s).next().has("signed out on all devices")
	viewer.wantSignedOut()
	operator.get(at+"/reset").form(at+"/reset").sendTwice(s).want(http.StatusOK).has("/reset/", "for one hour")
	operator.get(at+"/disable").form(at+"/disable").sendTwice(s).next().has("Disabled", "The account is disabled")
	s.as("").post("/sign-in", credentials(seed.ViewerEmail)).want(http.StatusUnauthorized)
	operator.post(at+"/reset", nil).want(http.StatusConflict).has("The account is disabled.")
	operator.get(at).form(at + "/enable").send().next().has("The account is enabled.")
	s.enter(seed.ViewerEmail)

	// The last operator stays.
	own := "/dashboard/user/" + s.userID("operator@test.example")
	olivia := "/dashboard/user/" + s.userID(seed.OwnerEmail)
	operator.post(olivia+"/disable", nil).want(http.StatusSeeOther)
	operator.post(own+"/disable", nil).want(http.StatusConflict).has("There is no other operator.")
	operator.get("/dashboard/user/usr_none").want(http.StatusNotFound)
}

// TestNewShop checks that an operator makes a shop by the form, which is then the shop of the
// operator's pages.
func TestNewShop(t *testing.T) {
	t.Parallel()
	s := start(t)
	form := s.as("operator").get("/dashboard/new/shop").form("/dashboard/new/shop")
	refused := form.set("timezone", "").send().want(http.StatusBadRequest)
	refused.problem("name")
	refused.problem("timezone")
	created := form.set("name", "Gelateria", "timezone", "Europe/Rome").send().want(http.StatusSeeOther)
	if to := created.header.Get("Location"); !strings.HasPrefix(to, "/dashboard/setup") {
		t.Errorf("leads to %s", to)
	}
	s.as("operator").get("/dashboard/settings").has("Gelateria", "Caffè Centrale")
}

// TestPersonWithoutShop checks that a person who belongs to no shop can open the pages of the account
// only.
func TestPersonWithoutShop(t *testing.T) {
	t.Parallel()
	s := start(t)
	var token string
	servertest.Write(t, s.App.Store, func(tx *store.Tx) error {
		user, err := tx.AddUser(store.NewUser{Email: "alone@test.example", Name: "Alone", Language: "en"})
		if err == nil {
			_, token, err = tx.BeginSession(store.NewSession{User: user})
		}
		return err
	})
	alone := s.with(token)
	for _, path := range []string{"/dashboard/settings", "/dashboard/cards", "/dashboard/people"} {
		alone.get(path).want(http.StatusForbidden).has("You belong to no shop", "alone@test.example")
	}
	alone.get("/dashboard/account").want(http.StatusOK)
	alone.get("/dashboard/users").want(http.StatusForbidden)
}
