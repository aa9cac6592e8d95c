package dev

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"hash"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"punchcard/server/wire"
	"punchcard/store"
)

// maxUnread is how much of a request's body net/http reads by itself before it
// answers; above that it closes the connection instead.
const maxUnread = 256 << 10 // bytes

// Wrap records every request to the REST and till APIs that next answers,
// whatever the answer. It belongs outside the router. A request stands in the
// journal before the last byte of its answer leaves, so that whoever has the
// answer finds the entry.
func (j *Journal) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, _ := j.apis.of(r.URL.Path)
		if kind == "" {
			next.ServeHTTP(w, r)
			return
		}
		rec, r := j.begin(kind, w, r)
		defer func() {
			p := recover()
			if p != nil {
				rec.cut()
			}
			rec.finish()
			if p != nil {
				panic(p)
			}
		}()
		next.ServeHTTP(rec, r)
	})
}

// recording is the writer of an answer that is recorded.
type recording struct {
	http.ResponseWriter
	j       *Journal
	entry   requestEntry
	start   time.Time
	arrived arrival
	in      *tee
	out     capped
	status  int // 0: not written yet
	done    bool
}

func (j *Journal) begin(kind string, w http.ResponseWriter, r *http.Request) (*recording, *http.Request) {
	at := j.now()
	rec := &recording{ResponseWriter: w, j: j, start: time.Now(), in: &tee{ReadCloser: r.Body, length: r.ContentLength, sum: sha256.New(), expects: r.Header.Get("Expect") != ""}}
	rec.entry = requestEntry{Kind: kind, At: store.TimeOf(at), Method: r.Method, Path: r.URL.EscapedPath(), Query: maskedSecrets(r.URL.RawQuery)}
	rec.entry.Request.Headers = flat(r.Header)
	mask(rec.entry.Request.Headers)
	rec.arrived = arrival{face: kind, caller: strings.Join(r.Header["Authorization"], ", "),
		method: r.Method, path: rec.entry.Path, query: r.URL.RawQuery, keyed: len(r.Header["Idempotency-Key"]) > 0, at: at}
	j.mu.Lock()
	rec.entry.Hints = j.past.arrived(&rec.arrived)
	j.mu.Unlock()
	// A copy: net/http goes by the body that it put into its own.
	r = r.WithContext(r.Context())
	r.Body = rec.in
	return rec, r
}

// recordingOf finds the recording that a writer leads to; nil: there is none.
func recordingOf(w http.ResponseWriter) *recording {
	for {
		switch x := w.(type) {
		case *recording:
			return x
		case interface{ Unwrap() http.ResponseWriter }:
			w = x.Unwrap()
		default:
			return nil
		}
	}
}

// Unwrap lets an http.ResponseController reach the connection.
func (rec *recording) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

// WriteHeader notes the status.
func (rec *recording) WriteHeader(status int) {
	if status >= 200 || status == http.StatusSwitchingProtocols {
		rec.written(status)
	}
	rec.ResponseWriter.WriteHeader(status)
}

// written notes that the answer begins.
func (rec *recording) written(status int) {
	if rec.status == 0 {
		rec.status = status
		rec.in.drain(rec.Header().Get("Connection"))
	}
}

// Write keeps what is written. With the last byte that Content-Length announces
// the entry comes first.
func (rec *recording) Write(b []byte) (int, error) {
	rec.written(http.StatusOK)
	rec.out.add(b)
	if n, err := strconv.ParseInt(rec.Header().Get("Content-Length"), 10, 64); err == nil && rec.out.total >= n {
		rec.finish()
	}
	return rec.ResponseWriter.Write(b)
}

// FlushError passes on what is written. An answer without a body is then whole.
func (rec *recording) FlushError() error {
	rec.written(http.StatusOK)
	if rec.status == http.StatusNoContent || rec.status == http.StatusNotModified || rec.entry.Method == http.MethodHead || rec.Header().Get("Content-Length") == "0" {
		rec.finish()
	}
	return http.NewResponseController(rec.ResponseWriter).Flush()
}

// Flush is FlushError for those who know only that.
func (rec *recording) Flush() { rec.FlushError() }

// cut notes that the connection ends without an answer.
func (rec *recording) cut() {
	if !rec.done {
		rec.finishAs(answered{message: message{Headers: map[string]string{}}})
	}
}

