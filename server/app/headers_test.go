package app_test

import (
	"bytes"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/metrics"
	"punchcard/server/servertest"
	"punchcard/server/web"
	"punchcard/store"
)

// startWithMetrics starts a demo shop that serves metrics.
func startWithMetrics(t *testing.T, changes ...func(*app.Config)) *app.App {
	t.Helper()
	return startServer(t, append(changes, servertest.WithJournal, func(c *app.Config) {
		c.HoldWebhooks, c.Metrics, c.MetricsListen = true, metrics.New(), "127.0.0.1:0"
	})...)
}

// fetch makes a request with the given headers, which are name, value pairs.
func fetch(t *testing.T, method, url string, headers ...string) *servertest.Reply {
	t.Helper()
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return anyURL.On(t).Fetch(method, url, nil, h)
}

var (
	hashes = regexp.MustCompile(
		`; script-src 'none'; img-src 'none'; connect-src 'none'; worker-src 'none'; manifest-src 'none'; ` +
			`style-src ('sha256-[A-Za-z0-9+/]{43}=' ?)+$`,
	)
	styleHash = regexp.MustCompile(` 'sha256-[A-Za-z0-9+/]{43}='`)
	param     = regexp.MustCompile(`:\w+`)
	data      = regexp.MustCompile(`<script type="application/json" id="config">\{[^<]*\}</script>`)
	module    = regexp.MustCompile(`<script type="module" src="/(till/)?assets/[a-z]+\.[0-9a-f]{12}\.js"></script>`)
	inline    = regexp.MustCompile(`(?i)<script|<[^>]*\sstyle=|\son\w+="`)
)

// isPeoplePage reports whether a path is the start page or below those on which people sign
// in and run their shops. Their pages and those of holders load a stylesheet and scripts; no other
// page does.
func isPeoplePage(path string) bool {
	first, _, _ := strings.Cut(strings.TrimLeft(path, "/"), "/")
	return path != "/till/docs" &&
		slices.Contains([]string{"", "setup", "sign-in", "sign-out", "invite", "reset", "dashboard", "till"}, first)
}

// tillFiles is the policy of the files of the till page, which may be workers.
const tillFiles = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'"

// isTillPage reports whether an answer is the page that may use the camera.
func isTillPage(r *servertest.Reply) bool {
	return r.Status == 200 && r.Request.URL.Path == "/till/"
}

// isHolderPage reports whether a path is that of a page for the holder of a card.
func isHolderPage(path string) bool {
	path = strings.TrimLeft(path, "/")
	return strings.HasPrefix(path, "c/") || strings.HasPrefix(path, "i/") || strings.HasPrefix(path, "join/") || path == "lost"
}

// withPolicy reports whether an answer has a policy, apart from hashes of styles.
func withPolicy(r *servertest.Reply, policy string) bool {
	return styleHash.ReplaceAllString(r.Header.Get("Content-Security-Policy"), "") == policy
}

