package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
	"punchcard/store"
)

// refusal is what checkForeign finds fault with in a request; empty: nothing.
type refusal string

const (
	answered refusal = ""
	host     refusal = "Host"
	origin   refusal = "browser"
)

// foreign asks checkForeign about a request and returns what it found fault with.
func foreign(a *App, r *http.Request) refusal {
	switch err := a.checkForeign(a.hosts, r); {
	case err == nil:
		return answered
	case strings.Contains(err.Error(), "Host header"):
		return host
	default:
		return origin
	}
}

// serving returns a server that does not run, for its rules alone.
func serving(t *testing.T, c Config) *App {
	t.Helper()
	hosts, err := c.hosts()
	noError(t, err)
	return &App{conf: c, hosts: hosts}
}

// Paths by who calls them. Their rules hold whether there is a route or not.
var (
	peoples = strings.Fields(`
		/setup /setup/ /setup/T /sign-in /sign-out /invite/T /reset/T /reset /dashboard /dashboard/ /dashboard/program/prg_x
		/dashboard/x/y/z /dashboard//x /till /till/ /till/pair/T /till/sw.js /till/v2/me /till/v1x /till/v1%2Fme /till/openapi.jsonx
		/till/docs.x /dashboard/../till/v1/me /mcp /mcp/ /mcp/x
	`)
	publicPaths = strings.Fields(`
		/ /till/v1 /till/v1/me /till/v1/cards/x/stamps /till/openapi.json /till/docs /api/public/v1/me /api/public/v1/programs/x/cards
		/docs /openapi.json /pricing /healthz /readyz /c/T /c/T/events /c/T/install /c/T/manifest.webmanifest /i/T /i/T/install /sw.js
		/join/slug /lost /assets/app.css /nothing /dashboards /setups/x /Dashboard /x/dashboard /mcpx
	`)
)

// TestForeignHosts checks which paths answer to which hosts, under serve and under dev.
func TestForeignHosts(t *testing.T) {
	t.Parallel()
	own := []string{"cards.example.com", "Cards.Example.com.:443", "localhost:8080", "127.0.0.1", "[::1]:1", "shop.test:80"}
	others := []string{
		"evil.example", "evil.example:443", "cards.example.com.evil.example", "www.cards.example.com", "192.168.1.5", "0.0.0.0:8080",
		"shop.test:x", "",
	}
	serve := serving(t, Config{PublicURL: "https://cards.example.com", AllowHosts: []string{"shop.test"}, Listen: "192.168.1.5:8080"})
	dev := serving(t, Config{PublicURL: "https://cards.example.com", AllowHosts: []string{"shop.test"}, Dev: &Dev{}})
	try := func(a *App, name, path, at string, want refusal) {
		t.Helper()
		for _, method := range []string{"GET", "HEAD", "POST", "DELETE", "OPTIONS", "BREW"} {
			r := httptest.NewRequest(method, "/", nil)
			r.URL.Path, r.Host = path, at
			if got := foreign(a, r); got != want {
				t.Errorf("%s: %s %s of %q: refused for %q, want %q", name, method, path, at, got, want)
			}
		}
	}
	for _, at := range own {
		for _, path := range append(append([]string{}, peoples...), publicPaths...) {
			try(serve, "serve", path, at, answered)
			try(dev, "dev", path, at, answered)
		}
	}
	for _, at := range others {
		for _, path := range peoples {
			try(serve, "serve", path, at, host)
			try(dev, "dev", path, at, host)
		}
		for _, path := range publicPaths {
			try(serve, "serve", path, at, answered)
			try(dev, "dev", path, at, host)
		}
	}
}

// TestDefaultHosts checks which hosts serve has without a public URL.
func TestDefaultHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		listen, host string
		dev          bool
		want         refusal
	}{
		{"192.168.1.5:8080", "192.168.1.5:8080", false, answered},
		{"192.168.1.5:8080", "192.168.1.6:8080", false, host},
		{"[2001:db8::5]:8080", "[2001:db8::5]:8080", false, answered},
		{"[fe80::1%eth0]:8080", "[fe80::1]:8080", false, host},
		{"0.0.0.0:8080", "0.0.0.0:8080", false, host},
		{"[::]:8080", "[::]:8080", false, host},
		{":8080", "192.168.1.5:8080", false, host},
		{":8080", "localhost:8080", false, answered},
		{"shop.test:8080", "shop.test:8080", false, host},
		{"192.168.1.5:8080", "192.168.1.5:8080", true, host}, // dev needs --allow-host
	} {
		conf := Config{Listen: c.listen}
		if c.dev {
			conf.Dev = &Dev{}
		}
		r := httptest.NewRequest("GET", "/dashboard", nil)
		r.Host = c.host
		if got := foreign(serving(t, conf), r); got != c.want {
			t.Errorf("%+v: refused for %q", c, got)
		}
	}
}

