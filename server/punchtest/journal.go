package punchtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Request is a request to the REST or till API with its answer, as the server
// noted it. Credentials are masked.
type Request struct {
	Seq        int64     `json:"seq"`  // in the order of the answers; webhook attempts count too
	Kind       string    `json:"kind"` // rest, till
	At         time.Time `json:"at"`   // by the server's clock
	DurationMS int64     `json:"duration_ms"`
	RequestID  string    `json:"request_id"` // of the answer
	Method     string    `json:"method"`
	Path       string    `json:"path"` // from the root: /api/public/v1/cards
	Query      string    `json:"query"`
	Sent       Message   `json:"request"`
	Response   Answer    `json:"response"`
	Fault      string    `json:"fault"`    // id of the fault that struck
	Replayed   bool      `json:"replayed"` // the answer was remembered under the Idempotency-Key
	Hints      []Hint    `json:"hints"`
}

// Message is what one side sent.
type Message struct {
	Headers   map[string]string `json:"headers"`   // by canonical name; repeated ones joined by a comma
	Body      json.RawMessage   `json:"body"`      // a JSON string where it was no JSON, or is cut short; null for none
	Truncated bool              `json:"truncated"` // it was longer than 64 KiB, or was not read to its end
}

// Answer is what the server sent.
type Answer struct {
	Status int `json:"status"` // 0: the connection was cut
	Message
}

// Hint points out a mistake that clients often make.
type Hint struct {
	Code    string `json:"code"` // stable
	Message string `json:"message"`
}

// Requests are the newest thousand requests to the REST and till APIs, oldest
// first. A reset clears them. Calls of this package to the control API are not
// among them.
func (s *Server) Requests() []Request {
	s.t.Helper()
	return ok(s.requests())(s.t)
}

func (s *Server) requests() ([]Request, error) {
	var l list[Request]
	err := s.control(http.MethodGet, "/requests?limit=1000", nil, &l)
	return l.Data, err
}

// ClearRequests forgets the requests so far.
func (s *Server) ClearRequests() {
	s.t.Helper()
	s.operate(http.MethodDelete, "/requests", nil)
}

// attempt is an entry of the journal about a webhook.
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
	shownEntries = 200 // in the log of a failing test, the newest
	shownBody    = 600 // bytes of a refusal
)

// journal is what went over the wire, for the log of a test that failed: a line
// per request and per attempt at a webhook, in order.
func (s *Server) journal() string {
	requests, err := s.requests()
	if err != nil {
		return "punchtest: the requests cannot be shown: " + err.Error()
	}
	var attempts list[attempt]
	if err := s.control(http.MethodGet, "/requests?limit=1000&kind=delivery", nil, &attempts); err != nil {
		return "punchtest: the deliveries cannot be shown: " + err.Error()
	}
	type line struct {
		seq  int64
		text string
	}
	var lines []line
	for _, r := range requests {
		lines = append(lines, line{r.Seq, r.String()})
	}
	for _, a := range attempts.Data {
		lines = append(lines, line{a.Seq, a.String()})
	}
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(a.seq, b.seq) })
	var b strings.Builder
	fmt.Fprintf(&b, "punchtest: %d requests and %d attempts at webhooks at %s since its start or reset", len(requests), len(attempts.Data), s.Origin)
	if left := len(lines) - shownEntries; left > 0 {
		fmt.Fprintf(&b, "; %d older ones are left out", left)
		lines = lines[left:]
	}
	for _, l := range lines {
		b.WriteString("\n" + l.text)
	}
	return b.String()
}

// String is one line, with the body if it is a refusal, and a further line for
// each hint.
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
	switch {
	case a.Error != "":
		b.WriteString(a.Error)
	default:
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
