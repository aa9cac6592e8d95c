package kernel

import (
	"cmp"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"punchcard/store"
)

// Hosts guards what a browser reaches without a key, or with a credential that it
// adds by itself. It knows the hosts by which the server may be addressed: this
// machine's loopback names and addresses, that of the public URL, those that the
// operator names, and those of the shops' public URLs.
//
// A page on the internet can have its own name resolve to this machine (DNS
// rebinding). Its requests then have its name as Host and are of the same origin
// for the browser, so only the check of the Host refuses them.
type Hosts struct {
	names   []string // lower case, without a port
	origins *http.CrossOriginProtection

	publicURL string
	own       string                   // its host; empty: it was made from the address of the listener
	shopURL   func(host string) string // see WithShops
}

// maxHostName is the maximum length of a host name (RFC 1035, section 2.3.4).
const maxHostName = 253

var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$`)

// NewHosts returns the hosts of a public URL, which may be empty, and of names, each
// of which is a host name or an address without a port.
func NewHosts(publicURL string, names []string) (*Hosts, error) {
	h := &Hosts{origins: http.NewCrossOriginProtection(), publicURL: publicURL, shopURL: func(string) string { return "" }}
	for _, name := range names {
		normal := strings.ToLower(strings.TrimSuffix(name, "."))
		ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(normal, "["), "]"))
		if err == nil && ip.Zone() == "" {
			normal = ip.String()
		} else if len(normal) > maxHostName || !hostName.MatchString(normal) {
			return nil, fmt.Errorf("must be host names or addresses without a port, such as punchcard or 192.168.1.5, not %q", name)
		}
		h.names = append(h.names, normal)
	}
	if publicURL == "" {
		return h, nil
	}
	u, err := url.Parse(publicURL)
	if err != nil {
		return nil, err
	}
	name, ok := splitHost(u.Host)
	if !ok {
		return nil, fmt.Errorf("%q has no valid host", publicURL)
	}
	h.names, h.own = append(h.names, name), name
	return h, h.origins.AddTrustedOrigin(u.Scheme + "://" + u.Host)
}

// WithShops returns the hosts together with those of the shops that have a public URL of their own, which
// shopURL returns; it returns "" for other hosts. publicURL is that of the server.
//
// The pages of a shop's host are not trusted as an origin on other hosts: the shop may lead its name to
// another server.
func (h *Hosts) WithShops(publicURL string, shopURL func(host string) string) *Hosts {
	with := *h
	with.publicURL, with.shopURL = publicURL, shopURL
	return &with
}

// URLOf returns the public URL by which a browser sent a request: that of a shop whose host the request
// names, else that of the server. Whether cookies are Secure follows from it.
func (h *Hosts) URLOf(r *http.Request) string {
	name, ok := splitHost(r.Host)
	if !ok || name == h.own || isLoopbackName(name) {
		return h.publicURL
	}
	return cmp.Or(h.shopURL(name), h.publicURL)
}

// CheckHost returns the error for a request whose Host is none of the hosts. Requests
// of HTTP/1.0 may have none: they are those of programs, since browsers always send it.
func (h *Hosts) CheckHost(r *http.Request) error {
	if r.Host == "" && !r.ProtoAtLeast(1, 1) {
		return nil
	}
	name, ok := splitHost(r.Host)
	if ok && (isLoopbackName(name) || slices.Contains(h.names, name) || h.shopURL(name) != "") {
		return nil
	}
	return refuseAs(
		http.StatusForbidden, store.Unauthorized,
		"The Host header must name this machine's loopback address, the host of --public-url or one that --allow-host names.",
	)
}

// CheckOrigin returns the error for a request that a page of another origin makes in
// a browser and that may change something: one whose method is not GET, HEAD or
// OPTIONS. Programs other than browsers say no origin and are not refused.
func (h *Hosts) CheckOrigin(r *http.Request) error {
	if h.origins.Check(r) != nil {
		return refuseAs(http.StatusForbidden, store.Unauthorized, "A browser may send this request only from a page of this server.")
	}
	return nil
}

// CheckOriginOf is CheckOrigin for a face that also takes requests of pages on this machine,
// and of those of the origins in more.
func (h *Hosts) CheckOriginOf(r *http.Request, more []string) error {
	other := func(origin string) bool {
		u, err := url.Parse(origin)
		if err != nil || slices.Contains(more, origin) {
			return err != nil
		}
		name, ok := splitHost(u.Host)
		return !ok || !isLoopbackName(name)
	}
	if sent := r.Header["Origin"]; len(sent) > 0 && !slices.ContainsFunc(sent, other) {
		return nil
	}
	return h.CheckOrigin(r)
}

// CheckFormOrigin is CheckOrigin for the form of a page whose address is a secret.
// Such pages send no referrer, so browsers that do not say Sec-Fetch-Site, as over
// plain http, say the origin null for the form.
func (h *Hosts) CheckFormOrigin(r *http.Request) error {
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "null" {
		return nil
	}
	return h.CheckOrigin(r)
}

// IsLoopback reports whether the Host of a request names this machine's loopback
// address. Browsers send such a request to their own machine, so it crosses no network.
func IsLoopback(r *http.Request) bool {
	name, ok := splitHost(r.Host)
	return ok && isLoopbackName(name)
}

// IsLoopbackURL reports whether a URL leads to the machine that opens it.
func IsLoopbackURL(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && isLoopbackName(strings.ToLower(u.Hostname()))
}

// isLoopbackName reports whether a host name or address, in the form that splitHost
// returns, is that of loopback.
func isLoopbackName(name string) bool {
	ip, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// splitHost returns the name or address in the value of a Host header, in lower case
// and without brackets and a dot at its end. ok is false if the value is not a host
// with an optional port.
func splitHost(host string) (name string, ok bool) {
	rest := ""
	if inner, bracketed := strings.CutPrefix(host, "["); bracketed {
		if name, rest, ok = strings.Cut(inner, "]"); !ok {
			return "", false
		}
		ip, err := netip.ParseAddr(name)
		if err != nil || !ip.Is6() || ip.Zone() != "" {
			return "", false
		}
		name = ip.String()
	} else {
		at := strings.IndexByte(host, ':')
		if at < 0 {
			at = len(host)
		}
		name, rest = strings.ToLower(strings.TrimSuffix(host[:at], ".")), host[at:]
	}
	port, _ := strings.CutPrefix(rest, ":")
	digits := !strings.ContainsFunc(port, func(r rune) bool { return r < '0' || r > '9' })
	return name, name != "" && digits
}
