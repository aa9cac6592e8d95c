package dashboard_test

import (
	"net/http"
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
	if statuses[http.StatusUnauthorized] != 10 || statuses[http.StatusTooManyRequests] != 10 {
		t.Errorf("%v", statuses)
	}
	last.has("Too many attempts. Try again in 30 seconds.")
	if after := last.header.Get("Retry-After"); after != "30" {
		t.Errorf("Retry-After %q", after)
	}
	if value := last.form("/sign-in").fields; value.Get("email") != seed.OwnerEmail || value.Get("password") != "" {
		t.Errorf("the form has %v", value)
	}
	s.as("").post("/sign-in", credentials(seed.OwnerEmail)).want(http.StatusTooManyRequests)
	s.Advance("31s")
	form.send().want(http.StatusUnauthorized).has("The email or the password is wrong.")
	form.send().want(http.StatusTooManyRequests).has("Try again in 30 seconds.")
	s.Advance("31s")
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
		owner.post("/dashboard/people/invite", prove.fields).want(http.StatusOK).has("on its way to ada@example.com")
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
	s.as("owner").
		get("/dashboard/person/"+person+"/role").
		form("/dashboard/person/"+person+"/role").
		set("role", "viewer").
		send().
		next().
		has("The role was changed.")
	s.Unchanged(func() {
		if to := form.send().want(http.StatusSeeOther).header.Get("Location"); !strings.HasPrefix(to, "/sign-in") {
			t.Errorf("leads to %s", to)
		}
	})
	form.browser = s.enter(seed.ManagerEmail)
	s.Unchanged(func() { form.send().want(http.StatusForbidden).has("Your role in this shop does not include this.") })
	s.as("owner").
		get("/dashboard/person/" + person + "/remove").
		form("/dashboard/person/" + person + "/remove").
		send().
		next().
		has("no longer belongs")
	removed := s.enter(seed.ManagerEmail)
	removed.get("/dashboard").want(http.StatusOK).has("You belong to no shop")
	removed.get("/dashboard/locations").want(http.StatusForbidden).has("You belong to no shop", seed.ManagerEmail)
	removed.get("/dashboard/account").want(http.StatusOK)
	s.Unchanged(func() { removed.post("/dashboard/new/location", url.Values{"name": {"x"}}).want(http.StatusForbidden) })
}
