package webhook

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// open lists the public addresses, by the first and the last of each range. It is
// the complement of the guard's lists.
var open = func() (ranges [][2]netip.Addr) {
	for line := range strings.Lines(`1.0.0.0 9.255.255.255
		11.0.0.0 100.63.255.255
		100.128.0.0 126.255.255.255
		128.0.0.0 168.63.129.15
		168.63.129.17 169.253.255.255
		169.255.0.0 172.15.255.255
		172.32.0.0 191.255.255.255
		192.0.1.0 192.0.1.255
		192.0.3.0 192.31.195.255
		192.31.197.0 192.52.192.255
		192.52.194.0 192.88.98.255
		192.88.100.0 192.167.255.255
		192.169.0.0 192.175.47.255
		192.175.49.0 198.17.255.255
		198.20.0.0 198.51.99.255
		198.51.101.0 203.0.112.255
		203.0.114.0 223.255.255.255
		2000:: 2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff
		2001:200:: 2001:db7:ffff:ffff:ffff:ffff:ffff:ffff
		2001:db9:: 2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff
		2003:: 2620:4f:7fff:ffff:ffff:ffff:ffff:ffff
		2620:4f:8001:: 3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff
		3fff:1000:: 3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff`) {
		ends := strings.Fields(line)
		ranges = append(ranges, [2]netip.Addr{netip.MustParseAddr(ends[0]), netip.MustParseAddr(ends[1])})
	}
	return ranges
}()

// endings are the last four bytes that no IPv6 address may have.
var endings = strings.Fields(
	"169.254.169.254 169.254.170.2 169.254.170.23 168.63.129.16 192.0.0.192 100.100.100.200 169.254.0.23 169.254.42.42",
)

// isOpen reports whether a Guard without settings must permit an address.
func isOpen(b [16]byte) bool {
	ip := netip.AddrFrom16(b)
	if ip.Is4In6() {
		ip = netip.AddrFrom4([4]byte(b[12:]))
	} else if slices.Contains(endings, netip.AddrFrom4([4]byte(b[12:])).String()) {
		return false
	}
	return slices.ContainsFunc(open, func(s [2]netip.Addr) bool {
		return s[0].BitLen() == ip.BitLen() && s[0].Compare(ip) <= 0 && ip.Compare(s[1]) <= 0
	})
}

func FuzzPermits(f *testing.F) {
	for _, s := range slices.Concat(denied, neverAllowed) {
		b := netip.MustParseAddr(s).As16()
		f.Add(b[:])
	}
	// The addresses on both sides of each end of a range.
	for _, s := range open {
		for _, ip := range []netip.Addr{s[0].Prev(), s[0], s[1], s[1].Next()} {
			b := ip.As16()
			f.Add(b[:])
		}
	}
	every := &Guard{Loopback: true, AllowCIDR: prefixes("0.0.0.0/0 ::/0")}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		// Four bytes are an IPv4 address, since sixteen random ones never are.
		var b [16]byte
		if len(bytes) == 4 {
			b[10], b[11] = 0xff, 0xff
			copy(b[12:], bytes)
		} else {
			copy(b[:], bytes)
		}
		ip, want := netip.AddrFrom16(b), isOpen(b)
		if got := new(Guard).Permits(ip); got != want {
			t.Errorf("%s: %v", ip, got)
		}
		if got := new(Guard).Permits(ip.Unmap()); got != want {
			t.Errorf("%s: %v", ip.Unmap(), got)
		}
		if want && !every.Permits(ip) {
			t.Errorf("%s is public, but is refused if every network is allowed", ip)
		}
		dial := new(Guard).Control(t.Context(), "tcp6", netip.AddrPortFrom(ip, 443).String(), nil)
		if want != (dial == nil) {
			t.Errorf("%s at dial: %v", ip, dial)
		}
		if new(Guard).Permits(ip.WithZone("eth0")) && !ip.Is4() {
			t.Errorf("%s with a zone", ip)
		}
	})
}

func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{"https://example.com/hook", "https://8.8.8.8:443/", "https://[2606:4700::1111]/", "http://127.0.0.1:8080",
		"https://2130706433/", "https://0x7f.1/", "https://[::ffff:127.0.0.1]/", "https://[::1%25lo]/", "https://ada:pw@example.com",
		"https://example.com:/", "http://localhost.:1/#", "https://bücher.example", "https://%31.example", `https://a\b`,
		"mailto:a", "\x00",
		"https://[64:ff9b::a9fe:a9fe]", "http://shop.localhost/?q=%20"} {
		f.Add(s)
	}
	codes := []string{"invalid_format", "invalid_value", "not_public", "unresolvable"}
	f.Fuzz(func(t *testing.T, raw string) {
		strict := &Guard{Resolver: failing{}}
		p := strict.CheckURL(t.Context(), raw)
		if p != nil && (!slices.Contains(codes, p.Code) || !strings.HasPrefix(p.Message, "The URL")) {
			t.Errorf("%q: %v", raw, *p)
		}
		// No name resolves, so only a public IP address is accepted.
		if p == nil {
			ip := accepted(t, strict, raw)
			if u, _ := url.Parse(raw); u.Scheme != "https" || !ip.IsValid() || !isOpen(ip.As16()) {
				t.Errorf("%q is accepted", raw)
			}
		}
		if again := strict.CheckURL(t.Context(), raw); again != p {
			t.Errorf("%q: %v, then %v", raw, p, again)
		}

		dev := &Guard{Resolver: failing{}, Loopback: true, Unresolved: true}
		switch q := dev.CheckURL(t.Context(), raw); {
		case q == nil:
			ip := accepted(t, dev, raw)
			if ip.IsValid() && !ip.Unmap().IsLoopback() && !isOpen(ip.As16()) {
				t.Errorf("%q is accepted by dev", raw)
			}
			u, _ := url.Parse(raw)
			host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
			if u.Scheme == "http" && !ip.Unmap().IsLoopback() && host != "localhost" && !strings.HasSuffix(host, ".localhost") {
				t.Errorf("%q is accepted by dev without TLS", raw)
			}
		case p == nil:
			t.Errorf("%q passes, but not under dev: %v", raw, *q)
		}
	})
}

// accepted checks what must hold for every accepted URL, and returns the address
// that its host is, or the zero Addr if it is a name.
func accepted(t *testing.T, g *Guard, raw string) netip.Addr {
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	if u.User != nil || u.Fragment != "" || u.Host == "" || u.Opaque != "" || strings.ContainsAny(raw, " \t\r\n\\") ||
		strings.ContainsAny(u.Host, "%@/?#") {
		t.Errorf("%q is accepted", raw)
	}
	if err := g.CheckScheme(u); err != nil {
		t.Errorf("%q may be saved, not sent: %v", raw, err)
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	ip, err := netip.ParseAddr(host)
	if err != nil && !strings.ContainsAny(host[len(host)-1:], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") {
		t.Errorf("%q is accepted", raw)
	}
	return ip
}
