package app

import (
	"net/http"
	"strings"

	"punchcard/server/dashboard"
	"punchcard/server/kernel"
)

// errorPage answers a request that no route handles with a page, if a browser asks for one
// of the pages of people. Programs get JSON.
func errorPage(w http.ResponseWriter, r *http.Request, e *kernel.Error) bool {
	if r.URL.Path != "/" && audienceOf(r.URL.Path) != people || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return false
	}
	return dashboard.AnswerError(w, r, e)
}
