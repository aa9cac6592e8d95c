package kernel

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Client says from where a request came.
type Client struct {
	// Peer is the other end of the connection. If that is a trusted proxy, it is the last
	// address that the trusted proxies give, as far as they give one. It is for the log.
	Peer netip.Addr
	// Addr is the client's address; zero if it is unknown, because the request came through a
	// proxy that is not trusted or that does not give the address.
	Addr netip.Addr
	// UntrustedProxy says that the request seems to have come through a proxy that is not
	// trusted: one at a private address that names a client. Its clients cannot be told apart,
	// so they share one limit.
	UntrustedProxy bool
}

// ClientOf returns from where a request came. peer is the address and port of the
// connection's other end, forwarded the values of the X-Forwarded-For headers, and
// trusted the networks of the trusted proxies. The client is the peer or, if that is a
// trusted proxy, the last address in the headers that is not a trusted proxy. Anybody
// may have written the addresses before it.
func ClientOf(peer string, forwarded []string, trusted []netip.Prefix) (c Client) {
	at, err := netip.ParseAddrPort(peer)
	if err != nil {
		return c
	}
	trusts := func(ip netip.Addr) bool {
		return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(ip) })
	}
	c.Peer = normal(at.Addr())
	if !trusts(c.Peer) && isPrivate(c.Peer) && len(forwarded) > 0 {
		c.UntrustedProxy = true
		return c
	}
	c.Addr = c.Peer
	if len(forwarded) == 0 {
		return c
	}
	hops := strings.Split(strings.Join(forwarded, ","), ",")
	for i := len(hops) - 1; i >= 0 && trusts(c.Peer); i-- {
		hop, ok := parseHop(hops[i])
		if !ok { // the proxy does not say the address
			c.Addr = netip.Addr{}
			return c
		}
		c.Peer, c.Addr = hop, hop
	}
	return c
}

// parseHop returns an address of X-Forwarded-For, to which some proxies add the port.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if ip, err := netip.ParseAddr(text); err == nil {
		return normal(ip), true
	}
	at, err := netip.ParseAddrPort(text)
	return normal(at.Addr()), err == nil
}

// normal returns an address in the form in which addresses are compared.
func normal(ip netip.Addr) netip.Addr { return ip.Unmap().WithZone("") }

// sharedNetwork is the network of carriers and of some container platforms (RFC 6598).
var sharedNetwork = netip.MustParsePrefix("100.64.0.0/10")

// isPrivate reports whether an address is not one of the internet, as are those of
// proxies on the same machine or network.
func isPrivate(ip netip.Addr) bool {
	return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast() || sharedNetwork.Contains(ip)
}

// client returns from where a request came.
func (k *Kernel) client(r *http.Request) Client {
	return ClientOf(r.RemoteAddr, r.Header["X-Forwarded-For"], k.conf.TrustedProxies)
}

// logged returns the address for the log: the client's or, if that is unknown, that of
// the last proxy.
func (c Client) logged() string {
	if !c.Peer.IsValid() {
		return ""
	}
	return c.Peer.String()
}

// ClientAddress returns the address by which the attempts of a request's client are
// limited. It is zero if the address is unknown; all such clients share one limit.
func (k *Kernel) ClientAddress(r *http.Request) netip.Addr {
	c := k.client(r)
	if c.UntrustedProxy {
		k.untrustedProxy.Store(true)
	}
	return c.Addr
}

// UntrustedProxy reports whether ClientAddress has met a request, since the start, that
// came through a proxy that is not trusted. Its clients then share one limit, and
// --trusted-proxy tells them apart.
func (k *Kernel) UntrustedProxy() bool { return k.untrustedProxy.Load() }
