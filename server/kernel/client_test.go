package kernel

import (
	"cmp"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// TestClientOf checks which address a request comes from, with and without proxies, and with headers
// that clients forge.
func TestClientOf(t *testing.T) {
	ours := []netip.Prefix{
		netip.MustParsePrefix("127.0.0.0/8"),
		netip.MustParsePrefix("10.0.0.0/8"),
		netip.MustParsePrefix("fd00::/8"),
		netip.MustParsePrefix("198.51.100.7/32"),
	}
	for _, c := range []struct {
		what, peer string
		forwarded  []string
		trusted    []netip.Prefix
		want       string
	}{
		{"a direct client", "203.0.113.7:5000", nil, nil, "203.0.113.7"},
		{"a direct client of IPv6", "[2001:db8::7]:5000", nil, nil, "2001:db8::7"},
		{"a mapped address", "[::ffff:203.0.113.7]:5000", nil, nil, "203.0.113.7"},
		{"a client on the link", "[fe80::7%eth0]:5000", nil, nil, "fe80::7"},
		{"a client in the shop's network", "192.168.1.9:5000", nil, nil, "192.168.1.9"},
		{"this machine", "127.0.0.1:5000", nil, nil, "127.0.0.1"},
		{"a socket without an address", "@", []string{"203.0.113.7"}, ours, ""},
		{"nothing", "", nil, nil, ""},
		{"a header that a direct client forges", "203.0.113.7:5000", []string{"198.51.100.1"}, nil, "203.0.113.7"},
		{"a forged header, though proxies are trusted", "203.0.113.7:5000", []string{"198.51.100.1, 127.0.0.1"}, ours, "203.0.113.7"},
		{"a proxy", "127.0.0.1:5000", []string{"203.0.113.7"}, ours, "203.0.113.7"},
		{"two proxies", "127.0.0.1:5000", []string{"203.0.113.7, 10.1.2.3"}, ours, "203.0.113.7"},
		{"two proxies with a header each", "127.0.0.1:5000", []string{"203.0.113.7", "10.1.2.3"}, ours, "203.0.113.7"},
		{"a trusted address that the client puts first", "127.0.0.1:5000", []string{"10.9.9.9, 203.0.113.7"}, ours, "203.0.113.7"},
		{"a client that is itself in a trusted network", "127.0.0.1:5000", []string{"10.9.9.9"}, ours, "10.9.9.9"},
		{"an address that the client puts first", "127.0.0.1:5000", []string{"198.51.100.1, 203.0.113.7"}, ours, "203.0.113.7"},
		{"nonsense that the client puts first", "127.0.0.1:5000", []string{"x\n, 203.0.113.7"}, ours, "203.0.113.7"},
		{"addresses that are all trusted", "127.0.0.1:5000", []string{"10.9.9.9, 10.1.2.3"}, ours, "10.9.9.9"},
		{"an address with a port", "127.0.0.1:5000", []string{"203.0.113.7:40000"}, ours, "203.0.113.7"},
		{"IPv6 with a port", "127.0.0.1:5000", []string{"[2001:db8::7]:40000"}, ours, "2001:db8::7"},
		{"a mapped address in the header", "127.0.0.1:5000", []string{"::ffff:203.0.113.7"}, ours, "203.0.113.7"},
		{"a proxy of IPv6", "[fd00::1]:5000", []string{" 2001:db8::7 "}, ours, "2001:db8::7"},
		{"a private proxy before the trusted one", "127.0.0.1:5000", []string{"203.0.113.7, 192.168.1.9"}, ours, "192.168.1.9"},
		{"many addresses", "127.0.0.1:5000", []string{strings.Repeat("10.0.0.1, ", 5000) + "203.0.113.7"}, ours, "203.0.113.7"},
		{"a proxy that does not say the address", "127.0.0.1:5000", []string{"unknown"}, ours, "unknown, logged as 127.0.0.1"},
		{"a proxy that says nothing", "127.0.0.1:5000", []string{""}, ours, "unknown, logged as 127.0.0.1"},
		{"a second proxy that does not", "127.0.0.1:5000", []string{"203.0.113.7, unknown, 10.1.2.3"}, ours, "unknown, logged as 10.1.2.3"},
		{"a proxy that is not trusted", "127.0.0.1:5000", []string{"203.0.113.7"}, nil, "unknown, logged as 127.0.0.1, untrusted"},
		{"a proxy of IPv6 that is not trusted", "[::1]:5000", []string{"203.0.113.7"}, nil, "unknown, logged as ::1, untrusted"},
		{"a proxy in the network", "172.17.0.1:5000", []string{"203.0.113.7"}, nil, "unknown, logged as 172.17.0.1, untrusted"},
		{"a proxy other than the trusted ones", "192.168.1.2:5000", []string{"203.0.113.7"}, ours,
			"unknown, logged as 192.168.1.2, untrusted"},
		{"a proxy in a shared network", "100.64.0.2:5000", []string{"203.0.113.7"}, nil, "unknown, logged as 100.64.0.2, untrusted"},
		{"a proxy on the link", "[fe80::2%eth0]:5000", []string{"203.0.113.7"}, nil, "unknown, logged as fe80::2, untrusted"},
	} {
		client := ClientOf(c.peer, c.forwarded, c.trusted)
		got := (Client{Peer: client.Addr}).logged()
		if log := client.logged(); log != got {
			got = cmp.Or(got, "unknown") + ", logged as " + log
		}
		if client.UntrustedProxy {
			got += ", untrusted"
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// TestUntrustedProxy checks that the kernel remembers that a proxy is not trusted.
func TestUntrustedProxy(t *testing.T) {
	k := &Kernel{}
	r := httptest.NewRequest("POST", "/sign-in", nil)
	r.RemoteAddr = "127.0.0.1:5000"
	if got := k.ClientAddress(r); got != netip.MustParseAddr("127.0.0.1") || k.UntrustedProxy() {
		t.Errorf("%v, untrusted %t", got, k.UntrustedProxy())
	}
	r.Header.Set("X-Forwarded-For", "203.0.113.7")
	if got := k.ClientAddress(r); got.IsValid() || !k.UntrustedProxy() {
		t.Errorf("through a proxy: %v, untrusted %t", got, k.UntrustedProxy())
	}
	k.conf.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	if got := k.ClientAddress(r); got != netip.MustParseAddr("203.0.113.7") {
		t.Errorf("through a trusted proxy: %v", got)
	}
}
