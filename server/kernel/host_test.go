package kernel

import (
	"net/http/httptest"
	"testing"

	"punchcard/server/servertest/require"
)

// TestCheckHost checks which values of Host are loopback, and which name the machine itself, the public URL's
// host or a host that was named.
func TestCheckHost(t *testing.T) {
	h, err := NewHosts("https://Cards.Example.com:8443/shop", []string{"punchcard", "Fixture.Test.", "192.168.1.5", "[2001:DB8::5]"})
	require.NoError(t, err)
	const refused, named, loopback = 0, 1, 2
	for host, want := range map[string]int{
		"localhost": loopback, "localhost:8080": loopback, "LOCALHOST": loopback, "localhost.:80": loopback, "127.0.0.1": loopback,
		"127.8.9.10:1": loopback, "[::1]": loopback, "[::1]:8080": loopback, "[::ffff:127.0.0.1]:80": loopback,
		"[0:0:0:0:0:0:0:1]": loopback,
		"punchcard":         named, "PunchCard:8080": named, "punchcard.": named, "fixture.test:80": named, "192.168.1.5:8080": named,
		"[2001:db8::5]:8080": named, "[2001:db8:0:0::5]": named, "cards.example.com": named, "cards.example.com:8443": named,
		"cards.example.com:1": named,
		"":                    refused, ":8080": refused, "evil.example": refused, "evil.example:8080": refused,
		"localhost.evil.example": refused,
		"127.0.0.1.evil.example": refused, "punchcard.evil.example": refused, "x.localhost": refused, "evil-localhost": refused,
		"192.168.1.6": refused, "0.0.0.0": refused, "[::]": refused, "[::]:80": refused, "::1": refused, "[::1": refused, "[::1]x": refused,
		"[::1%25lo]": refused, "[127.0.0.1]": refused, "127.0.0.1:x": refused, "127.0.0.1:80@evil.example": refused,
		"127.0.0.1@evil.example": refused, "localhost:x": refused, "localhost/x": refused, "localhost, evil.example": refused,
		" localhost": refused, "localhost..": refused, "127.1": refused, "2130706433": refused, "0x7f.0.0.1": refused, "128.0.0.1": refused,
		"[2001:db8::6]": refused, "example.com": refused,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		if err := h.CheckHost(r); (err == nil) != (want != refused) || IsLoopback(r) != (want == loopback) {
			t.Errorf("%q: %v, loopback %t, want %d", host, err, IsLoopback(r), want)
		}
	}
}

// TestBadHosts checks that names that no host can have are refused.
func TestBadHosts(t *testing.T) {
	for _, name := range []string{
		"", "punchcard:8080", "http://punchcard", "a b", "*", "*.example.com", "a/b", "-x", "fe80::1%eth0", "[::1]:80", "é.example",
	} {
		if _, err := NewHosts("", []string{name}); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

// TestCheckOrigin checks which requests of browsers are taken for those of another
// origin.
func TestCheckOrigin(t *testing.T) {
	h, err := NewHosts("https://cards.example.com/shop", nil)
	require.NoError(t, err)
	for _, c := range []struct {
		method, site, origin string
		any, form            bool // allowed
	}{
		{"POST", "", "", true, true},
		{"POST", "same-origin", "http://127.0.0.1:8080", true, true},
		{"POST", "same-origin", "null", true, true},
		{"POST", "none", "", true, true},
		{"POST", "", "http://127.0.0.1:8080", true, true},
		{"POST", "", "https://cards.example.com", true, true},
		{"POST", "cross-site", "https://cards.example.com", true, true}, // trusted by name
		{"POST", "cross-site", "https://evil.example", false, false},
		{"POST", "same-site", "http://127.0.0.1:9090", false, false},
		{"POST", "cross-site", "null", false, false},
		{"POST", "", "https://evil.example", false, false},
		{"POST", "", "http://127.0.0.1:9090", false, false},
		{"POST", "", "null", false, true},
		{"DELETE", "cross-site", "", false, false},
		{"PUT", "cross-site", "https://evil.example", false, false},
		{"PATCH", "cross-site", "https://evil.example", false, false},
		{"GET", "cross-site", "https://evil.example", true, true},
		{"HEAD", "cross-site", "https://evil.example", true, true},
		{"OPTIONS", "cross-site", "https://evil.example", true, true},
	} {
		r := httptest.NewRequest(c.method, "http://127.0.0.1:8080/dev/reset", nil)
		for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Origin": c.origin} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if err := h.CheckOrigin(r); (err == nil) != c.any {
			t.Errorf("%+v: %v", c, err)
		}
		if err := h.CheckFormOrigin(r); (err == nil) != c.form {
			t.Errorf("%+v as a form: %v", c, err)
		}
	}
}
