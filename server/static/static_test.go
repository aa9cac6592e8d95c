package static

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestServe checks that content is compressed if it is long and the client accepts gzip, and that
// HEAD has the same headers.
func TestServe(t *testing.T) {
	long := strings.Repeat("<p>text</p>", 1000)
	for _, c := range []struct {
		body, accept string
		compressed   bool
	}{
		{long, "gzip, deflate, br", true}, {long, "br;q=1.0, GZIP;q=0.8", true}, {long, "*", true}, {long, "*;q=0, gzip", true},
		{long, "", false}, {long, "br", false}, {long, "gzip;q=0", false}, {long, "gzip; q=0.0, br", false},
		{long, "*, gzip;q=0", false}, {long, "*;q=0", false},
		{long, "gzip;q=x", false}, {"short", "gzip", false}, {"", "gzip", false},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", c.accept)
		w.Header().Set("Content-Type", "text/plain")
		content := New(func() []byte { return []byte(c.body) })
		content.ServeHTTP(w, r)
		body, length := io.Reader(w.Body), w.Body.Len()
		if c.compressed {
			var err error
			if body, err = gzip.NewReader(w.Body); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := io.ReadAll(body); err != nil || string(got) != c.body || w.Header().Get("Content-Length") != fmt.Sprint(length) ||
			(length < len(c.body)) != c.compressed {
			t.Errorf("%q: %d bytes, %v, %v", c.accept, length, w.Header(), err)
		}
		if encoded := w.Header().Get("Content-Encoding") == "gzip"; encoded != c.compressed || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %v", c.accept, w.Header())
		}
		head := httptest.NewRecorder()
		head.Header().Set("Content-Type", "text/plain")
		r.Method = "HEAD"
		content.ServeHTTP(head, r)
		if fmt.Sprint(head.Header()) != fmt.Sprint(w.Header()) || head.Body.Len() > 0 {
			t.Errorf("%q: HEAD answers %v and %d bytes", c.accept, head.Header(), head.Body.Len())
		}
	}
}

// TestServeZipped requests content that was compressed before, which is sent as it is.
func TestServeZipped(t *testing.T) {
	const body = "\x00asm and more"
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte(body))
	z.Close()
	content := NewZipped(zipped.Bytes())
	for accept, want := range map[string]string{"gzip": zipped.String(), "br": body, "": body} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Encoding", accept)
		content.ServeHTTP(w, r)
		if got := w.Body.String(); got != want || w.Header().Get("Content-Length") != fmt.Sprint(len(want)) ||
			(w.Header().Get("Content-Encoding") == "gzip") != (accept == "gzip") {
			t.Errorf("%q: %q, %v", accept, got, w.Header())
		}
	}
	if got := string(content.Body()); got != body {
		t.Errorf("the body is %q", got)
	}
}
