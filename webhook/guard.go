package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
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
	return isPublic(ip) || g.Loopback && ip.IsLoopback() || containsAddr(g.AllowCIDR, ip)
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
