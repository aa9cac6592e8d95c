package dev

import (
	"net/http"
	"strconv"
	"strings"
	"time"

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

// pageRecording is an http.ResponseWriter that records an answer outside of the APIs.
type pageRecording struct {
	statusWriter
	j     *Journal
	entry requestEntry
	path  string // as it was sent
	start time.Time
	total int64
	done  bool
}

// wrapPage answers a request outside of the APIs with next and records it.
func (j *Journal) wrapPage(next http.Handler, w http.ResponseWriter, r *http.Request) {
	rec := &pageRecording{statusWriter: statusWriter{ResponseWriter: w}, j: j, path: r.URL.EscapedPath(), start: time.Now()}
	rec.entry = requestEntry{Kind: kindPage, At: store.TimeOf(j.now()), Method: r.Method, Path: shownPath(rec.path)}
	rec.entry.Request.Headers = chosen(r.Header, "Accept", "Accept-Language", "Content-Type", "Origin", "User-Agent")
	aborted := true
	defer func() { rec.finish(aborted) }()
	next.ServeHTTP(rec, r)
	aborted = false
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

// Write completes the entry before it writes the last byte that Content-Length announces.
func (rec *pageRecording) Write(b []byte) (int, error) {
	rec.total += int64(len(b))
	if n, err := strconv.ParseInt(rec.Header().Get("Content-Length"), 10, 64); err == nil && rec.total >= n {
		rec.finish(false)
	}
	return rec.ResponseWriter.Write(b)
}

// finish adds the entry to the journal, once.
func (rec *pageRecording) finish(aborted bool) {
	if rec.done {
		return
	}
	rec.done = true
	e, h := &rec.entry, rec.Header()
	e.Response.Headers = map[string]string{}
	if !aborted {
		e.Response.Status = rec.answered()
		id := h.Get("X-Request-Id")
		e.RequestID = store.Null[string]{V: id, Valid: id != ""}
		e.Response.Headers = chosen(h, "Content-Length", "Content-Type", "X-Request-Id")
		if to := h.Get("Location"); to != "" {
			e.Response.Headers["Location"] = shownLocation(to)
		}
	}
	e.DurationMS = time.Since(rec.start).Milliseconds()
	about := subjectOf(rec.j.store, &requestEntry{Path: rec.path}, nil)
	size := 1024 + 8*len(about.cards) + len(e.Path) + e.Request.size() + e.Response.size()

	j := rec.j
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	e.Seq = j.seq
	j.pages.add(record{kind: e.Kind, seq: e.Seq, method: e.Method, path: splitPath(rec.path), size: size, about: about, entry: e})
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
