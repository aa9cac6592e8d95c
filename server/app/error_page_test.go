package app_test

import (
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/web"
)

// TestUnknownAddresses checks that a browser gets a page with a way back for an address or a method
// without a route, and that programs get JSON.
func TestUnknownAddresses(t *testing.T) {
	t.Parallel()
	serve, err := app.Start(app.Config{DB: t.TempDir() + "/test.db", Listen: "127.0.0.1:0", Limits: app.DefaultLimits()})
	noError(t, err)
	defer serve.Stop(t.Context())
	const browser = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
	for _, origin := range []string{serve.Origin, startWithMetrics(t).Origin} {
		for _, c := range []struct {
			method, path, back string
			status             int
		}{
			{"GET", "/dashbord", "/dashboard", 404},
			{"GET", "/docs/x", "/dashboard", 404},
			{"GET", "/x//y", "/dashboard", 404},
			{"GET", "/till/nothing", "/dashboard", 404},
			{"GET", "/c/a/b/c", "/lost", 404},
			{"GET", "/join", "/lost", 404},
			{"POST", "/docs", "/dashboard", 405},
			{"PUT", "/lost", "/lost", 405},
		} {
			r := fetch(t, c.method, origin+c.path, "Accept", browser, "Accept-Language", "de").Want(c.status)
			checkHeaders(t, r)
			if id := r.Header.Get("X-Request-Id"); !withPolicy(r, web.CSP) || r.Header.Get("Cache-Control") != "no-store" ||
				!strings.Contains(string(r.Body), id) ||
				!strings.Contains(string(r.Body), `href="`+c.back+`"`) ||
				!strings.Contains(string(r.Body), `lang="de"`) {
				t.Errorf("%s %s: %v %s", c.method, c.path, r.Header, r.Body)
			}
			if c.method != "GET" {
				continue
			}
			head := fetch(t, "HEAD", origin+c.path, "Accept", browser, "Accept-Language", "de").Want(c.status).Header
			if head.Get("Content-Type") != r.Header.Get("Content-Type") || head.Get("Content-Length") != r.Header.Get("Content-Length") {
				t.Errorf("HEAD %s: %v", c.path, head)
			}
			if got := fetch(t, "GET", origin+c.path, "Accept", "*/*").Want(c.status).Header.Get("Content-Type"); got != "application/json" {
				t.Errorf("%s: a program gets %s", c.path, got)
			}
		}
		for _, path := range []string{
			"/api/public/v1/nothing", "/api/x", "//api/public/v1/me", "/till/v1/nothing", "/mcp/x", "/dev/nothing", "/assets/none.css",
			"/healthz/x",
		} {
			if got := fetch(t, "GET", origin+path, "Accept", browser).Header.Get("Content-Type"); got != "application/json" &&
				!strings.HasPrefix(got, "text/plain") {
				t.Errorf("%s: a browser gets %s", path, got)
			}
		}
	}
}
