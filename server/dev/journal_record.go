package dev

import (
	"cmp"
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

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// maxUnread is the size in bytes up to which net/http reads the rest of a body
// before it answers. If more is left it closes the connection instead.
const maxUnread = 256 << 10

// Wrap returns a handler that records every request that next answers, but for those to
// the control API and for assets. It belongs outside the router. A request is in the journal before
// the last byte of its answer is sent, so that a client that has the answer finds
// the entry.
func (j *Journal) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, _ := j.apis.find(r.URL.Path)
		if kind == "" && !isPage(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		rec, r := j.begin(cmp.Or(kind, kindPage), w, r)
		cut := true
		defer func() { rec.finish(cut) }()
		next.ServeHTTP(rec, r)
		cut = false
	})
}

// recording is an http.ResponseWriter that records the answer.
type recording struct {
	kernel.StatusWriter
	j     *Journal
	entry requestEntry
	path  string // as it was sent
	start time.Time
	info  requestInfo
	in    *bodyRecorder // nil for pages
	out   bodyPrefix
	lost  []byte // the answer that a fault replaced
	done  bool
}

// begin begins to record a request. It returns the writer for its answer, and the
// request, whose body is recorded unless the request is outside of the APIs.
func (j *Journal) begin(kind string, w http.ResponseWriter, r *http.Request) (*recording, *http.Request) {
	at := j.now()
	rec := &recording{StatusWriter: kernel.StatusWriter{ResponseWriter: w}, j: j, path: r.URL.EscapedPath(), start: time.Now()}
	rec.entry = requestEntry{Kind: kind, At: store.TimeOf(at), Method: r.Method, Path: rec.path}
	if kind == kindPage {
		rec.beginPage(r)
		return rec, r
	}
	rec.in = &bodyRecorder{
		ReadCloser: r.Body,
		length:     r.ContentLength,
		sum:        sha256.New(),
		expects:    r.Header.Get("Expect") != "",
	}
	rec.entry.Query = maskSecrets(r.URL.RawQuery)
	rec.entry.Request.Headers = joinHeaders(r.Header)
	mask(rec.entry.Request.Headers)
	rec.info = requestInfo{
		api:    kind,
		caller: strings.Join(r.Header["Authorization"], ", "),
		method: r.Method,
		path:   rec.path,
		query:  r.URL.RawQuery,
		keyed:  len(r.Header["Idempotency-Key"]) > 0,
		at:     at,
	}
	j.mu.Lock()
	rec.entry.Hints = j.history.checkWait(&rec.info)
	j.mu.Unlock()
	// Change a copy, since net/http still needs the body of its own request.
	r = r.WithContext(r.Context())
	r.Body = rec.in
	return rec, r
}

// unwrapped returns the writer of type T that a writer wraps; nil if there is none.
func unwrapped[T http.ResponseWriter](w http.ResponseWriter) (none T) {
	for {
		switch x := w.(type) {
		case T:
			return x
		case interface{ Unwrap() http.ResponseWriter }:
			w = x.Unwrap()
		default:
			return none
		}
	}
}

// WriteHeader records the status.
func (rec *recording) WriteHeader(status int) {
	if status >= 200 {
		rec.beginAnswer(status)
	}
	rec.ResponseWriter.WriteHeader(status)
}

// beginAnswer records the status of the answer, if it is the first call.
func (rec *recording) beginAnswer(status int) {
	if rec.Status == 0 {
		rec.Status = status
		if rec.in != nil {
			rec.in.drain(rec.Header().Get("Connection"))
		}
	}
}

// Write records what is written. It completes the entry before it writes the last
// byte that Content-Length announces.
func (rec *recording) Write(b []byte) (int, error) {
	rec.beginAnswer(http.StatusOK)
	if rec.in != nil {
		rec.out.add(b)
	} else {
		rec.out.total += int64(len(b))
	}
	if n, err := strconv.ParseInt(rec.Header().Get("Content-Length"), 10, 64); err == nil && rec.out.total >= n {
		rec.finish(false)
	}
	return rec.ResponseWriter.Write(b)
}

// FlushError sends what is written so far. It completes the entry of an answer
// without a body.
func (rec *recording) FlushError() error {
	rec.beginAnswer(http.StatusOK)
	if rec.Status == http.StatusNoContent || rec.Status == http.StatusNotModified || rec.entry.Method == http.MethodHead ||
		rec.Header().Get("Content-Length") == "0" {
		rec.finish(false)
	}
	return http.NewResponseController(rec.ResponseWriter).Flush()
}

// Flush makes a recording an http.Flusher.
func (rec *recording) Flush() { rec.FlushError() }

