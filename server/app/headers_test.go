package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/metrics"
)

// startWatched serves a demo shop, and metrics.
func startWatched(t *testing.T, changes ...func(*app.Config)) *app.App {
	t.Helper()
	return serving(t, func(c *app.Config) {
		c.HoldWebhooks, c.Metrics, c.MetricsListen = true, metrics.New(), "127.0.0.1:0"
		for _, change := range changes {
			change(c)
		}
	})
}

// ask makes a request; what comes back is read.
func ask(t *testing.T, method, url string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

var (
	hashes = regexp.MustCompile(`; style-src ('sha256-[A-Za-z0-9+/]{43}=' ?)+$`)
	param  = regexp.MustCompile(`:\w+`)
)

// guarded holds an answer to what a browser must be told of it.
func guarded(t *testing.T, resp *http.Response) {
	t.Helper()
	h, at := resp.Header, resp.Request.Method+" "+resp.Request.URL.Path
	if h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s: %d may be taken for another type", at, resp.StatusCode)
	}
	for _, name := range []string{"Server", "X-Powered-By", "Access-Control-Allow-Origin", "Set-Cookie"} {
		if v := h.Get(name); v != "" {
			t.Errorf("%s: %s: %s", at, name, v)
		}
	}
	// What only a bearer gets no browser asks for by itself.
	if path := resp.Request.URL.Path; resp.StatusCode < 300 && (strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/till/v1/")) {
		return
	}
	csp := h.Get("Content-Security-Policy")
	page := strings.HasPrefix(h.Get("Content-Type"), "text/html") && resp.StatusCode != http.StatusSeeOther
	if rest := hashes.ReplaceAllString(csp, ""); rest != "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'" || (rest != csp) != page {
		t.Errorf("%s: %d with the policy %q", at, resp.StatusCode, csp)
	}
	if h.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%s: %d tells others its address", at, resp.StatusCode)
	}
}

// TestHeadersOfEveryAnswer calls every route there is, as a browser and as a
// program, with and without a key, found and not found, and paths and methods
// that there are not.
func TestHeadersOfEveryAnswer(t *testing.T) {
	a := startWatched(t)
	_, issued := ask(t, "POST", a.Ready.BaseURL+"/programs/"+a.Ready.ProgramIDs["standard"]+"/cards", "Authorization", "Bearer "+a.Ready.APIKey)
	var card struct {
		InstallURL string `json:"install_url"`
	}
	if err := json.Unmarshal([]byte(issued), &card); err != nil || card.InstallURL == "" {
		t.Fatal(issued)
	}
	token := card.InstallURL[strings.LastIndexByte(card.InstallURL, '/')+1:]
	statuses := map[int]int{}
	pages := 0
	try := func(method, path string) {
		for _, headers := range [][]string{
			{"Accept", "text/html"}, {"Accept", "application/json"}, {},
			{"Authorization", "Bearer " + a.Ready.APIKey}, {"Authorization", "Bearer " + a.Ready.TillToken}, {"Accept", "text/html", "Content-Type", "application/x-www-form-urlencoded"},
		} {
			resp, body := ask(t, method, a.Origin+path, headers...)
			guarded(t, resp)
			statuses[resp.StatusCode]++
			if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
				pages++
				if regexp.MustCompile(`(?i)<script|<[^>]*\sstyle=|\son\w+="`).MatchString(body) {
					t.Errorf("%s %s runs or styles something inline", method, path)
				}
			}
		}
	}
	routes := a.Routes()
	if len(routes) < 50 {
		t.Fatalf("only %d routes", len(routes))
	}
	for _, route := range routes {
		method, pattern, _ := strings.Cut(route, " ")
		for _, id := range []string{"x", token, "%3Cscript%3E"} {
			path := param.ReplaceAllString(pattern, id)
			try(method, path)
			if path == pattern {
				break
			}
		}
		try("TRACE", param.ReplaceAllString(pattern, "x"))
		try(method, param.ReplaceAllString(pattern, "x")+"/")
		try(method, "/"+param.ReplaceAllString(pattern, "x"))
	}
	for _, path := range []string{"/", "/nothing", "/i/", "/i/a/b/c", "/favicon.ico", "/.git/config", "/mcp", "/metrics", "/debug/pprof/", "/dev/clock", "/dev/nothing"} {
		try("GET", path)
		try("POST", path)
		try("OPTIONS", path)
	}
	for _, status := range []int{200, 400, 401, 404, 405} {
		if statuses[status] == 0 {
			t.Errorf("no answer was %d", status)
		}
	}
	if pages < 10 {
		t.Errorf("only %d pages", pages)
	}
	// The page's form, which leads back to the page.
	req, _ := http.NewRequest("POST", card.InstallURL+"/install", strings.NewReader("platform=apple"))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusSeeOther {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	guarded(t, resp)
}

// TestMetricsAlone: on the address of metrics there is the scrape and nothing
// else, and it changes nothing.
func TestMetricsAlone(t *testing.T) {
	a := startWatched(t)
	base := strings.TrimSuffix(a.MetricsURL, "/metrics")
	queued := func() string {
		_, body := ask(t, "GET", a.Origin+"/dev/audit")
		return body
	}
	before := queued()
	for _, route := range append(a.Routes(), "GET /", "POST /metrics", "DELETE /metrics", "PUT /metrics", "GET /metrics/", "GET /debug/pprof/", "POST /dev/reset") {
		method, path, _ := strings.Cut(route, " ")
		resp, body := ask(t, method, base+param.ReplaceAllString(path, "x"), "Authorization", "Bearer "+a.Ready.APIKey)
		if want := map[bool]int{true: http.StatusMethodNotAllowed, false: http.StatusNotFound}[path == "/metrics"]; resp.StatusCode != want {
			t.Errorf("%s: %d, want %d: %s", route, resp.StatusCode, want, body)
		}
		guarded(t, resp)
	}
	resp, body := ask(t, "GET", a.MetricsURL)
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, "punchcard_build_info") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	guarded(t, resp)
	if after := queued(); after != before {
		t.Errorf("something was written: %s", after)
	}
}
