package kernel

import (
	"net/http/httptest"
	"testing"
)

// TestCheckHost checks which values of Host name the machine itself, the public URL's
// host or a host that was named.
func TestCheckHost(t *testing.T) {
	h, err := NewHosts("https://Cards.Example.com:8443/shop", []string{"punchcard", "Fixture.Test.", "192.168.1.5", "[2001:DB8::5]"})
	if err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LOCALHOST": true, "localhost.:80": true, "127.0.0.1": true, "127.8.9.10:1": true, "[::1]": true, "[::1]:8080": true,
		"[::ffff:127.0.0.1]:80": true, "[0:0:0:0:0:0:0:1]": true,
		"punchcard": true, "PunchCard:8080": true, "punchcard.": true, "fixture.test:80": true, "192.168.1.5:8080": true, "[2001:db8::5]:8080": true, "[2001:db8:0:0::5]": true,
		"cards.example.com": true, "cards.example.com:8443": true, "cards.example.com:1": true,
		"": false, ":8080": false, "evil.example": false, "evil.example:8080": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "punchcard.evil.example": false,
		"x.localhost": false, "evil-localhost": false, "192.168.1.6": false, "0.0.0.0": false, "[::]": false, "::1": false, "[::1": false, "[::1]x": false, "[::1%25lo]": false, "[127.0.0.1]": false,
		"127.0.0.1:80@evil.example": false, "127.0.0.1@evil.example": false, "localhost:x": false, "localhost/x": false, "localhost, evil.example": false, " localhost": false, "localhost..": false,
		"127.1": false, "2130706433": false, "0x7f.0.0.1": false, "128.0.0.1": false, "[2001:db8::6]": false, "example.com": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		if err := h.CheckHost(r); (err == nil) != want {
			t.Errorf("%q: %v, want allowed %t", host, err, want)
		}
	}
}

// TestBadHosts checks that names that no host can have are refused.
func TestBadHosts(t *testing.T) {
	for _, name := range []string{"", "punchcard:8080", "http://punchcard", "a b", "*", "*.example.com", "a/b", "-x", "fe80::1%eth0", "[::1]:80", "é.example"} {
		if _, err := NewHosts("", []string{name}); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
}

// TestCheckOrigin checks which requests of browsers are taken for those of another
// origin.
func TestCheckOrigin(t *testing.T) {
	h, err := NewHosts("https://cards.example.com/shop", nil)
	if err != nil {
		t.Fatal(err)
	}
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

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost.:8080": true, "127.0.0.1:8080": true, "127.1.2.3": true, "[::1]:8080": true, "[::ffff:127.0.0.1]": true,
		"": false, "cards.example.com": false, "localhost.example.com": false, "192.168.1.5:8080": false, "0.0.0.0": false, "[::]:80": false, "::1": false, "127.0.0.1:x": false,
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		if got := IsLoopback(r); got != want {
			t.Errorf("%q: %t, want %t", host, got, want)
		}
	}
}
