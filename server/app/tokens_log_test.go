package app_test

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

// TestTokensOfPathsAreNotLogged calls every route that has a token in its path, and paths that
// nearly are such routes, by every method, as a browser on a page of the server and of another
// origin, with success, refused, and with a server error. The log has the patterns and never the token.
func TestTokensOfPathsAreNotLogged(t *testing.T) {
	t.Parallel()
	const token = "k7qm2x9pk7qm2x9pk7qm2x9pk7qm2x9pk7qm2x9p"
	db := filepath.Join(t.TempDir(), "test.db")
	log := &servertest.Log{}
	logged := func(c *app.Config) {
		c.DB, c.AccessLog, c.Log = db, true, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	fixture := servertest.Start(t, logged, servertest.WithJournal)
	link := fixture.Post("/programs/"+fixture.ProgramIDs["standard"]+"/cards", nil).Want(201).Str("install_url")
	made := link[strings.LastIndexByte(link, '/')+1:]
	page := installedPage(t, fixture.App, made)
	patterns := []string{"/c/:token", "/i/:token", "/setup/:token", "/till/pair/:token", "/invite/:token", "/reset/:token"}
	walk := func(s *servertest.Server) {
		routes := 0
		for _, route := range s.App.Routes() {
			if _, pattern, _ := strings.Cut(route, " "); strings.Contains(pattern, ":token") {
				routes++
				if !slices.Contains(patterns, pattern) {
					patterns = append(patterns, pattern)
				}
			}
		}
		if routes < 2 {
			t.Fatalf("only %d routes have a token", routes)
		}
		for _, pattern := range patterns {
			for _, secret := range []string{token, made, page} {
				if secret == page && strings.HasSuffix(pattern, "/events") { // the answer does not end
					continue
				}
				callWithToken(s, param.ReplaceAllString(pattern, secret)+"?token="+secret, secret)
			}
			path := param.ReplaceAllString(pattern, token)
			for _, near := range []string{
				path + "/", path + "/x", "/" + path, path + "%2fx", strings.Replace(path, token, "%00"+token, 1),
			} {
				callWithToken(s, near, token)
			}
		}
	}
	walk(fixture)
	if err := fixture.App.Store.Close(); err != nil { // every request fails from now on
		t.Fatal(err)
	}
	walk(fixture)
	fixture.Stop()
	walk(servertest.Start(t, logged, func(c *app.Config) { c.Dev = nil }))

	text := log.String()
	for _, secret := range []string{token, made, page} {
		if at := strings.Index(text, secret); at >= 0 {
			t.Errorf("the log has a token: %s", text[max(0, at-200):at+100])
		}
	}
	for _, want := range []string{
		"route=/i/:token status=200", "route=/i/:token status=404", "route=/i/:token status=500", "status=403",
		"route=/i/:token/install status=303", "route=/c/:token status=200", "route=/c/:token status=404", "route=/c/:token status=500",
		"route=/c/:token/install status=303", "route=/c/:token/manifest.webmanifest status=200", `route="" status=404`, "request failed",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the log has no %s", want)
		}
	}
}

// callWithToken calls a path, which has a token, as a browser and as a program on a page of the server, and
// as a browser on a page of another origin.
func callWithToken(s *servertest.Server, path, token string) {
	s.T.Helper()
	for _, accept := range []string{"text/html", "application/json"} {
		for _, method := range []string{"GET", "POST", "BREW"} {
			s.Client.With("").Fetch(method, s.Origin+path, []byte("platform=apple&token="+token), http.Header{
				"Accept":       {accept},
				"Content-Type": {"application/x-www-form-urlencoded"},
				"Referer":      {s.Origin + path},
			})
		}
	}
	s.Client.With("").Fetch("POST", s.Origin+path, nil, http.Header{"Accept": {"text/html"}, "Origin": {"https://evil.example"}})
}

// TestCaddyfileHidesTokens checks that the log of Caddy hides the token of each path that has one, and all queries.
func TestCaddyfileHidesTokens(t *testing.T) {
	t.Parallel()
	routes := append(servertest.Start(t).App.Routes(), "GET /c/:token", "GET /c/:token/events", "GET /setup/:token",
		"GET /till/pair/:token", "GET /invite/:token", "GET /reset/:token")
	for _, name := range []string{"Caddyfile", "Caddyfile.two"} {
		file, err := os.ReadFile("../../deploy/" + name)
		noError(t, err)
		filter := regexp.MustCompile(`request>uri regexp (\S+) (\S+)\n`).FindStringSubmatch(string(file))
		if filter == nil {
			t.Fatalf("%s has no filter", name)
		}
		secrets := regexp.MustCompile(filter[1])
		check := func(uri, want string) {
			if got := secrets.ReplaceAllString(uri, filter[2]); got != want {
				t.Errorf("%s: %s is logged as %s, want %s", name, uri, got, want)
			}
		}
		for _, route := range routes {
			_, pattern, _ := strings.Cut(route, " ")
			if strings.Contains(pattern, ":token") {
				check(strings.ReplaceAll(pattern, ":token", "SECRET")+"?x=1", strings.ReplaceAll(pattern, ":token", "hidden")+"?hidden")
			}
		}
		for _, path := range []string{"/api/public/v1/cards/crd_x", "/dashboard/card/crd_x", "/docs", "/till/v1/me", "/"} {
			check(path, path)
			check(path+"?q=Ada&next=/c/SECRET?x", path+"?hidden")
		}
	}
}
