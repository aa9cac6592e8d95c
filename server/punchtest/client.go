package punchtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Do makes a request and returns the answer, also if the server refuses the
// request. path is a path of the REST API (/cards) or a whole URL
// (s.Origin+"/healthz"). key is the bearer token; if it is empty none is sent. body
// is JSON text as a string or []byte, a value to marshal, or nil. headers are
// alternating names and values.
func (s *Server) Do(method, path, key string, body any, headers ...string) *Response {
	s.t.Helper()
	url := path
	if strings.HasPrefix(path, "/") {
		url = s.URL + path
	}
	return s.send(context.Background(), method, url, key, body, headers...)
}

// control calls the control API and decodes the answer into out, unless that
// is nil.
func (s *Server) control(method, path string, body, out any) error {
	return s.send(context.Background(), method, s.Origin+"/dev"+path, "", body).decode(out)
}

// await reads what a test has made, such as a receiver, from the control API. It waits until as much has arrived there as the path
// demands, or until the timeout has passed.
func (s *Server) await(ctx context.Context, what, path string, timeout time.Duration, out any) error {
	timeout = min(max(timeout, 0), time.Minute) // the server waits a minute at most
	answer := s.send(ctx, http.MethodGet, fmt.Sprintf("%s/dev%s&timeout_ms=%d", s.Origin, path, timeout.Milliseconds()), "", nil)
	if answer.Status == http.StatusNotFound {
		return errors.New("the server was reset after this " + what + " was made")
	}
	return answer.decode(out)
}

// operate calls control and fails the test if that returns an error.
func (s *Server) operate(method, path string, body, out any) {
	s.t.Helper()
	if err := s.control(method, path, body, out); err != nil {
		s.t.Fatal(err)
	}
}

// ask calls operate and returns the decoded answer.
func ask[T any](s *Server, method, path string, body any) (answer T) {
	s.t.Helper()
	s.operate(method, path, body, &answer)
	return answer
}

func (s *Server) send(ctx context.Context, method, url, key string, body any, headers ...string) *Response {
	r := &Response{request: method + " " + strings.TrimPrefix(url, s.Origin), t: s.t}
	if r.err = s.roundTrip(ctx, r, method, url, key, body, headers); r.err != nil {
		r.err = fmt.Errorf("%s: %w", r.request, r.err)
	}
	return r
}

func (s *Server) roundTrip(ctx context.Context, r *Response, method, url, key string, body any, headers []string) error {
	raw, err := jsonText(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	if len(raw) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if r.Body, err = io.ReadAll(resp.Body); err != nil {
		return err
	}
	r.Status, r.Header = resp.StatusCode, resp.Header
	return nil
}

func jsonText(body any) ([]byte, error) {
	switch b := body.(type) {
	case nil:
		return nil, nil
	case string:
		return []byte(b), nil
	case []byte:
		return b, nil
	}
	return json.Marshal(body)
}

// Response is an answer with its whole body.
type Response struct {
	Status int // 0 if there is no answer since the connection was cut
	Header http.Header
	Body   []byte

	request string // method and path
	err     error  // if there is no answer
	t       reporter
}

// Err returns nil for a status below 400, an *[Error] for any other status, and the
// error of the connection if there is no answer.
func (r *Response) Err() error {
	if r.err != nil || r.Status < 400 {
		return r.err
	}
	var b struct{ Error Error }
	if json.Unmarshal(r.Body, &b) != nil || b.Error.Code == "" {
		b.Error = Error{Message: string(r.Body)} // not from the API
	}
	b.Error.Request, b.Error.Status, b.Error.Header = r.request, r.Status, r.Header
	if b.Error.RequestID == "" {
		b.Error.RequestID = r.Header.Get("X-Request-Id")
	}
	return &b.Error
}

// Want fails the test unless the answer has the status. It returns the answer.
func (r *Response) Want(status int) *Response {
	r.t.Helper()
	switch err := r.Err(); {
	case r.Status == status && r.err == nil:
	case err != nil:
		r.t.Fatal(fmt.Errorf("wanted %d: %w", status, err))
	default:
		r.t.Fatal(fmt.Errorf("%s: wanted %d: %d %s", r.request, status, r.Status, r.Body))
	}
	return r
}

// Decode unmarshals the body into v. It fails the test if the status is an error or
// the body is not such JSON.
func (r *Response) Decode(v any) {
	r.t.Helper()
	if err := r.decode(v); err != nil {
		r.t.Fatal(err)
	}
}

// decode unmarshals the body into v, unless v is nil. It returns the error of Err, or
// one that says that the body is not such JSON.
func (r *Response) decode(v any) error {
	if err := r.Err(); err != nil || v == nil {
		return err
	}
	if err := json.Unmarshal(r.Body, v); err != nil {
		return fmt.Errorf("%s: %w: %s", r.request, err, r.Body)
	}
	return nil
}

// Error is an error that the server answered with.
type Error struct {
	Request   string // method and path
	Status    int
	Header    http.Header
	Code      string   `json:"code"` // never changes its meaning
	Message   string   `json:"message"`
	Details   []Detail `json:"details"` // of validation_failed: one for each invalid field
	RequestID string   `json:"request_id"`
}

// Detail is about one invalid field. Field is a dotted path into the body, or the
// name of a query parameter or a header.
type Detail struct {
	Field   string `json:"field"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error returns the error in one line.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d %s: %s", e.Request, e.Status, e.Code, e.Message)
	for _, d := range e.Details {
		fmt.Fprintf(&b, " [%s %s: %s]", d.Field, d.Code, d.Message)
	}
	if strings.Contains(e.Request, "//") {
		b.WriteString(" [an id in the path is empty: a program of a type that there is not?]")
	}
	fmt.Fprintf(&b, " (%s)", e.RequestID)
	return b.String()
}
