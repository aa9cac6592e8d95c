// Package static serves bytes that do not change, compressed for clients that accept
// that.
package static

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Content is what is served at a path. Its methods may be called by several goroutines at once.
type Content struct {
	body   func() []byte
	zipped func() []byte // nil if it would not be smaller
}

// New returns the content that make returns. It calls make once, when the content is
// first asked for.
func New(make func() []byte) *Content {
	c := &Content{body: sync.OnceValue(make)}
	c.zipped = sync.OnceValue(func() []byte {
		var b bytes.Buffer
		w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
		w.Write(c.body())                                     // a buffer does not fail
		w.Close()
		if b.Len() >= len(c.body()) {
			return nil
		}
		return b.Bytes()
	})
	return c
}

// NewZipped returns the content whose gzip is zipped. Body and ServeHTTP panic when they
// need the content and zipped cannot be decompressed.
func NewZipped(zipped []byte) *Content {
	return &Content{
		body: sync.OnceValue(func() []byte {
			r, err := gzip.NewReader(bytes.NewReader(zipped))
			if err != nil {
				panic(err)
			}
			body, err := io.ReadAll(r)
			if err != nil {
				panic(err)
			}
			return body
		}),
		zipped: func() []byte { return zipped },
	}
}

// Body returns the content as it is.
func (c *Content) Body() []byte { return c.body() }

// ServeHTTP answers with the content and sets the headers about its length and coding.
// The caller has set all others.
func (c *Content) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Vary", "Accept-Encoding")
	var body []byte
	if AcceptsGzip(r.Header) {
		body = c.zipped()
	}
	if body != nil {
		h.Set("Content-Encoding", "gzip")
	} else {
		body = c.body()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	if r.Method != http.MethodHead {
		w.Write(body)
	}
}

// AcceptsGzip reports whether the headers of a request permit gzip. A weight of 0
// forbids it. What is said of gzip counts more than what is said of all codings.
func AcceptsGzip(h http.Header) bool {
	accepts := false
	for part := range strings.SplitSeq(strings.Join(h["Accept-Encoding"], ","), ",") {
		name, parameter, _ := strings.Cut(part, ";")
		_, weight, weighted := strings.Cut(parameter, "=")
		q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		permits := !weighted || err == nil && q > 0
		switch name = strings.TrimSpace(name); {
		case strings.EqualFold(name, "gzip"):
			return permits
		case name == "*":
			accepts = permits
		}
	}
	return accepts
}
