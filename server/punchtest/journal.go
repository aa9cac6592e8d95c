package punchtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Request is a request to the REST or till API with its answer, as the server
// recorded it. Credentials are masked.
type Request struct {
	Seq        int64     `json:"seq"`  // in the order of the answers; webhook attempts count too
	Kind       string    `json:"kind"` // rest, till, mcp, page
	At         time.Time `json:"at"`   // by the server's clock
	DurationMS int64     `json:"duration_ms"`
	RequestID  string    `json:"request_id"` // of the answer
	Method     string    `json:"method"`
	Path       string    `json:"path"` // from the root: /api/public/v1/cards
	Query      string    `json:"query"`
	Sent       Message   `json:"request"`
	Response   Answer    `json:"response"`
	Fault      string    `json:"fault"`    // id of the fault that was applied
	Replayed   bool      `json:"replayed"` // the answer was remembered under the Idempotency-Key
	Hints      []Hint    `json:"hints"`
}

// Message is what one side sent.
type Message struct {
	Headers   map[string]string `json:"headers"`   // by canonical name; the values of a repeated header are joined by commas
	Body      json.RawMessage   `json:"body"`      // a JSON string if it is no JSON or is cut short; null if there is none
	Truncated bool              `json:"truncated"` // the body was longer than 64 KiB or was not read to its end
}

// Answer is what the server sent.
type Answer struct {
	Status int `json:"status"` // 0 if the connection was cut
	Message
}

// Hint points out a mistake that clients often make.
type Hint struct {
	Code    string `json:"code"` // stable
	Message string `json:"message"`
}

// Requests returns the newest thousand requests to the REST and till APIs, oldest
// first. It does not include calls of the control API. A reset clears them.
func (s *Server) Requests() []Request {
	s.t.Helper()
	return ok(s.requests())(s.t)
}

func (s *Server) requests() ([]Request, error) {
	var l list[Request]
	err := s.control(http.MethodGet, "/requests?limit=1000", nil, &l)
	return l.Data, err
}

// RequestsTo returns the newest thousand requests with a method, any if empty, and a path,
// oldest first, also those for pages. path is a pattern as in a [Fault], such as /cards/*,
// /i/* or /join/**. Of requests outside of the APIs, whose Kind is page, there are no bodies
// and no query, and the path has … where a token may be.
func (s *Server) RequestsTo(method, path string) []Request {
	s.t.Helper()
	query := url.Values{"kind": {"request"}, "limit": {"1000"}}
	for name, value := range map[string]string{"method": method, "path": path} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return ask[list[Request]](s, http.MethodGet, "/requests?"+query.Encode(), nil).Data
}

// ClearRequests clears the record of requests.
func (s *Server) ClearRequests() {
	s.t.Helper()
	s.operate(http.MethodDelete, "/requests", nil, nil)
}

// attempt is an entry of the journal about an attempt to deliver a webhook.
type attempt struct {
	Seq     int64  `json:"seq"`
	URL     string `json:"url"`
	Event   string `json:"event"`
	EventID string `json:"event_id"`
	Attempt int    `json:"attempt"`
	Status  int    `json:"status"`
	Success bool   `json:"success"`
	Error   string `json:"error"`
	Hints   []Hint `json:"hints"`
}

const (
	shownEntries = 200 // newest entries in the log of a failed test
	shownBody    = 600 // bytes of the body of an error
)

// journal returns the text for the log of a failed test: a line for each request
// and for each attempt to deliver a webhook, in order.
func (s *Server) journal() string {
	requests, err := s.requests()
	if err != nil {
		return "punchtest: the requests cannot be shown: " + err.Error()
	}
	var attempts list[attempt]
	if err := s.control(http.MethodGet, "/requests?limit=1000&kind=delivery", nil, &attempts); err != nil {
		return "punchtest: the deliveries cannot be shown: " + err.Error()
	}
	lines := map[int64]string{}
	for _, r := range requests {
		lines[r.Seq] = r.String()
	}
	for _, a := range attempts.Data {
		lines[a.Seq] = a.String()
	}
	order := slices.Sorted(maps.Keys(lines))
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"punchtest: %d requests and %d attempts at webhooks at %s since its start or reset",
		len(requests),
		len(attempts.Data),
		s.Origin,
	)
	if left := len(order) - shownEntries; left > 0 {
		fmt.Fprintf(&b, "; %d older ones are left out", left)
		order = order[left:]
	}
	for _, seq := range order {
		b.WriteString("\n" + lines[seq])
	}
	return b.String()
}

// String returns the request in one line, with the body of the answer if it is an
// error, and a further line for each hint.
func (r Request) String() string {
	var b strings.Builder
	path := r.Path
	if r.Query != "" {
		path += "?" + r.Query
	}
	fmt.Fprintf(&b, "%5d  %-6s %s  %d  %d ms  %s", r.Seq, r.Method, path, r.Response.Status, r.DurationMS, r.RequestID)
	if r.Replayed {
		b.WriteString("  replayed")
	}
	if r.Fault != "" {
		b.WriteString("  fault " + r.Fault)
	}
	if r.Response.Status >= 400 {
		body := string(r.Response.Body)
		if len(body) > shownBody {
			body = body[:shownBody] + "…"
		}
		b.WriteString("  " + body)
	}
	writeHints(&b, r.Hints)
	return b.String()
}

func (a attempt) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%5d  webhook %s %s to %s  attempt %d  ", a.Seq, a.Event, a.EventID, a.URL, a.Attempt)
	if a.Error != "" {
		b.WriteString(a.Error)
	} else {
		fmt.Fprint(&b, a.Status)
	}
	writeHints(&b, a.Hints)
	return b.String()
}

func writeHints(b *strings.Builder, hints []Hint) {
	for _, h := range hints {
		fmt.Fprintf(b, "\n       hint %s: %s", h.Code, h.Message)
	}
}
