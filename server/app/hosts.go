package app

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"punchcard/server/dev"
	"punchcard/server/holder"
	"punchcard/server/kernel"
	"punchcard/server/mcp"
)

// hosts returns the hosts by which browsers may address the server: those that the
// operator names, and that of the public URL. The default public URL names none, but
// with serve an address to listen on is one, since it cannot be somebody else's name.
func (c *Config) hosts() (*kernel.Hosts, error) {
	names := c.AllowHosts
	if at, err := netip.ParseAddrPort(c.Listen); err == nil && c.Dev == nil && c.PublicURL == "" && !at.Addr().IsUnspecified() &&
		at.Addr().Zone() == "" {
		names = append(slices.Clip(names), at.Addr().String())
	}
	h, err := kernel.NewHosts(c.PublicURL, names)
	if err != nil {
		return nil, fmt.Errorf("--allow-host (PUNCHCARD_ALLOW_HOST): %w", err)
	}
	return h, nil
}

// handler returns the handler of all requests.
func (a *App) handler() http.Handler {
	var h http.Handler = a.instance
	if a.conf.Dev != nil {
		if !a.conf.Dev.Bare {
			h = http.HandlerFunc(a.serveFixture)
		}
		h = a.refuseForeign(h, func() *instance {
			a.gate.RLock()
			defer a.gate.RUnlock()
			return a.instance
		})
	}
	if a.certs != nil {
		h = requireHTTPS(h)
	}
	if a.conf.Dev != nil && a.conf.Dev.Watch != nil {
		h = dev.Watched(h, a.conf.Dev.Watch)
	}
	return h
}

// audience says who calls a path.
type audience int

const (
	anybody    audience = iota // programs with a key, readers of documents, and holders with a secret link
	people                     // browsers with the session cookie, or on the way to it
	assistants                 // programs with an MCP key, which may run beside a browser
)

// peoplePaths are the first segments of the paths of people. Those of tills are also
// below /till/v1, which is for programs.
var peoplePaths = []string{"setup", "sign-in", "sign-out", "invite", "reset", "dashboard", "till"}

// demoForms are the paths of the forms on a fixture's start page.
var demoForms = []string{"/dev/sign-in", "/dev/demo-card", "/dev/demo-till"}

// publicTillPaths are the second segments below /till that are for anybody.
var publicTillPaths = []string{"v1", "openapi.json", "docs"}

// audienceOf returns the audience of a path, whether it has a route or not.
func audienceOf(path string) audience {
	first, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	second, _, _ := strings.Cut(rest, "/")
	switch {
	case first == "mcp":
		return assistants
	case first == "till" && slices.Contains(publicTillPaths, second):
		return anybody
	case slices.Contains(peoplePaths, first), slices.Contains(demoForms, path):
		return people
	}
	return anybody
}

// checkForeign returns the error for a request that names a foreign host, or that a
// page of another origin makes and that may change something. With serve this concerns
// the paths of people and assistants. A fixture's control API has no key, so there it
// concerns every path: nothing else keeps pages on the internet from using the control
// API with the browser of whoever reads them.
func (a *App) checkForeign(hosts *kernel.Hosts, r *http.Request) error {
	who := audienceOf(r.URL.Path)
	if who == anybody && a.conf.Dev == nil {
		return nil
	}
	if err := hosts.CheckHost(r); err != nil {
		return err
	}
	switch {
	case who == assistants:
		return hosts.CheckOriginOf(r, a.conf.MCPAllowOrigins)
	case holder.IsForm(r):
		return nil // it checks the origin itself
	}
	return hosts.CheckOrigin(r)
}

// refuseForeign returns a handler that answers only the requests to which checkForeign
// has no objection. current returns the instance, whose kernel answers the others.
func (a *App) refuseForeign(h http.Handler, current func() *instance) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := current()
		switch err := a.checkForeign(i.hosts, r); {
		case err == nil:
			h.ServeHTTP(w, r)
		case r.URL.Path == mcp.Path:
			mcp.RefuseForeign(i.kernel, w, r, err)
		default:
			i.kernel.RefuseRequest(w, r, err)
		}
	})
}

// reachable returns origin with 127.0.0.1 in the place of a wildcard address.
func reachable(origin string) string {
	u, err := url.Parse(origin)
	if err != nil {
		return origin
	}
	if at, err := netip.ParseAddrPort(u.Host); err == nil && at.Addr().Unmap().IsUnspecified() {
		u.Host = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port()).String()
	}
	return u.String()
}
