package tillpage_test

import (
	"net/http"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/servertest"
	"punchcard/store"
)

// newPairing makes a pairing for the first location.
func newPairing(s *servertest.Server) (p store.CreatedPairing) {
	s.T.Helper()
	servertest.Write(s.T, s.App.Store, func(tx *store.Tx) (err error) {
		p, err = tx.CreatePairing(s.Shop(), store.NewDevice{LocationID: s.LocationIDs[0], Name: "Counter"})
		return err
	})
	return p
}

// The types of a form and of a page, for the headers Content-Type and Accept.
const (
	form = "application/x-www-form-urlencoded"
	page = "text/html"
)

// checkPaired checks that an answer sets the cookie of a new device of the location.
func checkPaired(s *servertest.Server, r *servertest.Reply) {
	s.T.Helper()
	c, err := http.ParseSetCookie(r.Header.Get("Set-Cookie"))
	if err != nil || c.Path != "/till/" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.MaxAge != 34560000 ||
		!kernel.IsDeviceToken(c.Value) {
		s.T.Fatalf("%s: cookie %+v: %v", r.What, c, err)
	}
	me := get(s, "/till/v1/me", "Cookie", c.Name+"="+c.Value, "Content-Type", "application/json").Want(200)
	me.Shows(fields{"device.name": "Counter", "location.id": s.LocationIDs[0], "accepts_card_ids": false})
	if strings.Contains(string(r.Body), c.Value) {
		s.T.Error("the body has the token")
	}
}

// TestPairByLink checks that the link shows a button and pairs once.
func TestPairByLink(t *testing.T) {
	s := start(t, servertest.Frozen)
	p := newPairing(s)
	path := "/till/pair/" + p.Token
	for range 2 { // GET does not use the link up
		r := get(s, path).Want(200)
		if !strings.Contains(string(r.Body), `<form method="post" action="`+path+`">`) || r.Header.Get("Cache-Control") != "no-store" ||
			r.Header.Get("Set-Cookie") != "" {
			t.Errorf("%v %s", r.Header, r.Body)
		}
	}
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"},
	} {
		fetch(s, "POST", path, "", append(headers, "Content-Type", form)...).Want(403)
	}
	r := fetch(s, "POST", path, "", "Content-Type", form, "Sec-Fetch-Site", "same-origin").Want(303)
	if r.Header.Get("Location") != "/till/" {
		t.Errorf("it leads to %q", r.Header.Get("Location"))
	}
	checkPaired(s, r)
	for _, path := range []string{path, "/till/pair/unknown"} {
		r := fetch(s, "POST", path, "", "Content-Type", form, "Accept", page).Want(410)
		if !strings.Contains(string(r.Body), "This link was used already") || r.Header.Get("Set-Cookie") != "" {
			t.Errorf("%v %s", r.Header, r.Body)
		}
		fetch(s, "POST", path, "").Want(410, "link_expired")
	}
	fetch(
		s,
		"POST",
		"/till/pair",
		`{"code":"`+p.Code+`"}`,
		"Content-Type",
		"application/json",
	).Want(410, "link_expired")
	// the code is that of the same pairing

	late := newPairing(s)
	s.Advance("10m")
	fetch(s, "POST", "/till/pair/"+late.Token, "").Want(410, "link_expired")
}

// TestPairByCode checks that the code pairs once, and only a request of the page itself.
func TestPairByCode(t *testing.T) {
	s := start(t, servertest.Frozen)
	p := newPairing(s)
	body := `{"code":"` + strings.ToUpper(p.Code[:4]+"-"+p.Code[4:]) + `"}`
	fetch(s, "POST", "/till/pair", body, "Content-Type", "application/json", "Sec-Fetch-Site", "cross-site").Want(403)
	fetch(s, "POST", "/till/pair", body, "Content-Type", "text/plain").Want(415)
	fetch(s, "POST", "/till/pair", body).Want(415)
	for _, bad := range []string{`{}`, `{"code":""}`, `{"code":7}`, `{"token":"` + p.Token + `"}`, `[`} {
		fetch(s, "POST", "/till/pair", bad, "Content-Type", "application/json").Want(400, "validation_failed")
	}
	checkPaired(s, fetch(s, "POST", "/till/pair", body, "Content-Type", "application/json", "Sec-Fetch-Site", "same-origin").Want(204))
	if r := fetch(s, "POST", "/till/pair", body, "Content-Type", "application/json").Want(410, "link_expired"); r.Header.Get(
		"Set-Cookie",
	) != "" {
		t.Errorf("%v", r.Header)
	}
	// Only one of ten concurrent requests gets the device.
	twice := newPairing(s)
	got := servertest.Outcomes(servertest.Simultaneously(10, func(int) *servertest.Reply {
		return fetch(s, "POST", "/till/pair/"+twice.Token, "")
	}))
	if got["303"] != 1 || got["410 link_expired"] != 9 {
		t.Errorf("%v", got)
	}
}

// TestPairOverHTTPS checks the cookie where the public URL is https.
func TestPairOverHTTPS(t *testing.T) {
	s := start(t, func(c *app.Config) { c.PublicURL = "https://cards.example.com" })
	r := fetch(s, "POST", "/till/pair/"+newPairing(s).Token, "").Want(303)
	if got := r.Header.Get("Set-Cookie"); !strings.HasPrefix(got, "__Secure-punchcard-till=tdk_test_") ||
		!strings.Contains(got, "; Secure") {
		t.Errorf("the cookie is %q", got)
	}
}
