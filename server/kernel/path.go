package kernel

import (
	"net/http"
	"net/url"
	"strings"
)

// hasEmptySegment reports whether the path has an empty segment, which the router
// would accept as an id.
func hasEmptySegment(u *url.URL) bool { return strings.Contains(u.Path, "//") }

// The signs that stay escaped in the path while the router splits it, and how parameters get them back.
var (
	keepEscapes   = strings.NewReplacer("%2F", "%252F", "%2f", "%252F", "%25", "%2525")
	undoneEscapes = strings.NewReplacer("%2F", "/", "%25", "%")
)

// KeepEscapedSlashes returns a handler that leaves escaped slashes and percent signs in the path
// escaped, so that the router, which uses the unescaped path, takes them as part
// of an id or a code. The parameters of a route have them unescaped.
func KeepEscapedSlashes(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawPath != "" || strings.Contains(r.URL.Path, "%") {
			escaped := keepEscapes.Replace(r.URL.EscapedPath())
			path, err := url.PathUnescape(escaped)
			if err != nil { // impossible: the server has parsed it
				path = escaped
			}
			r.URL.Path, r.URL.RawPath = path, escaped
		}
		h.ServeHTTP(w, r)
	})
}
