package webhook

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// acceptedURLs are accepted by every guard.
var acceptedURLs = strings.Fields(`
	https://example.com https://example.com/hook?a=b&c=%20 HTTPS://EXAMPLE.COM:8443/ https://example.com./ https://example.com:1
	https://example.com:65535 https://xn--bcher-kva.example/ https://under_score.example.com/ https://4.example.com/
	https://example.com/bücher https://8.8.8.8/ https://8.8.8.8:8443/ https://[2606:4700::1111]/ https://[2606:4700::1111]:443/
	https://[::ffff:8.8.8.8]/
`)

// malformedURLs are refused as invalid_format.
var malformedURLs = []string{
	"", "example.com/hook", "//example.com/hook", "/hook", "https:", "https://", "https:///hook", "https:/example.com",
	"https:example.com", "https://:443/", "://example.com", " https://example.com", "https://example.com ",
	"https://exa mple.com", "https://example.com/a b", "https://example.com/\r\nX-Evil:1", "https://example.com\n",
	"https://example.com/\x00", "https://example.com/\x7f", "https://example.com/\u0085", "https://example.com/\u009f",
	"https://example.com/\u2028", "https://example.com/\u00a0", "https://example.com/\xff",
	`https://example.com\@8.8.8.8/`, `https:\\example.com`, `https://example.com/a\b`, `https://example.com/?a=\`,
	"https://example.com/%zz", "https://example.com:/", "https://8.8.8.8:", "https://[::1]:/", "https://example.com:0",
	"https://example.com:65536", "https://example.com:99999999999999999999", "https://example.com:-1",
	"https://example.com:+443", "https://example.com:https", "https://example.com:443:443", "https://.example.com/",
	"https://example..com/", "https://example.com../", "https://./", "https://-example.com/", "https://example-.com/",
	"https://exa$mple.com/", "https://example.com,8.8.8.8/", "https://*.example.com/",
	"https://" + strings.Repeat("a", 64) + ".com/",
	"https://" + strings.Repeat("a.", 126) + "com/",
	"https://%65xample.com/", "https://127%2e0.0.1/", "https://bücher.example/", "https://b%C3%BCcher.example/",
	"https://１２７.0.0.1/", "https://127。0。0。1/", "https://ⓔxample.com/", "https://exam\u00adple.com/", "https://::1/",
	"https://[example.com]/", "https://[127.0.0.1]/", "https://[8.8.8.8]/", "https://[]/", "https://[::1/",
	"https://[::1]x/", "https://[::ffff:127.0.0.256]/",

	// Other notations of addresses.
	"https://2130706433/", "https://017700000001/", "https://0x7f000001/", "https://0X7F000001/", "https://0x7f.1/",
	"https://0177.0.0.1/", "https://127.0.0.01/", "https://127.1/", "https://127.0.1/", "https://127.0.0.1./",
	"https://0/", "https://0x/", "https://127.0.0.0x1/",
	"https://134744072/", // a public one
	"https://8.8.8.8.8/", "https://8.8.8.256/", "https://example.123/", "https://example.0x1f./", "http://2130706433/",
	"http://0177.0.0.1/", "http://127.1:8080/",
}

// forbiddenURLs have a scheme or a part that a URL must not have, and are refused as invalid_value.
var forbiddenURLs = strings.Fields(`
	ftp://example.com/ wss://example.com/ file:///etc/passwd gopher://127.0.0.1:6379/ mailto:ada@example.com javascript:alert(1)
	localhost:8080/hook https://ada@example.com/ https://ada:secret@example.com/ https://@example.com/ https://example.com@10.0.0.1/
	https://example.com/# https://example.com/#part https://example.com#@10.0.0.1/
`)

// privateURLs have a host with an address that no guard permits, and are refused as not_public.
var privateURLs = strings.Fields(`
	https://10.0.0.1/ https://169.254.169.254/latest/meta-data/ https://[fd00:ec2::254]/ https://[::ffff:10.0.0.1]/
	https://[::ffff:a9fe:a9fe]/ https://[64:ff9b::a9fe:a9fe]/ https://[2002:a00:1::]/ https://[fe80::1]/ https://[fe80::1%25eth0]/
	https://[::1%25lo]/ https://[2606:4700::1111%25lo]/ https://0.0.0.0/ https://[::]/ https://private.test/ https://PRIVATE.test./
	https://mixed.test/ https://mixed6.test/ https://meta.test/ https://nat64.test/ https://worse.test/
`)

// urlCase is a URL and the code of its problem, or "" if it is accepted: by default, with http
// allowed, and under dev, where loopback is allowed and names need not resolve.
type urlCase struct{ url, strict, plain, dev string }

// urlCases are the URLs that some guards accept, or refuse for another reason than others.
var urlCases = []urlCase{
	// With http.
	{"http://example.com/", "invalid_value", "", "invalid_value"},
	{"http://8.8.8.8/", "invalid_value", "", "invalid_value"},
	{"HTTP://example.com/", "invalid_value", "", "invalid_value"},
	{"http://private.test/", "invalid_value", "not_public", "invalid_value"},
	{"http://10.0.0.1/", "invalid_value", "not_public", "invalid_value"},
	{"http://nowhere.test/", "invalid_value", "unresolvable", "invalid_value"},

	// Loopback.
	{"https://127.0.0.1:8443/", "not_public", "not_public", ""},
	{"https://127.8.9.10/", "not_public", "not_public", ""},
	{"https://[::1]/", "not_public", "not_public", ""},
	{"https://[::ffff:127.0.0.1]/", "not_public", "not_public", ""},
	{"https://[0:0:0:0:0:0:0:1]/", "not_public", "not_public", ""},
	{"https://localhost/", "not_public", "not_public", ""},
	{"https://localhost./", "not_public", "not_public", ""},
	{"https://LOCALHOST:8443/", "not_public", "not_public", ""},
	{"https://a.b.LocalHost./", "not_public", "not_public", ""},
	{"https://home.test/", "not_public", "not_public", ""},
	{"https://half.test/", "not_public", "not_public", ""},
	{"http://localhost:8080/hook", "invalid_value", "not_public", ""},
	{"http://127.0.0.1:8080", "invalid_value", "not_public", ""},
	{"http://[::1]:8080", "invalid_value", "not_public", ""},
	{"http://[::ffff:127.0.0.1]:8080", "invalid_value", "not_public", ""},
	{"http://shop.localhost:8080", "invalid_value", "not_public", ""},
	{"http://home.test:8080", "invalid_value", "not_public", ""},
	{"http://half.test:8080", "invalid_value", "not_public", "invalid_value"},
	{"http://worse.test:8080", "invalid_value", "not_public", "invalid_value"},
	{"http://[::1%25lo]:8080", "invalid_value", "not_public", "invalid_value"},
	{"http://0.0.0.0:8080", "invalid_value", "not_public", "invalid_value"},
	{"http://[::]:8080", "invalid_value", "not_public", "invalid_value"},
	{"https://notlocalhost/", "unresolvable", "unresolvable", ""},
	{"https://localhost.example/", "unresolvable", "unresolvable", ""},

	// Names that do not resolve.
	{"https://nowhere.test/", "unresolvable", "unresolvable", ""},
	{"https://empty.test/", "unresolvable", "unresolvable", ""},
}

// TestCheckURL checks the code of the problem of each URL above, for each kind of guard.
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
	cases := slices.Clone(urlCases)
	for code, urls := range map[string][]string{
		"":               acceptedURLs,
		"invalid_format": malformedURLs,
		"invalid_value":  forbiddenURLs,
		"not_public":     privateURLs,
	} {
		for _, url := range urls {
			cases = append(cases, urlCase{url, code, code, code})
		}
	}
	for _, c := range cases {
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
	if p := (&Guard{Resolver: silent{}, LookupTimeout: 1}).CheckURL(t.Context(), "https://example.com"); p == nil ||
		p.Code != "unresolvable" {
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
