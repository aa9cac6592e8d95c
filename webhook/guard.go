package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

// Guard decides where webhooks may be sent: by https to public addresses, and
// nowhere else unless a field says so. A URL is looked at when it is saved and
// every address again just before it is connected to, since a name may answer
// differently by then. Do not change a Guard that is in use.
type Guard struct {
	// AllowHTTP lets http targets pass as https ones do.
	AllowHTTP bool
	// AllowCIDR are networks that are allowed although they are not public. No
	// entry opens a metadata address.
	AllowCIDR []netip.Prefix
	// Loopback allows targets in 127.0.0.0/8 and ::1, by http as well.
	Loopback bool
	// Unresolved lets https URLs be saved whose host does not resolve.
	Unresolved bool
	// Resolver answers when a URL is saved; nil is net.DefaultResolver. A
	// *net.Resolver also serves the connections.
	Resolver Resolver
	// LookupTimeout bounds one such answer; 0 is five seconds.
	LookupTimeout time.Duration
	// Roots are the authorities that receivers' certificates may come from, in
	// place of the system's; nil is the system's. To add to those, start from
	// x509.SystemCertPool.
	Roots *x509.CertPool
}

// Resolver finds a host's addresses, as *net.Resolver does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Why a connection is refused, in words fit for the delivery log.
var (
	ErrNotPublic = errors.New("the address is not public")
	ErrPlainHTTP = errors.New("plain http is not allowed")
)

// Bounds on one connection. An attempt has a time limit of its own, mostly
// shorter; these stop a dial that outlives its attempt.
const (
	lookupTimeout = 5 * time.Second
	dialTimeout   = 10 * time.Second // TLS handshake included
)

func prefixes(list string) (ps []netip.Prefix) {
	for s := range strings.FieldsSeq(list) {
		ps = append(ps, netip.MustParsePrefix(s))
	}
	return ps
}

var (
	// IANA's IPv4 special-purpose registry in full, with multicast and class E.
	// 192.0.0.9 and 192.0.0.10 are globally reachable anycast services there,
	// no web servers, and go with their network.
	deny4 = prefixes(`0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16
		172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24
		192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
		203.0.113.0/24 224.0.0.0/4 240.0.0.0/4`)

	// Of IPv6 only global unicast is allowed, which leaves out loopback, mapped,
	// NAT64, discard-only, SRv6, unique local, link local and multicast. What
	// that range has in the registry: protocol assignments with Teredo, ORCHID
	// and benchmarking, documentation twice, 6to4, AS112.
	allow6 = netip.MustParsePrefix("2000::/3")
	deny6  = prefixes(`2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20`)

	// Where clouds hand their machines credentials: Amazon (EC2, ECS, EKS),
	// Google, Azure, Oracle, Alibaba, Tencent, Scaleway, and whoever took over
	// 169.254.169.254.
	metadata = func() map[netip.Addr]bool {
		set := map[netip.Addr]bool{}
		for s := range strings.FieldsSeq(`169.254.169.254 169.254.170.2 169.254.170.23
			fd00:ec2::254 fd00:ec2::23 fd20:ce::254 168.63.129.16 192.0.0.192
			100.100.100.200 169.254.0.23 169.254.42.42 fd00:42::42`) {
			set[netip.MustParseAddr(s)] = true
		}
		return set
	}()

	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	teredo     = netip.MustParsePrefix("2001::/32")
)

// Permits reports whether ip may be connected to. A mapped address counts as
// the IPv4 address in it; an address with a zone is never permitted.
func (g *Guard) Permits(ip netip.Addr) bool {
	if !ip.IsValid() || ip.Zone() != "" {
		return false
	}
	ip = ip.Unmap()
	if isMetadata(ip) {
		return false
	}
	if b := ip.As16(); nat64.Contains(ip) && !g.Permits(netip.AddrFrom4([4]byte(b[12:]))) {
		// Allowing the translator must not open what is behind it.
		return false
	}
	return isPublic(ip) || g.Loopback && ip.IsLoopback() || within(g.AllowCIDR, ip)
}

func isPublic(ip netip.Addr) bool {
	if ip.Is4() {
		return !within(deny4, ip)
	}
	return allow6.Contains(ip) && !within(deny6, ip)
}

