package till_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/servertest/require"
	"punchcard/server/till"
)

// TestCookie checks which requests with the cookie of the till page are accepted: JSON of
// the page itself, and nothing that a page of another origin can send.
func TestCookie(t *testing.T) {
	s := start(t)
	other := s.NewDevice(s.LocationIDs[1])
	cookie := "punchcard-till=" + s.TillToken
	own := strings.TrimPrefix(s.Origin, "http://")
	hosts := require.Must(kernel.NewHosts("", nil))
	guard := till.NewGuard(s.App.Store, 0).AcceptCookies(hosts)
	for _, c := range []struct {
		name    string
		headers string // beside the cookie and the type application/json, unless they have others
		want    int
	}{
		{"of the page", "Sec-Fetch-Site: same-origin", 200},
		{"of the page with its origin", "Content-Type: application/json; charset=utf-8|Origin: " + s.Origin, 200},
		{"over plain http", "", 200},
		{"without a type", "Content-Type: |Sec-Fetch-Site: same-origin", 401},
		{"of a form", "Content-Type: application/x-www-form-urlencoded|Sec-Fetch-Site: same-origin", 401},
		{"as text", "Content-Type: text/plain|Origin: " + s.Origin, 401},
		{"with a malformed type", "Content-Type: application/json; =", 401},
		{"of another site", "Sec-Fetch-Site: cross-site", 401},
		{"of another origin of the site", "Sec-Fetch-Site: same-site", 401},
		{"of the address bar", "Sec-Fetch-Site: none", 401},
		{"with another origin", "Origin: http://evil.example", 401},
		{"with another port", "Origin: http://127.0.0.1:1", 401},
		{"with the origin null", "Origin: null", 401},
		{"to another host", "Host: evil.example", 403},
		{"two cookies", "Cookie: " + cookie + "; " + cookie, 401},
		{"a cookie of https", "Cookie: __Secure-" + cookie, 401},
		{"an empty cookie", "Cookie: punchcard-till=", 401},
		{"an unknown token", "Cookie: punchcard-till=tdk_test_" + strings.Repeat("A", 43), 401},
		{"with a bad bearer token", "Authorization: Bearer tdk_test_" + strings.Repeat("A", 43), 401},
		{"with another scheme", "Authorization: Basic eA==", 401},
		{"with a bearer token of its own",
			"Cookie: punchcard-till=x|Authorization: Bearer " + s.TillToken + "|Sec-Fetch-Site: cross-site", 200},
	} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			r := httptest.NewRequest(method, "/till/v1/me", nil)
			r.Host = own
			r.Header = http.Header{"Cookie": {cookie}, "Content-Type": {"application/json"}}
			for header := range strings.SplitSeq(c.headers, "|") {
				if name, value, _ := strings.Cut(header, ": "); name == "Host" {
					r.Host = value
				} else if name != "" {
					r.Header.Set(name, value)
				}
			}
			got := 200
			if _, err := guard.Identify(r); err != nil {
				got = kernel.AsError(err, till.Status).Status
			}
			if got != c.want {
				t.Errorf("%s: %s answers %d, want %d", c.name, method, got, c.want)
			}
		}
	}
	// The bearer token says which device calls, whatever the cookie says.
	r := s.Fetch("GET", s.Origin+"/till/v1/me", nil, http.Header{
		"Cookie": {cookie}, "Content-Type": {"application/json"}, "Authorization": {"Bearer " + other.Key},
	}).Want(200)
	if got := r.Str("location.id"); got != s.LocationIDs[1] {
		t.Errorf("the device is at %s", got)
	}
}

// TestCookieHost checks that the server accepts a request with the cookie only if it names one
// of the server's own hosts.
func TestCookieHost(t *testing.T) {
	s := start(t, func(c *app.Config) { c.PublicURL = "https://cards.example.com" })
	for host, want := range map[string]int{"cards.example.com": 200, "127.0.0.1": 200, "evil.example": 403} {
		req := require.Must(http.NewRequest("GET", s.Origin+"/till/v1/me", nil))
		req.Host = host
		req.Header = http.Header{
			"Cookie": {"__Secure-punchcard-till=" + s.TillToken}, "Content-Type": {"application/json"}, "Sec-Fetch-Site": {"same-origin"},
		}
		resp := require.Must(s.HTTP.Do(req))
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", host, resp.StatusCode, want)
		}
	}
}
