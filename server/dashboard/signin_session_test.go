package dashboard_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
)

// TestSessionOfSignIn checks that signing in makes a new session, whatever cookie was
// there before, that a stolen cookie is of no use after signing out, and that signing in leads
// to no page elsewhere.
func TestSessionOfSignIn(t *testing.T) {
	s := start(t)
	given := strings.Repeat("a", 43)
	b := s.with(given)
	b.wantSignedOut()
	first := b.try(seed.OwnerEmail).want(303).tokenOf()
	b.wantSignedOut()
	second := s.with(first).try(seed.OwnerEmail).want(303).tokenOf()
	if first == given || second == first || len(first) != 43 {
		t.Errorf("tokens %q, %q", first, second)
	}
	owner, stolen := s.with(first), s.with(first)
	stolen.get("/dashboard/account").want(200)
	out := owner.post("/sign-out", nil).want(303)
	if out.tokenOf() != "" || out.header.Get("Location") != "/sign-in" {
		t.Errorf("%v", out.header)
	}
	s.Unchanged(func() {
		stolen.wantSignedOut()
		stolen.post("/dashboard/account", url.Values{"name": {"Evil"}}).want(303)
	})
	s.with(second).get("/dashboard/account").want(200)
	for _, next := range []string{
		"https://evil.example", "//evil.example", "/\\evil.example", "/dashboard/../..//evil.example\r\n", "/dashboardx",
	} {
		fields := credentials(seed.OwnerEmail)
		fields.Set("_next", next)
		if to := s.as("").post("/sign-in", fields).want(303).header.Get("Location"); to != "/dashboard" {
			t.Errorf("%q leads to %s", next, to)
		}
	}
}

// TestConcurrentSignIns checks that people who sign in at once get sessions of their own.
func TestConcurrentSignIns(t *testing.T) {
	s := start(t)
	tokens := servertest.Simultaneously(4, func(i int) string {
		return s.as("").try([]string{seed.OwnerEmail, seed.ViewerEmail}[i%2]).want(303).tokenOf()
	})
	for i, token := range tokens {
		want := []string{seed.OwnerEmail, seed.ViewerEmail}[i%2]
		s.with(token).get("/dashboard/account").shows(want)
		if slices.Index(tokens, token) != i {
			t.Error("two sessions have one token")
		}
	}
}

// TestWrongPasswords checks how many wrong passwords are tried, and what the page says then.
func TestWrongPasswords(t *testing.T) {
	s := start(t, servertest.Frozen)
	form := s.as("").open("/sign-in", "email", seed.OwnerEmail, "password", "a wrong password")
	statuses := map[int]int{}
	var last *page
	for range 20 {
		last = form.send()
		statuses[last.status]++
	}
	if statuses[401] != 10 || statuses[429] != 10 {
		t.Errorf("%v", statuses)
	}
	last.has("Too many attempts. Try again in 30 seconds.")
	if after := last.header.Get("Retry-After"); after != "30" {
		t.Errorf("Retry-After %q", after)
	}
	if value := last.form("/sign-in").fields; value.Get("email") != seed.OwnerEmail || value.Get("password") != "" {
		t.Errorf("the form has %v", value)
	}
	s.as("").try(seed.OwnerEmail).want(429)
	s.Advance("31s")
	form.send().want(401).has("The email or the password is wrong.")
	form.send().want(429).has("Try again in 30 seconds.")
	s.Advance("31s")
	s.enter(seed.OwnerEmail).get("/dashboard/account").want(200)
}

// TestProof checks that a form waits for the password where the last proof is too old, and
// is then carried out once.
func TestProof(t *testing.T) {
	s := start(t, servertest.Frozen)
	owner := s.enter(seed.OwnerEmail)
	form := owner.open("/dashboard/people/invite", "email", "ada@example.com", "role", "viewer")
	s.Advance("16m")
	var asked *page
	s.Unchanged(func() { asked = form.send().want(403).has("Confirm that it is you") })
	prove := asked.form("/dashboard/prove")
	prove.set("_password", "").refused("_password")
	again := prove.set("_password", "wrong password").send().want(401).problem("_password", "The password is wrong.")
	prove = again.form("/dashboard/prove").set("_password", seed.Password)
	done := prove.send().want(307)
	if to := done.header.Get("Location"); to != "/dashboard/people/invite" {
		t.Fatalf("leads to %s", to)
	}
	owner.post("/dashboard/people/invite", prove.fields).shows("ada@example.com")
	s.Unchanged(func() {
		owner.post("/dashboard/people/invite", prove.fields).shows("on its way to ada@example.com")
	})
	prove.fields.Set("_action", "https://evil.example/")
	if to := prove.send().header.Get("Location"); strings.Contains(to, "evil") {
		t.Errorf("leads to %s", to)
	}
}

// TestRoleTakenAway checks that a form which was opened before the role changed does
// nothing.
func TestRoleTakenAway(t *testing.T) {
	s := start(t)
	manager := s.enter(seed.ManagerEmail)
	form := manager.open("/dashboard/location/"+s.LocationIDs[0]+"/edit", "name", "Mine")
	person := s.userID(seed.ManagerEmail)
	s.as("owner").fill("/dashboard/person/"+person+"/role", "role", "viewer").next().has("The role was changed.")
	s.Unchanged(func() {
		form.send().to("/sign-in")
	})
	form.browser = s.enter(seed.ManagerEmail)
	s.Unchanged(func() { form.send().want(403).has("Your role in this shop does not include this.") })
	s.as("owner").fill("/dashboard/person/" + person + "/remove").next().has("no longer belongs")
	removed := s.enter(seed.ManagerEmail)
	removed.get("/dashboard").shows("You belong to no shop")
	removed.get("/dashboard/locations").want(403).has("You belong to no shop", seed.ManagerEmail)
	removed.get("/dashboard/account").want(200)
	s.Unchanged(func() { removed.post("/dashboard/new/location", url.Values{"name": {"x"}}).want(403) })
}
