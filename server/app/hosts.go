package app

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"

	"punchcard/server/holder"
	"punchcard/server/kernel"
)

// hosts returns the hosts by which browsers may address the server. The default
// public URL names none.
func (c *Config) hosts() (*kernel.Hosts, error) {
	var names []string
	if c.Dev != nil {
		names = c.Dev.AllowHosts
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
		h = a.refuseForeign(h)
	}
	if a.conf.TLSCert != "" {
		h = requireHTTPS(h)
	}
	return h
}

// refuseForeign returns a handler that answers only requests for the hosts of a
// fixture, and none that pages of other origins make. The control API has no key, so
// this is what keeps pages on the internet from using it with the browser of whoever
// reads them.
func (a *App) refuseForeign(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := a.hosts.CheckHost(r)
		if err == nil && !holder.IsForm(r) {
			err = a.hosts.CheckOrigin(r)
		}
		if err == nil {
			h.ServeHTTP(w, r)
			return
		}
		a.gate.RLock()
		k := a.instance.kernel
		a.gate.RUnlock()
		k.AnswerError(w, err)
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
