package mcp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"punchcard/server/kernel"
	"punchcard/store"
)

// The codes of JSON-RPC.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeMismatch       = -32020 // of a header and the body
	codeRefused        = -32000 // data.code says why
)

// counted are the methods that use up the budgets of a key.
var counted = []string{"tools/call", "resources/read", "prompts/get"}

// known are the other methods that the SDK is given. subscriptions/listen is not among them,
// since it would hold the connection.
var known = []string{"initialize", "ping", "tools/list", "resources/list", "resources/templates/list", "prompts/list", "server/discover"}

// newProtocol is the first version of the protocol that has no sessions.
const newProtocol = "2026-07-28"

// message is the JSON-RPC message in the body of a request.
type message struct {
	id     jsontext.Value // nil for a notification
	method string
	params jsontext.Value // nil: there are none
	answer bool           // it is the answer to a request, which this server never makes
}

// RefuseForeign answers a request that names a foreign host or comes from a foreign origin.
func RefuseForeign(k *kernel.Kernel, w http.ResponseWriter, r *http.Request, err error) {
	f := &Face{Config: Config{Kernel: k}}
	f.refuse(w, nil, err)
	k.ObserveRefused(w, r, kernel.AsError(err, kernel.StatusOf).Status)
}

// refuseMethod answers a request that is no POST.
func (f *Face) refuseMethod(w http.ResponseWriter) {
	w.Header().Set("Allow", http.MethodPost)
	f.refuse(
		w,
		nil,
		&kernel.Error{Status: http.StatusMethodNotAllowed, Code: store.BadRequest, Message: "Send POST; this server opens no streams."},
	)
}

// serve answers a request whose host and origin were checked. It checks, in this order: size
// and JSON, the key, the entitlement, the subscription, the limits, and the method.
func (f *Face) serve(w http.ResponseWriter, r *http.Request) {
	m, err := readMessage(w, r)
	if err != nil {
		f.refuse(w, nil, err)
		return
	}
	s := &session{Face: f, w: w, r: r}
	if err = s.authenticate(); err != nil {
		f.refuse(w, m.id, err)
		return
	}
	now := f.st.Now()
	f.Kernel.NoteUse(&s.caller, now)
	if !s.take(w.Header(), m, now) {
		return
	}
	switch {
	case m.answer, strings.HasPrefix(m.method, "notifications/"):
		f.Kernel.Send(w, http.StatusAccepted, nil)
		return
	case !slices.Contains(counted, m.method) && !slices.Contains(known, m.method):
		status := http.StatusOK
		if r.Header.Get("Mcp-Protocol-Version") >= newProtocol {
			status = http.StatusNotFound
		}
		f.answerError(w, status, m.id, codeMethodNotFound, "This server does not have the method.", nil)
		return
	case m.id == nil:
		f.answerError(w, http.StatusBadRequest, nil, codeInvalidRequest, "A request needs an id.", nil)
		return
	}
	s.client = clientOf(r, m.params)
	f.forward(w, s, m)
}

// readMessage reads the body of a request, which must be one JSON-RPC message.
func readMessage(w http.ResponseWriter, r *http.Request) (m message, err error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, kernel.MaxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		w.Header().Set("Connection", "close")
		return m, &rpcError{http.StatusRequestEntityTooLarge, codeInvalidRequest, "The body is larger than 1 MiB."}
	case err != nil:
		w.Header().Set("Connection", "close")
		return m, &rpcError{http.StatusBadRequest, codeParse, "The body could not be read to its end."}
	case !kernel.IsJSON(r):
		return m, &rpcError{http.StatusUnsupportedMediaType, codeInvalidRequest, "Content-Type must be application/json."}
	}
	return parseMessage(body)
}

// rpcError is a refusal of a request that is no valid message.
type rpcError struct {
	status, code int
	message      string
}

func (e *rpcError) Error() string { return e.message }

func invalid(message string) *rpcError {
	return &rpcError{http.StatusBadRequest, codeInvalidRequest, message}
}

