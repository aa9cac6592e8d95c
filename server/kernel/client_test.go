package kernel

import (
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
		addr, log  string
		untrusted  bool
	}{
		{"a direct client", "203.0.113.7:5000", nil, nil, "203.0.113.7", "203.0.113.7", false},
		{"a direct client of IPv6", "[2001:db8::7]:5000", nil, nil, "2001:db8::7", "2001:db8::7", false},
		{"a mapped address", "[::ffff:203.0.113.7]:5000", nil, nil, "203.0.113.7", "203.0.113.7", false},
		{"a client on the link", "[fe80::7%eth0]:5000", nil, nil, "fe80::7", "fe80::7", false},
		{"a client in the shop's network", "192.168.1.9:5000", nil, nil, "192.168.1.9", "192.168.1.9", false},
		{"this machine", "127.0.0.1:5000", nil, nil, "127.0.0.1", "127.0.0.1", false},
		{"this machine, trusted", "127.0.0.1:5000", nil, ours, "127.0.0.1", "127.0.0.1", false},
		{"a socket without an address", "@", []string{"203.0.113.7"}, ours, "", "", false},
		{"nothing", "", nil, nil, "", "", false},

		{"a header that a direct client forges", "203.0.113.7:5000", []string{"198.51.100.1"}, nil, "203.0.113.7", "203.0.113.7", false},
		{
			"a header that a direct client forges, though proxies are trusted", "203.0.113.7:5000", []string{"198.51.100.1, 127.0.0.1"},
			ours, "203.0.113.7", "203.0.113.7", false,
		},

		{"a proxy", "127.0.0.1:5000", []string{"203.0.113.7"}, ours, "203.0.113.7", "203.0.113.7", false},
		{"a proxy with a public address", "198.51.100.7:5000", []string{"203.0.113.7"}, ours, "203.0.113.7", "203.0.113.7", false},
		{"two proxies", "127.0.0.1:5000", []string{"203.0.113.7, 10.1.2.3"}, ours, "203.0.113.7", "203.0.113.7", false},
		{
			"two proxies with a header each", "127.0.0.1:5000", []string{"203.0.113.7", "10.1.2.3"}, ours, "203.0.113.7", "203.0.113.7",
			false,
		},
		{
			"an address that the client puts first", "127.0.0.1:5000", []string{"198.51.100.1, 203.0.113.7"}, ours, "203.0.113.7",
			"203.0.113.7", false,
		},
		{
			"a trusted address that the client puts first", "127.0.0.1:5000", []string{"10.9.9.9, 203.0.113.7"}, ours, "203.0.113.7",
			"203.0.113.7", false,
		},
		{"nonsense that the client puts first", "127.0.0.1:5000", []string{"x\n, 203.0.113.7"}, ours, "203.0.113.7", "203.0.113.7", false},
		{"a client that is itself in a trusted network", "127.0.0.1:5000", []string{"10.9.9.9"}, ours, "10.9.9.9", "10.9.9.9", false},
		{"addresses that are all trusted", "127.0.0.1:5000", []string{"10.9.9.9, 10.1.2.3"}, ours, "10.9.9.9", "10.9.9.9", false},
		{"an address with a port", "127.0.0.1:5000", []string{"203.0.113.7:40000"}, ours, "203.0.113.7", "203.0.113.7", false},
		{"IPv6 with a port", "127.0.0.1:5000", []string{"[2001:db8::7]:40000"}, ours, "2001:db8::7", "2001:db8::7", false},
		{"IPv6 with a zone", "127.0.0.1:5000", []string{"fe80::7%eth0"}, ours, "fe80::7", "fe80::7", false},
		{"a mapped address in the header", "127.0.0.1:5000", []string{"::ffff:203.0.113.7"}, ours, "203.0.113.7", "203.0.113.7", false},
		{"a mapped proxy", "[::ffff:127.0.0.1]:5000", []string{"203.0.113.7"}, ours, "203.0.113.7", "203.0.113.7", false},
		{"a proxy of IPv6", "[fd00::1]:5000", []string{" 2001:db8::7 "}, ours, "2001:db8::7", "2001:db8::7", false},
		{
			"a private proxy before the trusted one", "127.0.0.1:5000", []string{"203.0.113.7, 192.168.1.9"}, ours, "192.168.1.9",
			"192.168.1.9", false,
		},
		{
			"many addresses", "127.0.0.1:5000", []string{strings.Repeat("10.0.0.1, ", 5000) + "203.0.113.7"}, ours, "203.0.113.7",
			"203.0.113.7", false,
		},

		{"a proxy that does not say the address", "127.0.0.1:5000", []string{"unknown"}, ours, "", "127.0.0.1", false},
		{"a proxy that says nothing", "127.0.0.1:5000", []string{""}, ours, "", "127.0.0.1", false},
		{"a second proxy that does not", "127.0.0.1:5000", []string{"203.0.113.7, unknown, 10.1.2.3"}, ours, "", "10.1.2.3", false},

		{"a proxy that is not trusted", "127.0.0.1:5000", []string{"203.0.113.7"}, nil, "", "127.0.0.1", true},
		{"a proxy of IPv6 that is not trusted", "[::1]:5000", []string{"203.0.113.7"}, nil, "", "::1", true},
		{"a proxy in the network", "172.17.0.1:5000", []string{"203.0.113.7"}, nil, "", "172.17.0.1", true},
		{"a proxy other than the trusted ones", "192.168.1.2:5000", []string{"203.0.113.7"}, ours, "", "192.168.1.2", true},
		{"a proxy in a shared network", "100.64.0.2:5000", []string{"203.0.113.7"}, nil, "", "100.64.0.2", true},
		{"a proxy on the link", "[fe80::2%eth0]:5000", []string{"203.0.113.7"}, nil, "", "fe80::2", true},
	} {
		got := ClientOf(c.peer, c.forwarded, c.trusted)
		if addr := (Client{Peer: got.Addr}).logged(); addr != c.addr || got.logged() != c.log || got.UntrustedProxy != c.untrusted {
			t.Errorf("%s: %+v, want %q, %q in the log, untrusted %t", c.what, got, c.addr, c.log, c.untrusted)
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
