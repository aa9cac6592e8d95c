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
	Method string `json:"method,omitempty"` // any if empty
	// Path is a pattern for the whole path (/api/public/v1/cards/*) or the path below
	// the API (/cards/*). * stands for one segment, ** at the end for any number of
	// segments. An empty Path matches any.
	Path    string            `json:"path,omitempty"`
	Status  int               `json:"-"`                // from 400 to 599, or Cut; 0 serves the request after Delay
	Code    string            `json:"code,omitempty"`   // of the error; by default the API's usual one for the status
	Delay   time.Duration     `json:"-"`                // real time, at most a minute
	Count   int               `json:"count,omitempty"`  // number of requests that it applies to; 0 means one
	When    string            `json:"when,omitempty"`   // Before (default) or After
	Headers map[string]string `json:"headers,omitzero"` // of the answer, such as Retry-After, which 429 and 503 have by default
	// UntilCleared applies the fault to all requests until ClearFaults, in place of Count.
	UntilCleared bool `json:"until_cleared,omitempty"`
	// Body is the answer in place of an error's, if it is not nil: a proxy's page, or
	// JSON that is cut off. Status may then be any from 200 on but 204 and 304.
	Body        []byte `json:"body_base64,omitzero"`
	ContentType string `json:"content_type,omitempty"` // of Body; text/html; charset=utf-8 if empty
}

// Fault adds a fault and returns its id, which [Request] has in its field Fault. Of
// several faults that match a request the one added first is applied.
func (s *Server) Fault(f Fault) (id string) {
	s.t.Helper()
	if f.Count = max(f.Count, 1); f.UntilCleared {
		f.Count = 0
	}
	body := struct {
		Fault
		Status  *int  `json:"status,omitempty"`
		DelayMS int64 `json:"delay_ms,omitempty"`
	}{Fault: f, DelayMS: f.Delay.Milliseconds()}
	if f.Status == Cut {
		body.Status = new(int)
	} else if f.Status != 0 {
		body.Status = &f.Status
	}
	made := ask[struct{ ID string }](s, http.MethodPost, "/faults", body)
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
