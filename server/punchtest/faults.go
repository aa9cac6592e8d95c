package punchtest

import (
	"net/http"
	"time"
)

// Cut as the status of a [Fault] cuts the connection.
const Cut = -1

// When a [Fault] strikes.
const (
	Before = "before" // instead of the operation
	After  = "after"  // the operation is done and remembered, its answer is lost
)

// Fault has requests to the REST and till APIs fail or lag.
//
// Go's http.Transport, that of the client under test too, by itself repeats a
// GET, and any request with an Idempotency-Key whose body it can send again,
// when a connection that it used before is cut.
type Fault struct {
	Method string // any if empty
	// Path is from the root (/api/public/v1/cards/*) or below the API (/cards/*);
	// * is one segment, ** at the end any rest. Any path if empty.
	Path    string
	Status  int               // from 400 to 599, or Cut; 0: the request goes through after Delay
	Code    string            // of the error; by default the API's usual one of that status
	Delay   time.Duration     // real time, at most a minute
	Count   int               // of requests that it strikes; 0: one
	When    string            // Before (default) or After
	Headers map[string]string // of the answer, such as Retry-After, which 429 and 503 have by default
}

// Fault adds a fault, behind those that wait already; of several that match a
// request the first strikes. The id is what [Request] has in its Fault.
func (s *Server) Fault(f Fault) (id string) {
	s.t.Helper()
	body := map[string]any{"count": max(f.Count, 1)}
	for name, value := range map[string]string{"method": f.Method, "path": f.Path, "code": f.Code, "when": f.When} {
		if value != "" {
			body[name] = value
		}
	}
	switch f.Status {
	case 0:
	case Cut:
		body["status"] = 0
	default:
		body["status"] = f.Status
	}
	if f.Delay != 0 {
		body["delay_ms"] = f.Delay.Milliseconds()
	}
	if f.Headers != nil {
		body["headers"] = f.Headers
	}
	var made struct{ ID string }
	if err := s.control(http.MethodPost, "/faults", body, &made); err != nil {
		s.t.Fatal(err)
	}
	if f.Status == Cut {
		s.transport.CloseIdleConnections() // or it would repeat the helpers' own requests
	}
	return made.ID
}

// ClearFaults ends those that still wait for their requests.
func (s *Server) ClearFaults() {
	s.t.Helper()
	s.operate(http.MethodDelete, "/faults", nil)
}