func within(ps []netip.Prefix, ip netip.Addr) bool {
	for _, p := range ps {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// isMetadata reports whether ip, already unmapped, is a metadata address or
// carries one to a translator or a tunnel. The last four bytes count anywhere,
// because an operator's own NAT64 prefix looks like any other network and
// nobody numbers a receiver so.
func isMetadata(ip netip.Addr) bool {
	if metadata[ip] || ip.Is4() {
		return metadata[ip]
	}
	b := ip.As16()
	carried := [][4]byte{[4]byte(b[12:])}
	switch {
	case nat64Local.Contains(ip): // RFC 6052, prefixes of 48, 56 and 64 bits
		carried = append(carried, [4]byte{b[6], b[7], b[9], b[10]}, [4]byte{b[7], b[9], b[10], b[11]}, [4]byte(b[9:13]))
	case sixToFour.Contains(ip):
		carried = append(carried, [4]byte(b[2:6]))
	case teredo.Contains(ip): // the relay, and the client with its bits turned over
		carried = append(carried, [4]byte(b[4:8]), [4]byte{^b[12], ^b[13], ^b[14], ^b[15]})
	}
	for _, c := range carried {
		if metadata[netip.AddrFrom4(c)] {
			return true
		}
	}
	return false
}

func isLoopback(ip netip.Addr) bool { return ip.Zone() == "" && ip.Unmap().IsLoopback() }

// Control refuses a connection to an address that is not permitted. It is made
// for net.Dialer.ControlContext, which is asked about every address that a name
// resolved to, just before the connect.
func (g *Guard) Control(_ context.Context, network, address string, _ syscall.RawConn) error {
	_, err := g.vet(network, address)
	return err
}

// controlPlain is Control for a connection without TLS.
func (g *Guard) controlPlain(_ context.Context, network, address string, _ syscall.RawConn) error {
	ip, err := g.vet(network, address)
	if err != nil || g.AllowHTTP || g.Loopback && isLoopback(ip) {
		return err
	}
	return fmt.Errorf("%s: %w", address, ErrPlainHTTP)
}

func (g *Guard) vet(network, address string) (netip.Addr, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil || network != "tcp4" && network != "tcp6" || !g.Permits(at.Addr()) {
		return netip.Addr{}, fmt.Errorf("%s: %w", address, ErrNotPublic)
	}
	return at.Addr(), nil
}

// Dialer returns a dialer that connects to permitted addresses only.
func (g *Guard) Dialer() *net.Dialer {
	d := &net.Dialer{Timeout: dialTimeout, ControlContext: g.Control}
	d.Resolver, _ = g.Resolver.(*net.Resolver)
	return d
}

// Allowed looks at a saved URL's scheme, without asking the DNS. Call it before
// each attempt: the flag that the URL was saved under may be gone. Under
// Loopback the dial decides, when it knows the address.
func (g *Guard) Allowed(u *url.URL) error {
	if u.Scheme == "https" || u.Scheme == "http" && (g.AllowHTTP || g.Loopback) {
		return nil
	}
	return fmt.Errorf("%s: %w", u.Scheme, ErrPlainHTTP)
}

// Problem is why a URL may not be saved: the code and message of a validation
// detail. It names no address that a lookup found, since callers could map a
// private network with that.
type Problem struct{ Code, Message string }

// The problems of a URL.
var (
	notAbsolute  = &Problem{"invalid_format", "The URL must be absolute, such as https://example.com/hook, without spaces, control characters or backslashes."}
	badHost      = &Problem{"invalid_format", "The URL's host must be a domain name in ASCII form, an IPv4 address of four decimal numbers, or an IPv6 address in brackets."}
	badPort      = &Problem{"invalid_format", "The URL's port must be a number from 1 to 65535."}
	notHTTPS     = &Problem{"invalid_value", "The URL must begin with https://."}
	neitherHTTP  = &Problem{"invalid_value", "The URL must begin with https:// or http://."}
	httpLoopback = &Problem{"invalid_value", "The URL must begin with https://; http:// is accepted for a loopback host only."}
	hasUserInfo  = &Problem{"invalid_value", "The URL must not hold a user name or password."}
	hasFragment  = &Problem{"invalid_value", "The URL must not have a fragment, which is never sent."}
	notPublic    = &Problem{"not_public", "The URL's host must have public addresses only."}
	unresolvable = &Problem{"unresolvable", "The URL's host must resolve to an address."}
)

// CheckURL returns what stands against saving raw as a webhook's URL, nil when
// nothing does. It asks the DNS when the host is a name.
func (g *Guard) CheckURL(ctx context.Context, raw string) *Problem {
	u, p := g.parse(raw)
	if p != nil {
		return p
	}
	host := u.Hostname()
	ip, p := literal(u.Host, host)
	if p != nil {
		return p
	}
	switch {
	case g.Allowed(u) != nil:
		return g.badScheme()
	case u.User != nil:
		return hasUserInfo
	case strings.Contains(raw, "#"):
		return hasFragment
	case ip.IsValid():
		return g.checkAddrs(u, []netip.Addr{ip})
	case isLocalhost(host):
		return g.checkLocalhost()
	}
	ips, err := g.lookup(ctx, host)
	switch {
	case err == nil && len(ips) > 0:
		return g.checkAddrs(u, ips)
	case !g.Unresolved:
		return unresolvable
	case u.Scheme == "http" && !g.AllowHTTP:
		return httpLoopback // it cannot be told that this host is one
	}
	return nil
}

// parse reads the URL as the sender will, and what every URL must be.
func (g *Guard) parse(raw string) (*url.URL, *Problem) {
	odd := func(r rune) bool { return r == '\\' || unicode.IsSpace(r) || unicode.IsControl(r) }
	u, err := url.Parse(raw)
	switch {
	case err != nil, u.Scheme == "", !utf8.ValidString(raw), strings.ContainsFunc(raw, odd):
		return nil, notAbsolute
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, g.badScheme()
	case u.Host == "":
		return nil, notAbsolute
	}
	port, hasPort := u.Port(), strings.HasSuffix(u.Host, ":")
	if n, err := strconv.ParseUint(port, 10, 16); hasPort || port != "" && (err != nil || n == 0) {
		return nil, badPort
	}
	return u, nil
}

// badScheme states the rule that holds here.
func (g *Guard) badScheme() *Problem {
	switch {
	case g.AllowHTTP:
		return neitherHTTP
	case g.Loopback:
		return httpLoopback
	}
	return notHTTPS
}

// literal returns the address that the host spells, the zero one for a name.
// The many other spellings of an address (decimal, octal, hexadecimal, shorter
// than four numbers) are refused: resolvers differ in which of them they take.
func literal(hostport, host string) (netip.Addr, *Problem) {
	ip, err := netip.ParseAddr(host)
	bracketed := strings.HasPrefix(hostport, "[")
	switch {
	case bracketed && (err != nil || !ip.Is6()), !bracketed && err == nil && !ip.Is4():
		return netip.Addr{}, badHost
	case err == nil:
		return ip, nil
	case !isName(host):
		return netip.Addr{}, badHost
	}
	return netip.Addr{}, nil
}

// isName reports whether host has the form of a domain name whose last label
// is not a number, which would make it an IPv4 address to some.
func isName(host string) bool {
	host = strings.TrimSuffix(host, ".")
	if len(host) > 253 {
		return false
	}
	label := ""
	for label = range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if !isDigit(c) && (c|0x20 < 'a' || c|0x20 > 'z') && c != '-' && c != '_' {
				return false
			}
		}
	}
	hex := len(label) > 1 && label[0] == '0' && label[1]|0x20 == 'x'
	return !hex && strings.Trim(label, "0123456789") != ""
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isLocalhost reports whether a name is loopback by definition (RFC 6761),
// whatever a resolver says.
func isLocalhost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// checkLocalhost lets localhost through where either of its addresses is: the
// dial goes on from the one that is refused to the other.
func (g *Guard) checkLocalhost() *Problem {
	if g.Permits(netip.IPv6Loopback()) || g.Permits(netip.AddrFrom4([4]byte{127, 0, 0, 1})) {
		return nil
	}
	return notPublic
}

func (g *Guard) checkAddrs(u *url.URL, ips []netip.Addr) *Problem {
	for _, ip := range ips {
		if u.Scheme == "http" && !g.AllowHTTP && !isLoopback(ip) {
			return httpLoopback
		}
		if !g.Permits(ip) {
			return notPublic
		}
	}
	return nil
}

func (g *Guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	limit := g.LookupTimeout
	if limit <= 0 {
		limit = lookupTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var r Resolver = net.DefaultResolver
	if g.Resolver != nil {
		r = g.Resolver
	}
	return r.LookupNetIP(ctx, "ip", host)
}
