package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Guard decides where webhooks may be sent. By default that is https URLs at
// public addresses; the fields allow more. A URL is checked when it is saved,
// and every address again just before it is connected to, since the name may
// resolve to another address by then. Do not change a Guard that is in use.
type Guard struct {
	// AllowHTTP allows http URLs too.
	AllowHTTP bool
	// AllowCIDR lists networks that are allowed although they are not public.
	// Metadata addresses stay forbidden, whatever it lists.
	AllowCIDR []netip.Prefix
	// Loopback allows 127.0.0.0/8 and ::1, also by http.
	Loopback bool
	// Unresolved allows https URLs to be saved whose host does not resolve.
	Unresolved bool
	// Resolver resolves hosts when a URL is saved; nil means
	// net.DefaultResolver. A *net.Resolver is also used for the connections.
	Resolver Resolver
	// LookupTimeout limits one such lookup; 0 means five seconds.
	LookupTimeout time.Duration
	// Networks returns the addresses of the machine's interfaces with their
	// networks; nil means net.InterfaceAddrs. Public IPv6 addresses in these
	// networks are forbidden.
	Networks func() ([]net.Addr, error)
	// Roots are the certificate authorities that are trusted instead of the
	// system's; nil means the system's. To add to those, start from
	// x509.SystemCertPool.
	Roots *x509.CertPool
}

// Resolver looks up the addresses of a host, as *net.Resolver does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// The reasons for refusing a connection. The delivery log shows their texts.
var (
	ErrNotPublic = errors.New("the address is not public")
	ErrPlainHTTP = errors.New("plain http is not allowed")
)

// Time limits of one connection. Attempts have their own limit, which is usually
// shorter; these stop a dial that outlives its attempt.
const (
	lookupTimeout = 5 * time.Second
	dialTimeout   = 10 * time.Second // including the TLS handshake
)

// Permits reports whether ip may be connected to. A mapped address is treated as
// the IPv4 address in it. An address with a zone is never permitted.
func (g *Guard) Permits(ip netip.Addr) bool {
	if !ip.IsValid() || ip.Zone() != "" {
		return false
	}
	ip = ip.Unmap()
	if isMetadata(ip) {
		return false
	}
	if b := ip.As16(); nat64.Contains(ip) && !g.Permits(netip.AddrFrom4([4]byte(b[12:]))) {
		// Allowing a translator's prefix does not allow the networks behind it.
		return false
	}
	return g.Loopback && ip.IsLoopback() || containsAddr(g.AllowCIDR, ip) || isPublic(ip) && !g.isOnLink(ip)
}

// isOnLink reports whether ip is an IPv6 address in a network of one of the
// machine's interfaces. Hosts beside the machine often have public addresses there
// and no firewall in between. If the networks are not known, every address counts.
func (g *Guard) isOnLink(ip netip.Addr) bool {
	if ip.Is4() {
		return false
	}
	networks := g.Networks
	if networks == nil {
		networks = interfaceAddrs
	}
	list, err := networks()
	return err != nil || slices.ContainsFunc(list, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Contains(ip)
	})
}

// interfaceAddrs is net.InterfaceAddrs, for Linux also where a service may not open
// netlink sockets.
func interfaceAddrs() ([]net.Addr, error) {
	list, err := net.InterfaceAddrs()
	if err == nil {
		return list, nil
	}
	raw, err := os.ReadFile("/proc/net/if_inet6")
	if err != nil {
		return nil, err
	}
	return parseInterfaces(string(raw))
}

// parseInterfaces parses /proc/net/if_inet6. Each line has an address in 32
// hexadecimal digits, the number of the interface, and the length of the network's
// prefix in hexadecimal.
func parseInterfaces(table string) (list []net.Addr, err error) {
	for line := range strings.Lines(table) {
		var ip []byte
		var index, bits int
		if _, err := fmt.Sscanf(line, "%32x %x %x", &ip, &index, &bits); err != nil || len(ip) != net.IPv6len {
			return nil, fmt.Errorf("a line of the interfaces' addresses: %q", line)
		}
		list = append(list, &net.IPNet{IP: ip, Mask: net.CIDRMask(bits, 8*net.IPv6len)})
	}
	return list, nil
}

// Control refuses connections to addresses that are not permitted. It is a
// net.Dialer.ControlContext, which is called with each address that a name
// resolved to, just before the connect.
func (g *Guard) Control(_ context.Context, network, address string, _ syscall.RawConn) error {
	_, err := g.checkAddress(network, address)
	return err
}

// controlPlain is Control for connections without TLS.
func (g *Guard) controlPlain(_ context.Context, network, address string, _ syscall.RawConn) error {
	ip, err := g.checkAddress(network, address)
	if err != nil || g.AllowHTTP || g.Loopback && isLoopback(ip) {
		return err
	}
	return fmt.Errorf("%s: %w", address, ErrPlainHTTP)
}

