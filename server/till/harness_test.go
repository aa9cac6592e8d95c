package till_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/till"
)

// A server is the real one, on a real port and a real file, with a client
// that holds every answer to the OpenAPI document.
type server struct {
	t    *testing.T
	app  *app.App
	base string // of the till API
	doc  routers.Router
	key  string
	*seed.Ready
}

// exercised counts the operations that some test called with success.
var exercised sync.Map

func TestMain(m *testing.M) {
	code := m.Run()
	// Only a run of all tests can tell that an operation has none.
	if code == 0 && !slices.ContainsFunc(os.Args, func(a string) bool {
		return strings.HasPrefix(a, "-test.run") || strings.HasPrefix(a, "-test.bench=") || strings.HasPrefix(a, "-test.fuzz=")
	}) {
		for _, r := range till.Routes() {
			if _, ok := exercised.Load(r.ID); !ok {
				fmt.Printf("FAIL: no test calls %s (%s %s) with success\n", r.ID, r.Method, r.Path)
				code = 1
			}
		}
	}
	os.Exit(code)
}

// start serves a new dev database. Changes to its Config come as options.
func start(t *testing.T, options ...func(*app.Config)) *server {
	t.Helper()
	c := app.Config{DB: filepath.Join(t.TempDir(), "test.db"), Listen: "127.0.0.1:0", Limits: app.DefaultLimits(),
		Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Dev: &app.Dev{Clock: app.NewClock(time.Time{})}}
	for _, o := range options {
		o(&c)
	}
	a, err := app.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		// A connection dialled and never used would hold Shutdown up.
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		if err := a.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	s := &server{t: t, app: a, base: a.Origin + till.Prefix, key: a.Ready.TillToken, Ready: a.Ready}
	s.doc = document(t, s)
	return s
}

// frozen has the server's clock stand still at a known instant.
func frozen(c *app.Config) {
	c.Dev.Clock = app.NewClock(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))
}

func document(t *testing.T, s *server) routers.Router {
	t.Helper()
	// Servers differ by their port alone, so the parsed document is kept.
	raw := bytes.ReplaceAll(s.fetch("GET", s.Origin+"/till/openapi.json", nil, nil).body, []byte(s.Origin), []byte(anyOrigin))
	if known, ok := documents.Load(string(raw)); ok {
		return known.(routers.Router)
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatal(err)
	}
	// To clients the answers are open, so that fields may be added. Here a
	// field that the document lacks is a mistake.
	closed := false
	for _, schema := range doc.Components.Schemas {
		if schema.Value.AdditionalProperties.Has == nil && schema.Value.AdditionalProperties.Schema == nil {
			schema.Value.AdditionalProperties.Has = &closed
		}
	}
	r, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	documents.Store(string(raw), r)
	return r
}

const anyOrigin = "http://punchcard.test"

// documents holds parsed documents by their text.
var documents sync.Map

// A reply is an answer, read whole.
type reply struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

// with returns a client of the same server that bears another key.
func (s *server) with(key string) *server {
	c := *s
	c.key = key
	return &c
}

// call makes a request below the API's prefix and checks the answer against
// the document. body is JSON text, or a value to be marshalled, or nil.
// headers are name, value pairs.
func (s *server) call(method, path string, body any, headers ...string) *reply {
	s.t.Helper()
	var raw []byte
	switch b := body.(type) {
	case nil:
	case string:
		raw = []byte(b)
	case []byte:
		raw = b
	default:
		var err error
		if raw, err = json.Marshal(b); err != nil {
			s.t.Fatal(err)
		}
	}
	h := http.Header{"Authorization": {"Bearer " + s.key}}
	if s.key == "" {
		h.Del("Authorization")
	}
	if raw != nil {
		h.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	r := s.fetch(method, s.base+path, raw, h)
	s.conforms(method, s.base+path, r)
	return r
}

func (s *server) get(path string, headers ...string) *reply {
	return s.call("GET", path, nil, headers...)
}
func (s *server) post(path string, body any, headers ...string) *reply {
	return s.call("POST", path, body, headers...)
}

func (s *server) patch(path string, body any, headers ...string) *reply {
	return s.call("PATCH", path, body, headers...)
}

// rest is the REST API of the same server, whose answers are held to its
// document elsewhere.
func (s *server) rest() *server {
	c := *s
	c.base, c.key, c.doc = s.BaseURL, s.APIKey, nil
	return &c
}

// control calls the control API; it must answer with success.
func (s *server) control(method, path string, body any) *reply {
	s.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	r := s.fetch(method, s.Origin+"/dev"+path, raw, http.Header{"Content-Type": {"application/json"}})
	if r.status >= 300 {
		s.t.Fatalf("%s /dev%s %s: %d %s", method, path, raw, r.status, r.body)
	}
	return r
}

// fetch makes any request.
func (s *server) fetch(method, url string, body []byte, h http.Header) *reply {
	s.t.Helper()
	req, err := http.NewRequest(method, url, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if h != nil {
		req.Header = h
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return &reply{s.t, resp.StatusCode, resp.Header, b}
}

// conforms holds an answer to the OpenAPI document: status, headers, every
// field. Paths that the document does not have must be 404, methods 405.
func (s *server) conforms(method, url string, r *reply) {
	s.t.Helper()
	if id := r.header.Get("X-Request-Id"); !strings.HasPrefix(id, "req_") {
		s.t.Errorf("%s %s: X-Request-Id %q", method, url, id)
	}
	req, err := http.NewRequest(method, anyOrigin+strings.TrimPrefix(url, s.Origin), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.doc == nil {
		return
	}
	route, params, err := s.doc.FindRoute(req)
	if err != nil {
		if r.status != http.StatusNotFound && r.status != http.StatusMethodNotAllowed {
			s.t.Errorf("%s %.200s: %d, and the document has no such operation", method, url, r.status)
		}
		return
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 r.status, Header: r.header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true, MultiError: true},
	}
	if len(r.body) > 0 {
		in.SetBodyBytes(r.body)
	}
	if err := openapi3filter.ValidateResponse(context.Background(), in); err != nil {
		s.t.Errorf("%s %.200s: the answer is not as documented: %v\n%.1000s", method, url, err, r.body)
	}
	if r.status < 300 {
		exercised.Store(route.Operation.OperationID, true)
	}
}

// want checks the status, and the error code where one is given.
func (r *reply) want(status int, code ...string) *reply {
	r.t.Helper()
	if r.status != status {
		r.t.Fatalf("status %d, want %d: %.1000s", r.status, status, r.body)
	}
	if len(code) > 0 && r.str("error.code") != code[0] {
		r.t.Fatalf("code %q, want %q: %.1000s", r.str("error.code"), code[0], r.body)
	}
	return r
}

// at is the value at a dotted path of the body: nil when null or absent.
func (r *reply) at(path string) any {
	r.t.Helper()
	var v any
	if err := json.Unmarshal(r.body, &v); err != nil {
		r.t.Fatalf("not JSON: %v: %.300s", err, r.body)
	}
	for _, p := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[p]
		case []any:
			var i int
			if _, err := fmt.Sscan(p, &i); err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

func (r *reply) str(path string) string {
	r.t.Helper()
	s, _ := r.at(path).(string)
	return s
}

// details are the validation details as "field code", in order.
func (r *reply) details() (list []string) {
	r.t.Helper()
	items, _ := r.at("error.details").([]any)
	for _, d := range items {
		m := d.(map[string]any)
		list = append(list, fmt.Sprintf("%s %s", m["field"], m["code"]))
	}
	return list
}
