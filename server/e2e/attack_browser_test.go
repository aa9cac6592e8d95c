package e2e

import (
	"crypto/tls"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// browsed makes a request as a browser does that thinks the server is host. After an
// empty header comes the body.
func (p *process) browsed(t *testing.T, request, host string, headers ...string) *servertest.Reply {
	t.Helper()
	text := request + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n"
	for _, h := range headers {
		text += h + "\r\n"
	}
	method, _, _ := strings.Cut(request, " ")
	return p.dial(t).send(text + "\r\n").receive(method)
}

// reached has requests for each kind of thing that a fixture serves.
var reached = []string{
	"GET /", "GET /dev/clock", "GET /dev/nothing", "POST /dev/reset", "POST /%64ev/reset", "POST //dev/reset", "POST /dev/receiver/x",
	"GET /api/public/v1/me", "GET /till/v1/me", "POST /i/x/install", "GET /docs", "GET /healthz",
	"OPTIONS *", "HEAD /dev/clock", "BREW /dev/reset",
}

// TestAttackRebinding has a page on the internet whose name resolves to this machine
// call a fixture. It gets 403 on every path, and has no effect. Names that the operator
// allows, and that of the public URL, are answered.
func TestAttackRebinding(t *testing.T) {
	t.Parallel()
	p := startDev(t, "--allow-host", "punchcard,192.168.1.5", "--public-url", "https://cards.example.com")
	p.clientsLeave = true
	made := issueCard(p.demo(), p.ready.ProgramIDs["standard"], `{"external_ref":"kept"}`)
	for _, host := range []string{"evil.example", "127.0.0.1.evil.example", "punchcard.evil.example", "192.168.1.6", ""} {
		for _, request := range reached {
			if r := p.browsed(t, request, host); r.Status != http.StatusForbidden {
				t.Errorf("%s of %q: %d %s", request, host, r.Status, r.Body)
			}
		}
	}
	for _, host := range []string{"LOCALHOST:1", "[::1]:8080", "Punchcard:8080", "192.168.1.5:8080", "cards.example.com"} {
		if r := p.browsed(t, "GET /dev/clock", host); r.Status != http.StatusOK {
			t.Errorf("%q: %d %s", host, r.Status, r.Body)
		}
	}
	p.demo().Get("/cards/" + made.ID).Want(200)
	if r := p.browsed(t, "POST /dev/settle", "evil.example", "X-Forwarded-Host: localhost",
		"Forwarded: host=localhost"); r.Status != http.StatusForbidden {
		t.Errorf("forwarded: %d", r.Status)
	}
}

// TestAttackCrossOrigin has a page on the internet make a browser send what needs no
// permission of CORS: forms, texts and empty bodies.
func TestAttackCrossOrigin(t *testing.T) {
	t.Parallel()
	p := startDev(t)
	p.clientsLeave = true
	made := issueCard(p.demo(), p.ready.ProgramIDs["standard"], `{"external_ref":"kept"}`)
	install := "POST " + made.InstallURL[strings.Index(made.InstallURL, "/i/"):] + "/install"
	for _, origin := range [][]string{
		{"Sec-Fetch-Site: cross-site", "Origin: https://evil.example"},
		{"Sec-Fetch-Site: same-site", "Origin: http://localhost:9090"},
		{"Origin: http://127.0.0.1:9090"},
	} {
		for _, body := range [][]string{
			{},
			{"Content-Type: text/plain;charset=UTF-8", "Content-Length: 2", "", "{}"},
			{"Content-Type: application/x-www-form-urlencoded", "Content-Length: 3", "", "a=b"},
			{"Content-Type: application/json", "Content-Length: 2", "", "{}"},
		} {
			for _, request := range []string{
				"POST /dev/reset", "POST /dev/cards/" + made.ID + "/delete", "DELETE /dev/requests", "PUT /dev/receiver/x",
				"POST /api/public/v1/programs/x/cards", "POST /till/v1/cards/x/stamps", install, "POST /nothing",
			} {
				r := p.browsed(t, request, "127.0.0.1", append(origin[:len(origin):len(origin)], body...)...)
				if r.Status != http.StatusForbidden {
					t.Errorf("%s with %v %v: %d %s", request, origin, body, r.Status, r.Body)
				}
			}
		}
	}
	var card struct{ Status string }
	p.demo().Get("/cards/" + made.ID).Want(200).Decode(&card)
	if card.Status != "invited" {
		t.Errorf("the card is %s", card.Status)
	}
	// A page of the server itself, the address bar and programs are answered.
	for _, headers := range [][]string{
		{"Sec-Fetch-Site: same-origin", "Origin: http://127.0.0.1"}, {"Sec-Fetch-Site: none"}, {"Origin: http://127.0.0.1"}, {},
	} {
		if r := p.browsed(t, "POST /dev/settle", "127.0.0.1", headers...); r.Status != http.StatusOK {
			t.Errorf("%v: %d %s", headers, r.Status, r.Body)
		}
	}
	for _, request := range []string{
		"GET /docs", "GET " + made.InstallURL[strings.Index(made.InstallURL, "/i/"):],
	} { // a link on another page
		if r := p.browsed(t, request, "127.0.0.1", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"); r.Status != http.StatusOK ||
			r.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", request, r.Status, r.Header)
		}
	}
}

// TestAttackPaths sends paths that would lead to another route if they were cleaned up. None
// reaches another route than the one that it spells, and none causes a server error.
func TestAttackPaths(t *testing.T) {
	t.Parallel()
	p := startDev(t)
	p.clientsLeave = true
	made := issueCard(p.demo(), p.ready.ProgramIDs["standard"], `{}`)
	link := made.InstallURL[strings.Index(made.InstallURL, "/i/"):]
	for _, path := range []string{
		"//dev/reset", "/dev//reset", "/dev/./reset", "/i/../dev/reset", "/i/%2e%2e/dev/reset", "/dev%2freset", "/dev%5creset",
		"/dev/reset/",
		"/dev/reset%00", "/dev/reset;x", "/DEV/reset", "/dev/cards//lock", "/dev/cards/%2e%2e/lock", "/dev/cards/..%2f..%2freset/lock",
		"/dev/cards/" + made.ID + "%00/lock", "/i//install", "/i" + link[2:] + "//install", "//i" + link[2:] + "/install",
		"/i/" + "%2f" + link[3:] + "/install", link + "/../install", link + "%2finstall",
	} {
		r := p.browsed(t, "POST "+path, "127.0.0.1", "Content-Type: application/x-www-form-urlencoded", "Content-Length: 14", "",
			"platform=apple")
		if r.Status != http.StatusNotFound && r.Status != http.StatusMethodNotAllowed && r.Status != http.StatusUnsupportedMediaType {
			t.Errorf("POST %s: %d %s", path, r.Status, r.Body)
		}
		if strings.Contains(path, "//") && !strings.Contains(string(r.Body), "No such path.") {
			t.Errorf("POST %s, whose empty segment is no id: %s", path, r.Body)
		}
	}
	for _, path := range []string{
		"/i//", "/i/%00", "/i/..%2f..%2fdev%2fclock", "/i/%ff%fe", "/i/" + strings.Repeat("x", 30_000), "//i" + link[2:],
		link + "/", link + "%00",
	} {
		for _, accept := range []string{"text/html", "application/json"} {
			if r := p.browsed(t, "GET "+path, "127.0.0.1", "Accept: "+accept); r.Status != http.StatusNotFound ||
				strings.Contains(string(r.Body), "passwd") {
				t.Errorf("GET %.60s: %d %.200s", path, r.Status, r.Body)
			}
		}
	}
	var card struct{ Status string }
	p.demo().Get("/cards/" + made.ID).Want(200).Decode(&card)
	if card.Status != "invited" {
		t.Errorf("the card is %s", card.Status)
	}
}

// TestAttackDowngrade checks that every kind of answer over the server's own TLS tells
// browsers to use only https from then on, and that no answer over plain http does.
func TestAttackDowngrade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	roots := servertest.WriteCertificate(t, dir, "server")
	p := startServe(t, filepath.Join(dir, "shop.db"), "--tls-cert", filepath.Join(dir, "cert.pem"), "--tls-key",
		filepath.Join(dir, "key.pem"), "--metrics-listen", "127.0.0.1:0")
	plain := startServe(t, filepath.Join(dir, "plain.db"))
	client := newClient(t, p.origin, "").Via(&http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
	})
	for _, request := range []string{
		"GET /docs", "GET /healthz", "GET /readyz", "GET /openapi.json", "GET /nothing", "GET /i/x", "POST /i/x/install",
		"GET /api/public/v1/me", "BREW /docs", "GET /till/v1/me",
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := client.Fetch(method, p.origin+path, nil, nil).Header.Values("Strict-Transport-Security"); len(got) != 1 ||
			got[0] != "max-age=31536000" {
			t.Errorf("%s: %q", request, got)
		}
		if got := plain.outside().Fetch(method, plain.origin+path, nil, nil).Header.Values("Strict-Transport-Security"); len(got) != 0 {
			t.Errorf("%s over plain http: %q", request, got)
		}
	}
	if got := require.Must(http.Get(p.metrics)).Header.Get("Strict-Transport-Security"); got != "" {
		t.Errorf("the metrics, which have no TLS: %q", got)
	}
}
