package app

import (
	"net/http"
	"slices"
	"strings"

	"punchcard/server/dashboard"
	"punchcard/server/kernel"
)

// programPaths are the first segments of the paths of programs, whose errors are JSON whatever
// they accept. Those of /till that are for anybody are too.
var programPaths = strings.Fields("api mcp dev assets logo openapi.json pricing healthz readyz")

// errorPage answers a request that no route handles with a page, if a browser asks for one.
// Programs get JSON.
func errorPage(w http.ResponseWriter, r *http.Request, e *kernel.Error) bool {
	first, rest, _ := strings.Cut(strings.TrimLeft(r.URL.Path, "/"), "/")
	second, _, _ := strings.Cut(rest, "/")
	if slices.Contains(programPaths, first) || first == "till" && slices.Contains(publicTillPaths, second) ||
		!strings.Contains(r.Header.Get("Accept"), "text/html") {
		return false
	}
	return dashboard.AnswerError(w, r, e)
}