// checkHeaders checks the headers that protect a browser.
func checkHeaders(t *testing.T, r *servertest.Reply) {
	t.Helper()
	h, path := r.Header, r.Request.URL.Path
	at := r.Request.Method + " " + path
	if h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s: %d without nosniff", at, r.Status)
	}
	for _, name := range []string{"Server", "X-Powered-By", "Access-Control-Allow-Origin", "Set-Cookie"} {
		if v := h.Get(name); v != "" && at != "POST /till/unpair" && at != "POST /dev/demo-till" {
			t.Errorf("%s: %s: %s", at, name, v)
		}
	}
	// The rest does not apply to answers that need a bearer token, which browsers do not send by
	// themselves.
	if r.Status < 300 && (strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/till/v1/")) {
		return
	}
	devices := "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"
	csp, page := h.Get("Content-Security-Policy"), strings.HasPrefix(h.Get("Content-Type"), "text/html")
	installable := strings.Replace(web.CSP, "worker-src 'none'; manifest-src 'none'", "worker-src 'self'; manifest-src 'self'", 1)
	switch peoples := isPeoplePage(path); {
	case isTillPage(r):
		if devices = strings.Replace(devices, "camera=()", "camera=(self)", 1); csp != web.ScannerCSP {
			t.Errorf("%s: %d has the policy %q", at, r.Status, csp)
		}
	case csp == tillFiles:
		if page || !strings.HasPrefix(path, "/till/") {
			t.Errorf("%s: %d has the policy of the till's files", at, r.Status)
		}
	case peoples && withPolicy(r, web.CSP),
		page && r.Status >= 400 && withPolicy(r, web.CSP),
		isHolderPage(path) && withPolicy(r, installable):
	case path == "/sw.js" && r.Status == http.StatusOK:
		if want := "default-src 'none'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"; csp != want {
			t.Errorf("%s: the policy is %q", at, csp)
		}
	default:
		rest := hashes.ReplaceAllString(csp, "")
		if rest != "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'" ||
			(rest != csp) != (page && r.Status != http.StatusSeeOther) ||
			(peoples || isHolderPage(path)) && page {
			t.Errorf("%s: %d has the policy %q", at, r.Status, csp)
		}
	}
	if got := h.Get("Permissions-Policy"); got != devices {
		t.Errorf("%s: %d permits %q", at, r.Status, got)
	}
	referrer := h.Get("Referrer-Policy")
	if form := isPeoplePage(path) && page && withPolicy(r, web.CSP); referrer != "no-referrer" && !(form && referrer == "same-origin") {
		t.Errorf("%s: %d has the Referrer-Policy %q", at, r.Status, referrer)
	}
}

// installedPage returns the token of the page of an install link's card.
func installedPage(t *testing.T, a *app.App, token string) (page string) {
	t.Helper()
	noError(t, a.Store.View(0, func(v *store.View) error {
		h, err := v.HolderCard(token)
		page = h.PageToken
		return err
	}))
	return page
}

// signIn begins a session of a demo shop's owner and returns its cookie.
func signIn(t *testing.T, a *app.App) string {
	t.Helper()
	r := anyURL.On(t).
		Fetch("POST", a.Origin+"/dev/sign-in", []byte(`{"as":"owner"}`), http.Header{"Content-Type": {"application/json"}}).
		Want(200)
	return r.Str("cookie") + "=" + r.Str("token")
}

// headersTest calls a server as a browser and as a program, and checks the headers of each answer.
type headersTest struct {
	t        *testing.T
	a        *app.App
	session  string // the cookie of the owner
	page     string // the token of the page of a card
	statuses map[int]int
	pages    int
	checked  map[string]bool // pages without their request ids
}

// call makes a request and checks the headers, and that a page has no inline script or style. A script that is data is none.
func (c *headersTest) call(method, path string, headers ...string) {
	c.t.Helper()
	resp := fetch(c.t, method, c.a.Origin+path, headers...)
	checkHeaders(c.t, resp)
	c.statuses[resp.Status]++
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html") {
		return
	}
	c.pages++
	body := bytes.ReplaceAll(resp.Body, []byte(resp.Header.Get("X-Request-Id")), nil)
	if c.checked[string(body)] {
		return
	}
	c.checked[string(body)] = true
	if isPeoplePage(resp.Request.URL.Path) || isHolderPage(resp.Request.URL.Path) || resp.Status >= 400 {
		body = data.ReplaceAll(module.ReplaceAll(body, nil), nil)
	}
	if inline.Match(body) {
		c.t.Errorf("%s %s has an inline script or style", method, path)
	}
}

// callAsStranger calls a path without a key, as a browser and as a program.
func (c *headersTest) callAsStranger(method, path string) {
	c.t.Helper()
	c.call(method, path, "Accept", "text/html")
	c.call(method, path)
}

// callAsEverybody calls a path with and without the key of its API, and a path of GET with the session too.
func (c *headersTest) callAsEverybody(method, path string) {
	c.t.Helper()
	if method == http.MethodGet && path == "/c/"+c.page+"/events" { // the answer to GET does not end
		method = http.MethodHead
	}
	c.callAsStranger(method, path)
	key := c.a.Ready.APIKey
	if strings.HasPrefix(path, "/till/") {
		key = c.a.Ready.TillToken
	}
	c.call(method, path, "Authorization", "Bearer "+key)
	c.call(method, path, "Accept", "text/html", "Content-Type", "application/x-www-form-urlencoded")
	if method != http.MethodGet { // it could end the session
		return
	}
	if strings.HasSuffix(path, "/events") { // the answer to GET does not end
		method = http.MethodHead
	}
	c.call(method, path, "Accept", "text/html", "Cookie", c.session)
}

