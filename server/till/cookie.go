package till

import (
	"net/http"
	"net/url"

	"punchcard/server/kernel"
)

// AcceptCookies makes the guard accept a device's token in the cookie that the till page
// has (see [kernel.DeviceCookie]), and returns the guard. hosts are those by which browsers
// may address the server.
func (g *Guard) AcceptCookies(hosts *kernel.Hosts) *Guard {
	g.hosts = hosts
	return g
}

// token returns the bearer token of a request or, if it has no Authorization header, the
// token in its cookie.
func (g *Guard) token(r *http.Request) (string, error) {
	if g.hosts != nil && len(r.Header["Authorization"]) == 0 {
		if sent := r.CookiesNamed(kernel.DeviceCookieName(g.hosts.URLOf(r))); len(sent) == 1 {
			if err := g.checkCookie(r); err != nil {
				return "", err
			}
			return sent[0].Value, nil
		}
	}
	return kernel.Bearer(r, "Send the device's token as: Authorization: Bearer tdk_…")
}

// checkCookie returns the error for a request with the cookie that a page of another origin may
// have made. Every request with the cookie, also one that only reads, must have the
// Content-Type application/json: a page of another origin can send that only if the server
// permits it beforehand, which this server never does. Where the browser says who makes the
// request, by Sec-Fetch-Site or Origin, it must be a page of this origin. Browsers say
// neither for a GET over plain http, and for that the Content-Type has to do. The host must
// be one of the server's own, so that a page whose name was made to resolve to this
// machine gets nothing.
func (g *Guard) checkCookie(r *http.Request) error {
	if err := g.hosts.CheckHost(r); err != nil {
		return err
	}
	if !kernel.IsJSON(r) {
		return kernel.Unauthenticated("The cookie of the till page counts only in requests with the Content-Type application/json.")
	}
	if !isSameOrigin(r) {
		return kernel.Unauthenticated("The cookie of the till page counts only in requests of that page.")
	}
	return nil
}

// isSameOrigin reports whether nothing in a request says that a page of another origin made it.
func isSameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == r.Host && u.Host != ""
}
