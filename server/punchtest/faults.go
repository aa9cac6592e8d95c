package punchtest

import (
	"net/http"
	"time"
)

// Cut is the status of a [Fault] that cuts the connection.
const Cut = -1

// When a [Fault] is applied.
const (
	Before = "before" // in place of the operation
	After  = "after"  // after the operation, whose answer is lost
)

// Fault makes requests to the REST and till APIs fail or take long.
//
// When a connection that was used before is cut, Go's http.Transport, also that of
// the client under test, by itself repeats a GET, and any request with an
// Idempotency-Key whose body it can send again.
type Fault struct {
	Method string // any if empty
	// Path is a pattern for the whole path (/api/public/v1/cards/*) or the path below
	// the API (/cards/*). * stands for one segment, ** at the end for any number of
	// segments. An empty Path matches any.
	Path    string
	Status  int               // from 400 to 599, or Cut; 0 serves the request after Delay
	Code    string            // of the error; by default the API's usual one for the status
	Delay   time.Duration     // real time, at most a minute
	Count   int               // number of requests that it applies to; 0 means one
	When    string            // Before (default) or After
	Headers map[string]string // of the answer, such as Retry-After, which 429 and 503 have by default
}

// Fault adds a fault and returns its id, which [Request] has in its field Fault. Of
// several faults that match a request the one added first is applied.
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
	s.operate(http.MethodPost, "/faults", body, &made)
	if f.Status == Cut {
		s.transport.CloseIdleConnections() // otherwise the transport would repeat requests of this package
	}
	return made.ID
}

// ClearFaults removes all faults.
func (s *Server) ClearFaults() {
	s.t.Helper()
	s.operate(http.MethodDelete, "/faults", nil, nil)
}
