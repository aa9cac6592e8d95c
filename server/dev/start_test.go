package dev_test

import (
	"net/http"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// TestStartPage checks that the start page has the ready line, and links and forms that lead
// somewhere.
func TestStartPage(t *testing.T) {
	r := start(t, func(c *app.Config) { c.PublicURL = "https://cards.example.com/shop" })
	page := fetchPage(r, "GET", r.Origin+"/").Want(200)
	text := string(page.Body)
	if got := page.Header.Get("Content-Type") + page.Header.Get("Vary") + page.Header.Get("Cache-Control"); got != "text/html; "+
		"charset=utf-8Acceptno-store" {
		t.Errorf("headers %q", got)
	}
	for _, want := range append([]string{r.APIKey, r.RestrictedAPIKey, r.MCPKey, r.TillToken, r.ShopID, r.BaseURL, r.ProgramIDs["prepaid"],
		r.LocationIDs[1], "program_ids.prepaid", "/me</code></pre>",
		`action="/dev/sign-in"`, `name="as" value="owner"`, `href="/dashboard"`, `href="/till/openapi.json"`}, r.LocationIDs...) {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not contain %s", want)
		}
	}
	for part := range strings.SplitSeq(text, `href="`) {
		path, _, _ := strings.Cut(part, `"`)
		if strings.HasPrefix(path, "/") && path != "/dashboard" {
			fetchPage(r, "GET", r.Origin+path).Want(200)
		}
	}
	if strings.Contains(text, "http://cards.example.com") || strings.Contains(text, `src="http`) {
		t.Error("the page loads something from elsewhere")
	}
	h := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Sec-Fetch-Site": {"same-origin"}}
	in := r.Fetch("POST", r.Origin+"/dev/sign-in", []byte("as=owner"), h).Want(http.StatusSeeOther)
	if to := in.Header.Get("Location"); to != "/dashboard" || !strings.Contains(in.Header.Get("Set-Cookie"), "__Host-punchcard=") {
		t.Errorf("the sign-in leads to %q with the cookie %q", to, in.Header.Get("Set-Cookie"))
	}
	r.Fetch("POST", r.Origin+"/dev/sign-in", []byte("as=nobody"), h).Want(http.StatusNotFound)

	before := countCards(r)
	made := fetchPage(r, "POST", r.Origin+"/dev/demo-card").Want(http.StatusSeeOther)
	to := made.Header.Get("Location")
	if !strings.HasPrefix(to, "/i/") || countCards(r) != before+1 {
		t.Errorf("the form leads to %q, %d cards", to, countCards(r))
	}
	if card := fetchPage(r, "GET", r.Origin+to).Want(200); !strings.Contains(string(card.Body), "Coffee card") {
		t.Errorf("%s", card.Body)
	}
	for _, headers := range []http.Header{{"Sec-Fetch-Site": {"cross-site"}}, {"Origin": {"https://evil.example"}}} {
		r.Fetch("POST", r.Origin+"/dev/demo-card", nil, headers).Want(http.StatusForbidden)
	}
}

// TestStartForPrograms checks that programs get the ready line at /, and HEAD the headers alone.
func TestStartForPrograms(t *testing.T) {
	r := start(t)
	for _, accept := range []string{"", "*/*", "application/json"} {
		got := servertest.Decode[seed.Ready](send(r, "GET", r.Origin+"/", nil, "Accept", accept).Want(200))
		if got.APIKey != r.APIKey || got.Origin != r.Origin || got.ProgramIDs["standard"] != r.ProgramIDs["standard"] {
			t.Errorf("Accept %q: %+v", accept, got)
		}
	}
	for accept, want := range map[string]string{"text/html,*/*;q=0.8": "text/html; charset=utf-8", "*/*": "application/json"} {
		if head := send(r, "HEAD", r.Origin+"/", nil, "Accept", accept).Want(200); len(head.Body) != 0 ||
			head.Header.Get("Content-Type") != want ||
			head.Header.Get("Content-Length") == "" {
			t.Errorf("HEAD with Accept %q: %v %s", accept, head.Header, head.Body)
		}
	}
	send(r, "POST", r.Origin+"/", nil).Want(http.StatusMethodNotAllowed)
}

// TestStartWithoutPrograms checks the page of a seed that has no program.
func TestStartWithoutPrograms(t *testing.T) {
	file := require.Must(seed.Parse("empty.json",
		[]byte(`{"shops": [{"name": "Empty", "locations": [{"ref": "only", "name": "Only"}]}]}`)))
	r := start(t, func(c *app.Config) { c.Dev.Seed = file })
	if page := fetchPage(r, "GET", r.Origin+"/").Want(200); strings.Contains(string(page.Body), "/dev/demo-card") {
		t.Error("the page offers a card, though there is no program")
	}
	fetchPage(r, "POST", r.Origin+"/dev/demo-card").Want(404)
}

// fetchPage makes a request as a browser does for a page or a form of this server.
func fetchPage(r *server, method, url string) *reply {
	r.T.Helper()
	h := http.Header{"Accept": {"text/html,application/xhtml+xml,*/*;q=0.8"}, "Sec-Fetch-Site": {"same-origin"}}
	if method == "POST" {
		h.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r.Fetch(method, url, nil, h)
}