// finish puts the entry into the journal, once.
func (rec *recording) finish() {
	if rec.done {
		return
	}
	rec.written(http.StatusOK) // what net/http makes of an answer that is not written
	h := rec.Header()
	if id := h.Get("X-Request-Id"); id != "" {
		rec.entry.RequestID = store.Some(id)
	}
	rec.entry.Replayed = h.Get("Idempotent-Replayed") == "true"
	if rec.entry.Method == http.MethodHead { // net/http keeps it back
		rec.out = capped{}
	}
	rec.finishAs(answered{Status: rec.status, message: message{flat(h), rec.out.json(), rec.out.truncated()}})
}

func (rec *recording) finishAs(a answered) {
	rec.done = true
	e := &rec.entry
	e.Response, e.DurationMS = a, time.Since(rec.start).Milliseconds()
	whole := rec.in.whole()
	e.Request.Truncated = !whole || rec.in.kept.truncated()
	if e.Request.Truncated {
		e.Request.Body = rec.in.kept.text()
	} else {
		e.Request.Body = rec.in.kept.json()
	}
	rec.arrived.body = [32]byte(rec.in.sum.Sum(nil))
	size := 1024 + len(e.Path) + len(e.Query) + e.Request.size() + e.Response.size()

	j := rec.j
	now := j.now()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	e.Seq = j.seq
	if whole {
		e.Hints = append(e.Hints, j.past.repeated(&rec.arrived, a.Status, e.Seq)...)
	}
	j.past.answered(&rec.arrived, a.Status, a.Headers["Retry-After"], e.Fault.Valid, now, e.Seq)
	j.requests.add(kept{e.Kind, listed(e.Hints, e.Kind, e.Seq, store.Null[string]{}), size, e})
}

// tee keeps what is read of a request's body.
type tee struct {
	io.ReadCloser
	length  int64 // as announced; -1: it was not
	expects bool  // the client waits for 100 Continue before it sends
	kept    capped
	sum     hash.Hash
	err     error
}

func (t *tee) Read(b []byte) (int, error) {
	n, err := t.ReadCloser.Read(b)
	t.kept.add(b[:n])
	t.sum.Write(b[:n])
	t.err = err
	return n, err
}

// drain reads what the handler left unread, where net/http is about to do that
// itself: it takes no longer than it would have, and asks the client for nothing
// that it would not have sent.
func (t *tee) drain(connection string) {
	if t.err != nil || t.length > maxUnread || t.expects && t.kept.total == 0 || strings.EqualFold(connection, "close") {
		return
	}
	if room := journalBody + 1 - t.kept.total; room > 0 {
		io.CopyN(io.Discard, t, room)
	}
}

// whole tells whether the body was read to its end.
func (t *tee) whole() bool { return errors.Is(t.err, io.EOF) || t.kept.total == t.length }

// capped is the beginning of a body.
type capped struct {
	head  []byte
	total int64
}

func (c *capped) add(b []byte) {
	c.total += int64(len(b))
	c.head = append(c.head, b[:min(len(b), journalBody-len(c.head))]...)
}

func (c *capped) truncated() bool { return c.total > int64(len(c.head)) }

// json is the body as an entry has it.
func (c *capped) json() json.RawMessage {
	if !c.truncated() && json.Valid(c.head) && utf8.Valid(c.head) {
		return c.head
	}
	return c.text()
}

func (c *capped) text() json.RawMessage {
	if len(c.head) == 0 {
		return nil
	}
	return wire.AppendString(nil, string(c.head))
}

// flat is a header with one value a name.
func flat(h http.Header) map[string]string {
	m := make(map[string]string, len(h))
	for name, values := range h {
		m[name] = strings.Join(values, ", ")
	}
	return m
}

// mask hides the credentials of a request, of a key or token all but what tells
// it from others: "Bearer tsk_test_…0000".
func mask(headers map[string]string) {
	if v, ok := headers["Authorization"]; ok {
		headers["Authorization"] = maskedToken(v)
	}
	for _, name := range []string{"X-Staff-Pin", "Proxy-Authorization", "Cookie"} {
		if _, ok := headers[name]; ok {
			headers[name] = "***"
		}
	}
	for name, value := range headers {
		headers[name] = maskedSecrets(value)
	}
}

// secrets are keys and tokens, wherever a client puts them by mistake.
var secrets = regexp.MustCompile(`\b(t(?:sk|mk|dk)_(?:live|test)_)[A-Za-z0-9_-]{39}([A-Za-z0-9_-]{4})`)

func maskedSecrets(text string) string { return secrets.ReplaceAllString(text, "$1…$2") }

func maskedToken(v string) string {
	scheme, token, _ := strings.Cut(v, " ")
	const secret = 43 // characters behind the prefix
	prefix := len(token) - secret
	if prefix < 0 || prefix > len("tsk_live_") || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "***"
	}
	return scheme + " " + token[:prefix] + "…" + token[len(token)-4:]
}
