package punchtest_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"punchcard/server/punchtest"
	"punchcard/server/servertest/require"
)

// TestCardsOfHolders checks enrolment, installing by the link, and a reissue, which ends the link.
func TestCardsOfHolders(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t, punchtest.PublicURL("https://cards.example.com"))
	card := s.Enroll(s.Programs["standard"], punchtest.CardFields{HolderName: "Ada"})
	if got := s.Card(card.ID); got.HolderName != "Ada" || got.Status != "invited" {
		t.Errorf("enrolled: %+v", got)
	}
	if page := s.Install(card.InstallURL); !strings.HasPrefix(page, "https://cards.example.com/c/") {
		t.Errorf("the page is %s", page)
	}
	if got := s.Card(card.ID); got.Status != "active" || got.InstalledAt.IsZero() {
		t.Errorf("installed: %+v", got)
	}
	s.Till(s.Locations[0]).Stamp(card.ID, 2)
	again := s.Reissue(card.ID, punchtest.ReissueFields{HolderName: "Ada Lovelace"})
	if got := s.Card(card.ID); again.ID != card.ID || again.InstallURL == card.InstallURL || got.HolderName != "Ada Lovelace" ||
		got.Status != "invited" ||
		got.StampsCount != 2 {
		t.Errorf("reissued: %+v %+v", again, got)
	}
	if err := refusal(t, failure(s.TryInstall(card.InstallURL))); err.Status != http.StatusGone && err.Status != http.StatusNotFound {
		t.Errorf("the old link: %v", err)
	}
	s.Install(again.InstallURL)
}

// TestRevokedTill checks that a revoked till is refused and replaced.
func TestRevokedTill(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	till, other := s.Till(s.Locations[0]), s.NewTill(s.Locations[0])
	card := newCard(s)
	till.Revoke()
	refuses(t, "a revoked till", "unauthenticated", failure(till.Try().Stamp(card, 1)))
	other.Stamp(card, 1)
	if next := s.Till(s.Locations[0]); next.ID == till.ID || next.Stamp(card, 1).Card.StampsCount != 2 {
		t.Errorf("the next till is %+v", next)
	}
	paired := require.Must(s.Pair(s.NewPairing(s.Locations[1]).Code))
	paired.Revoke()
	refuses(t, "a revoked till that was paired", "unauthenticated", failure(paired.Try().Stamp(card, 1)))
}

// TestWebhookFilters checks that webhooks send what they are told to, in the version that is
// asked.
func TestWebhookFilters(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	standard, private := s.Programs["standard"], s.Programs["private"]
	v1, here, never := s.Receiver(), s.Receiver(), s.Receiver()
	_, secret := s.NewWebhook(
		standard,
		punchtest.WebhookFields{URL: v1.URL, Version: "v1", Programs: []string{standard}, BearerToken: "abc"},
	)
	shopWide := false
	s.NewWebhook(
		standard,
		punchtest.WebhookFields{URL: here.URL, Events: []string{"stamp.*"}, Locations: []string{s.Locations[1]}, ShopWide: &shopWide},
	)
	s.NewWebhook(standard, punchtest.WebhookFields{URL: never.URL, Events: []string{"prize.*"}})
	for _, program := range []string{standard, private} {
		card := s.Issue(program, punchtest.CardFields{})
		for _, location := range s.Locations {
			s.Till(location).Stamp(card.ID, 1)
		}
	}
	s.Settle()
	for _, c := range []struct {
		name string
		r    *punchtest.Receiver
		want int
	}{{"v1", v1, 2}, {"at a location", here, 2}, {"of prizes", never, 0}} {
		stamps := 0
		for _, d := range c.r.Deliveries() {
			if d.Event == "stamp.assigned" {
				stamps++
			}
		}
		if stamps != c.want {
			t.Errorf("%s: %d stamps, want %d", c.name, stamps, c.want)
		}
	}
	d := v1.Wait("stamp.assigned")
	var envelope map[string]any
	if err := d.Decode(&envelope); err != nil || d.Verify(secret) != nil || d.Header.Get("Authorization") != "Bearer abc" {
		t.Errorf("%v %v %v", err, d.Verify(secret), d.Header)
	}
	var v2 map[string]any
	if here.Wait("stamp.assigned").Decode(&v2); v2["payload_version"] == envelope["payload_version"] &&
		v2["version"] == envelope["version"] {
		t.Errorf("both versions are %v", envelope)
	}
}

// TestSignIn checks that the cookie opens the dashboard with the role.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s := punchtest.Start(t)
	origin, _ := url.Parse(s.Origin)
	read := func(cookies ...*http.Cookie) (path string, status int) {
		jar, _ := cookiejar.New(nil)
		jar.SetCookies(origin, cookies)
		transport := &http.Transport{DisableKeepAlives: true}
		resp := require.Must((&http.Client{Jar: jar, Transport: transport}).Get(s.Origin + "/dashboard"))
		resp.Body.Close()
		return resp.Request.URL.Path, resp.StatusCode
	}
	if path, _ := read(); path != "/sign-in" {
		t.Errorf("without a cookie: %s", path)
	}
	for _, role := range []string{"owner", "manager", "viewer"} {
		if path, status := read(s.SignIn(role)); path != "/dashboard" || status != 200 {
			t.Errorf("%s: %s %d", role, path, status)
		}
	}
}
