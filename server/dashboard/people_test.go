package dashboard_test

import (
	"net/http"
	"testing"

	"punchcard/server/dev/seed"
)

func TestSettings(t *testing.T) {
	s := start(t)
	owner := s.as("owner")
	form := owner.get("/dashboard/settings").has("Caffè Centrale").form()
	form.set("name", " ").refused("name")
	form.set("name", "Bar Sport", "timezone", "Europe/Atlantis").refused("timezone")
	form.set("timezone", "Europe/Madrid", "country_code", "Spain").refused("country_code")
	form.set("country_code", "ES", "currency", "XXX").refused("currency")
	form.set("currency", "CHF", "language", "de").sendTwice().next().has("The settings were saved.", "Bar Sport")
	s.as("viewer").
		get("/dashboard/settings").
		has("Bar Sport", "Europe/Madrid", "España", "CHF", "Deutsch", "An owner of the shop changes these.")
	got := s.Value("SELECT name||' '||timezone||' '||currency||' '||language||' '||require_totp||' '||country_code FROM shops LIMIT 1")
	if got != "Bar Sport Europe/Madrid CHF de 0 ES" {
		t.Error(got)
	}
}

func TestPeople(t *testing.T) {
	s := start(t)
	owner := s.as("owner")
	owner.get("/dashboard/people").has("Olivia Owner", "Marco Manager", "The viewer", "Runs the shop")
	form := owner.open("/dashboard/people/invite")
	form.refused("email")
	form.set("email", seed.ManagerEmail).send().want(409).has("belongs to the shop already")
	owner.twice("/dashboard/people/invite", "email", "ada@example.com", "role", "viewer").want(200).
		has("on its way to ada@example.com").lacks("is not mailed", "/invite/")
	owner.fill("/dashboard/people/invite", "email", "eve@example.com", "role", "operator").want(403)

	people := owner.get("/dashboard/people").has("ada@example.com")
	invitation := s.Value("SELECT id FROM links WHERE kind='invitation'")
	at := people.pathTo("/dashboard/invitation/", "")
	owner.get(at).has("ada@example.com").form().send().next().has("The invitation was cancelled.").lacks("ada@example.com")
	if left := s.Value("SELECT count(*) FROM links WHERE id=" + invitation); left != "0" {
		t.Error("the invitation is still there")
	}

	// The last owners keep the shop.
	olivia, mine := s.userID(seed.OwnerEmail), s.userID("owner@test.example")
	owner.twice("/dashboard/person/"+olivia+"/role", "role", "viewer").want(303)
	own := "/dashboard/person/" + mine
	owner.fill(own+"/role", "role", "viewer").want(409).has("The shop has no other owner.")
	owner.get(own + "/remove").has("This is you.").form().send().want(409).has("The shop has no other owner.")
	owner.fill(own+"/role", "role", "king").want(400).problem("role")
}

// TestUnmailedInvitation checks that a server with mail, which shows no link, refuses an invitation
// that it may not mail.
func TestUnmailedInvitation(t *testing.T) {
	s := start(t)
	form := s.as("owner").open("/dashboard/people/invite", "email", "ada@example.com", "role", "viewer")
	for range 5 {
		form.set("idempotency_key", "")
		form.send().shows("on its way to ada@example.com")
	}
	s.Unchanged(func() {
		if again := form.send().want(429).has("Too many attempts."); again.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	})
}

func TestAccount(t *testing.T) {
	s := start(t)
	viewer, other := s.enter(seed.ViewerEmail), s.enter(seed.ViewerEmail)
	other.header = http.Header{
		"User-Agent": {
			"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) " +
				"Version/18.0 Mobile/15E148 Safari/604.1",
		},
	}
	form := viewer.open("/dashboard/account")
	form.set("name", "").refused("name")
	form.set("name", "Vera V.", "language", "en").sendTwice().next().has("Vera V.", "Your account was saved.")

	form = viewer.open("/dashboard/account/password")
	form.set("current_password", "a wrong password", "password", "kettle drum 41").send().want(401).problem("current_password")
	form.set("current_password", seed.Password, "password", "1234567890").refused("password")
	form.set("password", seed.ViewerEmail).refused("password")
	changed := form.set("password", "kettle drum 41").send().want(303)
	other.wantSignedOut()
	viewer.wantSignedOut()
	viewer = s.with(changed.tokenOf())
	viewer.get(changed.header.Get("Location")).shows("Your password was changed.")

	other.cookie = nil
	other.cookie = s.with(other.try(seed.ViewerEmail, "kettle drum 41").tokenOf()).cookie
	list := viewer.get("/dashboard/account").has("Safari on iPhone", "This device")
	end := list.pathTo("/dashboard/account/session/", "/end")
	list.press(end).next().has("That device is signed out.")
	other.wantSignedOut()
	viewer.fill("/dashboard/account/sign-out-everywhere").want(303)
	viewer.wantSignedOut()
}

func TestUsers(t *testing.T) {
	s := start(t)
	operator, viewer := s.as("operator"), s.enter(seed.ViewerEmail)
	operator.get("/dashboard/users").has(seed.OwnerEmail, seed.ViewerEmail, "Operator")
	at := "/dashboard/user/" + s.userID(seed.ViewerEmail)
	operator.get(at).has("Vera Viewer", "Active")
	operator.twice(at + "/sign-out").next().has("signed out on all devices")
	viewer.wantSignedOut()
	operator.twice(at+"/reset").shows("/reset/", "for one hour")
	operator.twice(at+"/disable").next().has("Disabled", "The account is disabled")
	s.as("").try(seed.ViewerEmail).want(401)
	operator.post(at+"/reset", nil).want(409).has("The account is disabled.")
	operator.get(at).press(at + "/enable").next().has("The account is enabled.")
	s.enter(seed.ViewerEmail)

	// The last operator stays.
	own := "/dashboard/user/" + s.userID("operator@test.example")
	olivia := "/dashboard/user/" + s.userID(seed.OwnerEmail)
	operator.post(olivia+"/disable", nil).want(303)
	operator.post(own+"/disable", nil).want(409).has("There is no other operator.")
	operator.get("/dashboard/user/usr_none").want(404)
}

// TestNewShop checks that an operator makes a shop by the form, which is then the shop of the
// operator's pages.
func TestNewShop(t *testing.T) {
	s := start(t)
	form := s.as("operator").open("/dashboard/new/shop")
	form.set("timezone", "").refused("name").problem("timezone")
	form.set("name", "Gelateria", "timezone", "Europe/Rome").send().to("/dashboard/setup")
	s.as("operator").get("/dashboard/settings").has("Gelateria", "Caffè Centrale")
}
