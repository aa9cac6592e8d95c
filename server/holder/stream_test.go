package holder_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// events is an open stream.
type events struct {
	t     *testing.T
	resp  *http.Response
	lines *bufio.Scanner
}

// open opens the stream of a page and waits for its first line, after which it misses
// nothing.
func open(s *servertest.Server, t *testing.T, page string) *events {
	t.Helper()
	e := &events{t: t, resp: ask(s, t, page)}
	t.Cleanup(func() { e.resp.Body.Close() })
	if got := e.resp.Header.Get("Content-Type"); e.resp.StatusCode != 200 || got != "text/event-stream" ||
		e.resp.Header.Get("X-Accel-Buffering") != "no" ||
		e.resp.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %s", e.resp.StatusCode, e.resp.Header)
	}
	e.lines = bufio.NewScanner(e.resp.Body)
	e.wait(":")
	return e
}

// ask asks for the stream of a page and returns the answer, whose body the caller closes.
func ask(s *servertest.Server, t *testing.T, page string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), servertest.Patience)
	t.Cleanup(cancel)
	req := require.Must(http.NewRequestWithContext(ctx, http.MethodGet, page+"/events", nil))
	return require.Must(s.HTTP.Do(req))
}

// wait waits for a line. It ends the test if another event comes before it.
func (e *events) wait(line string) {
	e.t.Helper()
	for e.lines.Scan() {
		switch got := e.lines.Text(); {
		case got == line:
			return
		case strings.HasPrefix(got, "event:"):
			e.t.Fatalf("%s before %s", got, line)
		}
	}
	e.t.Fatalf("the stream ended before %s: %v", line, e.lines.Err())
}

// ends waits for the end of the stream, before which no event may come.
func (e *events) ends() {
	e.t.Helper()
	for e.lines.Scan() {
		if got := e.lines.Text(); strings.HasPrefix(got, "event:") {
			e.t.Errorf("%s before the end", got)
		}
	}
	if err := e.lines.Err(); err != nil {
		e.t.Error(err)
	}
}

// TestStream checks that a page is told of the commits that touch its card, and of no
// others, and that its stream ends with the link.
func TestStream(t *testing.T) {
	s := start(t)
	card, page := issuePage(s, s.ProgramIDs["standard"], fields{})
	other, otherPage := issuePage(s, s.ProgramIDs["standard"], fields{})
	stream, beside := open(s, t, page), open(s, t, otherPage)
	stamp := func(card string, n int) {
		t.Helper()
		callTill(s, "POST", "/cards/"+card+"/stamps", fields{"count": n}).Want(201)
	}
	stamp(card, 1)
	stream.wait("event: changed")
	checkText(readPage(s, page), "1 of 10 stamps")
	stamp(card, 12) // goes over into another card of the chain
	stream.wait("event: changed")
	checkText(readPage(s, page), "3 of 10 stamps", "Earlier card, 10 stamps")
	s.Control("POST", "/cards/"+card+"/lock", fields{})
	stream.wait("event: changed")
	s.Control("POST", "/cards/"+card+"/unlock", fields{})
	stream.wait("event: changed")
	s.Call("POST", "/cards/"+card+"/reissue", fields{}).Want(200)
	stream.wait("event: changed")
	stream.ends()
	fetch(s, "GET", page+"/events", "").Want(410, "gone")
	// The stream of the other card had no event until now.
	stamp(other, 1)
	beside.wait("event: changed")
	s.Control("POST", "/cards/"+other+"/delete", fields{})
	beside.wait("event: changed")
	beside.ends()
}

// TestStreamOverTLS checks that the stream has the same headers over HTTP/1.1, whose connection
// it takes over, and HTTP/2, and that it ends with the link and when the page is closed.
func TestStreamOverTLS(t *testing.T) {
	dir := t.TempDir()
	pool := servertest.WriteCertificate(t, dir, "shop.test")
	s := start(t, func(c *app.Config) {
		c.TLSCert, c.TLSKey, c.Limits.HolderStreams = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), 1
	})
	var names []string
	for _, major := range []int{1, 2} {
		s.Client = s.Client.Via(
			&http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: major == 2}},
		)
		card, page := issuePage(s, s.ProgramIDs["standard"], fields{})
		e := open(s, t, page)
		got := slices.DeleteFunc(slices.Sorted(maps.Keys(e.resp.Header)), func(name string) bool { return name == "Connection" })
		if e.resp.ProtoMajor != major || names != nil && !slices.Equal(got, names) || e.resp.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("HTTP/%d: %s, not %s", e.resp.ProtoMajor, got, names)
		}
		names = got
		callTill(s, "POST", "/cards/"+card+"/stamps", fields{}).Want(201)
		e.wait("event: changed")
		s.Call("POST", "/cards/"+card+"/reissue", fields{}).Want(200)
		e.wait("event: changed")
		e.ends()
		other, otherPage := issuePage(s, s.ProgramIDs["standard"], fields{})
		open(s, t, otherPage).resp.Body.Close()
		resp := ask(s, t, otherPage)
		for resp.StatusCode != 200 { // until the server has seen that the page is closed
			resp.Body.Close()
			resp = ask(s, t, otherPage)
		}
		s.Call("POST", "/cards/"+other+"/reissue", fields{}).Want(200)
		e = &events{t: t, resp: resp, lines: bufio.NewScanner(resp.Body)}
		e.wait("event: changed")
		e.ends()
		resp.Body.Close()
		s.HTTP.CloseIdleConnections()
	}
}

// TestStreamsInAll checks that a card's fifth stream takes the place of its first one, and the sixth that of
// the second, that a stream beyond the server's limit is refused until a page is closed, and that a stop of
// the server does not wait for streams.
func TestStreamsInAll(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Limits.HolderStreams = 4 })
	card, page := issuePage(s, s.ProgramIDs["standard"], fields{})
	_, other := issuePage(s, s.ProgramIDs["standard"], fields{})
	var list []*events
	for range 6 {
		list = append(list, open(s, t, page))
	}
	for _, e := range list[:2] {
		e.wait("event: closed")
		e.ends()
	}
	callTill(s, "POST", "/cards/"+card+"/stamps", fields{"count": 1}).Want(201)
	for _, e := range list[2:] {
		e.wait("event: changed")
	}
	if r := fetch(s, "GET", other+"/events", "").Want(503, "rate_limited"); r.Header.Get("Retry-After") != "30" {
		t.Errorf("Retry-After %q", r.Header.Get("Retry-After"))
	}
	readPage(s, other).Want(200)
	list[5].resp.Body.Close()
	for status := 0; status != 200; { // until the server has seen that the page is closed
		resp := ask(s, t, other)
		status = resp.StatusCode
		resp.Body.Close()
	}
	s.Stop()
	list[2].ends()
}
