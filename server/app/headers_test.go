package app_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/metrics"
	"punchcard/server/servertest"
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

// ask makes a request with the headers given, which are name, value pairs.
func ask(t *testing.T, method, url string, headers ...string) *servertest.Reply {
	t.Helper()
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return anywhere.On(t).Fetch(method, url, nil, h)
}

var (
	hashes = regexp.MustCompile(`; style-src ('sha256-[A-Za-z0-9+/]{43}=' ?)+$`)
	param  = regexp.MustCompile(`:\w+`)
)

// checkHeaders checks what a browser must be told of an answer.
func checkHeaders(t *testing.T, r *servertest.Reply) {
	t.Helper()
	h, path := r.Header, r.Request.URL.Path
	at := r.Request.Method + " " + path
	if h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s: %d may be taken for another type", at, r.Status)
	}
	for _, name := range []string{"Server", "X-Powered-By", "Access-Control-Allow-Origin", "Set-Cookie"} {
		if v := h.Get(name); v != "" {
			t.Errorf("%s: %s: %s", at, name, v)
		}
	}
	// Browsers do not ask by themselves for what only a bearer gets.
	if r.Status < 300 && (strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/till/v1/")) {
		return
	}
	csp := h.Get("Content-Security-Policy")
	page := strings.HasPrefix(h.Get("Content-Type"), "text/html") && r.Status != http.StatusSeeOther
	if rest := hashes.ReplaceAllString(csp, ""); rest != "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'" || (rest != csp) != page {
		t.Errorf("%s: %d with the policy %q", at, r.Status, csp)
	}
	if h.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("%s: %d tells others its address", at, r.Status)
	}
}

// TestHeadersOfEveryAnswer calls every route there is, as a browser and as a
// program, with and without a key, found and not found, and paths and methods
// that there are not.
func TestHeadersOfEveryAnswer(t *testing.T) {
	a := startWatched(t)
	issued := ask(t, "POST", a.Ready.BaseURL+"/programs/"+a.Ready.ProgramIDs["standard"]+"/cards", "Authorization", "Bearer "+a.Ready.APIKey)
	var card struct {
		InstallURL string `json:"install_url"`
	}
	if err := json.Unmarshal(issued.Body, &card); err != nil || card.InstallURL == "" {
		t.Fatalf("%s", issued.Body)
	}
	token := card.InstallURL[strings.LastIndexByte(card.InstallURL, '/')+1:]
	statuses := map[int]int{}
	pages := 0
	try := func(method, path string) {
		for _, headers := range [][]string{
			{"Accept", "text/html"}, {"Accept", "application/json"}, {},
			{"Authorization", "Bearer " + a.Ready.APIKey}, {"Authorization", "Bearer " + a.Ready.TillToken}, {"Accept", "text/html", "Content-Type", "application/x-www-form-urlencoded"},
		} {
			resp := ask(t, method, a.Origin+path, headers...)
			checkHeaders(t, resp)
			statuses[resp.Status]++
			if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
				pages++
				if regexp.MustCompile(`(?i)<script|<[^>]*\sstyle=|\son\w+="`).Match(resp.Body) {
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
	resp := anywhere.On(t).Fetch("POST", card.InstallURL+"/install", []byte("platform=apple"), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}).Want(http.StatusSeeOther)
	checkHeaders(t, resp)
}

// TestMetricsAlone: on the address of metrics there is the scrape and nothing
// else, and it changes nothing.
func TestMetricsAlone(t *testing.T) {
	a := startWatched(t)
	base := strings.TrimSuffix(a.MetricsURL, "/metrics")
	queued := func() string {
		return string(ask(t, "GET", a.Origin+"/dev/audit").Body)
	}
	before := queued()
	for _, route := range append(a.Routes(), "GET /", "POST /metrics", "DELETE /metrics", "PUT /metrics", "GET /metrics/", "GET /debug/pprof/", "POST /dev/reset") {
		method, path, _ := strings.Cut(route, " ")
		resp := ask(t, method, base+param.ReplaceAllString(path, "x"), "Authorization", "Bearer "+a.Ready.APIKey)
		if want := map[bool]int{true: http.StatusMethodNotAllowed, false: http.StatusNotFound}[path == "/metrics"]; resp.Status != want {
			t.Errorf("%s: %d, want %d: %s", route, resp.Status, want, resp.Body)
		}
		checkHeaders(t, resp)
	}
	resp := ask(t, "GET", a.MetricsURL)
	if resp.Status != http.StatusOK || !strings.Contains(string(resp.Body), "punchcard_build_info") {
		t.Errorf("%d %s", resp.Status, resp.Body)
	}
	checkHeaders(t, resp)
	if after := queued(); after != before {
		t.Errorf("something was written: %s", after)
	}
}