// parseMessage parses a message. Names are compared with regard to case and occur once, so
// that nobody who parses it differently sees another message.
func parseMessage(body []byte) (m message, err error) {
	malformed := &rpcError{http.StatusBadRequest, codeParse, "The body is not valid JSON."}
	value := jsontext.Value(body)
	if !value.IsValid() {
		return m, malformed
	}
	switch value.Kind() {
	case jsontext.KindBeginArray:
		return m, invalid("Batches are not supported: send one message, not an array.")
	case jsontext.KindBeginObject:
	default:
		return m, invalid("The body must be a JSON object.")
	}
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	dec.ReadToken()
	version := ""
	for dec.PeekKind() != jsontext.KindEndObject {
		name, err := dec.ReadToken()
		if err != nil {
			return m, malformed
		}
		field := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return m, malformed
		}
		value = value.Clone()
		switch field {
		case "jsonrpc":
			version = text(value)
		case "id":
			if !isID(value) {
				return m, invalid("id must be a string or a whole number between -2^53 and 2^53.")
			}
			m.id = value
		case "method":
			if m.method = text(value); m.method == "" {
				return m, invalid("method must be a string.")
			}
		case "params":
			if value.Kind() != jsontext.KindBeginObject {
				return m, invalid("params must be an object.")
			}
			m.params = value
		case "result", "error":
			m.answer = true
		}
	}
	switch {
	case version != "2.0":
		return m, invalid(`jsonrpc must be "2.0".`)
	case m.method == "" && !m.answer:
		return m, invalid("method is missing.")
	case m.method != "" && m.answer:
		return m, invalid("A message is a request or an answer, not both.")
	}
	return m, nil
}

// maxID is the number up to which a double, and so every parser, represents all integers
// exactly.
const maxID = 1 << 53

// isID reports whether a value can be the id of a request. The SDK would answer to another id
// if the number had a fraction or more digits.
func isID(value jsontext.Value) bool {
	n, err := strconv.ParseInt(string(value), 10, 64)
	return value.Kind() == jsontext.KindString || err == nil && -maxID <= n && n <= maxID
}

// text returns the value of a JSON string, and "" for other values.
func text(value jsontext.Value) string {
	if value.Kind() != jsontext.KindString {
		return ""
	}
	b, _ := jsontext.AppendUnquote(nil, value)
	return string(b)
}

// take counts a request against the limits of its key and sets their headers. It answers a
// request that is over a limit and returns false.
func (s *session) take(h http.Header, m message, now store.Time) bool {
	key := s.caller.Key.Key
	counts := slices.Contains(counted, m.method)
	limiter := s.others
	if counts {
		limiter = s.Face.calls
	}
	within := limiter.Take(h, key, now)
	used, err := s.days.used(key, now)
	if err == nil && within && counts {
		var ok bool
		if used, ok, err = s.days.take(key, now); err == nil && !ok {
			s.days.setHeaders(h, used, now)
			s.refuseLimit(m, "day", s.days.reset(now), "The key's calls of this day in UTC are used up.")
			return false
		}
	}
	if err != nil {
		s.refuse(s.w, m.id, err)
		return false
	}
	left := s.days.setHeaders(h, used, now)
	if !within {
		wait, _ := strconv.ParseInt(cmp.Or(h.Get("Retry-After"), "1"), 10, 64)
		s.refuseLimit(m, "minute", wait, "The key's calls of this minute are used up.")
		return false
	}
	s.left = map[string]int{}
	if n, limited := s.Face.calls.Left(key, now); limited {
		s.left["minute"] = n
	}
	if left >= 0 {
		s.left["day"] = left
	}
	return true
}

// limitData is the data of a refusal over a limit.
type limitData struct {
	Code       store.Code `json:"code"`
	RequestID  string     `json:"request_id"`
	Limit      string     `json:"limit"`
	RetryAfter int64      `json:"retry_after"`
}

func (s *session) refuseLimit(m message, limit string, wait int64, message string) {
	s.w.Header().Set("Retry-After", strconv.FormatInt(wait, 10))
	s.answerError(
		s.w,
		http.StatusTooManyRequests,
		m.id,
		codeRefused,
		string(store.RateLimited)+": "+message,
		limitData{store.RateLimited, s.Kernel.RequestID(s.w), limit, wait},
	)
}

// refusalData is the data of any other refusal.
type refusalData struct {
	Code      store.Code `json:"code"`
	RequestID string     `json:"request_id"`
}