// TestHeadersOfEveryAnswer calls every route as a browser and as a program, with and without a key,
// with known and unknown ids, and also unknown paths and methods. It calls the pages of people as
// somebody who is signed in, too.
func TestHeadersOfEveryAnswer(t *testing.T) {
	a := startWithMetrics(t)
	issued := fetch(
		t, "POST",
		a.Ready.BaseURL+"/programs/"+a.Ready.ProgramIDs["standard"]+"/cards",
		"Authorization",
		"Bearer "+a.Ready.APIKey,
	)
	link := issued.Want(http.StatusCreated).Str("install_url")
	token := link[strings.LastIndexByte(link, '/')+1:]
	c := &headersTest{
		t:        t,
		a:        a,
		session:  signIn(t, a),
		page:     installedPage(t, a, token),
		statuses: map[int]int{},
		checked:  map[string]bool{},
	}
	routes := a.Routes()
	if len(routes) < 50 {
		t.Fatalf("only %d routes", len(routes))
	}
	for _, route := range servertest.Sample(routes) {
		method, pattern, _ := strings.Cut(route, " ")
		ids := []string{"x", "%3Cscript%3E"}
		if strings.Contains(pattern, ":token") {
			ids = append(ids, token, c.page)
		}
		for _, id := range ids {
			path := param.ReplaceAllString(pattern, id)
			c.callAsEverybody(method, path)
			if path == pattern {
				break
			}
		}
		path := param.ReplaceAllString(pattern, "x")
		c.callAsStranger("TRACE", path)
		c.callAsStranger(method, path+"/")
		c.callAsStranger(method, "/"+path)
	}
	for _, path := range strings.Fields(`
		/ /nothing /i/ /i/a/b/c /favicon.ico /.git/config /mcp /metrics /debug/pprof/ /dev/clock /dev/nothing
	`) {
		c.callAsEverybody("GET", path)
		c.callAsEverybody("POST", path)
		c.callAsEverybody("OPTIONS", path)
	}
	for _, status := range []int{200, 400, 401, 404, 405} {
		if c.statuses[status] == 0 {
			t.Errorf("no answer was %d", status)
		}
	}
	if c.pages < 10 {
		t.Errorf("only %d pages", c.pages)
	}
	// The form on the holder's page leads back to the page.
	resp := anyURL.On(t).
		Fetch("POST", link+"/install", []byte("platform=apple"), http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}).
		Want(http.StatusSeeOther)
	checkHeaders(t, resp)
}

// TestMetricsAlone checks that the metrics address serves nothing but the metrics and writes
// nothing.
func TestMetricsAlone(t *testing.T) {
	a := startWithMetrics(t)
	base := strings.TrimSuffix(a.MetricsURL, "/metrics")
	audits := func() string {
		return string(fetch(t, "GET", a.Origin+"/dev/audit").Body)
	}
	before := audits()
	others := []string{"GET /", "POST /metrics", "DELETE /metrics", "PUT /metrics", "GET /metrics/", "GET /debug/pprof/", "POST /dev/reset"}
	for _, route := range append(a.Routes(), others...) {
		method, path, _ := strings.Cut(route, " ")
		resp := fetch(t, method, base+param.ReplaceAllString(path, "x"), "Authorization", "Bearer "+a.Ready.APIKey)
		if want := map[bool]int{true: http.StatusMethodNotAllowed, false: http.StatusNotFound}[path == "/metrics"]; resp.Status != want {
			t.Errorf("%s: %d, want %d: %s", route, resp.Status, want, resp.Body)
		}
		checkHeaders(t, resp)
	}
	resp := fetch(t, "GET", a.MetricsURL)
	if resp.Status != http.StatusOK || !strings.Contains(string(resp.Body), "punchcard_build_info") {
		t.Errorf("%d %s", resp.Status, resp.Body)
	}
	checkHeaders(t, resp)
	if after := audits(); after != before {
		t.Errorf("something was written: %s", after)
	}
}
