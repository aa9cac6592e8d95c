package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// enrol sets up a second factor by the pages and returns its secret and the recovery codes.
func (s *demo) enrol(b *browser) (secret string, codes []string) {
	s.T.Helper()
	setup := b.fill("/dashboard/account/second-factor").want(200)
	form := setup.form("/dashboard/account/second-factor/confirm")
	uri := require.Must(url.Parse(form.fields.Get("_uri")))
	secret = uri.Query().Get("secret")
	wrong := form.set("totp", "000000").send().want(422).problem("totp").has(secret[:4])
	done := wrong.form("/dashboard/account/second-factor/confirm").
		set("totp", servertest.TOTP(secret, s.now())).
		send().
		want(200).
		has("Your recovery codes")
	for word := range strings.FieldsSeq(done.text()) {
		if len(word) == 14 && strings.Count(word, "-") == 2 {
			codes = append(codes, word)
		}
	}
	if len(codes) != 10 {
		s.T.Fatalf("%d recovery codes: %s", len(codes), done.text())
	}
	return secret, codes
}

// TestSecondFactor checks that a code and a recovery code work once, and that the pages of the account replace the recovery
// codes and remove the factor.
func TestSecondFactor(t *testing.T) {
	s := start(t, servertest.Frozen)
	manager := s.enter(seed.ManagerEmail)
	secret, codes := s.enrol(manager)
	manager.get("/dashboard/account").has("10 recovery codes left")
	s.Advance("90s")
	give := func(code string) *page {
		t.Helper()
		pending := s.as("").try(seed.ManagerEmail)
		pending.to("/sign-in/code")
		b := s.with(pending.tokenOf())
		b.get("/dashboard/account").to("/sign-in/code")
		p := b.fill("/sign-in/code", "totp", code)
		if p.status == 303 {
			if token := p.tokenOf(); token == pending.tokenOf() {
				t.Error("the token stays the same after the code")
			}
			b.wantSignedOut()
			s.with(p.tokenOf()).get("/dashboard/account").want(200)
		}
		return p
	}
	code := servertest.TOTP(secret, s.now())
	give(code).want(303)
	give(code).want(422).problem("totp")
	give(strings.ToLower(codes[0])).want(303)
	give(codes[0]).want(422).problem("totp")
	manager.get("/dashboard/account/second-factor").has("9 recovery codes are left.")

	manager.fill("/dashboard/account/second-factor/codes").want(200).lacks(codes[1])
	manager.fill("/dashboard/account/second-factor/remove").next().has("The second factor was removed.")
	s.Advance("15m")
	s.enter(seed.ManagerEmail).get("/dashboard/account").want(200)
}

// TestDemandedFactor checks that a person whose shop demands a second factor can do
// nothing before it is set up.
func TestDemandedFactor(t *testing.T) {
	s := start(t, servertest.Frozen)
	s.as("owner").fill("/dashboard/settings", "require_totp", "true").want(303)
	for _, path := range []string{"/dashboard/settings", "/dashboard/account", "/dashboard/locations", "/dashboard/people"} {
		s.as("owner").get(path).to("/dashboard/account/second-factor")
	}
	s.as("viewer").get("/dashboard/settings").want(200)
	owner := s.as("owner")
	if p := owner.get("/dashboard/account/second-factor").has("Your shop demands a second factor of your role."); p.link(
		"/dashboard/settings",
	) {
		t.Error("the page leads to pages that cannot be opened")
	}
	s.enrol(owner)
	owner.fill("/dashboard/settings", "require_totp", "false").next()
}
