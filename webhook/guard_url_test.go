package webhook

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// TestCheckURL checks the code of the problem of each URL, or "" if it is accepted:
// by default, with http allowed, and under dev, where names need not resolve.
func TestCheckURL(t *testing.T) {
	t.Parallel()
	dns := serveDNS(t, map[string]answers{
		"example.com.":             always("8.8.8.8", "2606:4700::1111"),
		"other.test.":              always("8.8.8.8"),
		"xn--bcher-kva.example.":   always("8.8.8.8"),
		"under_score.example.com.": always("8.8.8.8"),
		"4.example.com.":           always("8.8.8.8"),
		"private.test.":            always("10.0.0.1"),
		"mixed.test.":              always("8.8.8.8", "10.0.0.1"),
		"mixed6.test.":             always("8.8.8.8", "fd00::1"),
		"meta.test.":               always("169.254.169.254"),
		"nat64.test.":              always("64:ff9b::a00:1"),
		"home.test.":               always("127.0.0.1", "::1"),
		"half.test.":               always("127.0.0.1", "8.8.8.8"),
		"worse.test.":              always("127.0.0.1", "10.0.0.1"),
		"empty.test.":              always(),
	})
	const (
		f = "invalid_format"
		v = "invalid_value"
		n = "not_public"
		r = "unresolvable"
	)
	for _, c := range []struct{ url, strict, plain, dev string }{
		{"https://example.com", "", "", ""},
		{"https://example.com/hook?a=b&c=%20", "", "", ""},
		{"HTTPS://EXAMPLE.COM:8443/", "", "", ""},
		{"https://example.com./", "", "", ""},
		{"https://example.com:1", "", "", ""},
		{"https://example.com:65535", "", "", ""},
		{"https://xn--bcher-kva.example/", "", "", ""},
		{"https://under_score.example.com/", "", "", ""},
		{"https://4.example.com/", "", "", ""},
		{"https://example.com/bücher", "", "", ""},
		{"https://8.8.8.8/", "", "", ""},
		{"https://8.8.8.8:8443/", "", "", ""},
		{"https://[2606:4700::1111]/", "", "", ""},
		{"https://[2606:4700::1111]:443/", "", "", ""},
		{"https://[::ffff:8.8.8.8]/", "", "", ""},

		// Syntax.
		{"", f, f, f},
		{"example.com/hook", f, f, f},
		{"//example.com/hook", f, f, f},
		{"/hook", f, f, f},
		{"https:", f, f, f},
		{"https://", f, f, f},
		{"https:///hook", f, f, f},
		{"https:/example.com", f, f, f},
		{"https:example.com", f, f, f},
		{"https://:443/", f, f, f},
		{"://example.com", f, f, f},
		{" https://example.com", f, f, f},
		{"https://example.com ", f, f, f},
		{"https://exa mple.com", f, f, f},
		{"https://example.com/a b", f, f, f},
		{"https://example.com/\r\nX-Evil:1", f, f, f},
		{"https://example.com\n", f, f, f},
		{"https://example.com/\x00", f, f, f},
		{"https://example.com/\x7f", f, f, f},
		{"https://example.com/\u0085", f, f, f},
		{"https://example.com/\u009f", f, f, f},
		{"https://example.com/\u2028", f, f, f},
		{"https://example.com/\u00a0", f, f, f},
		{"https://example.com/\xff", f, f, f},
		{`https://example.com\@8.8.8.8/`, f, f, f},
		{`https:\\example.com`, f, f, f},
		{`https://example.com/a\b`, f, f, f},
		{`https://example.com/?a=\`, f, f, f},
		{"https://example.com/%zz", f, f, f},
		{"https://example.com:/", f, f, f},
		{"https://8.8.8.8:", f, f, f},
		{"https://[::1]:/", f, f, f},
		{"https://example.com:0", f, f, f},
		{"https://example.com:65536", f, f, f},
		{"https://example.com:99999999999999999999", f, f, f},
		{"https://example.com:-1", f, f, f},
		{"https://example.com:+443", f, f, f},
		{"https://example.com:https", f, f, f},
		{"https://example.com:443:443", f, f, f},
		{"https://.example.com/", f, f, f},
		{"https://example..com/", f, f, f},
		{"https://example.com../", f, f, f},
		{"https://./", f, f, f},
		{"https://-example.com/", f, f, f},
		{"https://example-.com/", f, f, f},
		{"https://exa$mple.com/", f, f, f},
		{"https://example.com,8.8.8.8/", f, f, f},
		{"https://*.example.com/", f, f, f},
		{"https://" + strings.Repeat("a", 64) + ".com/", f, f, f},
		{"https://" + strings.Repeat("a.", 126) + "com/", f, f, f},
		{"https://%65xample.com/", f, f, f},
		{"https://127%2e0.0.1/", f, f, f},
		{"https://bücher.example/", f, f, f},
		{"https://b%C3%BCcher.example/", f, f, f},
		{"https://１２７.0.0.1/", f, f, f},
		{"https://127。0。0。1/", f, f, f},
		{"https://ⓔxample.com/", f, f, f},
		{"https://exam\u00adple.com/", f, f, f},
		{"https://::1/", f, f, f},
		{"https://[example.com]/", f, f, f},
		{"https://[127.0.0.1]/", f, f, f},
		{"https://[8.8.8.8]/", f, f, f},
		{"https://[]/", f, f, f},
		{"https://[::1/", f, f, f},
		{"https://[::1]x/", f, f, f},
		{"https://[::ffff:127.0.0.256]/", f, f, f},

		// Other notations of addresses.
		{"https://2130706433/", f, f, f},
		{"https://017700000001/", f, f, f},
		{"https://0x7f000001/", f, f, f},
		{"https://0X7F000001/", f, f, f},
		{"https://0x7f.1/", f, f, f},
		{"https://0177.0.0.1/", f, f, f},
		{"https://127.0.0.01/", f, f, f},
		{"https://127.1/", f, f, f},
		{"https://127.0.1/", f, f, f},
		{"https://127.0.0.1./", f, f, f},
		{"https://0/", f, f, f},
		{"https://0x/", f, f, f},
		{"https://127.0.0.0x1/", f, f, f},
		{"https://134744072/", f, f, f}, // a public one
		{"https://8.8.8.8.8/", f, f, f},
		{"https://8.8.8.256/", f, f, f},
		{"https://example.123/", f, f, f},
		{"https://example.0x1f./", f, f, f},
		{"http://2130706433/", f, f, f},
		{"http://0177.0.0.1/", f, f, f},
		{"http://127.1:8080/", f, f, f},

		// Schemes.
		{"http://example.com/", v, "", v},
		{"http://8.8.8.8/", v, "", v},
		{"HTTP://example.com/", v, "", v},
		{"ftp://example.com/", v, v, v},
		{"wss://example.com/", v, v, v},
		{"file:///etc/passwd", v, v, v},
		{"gopher://127.0.0.1:6379/", v, v, v},
		{"mailto:ada@example.com", v, v, v},
		{"javascript:alert(1)", v, v, v},
		{"localhost:8080/hook", v, v, v},
		{"http://private.test/", v, n, v},
		{"http://10.0.0.1/", v, n, v},
		{"http://nowhere.test/", v, r, v},

		// Parts that a URL must not have.
		{"https://ada@example.com/", v, v, v},
		{"https://ada:secret@example.com/", v, v, v},
		{"https://@example.com/", v, v, v},
		{"https://example.com@10.0.0.1/", v, v, v},
		{"https://example.com/#", v, v, v},
		{"https://example.com/#part", v, v, v},
		{"https://example.com#@10.0.0.1/", v, v, v},

		// Addresses.
		{"https://10.0.0.1/", n, n, n},
		{"https://169.254.169.254/latest/meta-data/", n, n, n},
		{"https://[fd00:ec2::254]/", n, n, n},
		{"https://[::ffff:10.0.0.1]/", n, n, n},
		{"https://[::ffff:a9fe:a9fe]/", n, n, n},
		{"https://[64:ff9b::a9fe:a9fe]/", n, n, n},
		{"https://[2002:a00:1::]/", n, n, n},
		{"https://[fe80::1]/", n, n, n},
		{"https://[fe80::1%25eth0]/", n, n, n},
		{"https://[::1%25lo]/", n, n, n},
		{"https://[2606:4700::1111%25lo]/", n, n, n},
		{"https://0.0.0.0/", n, n, n},
		{"https://[::]/", n, n, n},
		{"https://private.test/", n, n, n},
		{"https://PRIVATE.test./", n, n, n},
		{"https://mixed.test/", n, n, n},
		{"https://mixed6.test/", n, n, n},
		{"https://meta.test/", n, n, n},
		{"https://nat64.test/", n, n, n},
		{"https://worse.test/", n, n, n},

		// Loopback.
		{"https://127.0.0.1:8443/", n, n, ""},
		{"https://127.8.9.10/", n, n, ""},
		{"https://[::1]/", n, n, ""},
		{"https://[::ffff:127.0.0.1]/", n, n, ""},
		{"https://[0:0:0:0:0:0:0:1]/", n, n, ""},
		{"https://localhost/", n, n, ""},
		{"https://localhost./", n, n, ""},
		{"https://LOCALHOST:8443/", n, n, ""},
		{"https://a.b.LocalHost./", n, n, ""},
		{"https://home.test/", n, n, ""},
		{"https://half.test/", n, n, ""},
		{"http://localhost:8080/hook", v, n, ""},
		{"http://127.0.0.1:8080", v, n, ""},
		{"http://[::1]:8080", v, n, ""},
		{"http://[::ffff:127.0.0.1]:8080", v, n, ""},
		{"http://shop.localhost:8080", v, n, ""},
		{"http://home.test:8080", v, n, ""},
		{"http://half.test:8080", v, n, v},
		{"http://worse.test:8080", v, n, v},
		{"http://[::1%25lo]:8080", v, n, v},
		{"http://0.0.0.0:8080", v, n, v},
		{"http://[::]:8080", v, n, v},
		{"https://notlocalhost/", r, r, ""},
		{"https://localhost.example/", r, r, ""},

		// Names that do not resolve.
		{"https://nowhere.test/", r, r, ""},
		{"https://empty.test/", r, r, ""},
	} {
		for _, as := range []struct {
			name string
			g    Guard
			want string
		}{
			{"strict", Guard{}, c.strict},
			{"http allowed", Guard{AllowHTTP: true}, c.plain},
			{"dev", Guard{Loopback: true, Unresolved: true}, c.dev},
		} {
			as.g.Resolver = dns
			p := as.g.CheckURL(t.Context(), c.url)
			got := ""
			if p != nil {
				got = p.Code
				if !strings.HasPrefix(p.Message, "The URL") || !strings.HasSuffix(p.Message, ".") {
					t.Errorf("no sentence: %s", p.Message)
				}
			}
			if got != as.want {
				t.Errorf("%.80q, %s: %q, want %q", c.url, as.name, got, as.want)
			}
		}
	}
}

func TestCheckURLWithNetworks(t *testing.T) {
	t.Parallel()
	dns := serveDNS(t, map[string]answers{
		"private.test.": always("10.0.0.1"),
		"mixed.test.":   always("8.8.8.8", "10.0.0.1"),
		"meta.test.":    always("10.0.0.1", "169.254.169.254"),
	})
	for _, c := range []struct{ cidr, url, want string }{
		{"10.0.0.0/8", "https://10.0.0.1/", ""},
		{"10.0.0.0/8", "https://[::ffff:10.0.0.1]/", ""},
		{"10.0.0.0/8", "https://private.test/", ""},
		{"10.0.0.0/8", "https://mixed.test/", ""},
		{"10.0.0.0/8", "https://172.16.0.1/", "not_public"},
		{"10.0.0.0/8", "http://10.0.0.1/", "invalid_value"},
		{"0.0.0.0/0 ::/0", "https://meta.test/", "not_public"},
		{"0.0.0.0/0 ::/0", "https://169.254.169.254/", "not_public"},
		{"0.0.0.0/0 ::/0", "https://[64:ff9b::169.254.169.254]/", "not_public"},
		{"0.0.0.0/0 ::/0", "https://[fe80::1%25eth0]/", "not_public"},
		{"127.0.0.0/8", "https://localhost/", ""},
		{"::1/128", "https://localhost/", ""},
		{"127.0.0.0/8", "http://localhost/", "invalid_value"},
		{"10.0.0.0/8", "https://localhost/", "not_public"},
		{"10.0.0.0/8", "https://2130706433/", "invalid_format"},
	} {
		g := &Guard{Resolver: dns, AllowCIDR: prefixes(c.cidr)}
		got := ""
		if p := g.CheckURL(t.Context(), c.url); p != nil {
			got = p.Code
		}
		if got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.cidr, c.url, got, c.want)
		}
	}
}

// TestMessages checks that messages state the rule, without addresses from lookups.
func TestMessages(t *testing.T) {
	t.Parallel()
	dns := serveDNS(t, map[string]answers{"private.test.": always("10.98.76.54")})
	for _, c := range []struct {
		g         Guard
		url, want string
	}{
		{Guard{}, "http://8.8.8.8", "The URL must begin with https://."},
		{Guard{AllowHTTP: true}, "ftp://8.8.8.8", "The URL must begin with https:// or http://."},
		{Guard{Loopback: true}, "ftp://8.8.8.8", "The URL must begin with https://; http:// is accepted for a loopback host only."},
		{Guard{Loopback: true}, "http://8.8.8.8", "The URL must begin with https://; http:// is accepted for a loopback host only."},
		{Guard{}, "https://private.test", "The URL's host must have public addresses only."},
	} {
		c.g.Resolver = dns
		if p := c.g.CheckURL(t.Context(), c.url); p == nil || p.Message != c.want {
			t.Errorf("%s: %v", c.url, p)
		}
	}
}

// silent is a resolver that never answers.
type silent struct{}

func (silent) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// mapped is a resolver that answers with mapped addresses, or with none and no
// error, as some resolvers do.
type mapped struct{}

func (mapped) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	switch host {
	case "empty.test":
		return nil, nil
	case "public.test":
		return []netip.Addr{netip.MustParseAddr("::ffff:8.8.8.8")}, nil
	}
	return []netip.Addr{netip.MustParseAddr("::ffff:10.0.0.1")}, nil
}

// failing is a resolver that knows no name.
type failing struct{}

func (failing) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, errors.New("no answer")
}

func TestResolvers(t *testing.T) {
	t.Parallel()
	if p := (&Guard{Resolver: silent{}, LookupTimeout: 1}).CheckURL(t.Context(), "https://example.com"); p == nil || p.Code != "unresolvable" {
		t.Error("silent:", p)
	}
	if p := (&Guard{Resolver: silent{}, LookupTimeout: 1, Unresolved: true}).CheckURL(t.Context(), "https://example.com"); p != nil {
		t.Error("silent, names need not resolve:", p)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if p := (&Guard{Resolver: silent{}}).CheckURL(gone, "https://example.com"); p == nil || p.Code != "unresolvable" {
		t.Error("caller gone:", p)
	}
	if p := (&Guard{Resolver: failing{}}).CheckURL(t.Context(), "https://example.com"); p == nil || p.Code != "unresolvable" {
		t.Error("failing:", p)
	}
	g := &Guard{Resolver: mapped{}}
	if p := g.CheckURL(t.Context(), "https://public.test"); p != nil {
		t.Error("mapped public:", p)
	}
	if p := g.CheckURL(t.Context(), "https://private.test"); p == nil || p.Code != "not_public" {
		t.Error("mapped private:", p)
	}
	if p := g.CheckURL(t.Context(), "https://empty.test"); p == nil || p.Code != "unresolvable" {
		t.Error("no address, no error:", p)
	}
	if g.Dialer().Resolver != nil {
		t.Error("the dialer uses a resolver that is no *net.Resolver")
	}
	if r := new(net.Resolver); (&Guard{Resolver: r}).Dialer().Resolver != r {
		t.Error("the dialer uses another resolver")
	}
}
