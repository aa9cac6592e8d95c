package webhook

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
)

// denied are addresses that are not permitted, in all forms that ParseAddr accepts.
var denied = strings.Fields(`
	0.0.0.0 0.255.255.255 10.0.0.0 10.1.2.3 10.255.255.255 100.64.0.0 100.127.255.255
	127.0.0.0 127.0.0.1 127.0.0.53 127.255.255.255 169.254.0.0 169.254.1.1 169.254.255.255
	172.16.0.0 172.31.255.255 192.0.0.0 192.0.0.8 192.0.0.9 192.0.0.10 192.0.0.170 192.0.0.255
	192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.88.99.2 192.168.0.0 192.168.255.255 192.175.48.1
	198.18.0.0 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255
	240.0.0.1 255.255.255.254 255.255.255.255
	:: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:0.0.0.0 ::ffff:192.168.1.1 ::ffff:224.0.0.1
	::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8
	64:ff9b::10.0.0.1 64:ff9b::127.0.0.1 64:ff9b::8.8.8.8 64:ff9b:1::1 64:ff9b:1:ffff::8.8.8.8
	100:: 100::1 100:0:0:1::1 1fff:ffff::1
	2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:1::1 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1 2001:20::1 2001:30::1
	2001:1ff:ffff::1 2001:db8::1 2001:db8:ffff::1 2002:: 2002:7f00:1::1 2002:a00:1::1 2002:808:808::1
	2620:4f:8000::1 2620:4f:8000:ffff::1 3fff::1 3fff:fff::1
	4000::1 5f00::1 fc00::1 fd00::1 fd12:3456:789a::1 fe80::1 febf::1 fec0::1 ff02::1 ff0e::1
	fe80::1%eth0 2606:4700::1111%lo ::1%lo ::ffff:8.8.8.8%eth0`)

// neverAllowed are metadata addresses, which no setting permits: plain, mapped, and
// embedded by NAT64 with its well-known prefix and the local one in all lengths, by
// 6to4, by Teredo, and by an operator's own prefix.
var neverAllowed = strings.Fields(`
	169.254.169.254 169.254.170.2 169.254.170.23 100.100.100.200 168.63.129.16 192.0.0.192 169.254.0.23 169.254.42.42
	fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:42::42
	::ffff:169.254.169.254 ::ffff:168.63.129.16 ::ffff:100.100.100.200 ::ffff:192.0.0.192 ::ffff:169.254.170.2 ::ffff:169.254.170.23
	64:ff9b::169.254.169.254 64:ff9b::168.63.129.16 64:ff9b::100.100.100.200 64:ff9b::192.0.0.192
	64:ff9b:1::169.254.169.254 64:ff9b:1:a9fe:a9:fe00:: 64:ff9b:1:12a9:fe:a9fe:: 64:ff9b:1:1234:a9:fea9:fe00:0
	2002:a9fe:a9fe::1 2001:0:a9fe:a9fe::1 2001:0:4136:e378:8000:63bf:5601:5601
	::169.254.169.254 ::ffff:0:169.254.169.254 fe80::a9fe:a9fe 2606:4700::a9fe:a9fe`)

// TestLoopback checks that of the lists above Loopback permits the loopback addresses alone. Without settings none is
// permitted: see FuzzPermits.
func TestLoopback(t *testing.T) {
	t.Parallel()
	loop := netip.MustParsePrefix("127.0.0.0/8")
	for _, s := range append(denied, neverAllowed...) {
		ip := netip.MustParseAddr(s)
		isLoop := s == "::1" || loop.Contains(ip.Unmap())
		if (&Guard{Loopback: true, AllowHTTP: true, Unresolved: true}).Permits(ip) != isLoop {
			t.Errorf("%s: permitted %v", s, !isLoop)
		}
	}
	if (&Guard{Loopback: true, AllowCIDR: prefixes("::/0 0.0.0.0/0")}).Permits(netip.Addr{}) {
		t.Error("the zero Addr is permitted")
	}
}

// TestAllowCIDR checks that AllowCIDR permits addresses of its networks, except for neverAllowed
// and those with a zone.
func TestAllowCIDR(t *testing.T) {
	t.Parallel()
	every := &Guard{
		Loopback:  true,
		AllowHTTP: true,
		AllowCIDR: append(prefixes("0.0.0.0/0 ::/0 169.254.169.254/32 fd00:ec2::/32"), netip.Prefix{}),
	}
	for _, s := range neverAllowed {
		if every.Permits(netip.MustParseAddr(s)) {
			t.Errorf("%s is permitted with every network allowed", s)
		}
	}
	for _, s := range denied {
		if want := !strings.Contains(s, "%"); every.Permits(netip.MustParseAddr(s)) != want {
			t.Errorf("%s with every network allowed: permitted %v", s, !want)
		}
	}
	for _, c := range []struct {
		cidr, ip string
		want     bool
	}{
		{"10.0.0.0/8", "10.1.2.3", true},
		{"10.1.2.3/8", "10.9.9.9", true},
		{"10.0.0.0/8", "::ffff:10.1.2.3", true},
		{"10.0.0.0/8", "11.0.0.1", true}, // public
		{"10.0.0.0/8", "172.16.0.1", false},
		{"fd12::/16", "fd12::1", true},
		{"fd12::/16", "fd12::1%eth0", false},
		{"fd12::/16", "fd13::1", false},
		{"127.0.0.0/8", "127.0.0.1", true},
		{"127.0.0.0/8", "::1", false},
		// Allowing a translator does not allow the networks behind it.
		{"64:ff9b::/96", "64:ff9b::8.8.8.8", true},
		{"64:ff9b::/96", "64:ff9b::10.0.0.1", false},
		{"64:ff9b::/96", "64:ff9b::127.0.0.1", false},
		{"64:ff9b::/96 10.0.0.0/8", "64:ff9b::10.0.0.1", true},
		{"10.0.0.0/8", "64:ff9b::10.0.0.1", false},
	} {
		if got := (&Guard{AllowCIDR: prefixes(c.cidr)}).Permits(netip.MustParseAddr(c.ip)); got != c.want {
			t.Errorf("%s, %s: %v", c.cidr, c.ip, got)
		}
	}
}

