package app

import (
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"punchcard/server/kernel"
)

// TestSetTLSAuto checks the rules and defaults of --tls-auto and the flags beside it.
func TestSetTLSAuto(t *testing.T) {
	t.Parallel()
	hosts := []string{"cards.example.com"}
	for _, c := range []struct {
		given Config
		want  string // the error, or listen, http-listen, public URL, cache and hosts
	}{
		{Config{DB: "/data/shop.db", TLSAuto: hosts}, ":443 :80 https://cards.example.com /data/tls cards.example.com"},
		{
			Config{DB: "/data/shop.db", TLSAuto: []string{"Cards.Example.com.", "www.example.com", "cards.example.com"}},
			":443 :80 https://cards.example.com /data/tls cards.example.com,www.example.com",
		},
		{
			Config{DB: "shop.db", TLSAuto: hosts, Listen: "10.0.0.1:8443", TLSCache: "/keys"},
			"10.0.0.1:8443  https://cards.example.com /keys cards.example.com",
		},
		{Config{DB: "shop.db", TLSAuto: hosts, HTTPListen: ":8080"}, ":443 :8080 https://cards.example.com tls cards.example.com"},
		{
			Config{DB: "shop.db", TLSAuto: hosts, Listen: ":8443", HTTPListen: ":8080"},
			":8443 :8080 https://cards.example.com tls cards.example.com",
		},
		{
			Config{DB: "shop.db", TLSAuto: hosts, PublicURL: "https://shop.example.com:8443"},
			":443 :80 https://shop.example.com:8443 tls cards.example.com",
		},
		{Config{DB: "shop.db", Listen: ":8080"}, ":8080    "},
		{Config{TLSAuto: hosts, TLSCert: "cert.pem"}, "--tls-auto (PUNCHCARD_TLS_AUTO): must not be given with --tls-cert"},
		{Config{TLSAuto: hosts, TLSKey: "key.pem"}, "--tls-auto (PUNCHCARD_TLS_AUTO): must not be given with --tls-cert"},
		{Config{TLSAuto: hosts, PublicURL: "http://cards.example.com"}, "--public-url (PUNCHCARD_PUBLIC_URL): must begin with https://"},
		{Config{TLSAuto: hosts, ACMEURL: "http://ca.example.com/dir"}, "--acme-url (PUNCHCARD_ACME_URL): must be"},
		{Config{TLSAuto: hosts, ACMEURL: "ca.example.com"}, "--acme-url (PUNCHCARD_ACME_URL): must be"},
		{Config{TLSCache: "/keys"}, "--tls-cache (PUNCHCARD_TLS_CACHE): needs --tls-auto"},
		{Config{ACMEURL: "https://ca.example.com"}, "--acme-url (PUNCHCARD_ACME_URL): needs --tls-auto"},
		{Config{HTTPListen: ":80"}, "--http-listen (PUNCHCARD_HTTP_LISTEN): needs --tls-auto"},
	} {
		conf := c.given
		got := ""
		if err := conf.setTLSAuto(); err != nil {
			got = err.Error()
		} else {
			got = strings.Join([]string{conf.Listen, conf.HTTPListen, conf.PublicURL, conf.TLSCache, strings.Join(conf.TLSAuto, ",")}, " ")
		}
		if !strings.HasPrefix(got, c.want) || got != c.want && !strings.HasPrefix(c.want, "--") {
			t.Errorf("%+v: %q, want %q", c.given, got, c.want)
		}
	}
	for _, name := range []string{
		"", "localhost", "example.com:443", "https://example.com", "*.example.com", "192.168.1.5", "::1", "a..b", "-a.example.com",
		"é.example.com", "a b.example.com", strings.Repeat("a.", 130) + "com",
	} {
		conf := Config{TLSAuto: []string{name}}
		if err := conf.setTLSAuto(); err == nil || !strings.HasPrefix(err.Error(), "--tls-auto (PUNCHCARD_TLS_AUTO): must be host names") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestTLSCacheFolder checks that the folder of certificates is private, and which folders are refused.
func TestTLSCacheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made := filepath.Join(dir, "a", "tls")
	for range 2 {
		noError(t, checkTLSCache(made))
	}
	if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if left, _ := os.ReadDir(made); len(left) != 0 {
		t.Errorf("the check left %v", left)
	}
	file := filepath.Join(dir, "file")
	noError(t, os.WriteFile(file, nil, 0o600))
	open := filepath.Join(dir, "open")
	noError(t, os.Mkdir(open, 0o700))
	noError(t, os.Chmod(open, 0o777))
	for _, bad := range []string{file, open, filepath.Join(file, "tls")} {
		if err := checkTLSCache(bad); err == nil || !strings.HasPrefix(err.Error(), "--tls-cache (PUNCHCARD_TLS_CACHE): ") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestEndsSoon checks when an operator is warned of the end of a certificate, and how many days are
// left.
func TestEndsSoon(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for _, c := range []struct {
		lifetime, left time.Duration
		renewed, want  bool
		days           int
	}{
		{90 * day, 14 * day, false, false, 14},
		{90 * day, 14*day - time.Second, false, true, 13},
		{90 * day, 14 * day, true, false, 14},
		{90 * day, 14*day - time.Second, true, true, 13},
		{90 * day, 29 * day, true, false, 29},
		{6 * day, 2 * day, true, false, 2}, // renewed with two days left
		{6 * day, day, true, true, 1},
		{6 * day, 2 * day, false, true, 2},
		{90 * day, 0, false, true, 0},
		{90 * day, -time.Second, false, true, -1},
		{90 * day, -day - time.Second, false, true, -2},
		{90 * day, day - time.Second, false, true, 0},
	} {
		one := Certificate{Begins: now.Add(c.left - c.lifetime), Ends: now.Add(c.left), Renewed: c.renewed}
		if got := one.EndsSoon(now); got != c.want || one.DaysLeft(now) != c.days {
			t.Errorf("%+v: %t, %d days", c, got, one.DaysLeft(now))
		}
	}
	if (Certificate{}).EndsSoon(now) {
		t.Error("no certificate ends soon")
	}
}

// TestWarnOfEnds checks that a warning is repeated once a day.
func TestWarnOfEnds(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	list := []Certificate{
		{Host: "a.example.com", Ends: now.Add(50 * time.Hour)},
		{Host: "b.example.com", Ends: now.Add(1000 * time.Hour)},
		{Host: "c.example.com"},
	}
	warned := map[string]time.Time{}
	for hour := range 60 {
		warnOfEnds(list, now.Add(time.Duration(hour)*time.Hour), warned, slog.New(slog.NewTextHandler(&log, nil)))
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 3 ||
		!strings.Contains(lines[0], `msg="the certificate ends soon" host=a.example.com ends=2026-03-03T11:00:00.000Z days_left=2`) ||
		!strings.Contains(lines[2], "days_left=0") {
		t.Errorf("the log has\n%s", log.String())
	}
	warnOfEnds(list[:1], now.Add(51*time.Hour), map[string]time.Time{}, slog.New(slog.NewTextHandler(&log, nil)))
	if !strings.Contains(log.String(), `msg="the certificate has ended"`) {
		t.Errorf("the log has\n%s", log.String())
	}
}

// TestOrdersAfterFailures checks that handshakes do not order certificates again while a wait after a
// failure lasts, and only for hosts that are named.
func TestOrdersAfterFailures(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	conf := Config{
		DB:      filepath.Join(t.TempDir(), "shop.db"),
		TLSAuto: []string{"cards.example.com"},
		ACMEURL: "https://127.0.0.1:1/dir",
		Log:     slog.New(slog.NewTextHandler(&log, nil)),
	}
	noError(t, conf.setTLSAuto())
	certs, err := newACMECertificates(&conf)
	noError(t, err)
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	certs.now = func() time.Time { return now }
	hello := &tls.ClientHelloInfo{ServerName: "Cards.Example.com."}
	var waits []time.Duration
	for range 8 {
		for range 3 {
			if cert, err := certs.get(hello); cert != nil || err == nil {
				t.Fatal(cert, err)
			}
		}
		waits = append(waits, certs.refresh())
		now = now.Add(waits[len(waits)-1])
	}
	inMinutes := func(got, minutes time.Duration) bool { return got == minutes*time.Minute }
	if want := []time.Duration{1, 2, 4, 8, 16, 30, 30, 30}; !slices.EqualFunc(waits, want, inMinutes) {
		t.Errorf("waits %v, want %v minutes", waits, want)
	}
	if n := strings.Count(log.String(), `level=ERROR msg="no certificate" host=cards.example.com`); n != 8 {
		t.Errorf("%d lines about failures:\n%s", n, log.String())
	}
	if list := certs.list(); len(list) != 1 || list[0].Problem == "" || !list[0].Ends.IsZero() {
		t.Errorf("%+v", list)
	}
	for _, name := range []string{"", "evil.example", "www.cards.example.com"} {
		if _, err := certs.get(&tls.ClientHelloInfo{ServerName: name}); err == nil ||
			!strings.HasPrefix(err.Error(), "no certificate for") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// TestRedirectToHTTPS checks where plain http leads, and what it refuses.
func TestRedirectToHTTPS(t *testing.T) {
	t.Parallel()
	a := startServe(t, "")
	for _, c := range []struct{ public, method, target, host, auth, want string }{
		{"https://cards.example.com", "GET", "/i/T?x=1", "cards.example.com", "", "https://cards.example.com/i/T?x=1"},
		{"https://cards.example.com", "HEAD", "/", "cards.example.com:80", "", "https://cards.example.com/"},
		{"https://cards.example.com", "GET", "/", "WWW.example.com", "", "https://www.example.com/"},
		{"https://cards.example.com", "GET", "/a%2Fb//c", "evil.example", "", "https://cards.example.com/a%2Fb//c"},
		{"https://cards.example.com", "GET", "//evil.example/x", "cards.example.com", "", "https://cards.example.com//evil.example/x"},
		{"https://cards.example.com:8443", "GET", "/", "www.example.com", "", "https://www.example.com:8443/"},
		{"https://cards.example.com:8443/shop", "GET", "/", "[::1]:80", "", "https://cards.example.com:8443/"},
		{"https://cards.example.com", "GET", "/c/T", "Shop.example:80", "", "https://shop.example:9443/c/T"},
		{"https://cards.example.com", "POST", "/sign-in", "cards.example.com", "", ""},
		{"https://cards.example.com", "GET", "/api/public/v1/me", "cards.example.com", "Bearer tsk_x", ""},
	} {
		hosts, err := kernel.NewHosts(c.public, nil)
		noError(t, err)
		a.instance.hosts = hosts.WithShops(c.public, func(host string) string {
			return map[string]string{"shop.example": "https://shop.example:9443"}[host]
		})
		a.conf.TLSAuto = []string{"cards.example.com", "www.example.com"}
		r := httptest.NewRequest(c.method, c.target, nil)
		r.Host = c.host
		if c.auth != "" {
			r.Header.Set("Authorization", c.auth)
		}
		w := httptest.NewRecorder()
		a.redirectToHTTPS().ServeHTTP(w, r)
		if got := w.Header().Get("Location"); got != c.want ||
			w.Code != map[bool]int{true: http.StatusMovedPermanently, false: http.StatusBadRequest}[c.want != ""] ||
			w.Header().Get("Strict-Transport-Security") != "" {
			t.Errorf("%+v: %d %q %s", c, w.Code, got, w.Body)
		}
	}
}