// finish adds the entry to the journal, once. cut says that the connection ends
// without an answer.
func (rec *recording) finish(cut bool) {
	if rec.done {
		return
	}
	rec.done = true
	e := &rec.entry
	if !cut {
		rec.beginAnswer(http.StatusOK) // as net/http does if the handler writes nothing
		e.Response.Status = rec.Status
		id := rec.Header().Get("X-Request-Id")
		e.RequestID = store.Null[string]{V: id, Valid: id != ""}
	}
	e.DurationMS = time.Since(rec.start).Milliseconds()
	if e.Kind == kindPage {
		rec.finishPage(cut)
	} else {
		rec.finishCall(cut)
	}
	about := rec.subject()
	j := rec.j
	now := j.now()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seq++
	e.Seq = j.seq
	entries := &j.pages
	if e.Kind != kindPage {
		entries = &j.requests
		if rec.in.whole() {
			e.Hints = append(e.Hints, j.history.checkRepeat(&rec.info, e.Response.Status, e.Seq)...)
		}
		j.history.addWait(&rec.info, e.Response.Status, e.Response.Headers["Retry-After"], e.Fault.Valid, now, e.Seq)
		note(rec.ResponseWriter, e)
	}
	entries.add(record{
		kind:   e.Kind,
		seq:    e.Seq,
		method: e.Method,
		path:   splitPath(rec.path),
		hints:  e.Hints,
		size:   1024 + 8*len(about.cards) + len(e.Path) + len(e.Query) + e.Request.size() + e.Response.size(),
		about:  about,
		entry:  e,
	})
}

// finishCall completes the entry of a request to an API.
func (rec *recording) finishCall(cut bool) {
	e := &rec.entry
	if !cut {
		e.Replayed = rec.Header().Get("Idempotent-Replayed") == "true"
		if e.Method == http.MethodHead { // net/http does not send the body
			rec.out = bodyPrefix{}
		}
		e.Response.message = rec.out.message(joinHeaders(rec.Header()), true)
	}
	e.Request = rec.in.prefix.message(e.Request.Headers, rec.in.whole())
	rec.info.body = [32]byte(rec.in.sum.Sum(nil))
	if e.Kind == kindTill {
		var once struct {
			ClientReference string `json:"client_reference"`
		}
		json.Unmarshal(e.Request.Body, &once) // what is not such an object has none
		rec.info.keyed = rec.info.keyed || once.ClientReference != ""
	}
}

// bodyRecorder records what is read of a request's body.
type bodyRecorder struct {
	io.ReadCloser
	length  int64 // as announced by the client, or -1
	expects bool  // the client waits for 100 Continue before it sends the body
	prefix  bodyPrefix
	sum     hash.Hash
	err     error
}

func (r *bodyRecorder) Read(b []byte) (int, error) {
	n, err := r.ReadCloser.Read(b)
	r.prefix.add(b[:n])
	r.sum.Write(b[:n])
	r.err = err
	return n, err
}

// drain reads what the handler left unread, but only where net/http would do the
// same next: it neither delays the answer nor asks the client for more.
func (r *bodyRecorder) drain(connection string) {
	if r.err != nil || r.length > maxUnread || r.expects && r.prefix.total == 0 || strings.EqualFold(connection, "close") {
		return
	}
	if room := journalBody + 1 - r.prefix.total; room > 0 {
		io.CopyN(io.Discard, r, room)
	}
}

// whole reports whether the body was read to its end.
func (r *bodyRecorder) whole() bool { return errors.Is(r.err, io.EOF) || r.prefix.total == r.length }

// bodyPrefix is the beginning of a body, at most journalBody bytes.
type bodyPrefix struct {
	head  []byte
	total int64 // length of the whole body in bytes
}

func (p *bodyPrefix) add(b []byte) {
	p.total += int64(len(b))
	p.head = append(p.head, b[:min(len(b), journalBody-len(p.head))]...)
}

// message returns the message with the body. whole is false if it was not read to
// its end.
func (p *bodyPrefix) message(headers map[string]string, whole bool) message {
	m := message{headers, p.head, !whole || p.total > int64(len(p.head))}
	if len(p.head) > 0 && (m.Truncated || !json.Valid(p.head) || !utf8.Valid(p.head)) {
		m.Body = wire.AppendString(nil, string(p.head))
	}
	return m
}

// joinHeaders returns the headers with the values of each name joined by commas.
func joinHeaders(h http.Header) map[string]string {
	m := make(map[string]string, len(h))
	for name, values := range h {
		m[name] = strings.Join(values, ", ")
	}
	return m
}

// mask hides the credentials in a request's headers. Of a key or token it leaves
// the prefix and the last four characters, such as "Bearer tsk_test_…0000".
func mask(headers map[string]string) {
	if v, ok := headers["Authorization"]; ok {
		headers["Authorization"] = maskToken(v)
	}
	for _, name := range []string{"X-Staff-Pin", "X-Staff-Session", "Proxy-Authorization", "Cookie"} {
		if _, ok := headers[name]; ok {
			headers[name] = "***"
		}
	}
	for name, value := range headers {
		headers[name] = maskSecrets(value)
	}
}

// secrets matches keys and tokens anywhere in a text.
var secrets = regexp.MustCompile(`\b(t(?:sk|mk|dk)_(?:live|test)_)[A-Za-z0-9_-]{39}([A-Za-z0-9_-]{4})`)

func maskSecrets(text string) string { return secrets.ReplaceAllString(text, "$1…$2") }

// bearer matches an Authorization header with a token of the length of ours, which has 43 characters after its prefix.
var bearer = regexp.MustCompile(`^([^ ]* [!-~]{0,9})[!-~]{39}([!-~]{4})$`)

// maskToken masks the value of an Authorization header.
func maskToken(v string) string {
	if !bearer.MatchString(v) {
		return "***"
	}
	return bearer.ReplaceAllString(v, "$1…$2")
}