// checkAddress returns the IP address of a dialled address if it is permitted.
func (g *Guard) checkAddress(network, address string) (netip.Addr, error) {
	ap, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" || !g.Permits(ap.Addr()) {
		return netip.Addr{}, fmt.Errorf("%s: %w", address, ErrNotPublic)
	}
	return ap.Addr(), nil
}

// Dialer returns a dialer that connects to permitted addresses only.
func (g *Guard) Dialer() *net.Dialer {
	d := &net.Dialer{Timeout: dialTimeout, ControlContext: g.Control}
	d.Resolver, _ = g.Resolver.(*net.Resolver)
	return d
}

// CheckScheme returns an error if the scheme of a URL is not allowed. Call it
// before each attempt: the URL may have been saved under other settings. With
// Loopback it allows http; the dial then refuses other addresses.
func (g *Guard) CheckScheme(u *url.URL) error {
	if u.Scheme == "https" || u.Scheme == "http" && (g.AllowHTTP || g.Loopback) {
		return nil
	}
	return fmt.Errorf("%s: %w", u.Scheme, ErrPlainHTTP)
}

// prefixes parses network prefixes separated by spaces.
func prefixes(list string) (ps []netip.Prefix) {
	for s := range strings.FieldsSeq(list) {
		ps = append(ps, netip.MustParsePrefix(s))
	}
	return ps
}

var (
	// deny4 is IANA's whole IPv4 special-purpose registry, with multicast and
	// class E. 192.0.0.9 and 192.0.0.10 are globally reachable anycast services,
	// but no web servers, so their network is denied as a whole.
	deny4 = prefixes(`0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16
		172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24
		192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
		203.0.113.0/24 224.0.0.0/4 240.0.0.0/4`)

	// allow6 is global unicast. It excludes loopback, mapped, NAT64,
	// discard-only, SRv6, unique local, link local and multicast addresses.
	// deny6 is what the IPv6 special-purpose registry has in that range:
	// protocol assignments (with Teredo, ORCHID and benchmarking), two networks
	// for documentation, 6to4 and AS112.
	allow6 = netip.MustParsePrefix("2000::/3")
	deny6  = prefixes(`2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20`)

	// metadata are the addresses at which clouds give credentials to their
	// machines: Amazon (EC2, ECS, EKS), Google, Azure, Oracle, Alibaba, Tencent,
	// Scaleway, and all who use 169.254.169.254.
	metadata = prefixes(`169.254.169.254/32 169.254.170.2/32 169.254.170.23/32 fd00:ec2::254/128
		fd00:ec2::23/128 fd20:ce::254/128 168.63.129.16/32 192.0.0.192/32 100.100.100.200/32
		169.254.0.23/32 169.254.42.42/32 fd00:42::42/128`)

	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	teredo     = netip.MustParsePrefix("2001::/32")
)

// isPublic reports whether ip, which is not a mapped address, is globally
// reachable.
func isPublic(ip netip.Addr) bool {
	if ip.Is4() {
		return !containsAddr(deny4, ip)
	}
	return allow6.Contains(ip) && !containsAddr(deny6, ip)
}

// containsAddr reports whether one of the prefixes contains ip.
func containsAddr(ps []netip.Prefix, ip netip.Addr) bool {
	return slices.ContainsFunc(ps, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// isMetadata reports whether ip, which is not a mapped address, is a metadata
// address, or an IPv6 address with one embedded in it for a translator or a
// tunnel. The last four bytes are examined in every network, because an
// operator's own NAT64 prefix cannot be told from another network.
func isMetadata(ip netip.Addr) bool {
	if known := containsAddr(metadata, ip); known || ip.Is4() {
		return known
	}
	b := ip.As16()
	embedded := [][4]byte{[4]byte(b[12:])}
	switch {
	case nat64Local.Contains(ip): // RFC 6052, prefixes of 48, 56 and 64 bits
		embedded = append(embedded, [4]byte{b[6], b[7], b[9], b[10]}, [4]byte{b[7], b[9], b[10], b[11]}, [4]byte(b[9:13]))
	case sixToFour.Contains(ip):
		embedded = append(embedded, [4]byte(b[2:6]))
	case teredo.Contains(ip): // the relay, and the client with its bits inverted
		embedded = append(embedded, [4]byte(b[4:8]), [4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
	}
	return slices.ContainsFunc(embedded, func(b [4]byte) bool { return containsAddr(metadata, netip.AddrFrom4(b)) })
}

// isLoopback reports whether ip, mapped or not, is a loopback address.
func isLoopback(ip netip.Addr) bool { return ip.Zone() == "" && ip.Unmap().IsLoopback() }
