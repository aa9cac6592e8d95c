package webhook

import (
	"cmp"
	"context"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problem is the code and message of a validation detail that says why a URL may
// not be saved. It names no address that a lookup returned, since callers could
// use that to map a private network. For the same reason most callers are not told
// whether it is not_public or unresolvable; see server/kernel.
type Problem struct{ Code, Message string }

// The problems of a URL.
var (
	notAbsolute = &Problem{
		"invalid_format",
		"The URL must be absolute, such as https://example.com/hook, without spaces, control characters or backslashes.",
	}
	badHost = &Problem{
		"invalid_format",
		"The URL's host must be a domain name in ASCII form, an IPv4 address of four decimal numbers, or an IPv6 address in brackets.",
	}
	badPort      = &Problem{"invalid_format", "The URL's port must be a number from 1 to 65535."}
	notHTTPS     = &Problem{"invalid_value", "The URL must begin with https://."}
	neitherHTTP  = &Problem{"invalid_value", "The URL must begin with https:// or http://."}
	httpLoopback = &Problem{"invalid_value", "The URL must begin with https://; http:// is accepted for a loopback host only."}
	hasUserInfo  = &Problem{"invalid_value", "The URL must not hold a user name or password."}
	hasFragment  = &Problem{"invalid_value", "The URL must not have a fragment, which is never sent."}
	notPublic    = &Problem{"not_public", "The URL's host must have public addresses only."}
	unresolvable = &Problem{"unresolvable", "The URL's host must resolve to an address."}
)

// CheckURL returns the problem with raw as the URL of a webhook, or nil if it may
// be saved. If the host is a name, CheckURL looks it up in the DNS.
func (g *Guard) CheckURL(ctx context.Context, raw string) *Problem {
	u, p := g.parse(raw)
	if p != nil {
		return p
	}
	host := u.Hostname()
	ip, p := parseHost(u.Host, host)
	if p != nil {
		return p
	}
	switch {
	case g.CheckScheme(u) != nil:
		return g.schemeProblem()
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
	case u.Scheme == "http" && !g.AllowHTTP:
		return httpLoopback // the host is not known to be one
	case !g.Unresolved:
		return unresolvable
	}
	return nil
}

// parse parses the URL as the sender will, and checks what holds for every URL.
func (g *Guard) parse(raw string) (*url.URL, *Problem) {
	forbidden := func(r rune) bool { return r == '\\' || unicode.IsSpace(r) || unicode.IsControl(r) }
	u, err := url.Parse(raw)
	switch {
	case err != nil, u.Scheme == "", !utf8.ValidString(raw), strings.ContainsFunc(raw, forbidden):
		return nil, notAbsolute
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, g.schemeProblem()
	case u.Host == "":
		return nil, notAbsolute
	}
	port, emptyPort := u.Port(), strings.HasSuffix(u.Host, ":")
	if n, err := strconv.ParseUint(port, 10, 16); emptyPort || port != "" && (err != nil || n == 0) {
		return nil, badPort
	}
	return u, nil
}

// schemeProblem returns the problem of a scheme that the settings do not allow.
func (g *Guard) schemeProblem() *Problem {
	switch {
	case g.AllowHTTP:
		return neitherHTTP
	case g.Loopback:
		return httpLoopback
	}
	return notHTTPS
}

// parseHost returns the address that the host is written as, or the zero Addr if
// it is a name. It refuses the other spellings of an IPv4 address (decimal,
// octal, hexadecimal, fewer than four numbers), which not all resolvers accept.
func parseHost(hostport, host string) (netip.Addr, *Problem) {
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

// isName reports whether host is a syntactically valid domain name. Its last
// label must not be a number, since some resolvers take that as IPv4 address.
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

// isLocalhost reports whether a name means the loopback address by definition
// (RFC 6761), whatever a resolver answers.
func isLocalhost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// checkLocalhost returns notPublic unless one of localhost's addresses is
// permitted. If only one is, the dial skips the other.
func (g *Guard) checkLocalhost() *Problem {
	if g.Permits(netip.IPv6Loopback()) || g.Permits(netip.AddrFrom4([4]byte{127, 0, 0, 1})) {
		return nil
	}
	return notPublic
}

// checkAddrs returns the problem of a URL whose host has these addresses. All of
// them must be permitted.
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

// lookup returns the addresses of a host.
func (g *Guard) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(g.LookupTimeout, lookupTimeout))
	defer cancel()
	return cmp.Or[Resolver](g.Resolver, net.DefaultResolver).LookupNetIP(ctx, "ip", host)
}