// TestControl checks which networks and addresses a dial may use.
func TestControl(t *testing.T) {
	t.Parallel()
	g := &Guard{Loopback: true}
	for _, c := range []struct {
		network, address string
		want             bool
	}{
		{"tcp4", "8.8.8.8:443", true},
		{"tcp6", "[2606:4700::1111]:443", true},
		{"tcp4", "127.0.0.1:80", true},
		{"tcp6", "[::ffff:8.8.8.8]:443", true},
		{"tcp4", "10.0.0.1:443", false},
		{"tcp6", "[::ffff:10.0.0.1]:443", false},
		{"tcp6", "[fe80::1%eth0]:443", false},
		{"tcp6", "[::1%lo]:443", false},
		{"tcp4", "0.0.0.0:80", false},
		{"tcp6", "[::]:80", false},
		{"tcp4", "8.8.8.8", false},
		{"tcp4", "example.com:443", false},
		{"tcp4", "", false},
		{"tcp", "8.8.8.8:443", false},
		{"udp4", "8.8.8.8:443", false},
		{"unix", "/run/docker.sock", false},
		{"", "8.8.8.8:443", false},
	} {
		err := g.Control(t.Context(), c.network, c.address, nil)
		if c.want != (err == nil) ||
			err != nil && (!errors.Is(err, ErrNotPublic) || err.Error() != c.address+": the address is not public") {
			t.Errorf("%s %s: %v", c.network, c.address, err)
		}
	}
}

// TestOnLink checks that public IPv6 addresses in the networks of the machine's own
// interfaces are denied, and IPv4 addresses are not.
func TestOnLink(t *testing.T) {
	t.Parallel()
	networks := func() (list []net.Addr, err error) {
		for _, s := range []string{"127.0.0.1/8", "::1/128", "fe80::1/64", "8.8.8.1/24", "2a00:1450:4001:80e::5/64", "2606:4700::1/128"} {
			ip, n, err := net.ParseCIDR(s)
			if err != nil {
				return nil, err
			}
			list = append(list, &net.IPNet{IP: ip, Mask: n.Mask})
		}
		return append(list, &net.UnixAddr{Name: "x", Net: "unix"}), nil
	}
	for s, want := range map[string]bool{
		"2a00:1450:4001:80e::5":     false,
		"2a00:1450:4001:80e:1::200": false,
		"2a00:1450:4001:80f::5":     true,
		"2606:4700::1":              false,
		"2606:4700::2":              true,
		"8.8.8.1":                   true,
		"8.8.8.8":                   true,
		"::ffff:8.8.8.8":            true,
		"::1":                       false,
		"fe80::2":                   false,
	} {
		ip := netip.MustParseAddr(s)
		g := &Guard{Networks: networks}
		if g.Permits(ip) != want {
			t.Errorf("%s: %v", s, !want)
		}
		if !want && ip.IsGlobalUnicast() {
			if p := g.CheckURL(t.Context(), "https://["+s+"]/"); p == nil || p.Code != "not_public" {
				t.Errorf("%s: %v", s, p)
			}
			if err := g.Control(t.Context(), "tcp6", "["+s+"]:443", nil); !errors.Is(err, ErrNotPublic) {
				t.Errorf("%s: %v", s, err)
			}
		}
		if (&Guard{Networks: networks, AllowCIDR: prefixes("2a00::/16")}).Permits(ip) != (want || strings.HasPrefix(s, "2a00:")) {
			t.Errorf("%s with a permitted network", s)
		}
	}
	unknown := &Guard{Networks: func() ([]net.Addr, error) { return nil, errors.New("no") }}
	if unknown.Permits(netip.MustParseAddr("2606:4700::2")) || !unknown.Permits(netip.MustParseAddr("8.8.8.8")) {
		t.Error("with unknown networks, public IPv6 is permitted or public IPv4 is not")
	}
}

// TestInterfaces checks that the two ways to read the networks of the machine agree.
func TestInterfaces(t *testing.T) {
	t.Parallel()
	if list, err := parseInterfaces("20010db8000000010000000000000005 02 40 00 80     eth0\n"); err != nil || len(list) != 1 ||
		list[0].String() != "2001:db8:0:1::5/64" {
		t.Errorf("%v %v", list, err)
	}
	for _, bad := range []string{"x", "20010db8 02 40 00 80 eth0\n", "zz010db8000000010000000000000005 02 40 00 80 eth0\n"} {
		if list, err := parseInterfaces(bad); err == nil {
			t.Errorf("%q: %v", bad, list)
		}
	}
	raw, err := os.ReadFile("/proc/net/if_inet6")
	if err != nil {
		t.Skip("no table of the kernel:", err)
	}
	list, err := parseInterfaces(string(raw))
	if err != nil {
		t.Fatal(err)
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	var table, calls []string
	for _, a := range list {
		table = append(table, a.String())
	}
	for _, a := range own {
		if strings.Contains(a.String(), ":") {
			calls = append(calls, a.String())
		}
	}
	slices.Sort(table)
	slices.Sort(calls)
	if !slices.Equal(table, calls) {
		t.Errorf("the table has %q, the system call %q", table, calls)
	}
}
