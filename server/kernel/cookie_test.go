package kernel

import "testing"

// TestCookieFor checks which cookie a session has, by public URL, --insecure-cookies and whether the
// request is for loopback.
func TestCookieFor(t *testing.T) {
	type cookie struct {
		name       string
		secure, ok bool
	}
	host, plain, refused := cookie{"__Host-punchcard", true, true}, cookie{"punchcard", false, true}, cookie{}
	for _, c := range []struct {
		url                string
		insecure, loopback bool
		want               cookie
	}{
		{"https://cards.example.com", false, false, host},
		{"https://cards.example.com", false, true, host},
		{"https://cards.example.com:8443/shop", true, true, host},
		{"HTTPS://cards.example.com", false, false, host},
		{"http://cards.example.com", false, false, refused},
		{"http://cards.example.com", true, false, plain},
		{"http://127.0.0.1:8080", false, true, plain},
		{"http://127.0.0.1:8080", false, false, refused}, // a name that --allow-host allows
		{"http://https.example.com", false, false, refused},
		{"httpsx://cards.example.com", false, false, refused},
		{"", false, false, refused},
		{"", false, true, plain},
		{"https://", false, false, refused},
	} {
		var got cookie
		got.name, got.secure, got.ok = CookieFor(c.url, c.insecure, c.loopback)
		if got != c.want {
			t.Errorf("%+v: got %+v", c, got)
		}
	}
}
