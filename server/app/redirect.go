package app

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"punchcard/server/kernel"
	"punchcard/store"
)

// maxRedirected is the number of connections at once over plain http, each of which is
// for one request.
const maxRedirected = 128

// redirectToHTTPS returns the handler of plain http beside the server's own TLS: it
// sends browsers to https, on the host that they asked for if the server has a
// certificate for that, else on the server's public URL. It refuses what may change something
// or has a credential, so that a program that sends it in the clear does not go on
// doing so unnoticed.
func (a *App) redirectToHTTPS() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		target, err := url.Parse(a.instance.hosts.URLOf(r))
		if err != nil || r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Authorization") != "" {
			a.instance.kernel.RefuseRequest(
				w,
				r,
				&kernel.Error{
					Status:  http.StatusBadRequest,
					Code:    store.BadRequest,
					Message: "Use https: over plain http others can read what you send.",
				},
			)
			return
		}
		host := target.Host
		name, _, _ := strings.Cut(strings.ToLower(r.Host), ":")
		if slices.Contains(a.conf.TLSAuto, name) {
			host = name
			if port := target.Port(); port != "" {
				host += ":" + port
			}
		}
		a.instance.kernel.Redirect(w, http.StatusMovedPermanently, "https://"+host+r.URL.RequestURI())
	})
}
