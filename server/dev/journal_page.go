package dev

import (
	"net/http"
	"strings"
)

// Requests outside of the APIs are those for pages, the documents and health. Forms and pages
// have passwords, secrets that are shown once, and names, so the journal has neither the
// bodies nor the queries of these requests, and hides what may be a token in their paths.

// isPage reports whether the journal records requests for a path outside of the APIs. It
// records neither those to the control API, whose callers know what they did, nor those for
// assets of pages.
func isPage(path string) bool {
	return path != "/dev" && !strings.HasPrefix(path, "/dev/") && !isAsset(path)
}

// beginPage begins the entry of a request outside of the APIs.
func (rec *recording) beginPage(r *http.Request) {
	rec.entry.Path = shownPath(rec.path)
	rec.entry.Request.Headers = chosen(r.Header, "Accept", "Accept-Language", "Content-Type", "Origin", "User-Agent")
}

// chosen returns some of the headers.
func chosen(h http.Header, names ...string) map[string]string {
	m := map[string]string{}
	for _, name := range names {
		if values := h[name]; values != nil {
			m[name] = maskSecrets(strings.Join(values, ", "))
		}
	}
	return m
}

// finishPage completes the entry of a request outside of the APIs.
func (rec *recording) finishPage(cut bool) {
	if cut {
		return
	}
	headers := chosen(rec.Header(), "Content-Length", "Content-Type", "X-Request-Id")
	if to := rec.Header().Get("Location"); to != "" {
		headers["Location"] = shownLocation(to)
	}
	rec.entry.Response.Headers = headers
}

// shownLocation returns where an answer leads, as shownPath returns a path and without a query.
func shownLocation(to string) string {
	to, _, _ = strings.Cut(to, "?")
	if origin, path, ok := strings.Cut(to, "://"); ok {
		host, path, _ := strings.Cut(path, "/")
		return origin + "://" + host + shownPath("/"+path)
	}
	return shownPath(to)
}