// refuse answers a request with a refusal.
func (f *Face) refuse(w http.ResponseWriter, id jsontext.Value, err error) {
	var rpc *rpcError
	if errors.As(err, &rpc) {
		f.answerError(w, rpc.status, id, rpc.code, rpc.message, nil)
		return
	}
	e := f.Kernel.Report(w, err)
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="punchcard", error="invalid_token"`)
	}
	f.answerError(w, e.Status, id, codeRefused, string(e.Code)+": "+e.Message, refusalData{e.Code, f.Kernel.RequestID(w)})
}

// errorObject is an error of JSON-RPC.
type errorObject struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// answerError answers with an error of JSON-RPC. data may be nil.
func (f *Face) answerError(w http.ResponseWriter, status int, id jsontext.Value, code int, message string, data any) {
	body, err := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   errorObject     `json:"error"`
	}{"2.0", json.RawMessage(cmp.Or(string(id), "null")), errorObject{code, message, data}})
	if err != nil {
		body, status = nil, http.StatusInternalServerError
	}
	f.Kernel.Send(w, status, body)
}

// forward hands a message to the SDK and sends its answer. A refusal of the SDK as plain
// text becomes an error of JSON-RPC, and one that repeats what the caller sent has other words.
func (f *Face) forward(w http.ResponseWriter, s *session, m message) {
	body := append(append([]byte(`{"jsonrpc":"2.0","id":`), m.id...), `,"method":`...)
	body, _ = jsontext.AppendQuote(body, m.method)
	if m.params != nil {
		body = append(append(body, `,"params":`...), m.params...)
	}
	body = append(body, '}')
	r := s.r.Clone(withSession(s.r.Context(), s))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out := &buffer{header: http.Header{}, status: http.StatusOK}
	f.sdkHandler().ServeHTTP(out, r)
	if strings.HasPrefix(out.header.Get("Content-Type"), "application/json") {
		switch e := errorOf(out.body.Bytes()); {
		case e.Code == codeMismatch:
			f.answerError(w, out.status, m.id, e.Code, "The headers of the protocol must agree with the body.", nil)
		case strings.HasPrefix(e.Message, "handling '"):
			f.answerError(w, out.status, m.id, codeInvalidParams, "The params do not have the form that the method takes.", nil)
		default:
			f.Kernel.Send(w, out.status, out.body.Bytes())
		}
		return
	}
	status := out.status
	if status < 400 { // the client has gone
		status = http.StatusInternalServerError
	}
	f.answerError(w, status, m.id, codeInvalidRequest, cleanText(strings.TrimSpace(out.body.String()), math.MaxInt), nil)
}

// errorOf returns the error in an answer, the zero errorObject if it has a result.
func errorOf(answer []byte) (e errorObject) {
	dec := jsontext.NewDecoder(bytes.NewReader(answer))
	dec.ReadToken() // {
	for dec.PeekKind() == jsontext.KindString {
		name, _ := dec.ReadToken()
		field := name.String()
		if field == "result" {
			return e // which may be large
		}
		value, err := dec.ReadValue()
		if err != nil {
			return e
		}
		if field == "error" {
			json.Unmarshal(value, &e)
			return e
		}
	}
	return e
}

// buffer is an http.ResponseWriter that keeps the answer.
type buffer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *buffer) Header() http.Header         { return b.header }
func (b *buffer) WriteHeader(status int)      { b.status = status }
func (b *buffer) Write(p []byte) (int, error) { return b.body.Write(p) }

// Flush makes a buffer an http.Flusher, which the SDK looks for.
func (b *buffer) Flush() {}

// maxClient is the length of the name of a client in the audit log, in characters.
const maxClient = 64

// clientOf returns what a client says it is: with the message, or by its User-Agent.
func clientOf(r *http.Request, params jsontext.Value) string {
	var p struct {
		Meta struct {
			Client struct {
				Name string `json:"name"`
			} `json:"io.modelcontextprotocol/clientInfo"`
		} `json:"_meta"`
		Client struct {
			Name string `json:"name"`
		} `json:"clientInfo"`
	}
	json.Unmarshal(params, &p) // a client that says nothing of it has no name
	return cleanText(cmp.Or(p.Meta.Client.Name, p.Client.Name, r.UserAgent()), maxClient)
}