// TestForeignOrigins checks which requests of browsers are taken for those of another origin, by path.
func TestForeignOrigins(t *testing.T) {
	t.Parallel()
	type sent struct{ site, origin string }
	same := []sent{
		{"same-origin", "https://cards.example.com"},
		{"none", ""},
		{"", ""},
		{"", "https://cards.example.com"},
		{"same-origin", "null"},
	}
	foreigners := []sent{
		{"cross-site", "https://evil.example"},
		{"same-site", "https://www.example.com"},
		{"cross-site", "null"},
		{"", "https://evil.example"},
		{"cross-site", ""},
	}
	unsaid := sent{"", "null"} // of a form on a page without a referrer, in a browser that does not say Sec-Fetch-Site
	https := serving(t, Config{PublicURL: "https://cards.example.com"})
	plain := serving(t, Config{PublicURL: "http://cards.example.com"})
	dev := serving(t, Config{PublicURL: "http://cards.example.com", Dev: &Dev{}})
	try := func(a *App, path string, s sent, want refusal) {
		t.Helper()
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "GET", "HEAD"} {
			r := httptest.NewRequest(method, "https://cards.example.com"+path, nil)
			for name, value := range map[string]string{"Sec-Fetch-Site": s.site, "Origin": s.origin} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			expect := want
			if method == "GET" || method == "HEAD" {
				expect = answered
			}
			if got := foreign(a, r); got != expect {
				t.Errorf("%s: %s %s with %+v: refused for %q, want %q", a.conf.PublicURL, method, path, s, got, expect)
			}
		}
	}
	for _, path := range []string{"/dashboard/new/program", "/sign-in", "/setup/T", "/till/pair/T", "/mcp"} {
		for _, s := range same {
			try(https, path, s, answered)
		}
		for _, s := range foreigners {
			try(https, path, s, origin)
			try(plain, path, s, origin)
			try(dev, path, s, origin)
		}
		for _, a := range []*App{https, plain, dev} {
			try(a, path, unsaid, origin)
		}
	}
	for _, path := range []string{"/dev/sign-in", "/dev/reset", "/api/public/v1/me"} {
		try(dev, path, unsaid, origin)
	}
	for _, s := range append(foreigners, unsaid) {
		for _, path := range publicPaths { // which need a key, or check the origin themselves
			try(https, path, s, answered)
		}
	}
}

// TestRefuseForeign checks that a refused request does not reach the handler, and that its answer has the
// form of all errors.
func TestRefuseForeign(t *testing.T) {
	t.Parallel()
	a := startServe(t, "https://cards.example.com")
	reached := 0
	h := a.refuseForeign(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }), func() *instance { return a.instance })
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "https://cards.example.com/dashboard/stub", nil))
	if reached != 1 {
		t.Error("the handler was not reached")
	}
	for path, want := range map[string]int{
		"/dashboard": 403, "/dashboard/stub": 403, "/till/": 403, "/till%2Fv1/me": 404, "/till/v1%2Fme": 403, "/mcp": 403, "/nothing": 404,
		"/till/v1/me": 401, "/healthz": 200,
	} {
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "evil.example"
		w := httptest.NewRecorder()
		a.instance.ServeHTTP(w, r)
		if w.Code != want || w.Code != 200 && !strings.Contains(w.Body.String(), `"request_id":"req_`) ||
			w.Code == 403 && !strings.Contains(w.Body.String(), string(store.Unauthorized)) {
			t.Errorf("%s: %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
}

// TestRoot checks that serve leads from / to the dashboard, on every host.
func TestRoot(t *testing.T) {
	t.Parallel()
	a := startServe(t, "")
	for method, want := range map[string]int{"GET": 303, "HEAD": 303, "POST": 405} {
		r := httptest.NewRequest(method, "/", nil)
		r.Host = "192.168.1.5"
		w := httptest.NewRecorder()
		a.instance.ServeHTTP(w, r)
		if w.Code != want || w.Code == 303 && w.Header().Get("Location") != "/dashboard" {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
	}
}

var noError = require.NoError

// startServe starts a server as "punchcard serve" does, which ends with the test.
func startServe(t *testing.T, publicURL string) *App {
	t.Helper()
	a, err := Start(Config{DB: t.TempDir() + "/test.db", Listen: "127.0.0.1:0", PublicURL: publicURL, Limits: DefaultLimits()})
	noError(t, err)
	t.Cleanup(func() { a.Stop(context.Background()) })
	return a
}
