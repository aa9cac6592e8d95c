package dev

import (
	"net/http"
	"strings"
	"time"

	"punchcard/server/kernel"
	"punchcard/store"
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

// beginPage begins to record a request outside of the APIs.
func (j *Journal) beginPage(w http.ResponseWriter, r *http.Request) *recording {
	rec := &recording{StatusWriter: kernel.StatusWriter{ResponseWriter: w}, j: j, path: r.URL.EscapedPath(), start: time.Now()}
	rec.entry = requestEntry{Kind: kindPage, At: store.TimeOf(j.now()), Method: r.Method, Path: shownPath(rec.path)}
	rec.entry.Request.Headers = chosen(r.Header, "Accept", "Accept-Language", "Content-Type", "Origin", "User-Agent")
	return rec
}

// chosen returns some of the headers.
func chosen(h http.Header, names ...string) map[string]string {
	some := http.Header{}
	for _, name := range names {
		if v := h[name]; v != nil {
			some[name] = v
		}
	}
	m := joinHeaders(some)
	for name, value := range m {
		m[name] = maskSecrets(value)
	}
	return m
}

// finishPage completes the entry of a request outside of the APIs, and adds it to the journal.
func (rec *recording) finishPage(cut bool) {
	e := &rec.entry
	if h := rec.Header(); !cut {
		e.Response.Headers = chosen(h, "Content-Length", "Content-Type", "X-Request-Id")
		if to := h.Get("Location"); to != "" {
			e.Response.Headers["Location"] = shownLocation(to)
		}
	}
	about := subjectOf(rec.j.store, &requestEntry{Path: rec.path}, nil)
	rec.j.mu.Lock()
	defer rec.j.mu.Unlock()
	rec.j.seq++
	e.Seq = rec.j.seq
	rec.addTo(&rec.j.pages, about)
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
