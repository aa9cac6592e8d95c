package dashboard_test

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
)

// totp returns the code that an authenticator shows at a time.
func totp(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha1.New, key)
	binary.Write(mac, binary.BigEndian, at.Unix()/30)
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&15:])&0x7fffffff%1_000_000)
}

// enrol sets up a second factor by the pages and returns its secret and the recovery codes.
func (s *demo) enrol(b *browser) (secret string, codes []string) {
	s.T.Helper()
	setup := b.get("/dashboard/account/second-factor").want(http.StatusOK).form("").send().want(http.StatusOK)
	form := setup.form("/dashboard/account/second-factor/confirm")
	uri, err := url.Parse(form.fields.Get("_uri"))
	if err != nil {
		s.T.Fatal(err)
	}
	secret = uri.Query().Get("secret")
	wrong := form.set("totp", "000000").send().want(http.StatusUnprocessableEntity)
	wrong.problem("totp")
	wrong.has(secret[:4])
	done := wrong.form("/dashboard/account/second-factor/confirm").
		set("totp", totp(s.T.(*testing.T), secret, s.now())).
		send().
		want(http.StatusOK).
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

// TestSecondFactor checks that a code works once, also within its time, that a recovery code
// works once, and that the pages of the account replace the recovery codes and remove the factor.
func TestSecondFactor(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	manager := s.enter(seed.ManagerEmail)
	secret, codes := s.enrol(manager)
	manager.get("/dashboard/account").has("10 recovery codes left")
	s.Advance("90s")
	give := func(code string) *page {
		t.Helper()
		pending := s.as("").post("/sign-in", credentials(seed.ManagerEmail)).want(http.StatusSeeOther)
		if to := pending.header.Get("Location"); to != "/sign-in/code" {
			t.Fatalf("leads to %s", to)
		}
		b := s.with(pending.tokenOf())
		if to := b.get("/dashboard/account").want(http.StatusSeeOther).header.Get("Location"); to != "/sign-in/code" {
			t.Errorf("a pending session is led to %s", to)
		}
		p := b.get("/sign-in/code").form("/sign-in/code").set("totp", code).send()
		if p.status == http.StatusSeeOther {
			if token := p.tokenOf(); token == pending.tokenOf() {
				t.Error("the token stays the same after the code")
			}
			b.wantSignedOut()
			s.with(p.tokenOf()).get("/dashboard/account").want(http.StatusOK)
		}
		return p
	}
	code := totp(t, secret, s.now())
	give(code).want(http.StatusSeeOther)
	give(code).want(http.StatusUnprocessableEntity).problem("totp")
	s.Advance("1s") // within its time
	give(code).want(http.StatusUnprocessableEntity)
	give(strings.ToLower(codes[0])).want(http.StatusSeeOther)
	give(codes[0]).want(http.StatusUnprocessableEntity).problem("totp")
	manager.get("/dashboard/account/second-factor").has("9 recovery codes are left.")

	remade := manager.get("/dashboard/account/second-factor/codes").
		form("/dashboard/account/second-factor/codes").
		send().
		want(http.StatusOK)
	remade.lacks(codes[1])
	give(codes[1]).want(http.StatusUnprocessableEntity)
	manager.get("/dashboard/account/second-factor/remove").
		form("/dashboard/account/second-factor/remove").
		send().
		next().
		has("The second factor was removed.")
	s.Advance("15m")
	s.enter(seed.ManagerEmail).get("/dashboard/account").want(http.StatusOK)
}

// TestDemandedFactor checks that a person whose shop demands a second factor can do
// nothing before it is set up.
func TestDemandedFactor(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	s.as("owner").get("/dashboard/settings").form("").set("require_totp", "true").send().want(http.StatusSeeOther)
	for _, path := range []string{"/dashboard/settings", "/dashboard/account", "/dashboard/locations", "/dashboard/people"} {
		if to := s.as("owner").get(path).want(http.StatusSeeOther).header.Get("Location"); to != "/dashboard/account/second-factor" {
			t.Errorf("%s leads to %s", path, to)
		}
	}
	s.as("viewer").get("/dashboard/settings").want(http.StatusOK)
	owner := s.as("owner")
	if p := owner.get("/dashboard/account/second-factor").has("Your shop demands a second factor of your role."); p.link(
		"/dashboard/settings",
	) {
		t.Error("the page leads to pages that cannot be opened")
	}
	s.enrol(owner)
	owner.get("/dashboard/settings").want(http.StatusOK).form("").set("require_totp", "false").send().next()
}
