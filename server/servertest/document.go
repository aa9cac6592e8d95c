package servertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"punchcard/server/app"
)

// anyOrigin replaces the server's origin in its document.
const anyOrigin = "http://punchcard.test"

// raceSample is the number of answers of which one is checked under the race
// detector, where the checks and the document itself take long.
const raceSample = 8

// sampled reports whether an answer is to be checked.
func sampled() bool { return !racing || answers.Add(1)%raceSample == 0 }

var (
	answers   atomic.Int64 // number of answers given to check
	succeeded sync.Map     // the ids of the operations that succeeded in some test
	documents sync.Map     // func() *document by the source's key
)

// A document is an OpenAPI document with the schemas of its answers compiled.
type document struct {
	router   routers.Router
	compiler *jsonschema.Compiler
	mu       sync.Mutex // guards compiler
	known    sync.Map   // *response by operation and status
	schemas  openapi3.Schemas
}

// A response is what the document says of one status of an operation.
type response struct {
	err     error // if the document does not have the status
	headers map[string]header
	content map[string]*jsonschema.Schema // by media type
}

type header struct {
	required bool
	number   bool
	schema   *jsonschema.Schema
}

// A source is where a server has a document, which is fetched with the first answer. The
// documents of servers with equal keys differ in their examples at most, so that of the first such
// server serves for all.
type source struct {
	origin, path string
	key          string // of the document: its path, and what it depends on
}

// newSource returns the source of the document below path of a server.
func newSource(c *app.Config, origin, path string) *source {
	return &source{origin, path + "/openapi.json", fmt.Sprint(path, c.PublicURL, c.Limits.Fields())}
}

// get returns the document, which c fetches if no other client has.
func (s *source) get(c *Client) *document {
	c.T.Helper()
	known, ok := documents.Load(s.key)
	if !ok {
		known, _ = documents.LoadOrStore(s.key, sync.OnceValue(func() *document {
			raw := c.Fetch("GET", s.origin+s.path, nil, nil).Want(http.StatusOK).Body
			return newDocument(c.T, bytes.ReplaceAll(raw, []byte(s.origin), []byte(anyOrigin)))
		}))
	}
	return known.(func() *document)()
}

// newDocument validates and compiles a document. The document allows further fields in
// answers, so that fields can be added; the tests do not.
func newDocument(t testing.TB, raw []byte) *document {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err == nil {
		// A test of server/openapi validates the examples, which takes long.
		err = doc.Validate(context.Background(), openapi3.DisableExamplesValidation())
	}
	if err != nil {
		t.Fatal(err)
	}
	d := &document{compiler: jsonschema.NewCompiler(), schemas: doc.Components.Schemas}
	if d.router, err = gorillamux.NewRouter(doc); err != nil {
		t.Fatal(err)
	}
	var tree map[string]any
	if err := json.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	for _, s := range tree["components"].(map[string]any)["schemas"].(map[string]any) {
		if s, ok := s.(map[string]any); ok && s["additionalProperties"] == nil && s["oneOf"] == nil {
			s["additionalProperties"] = false
		}
	}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(anyOrigin, tree); err != nil {
		t.Fatal(err)
	}
	return d
}

// fields returns the required fields of a schema, in its order, and the fields that hold times.
func (d *document) fields(schema string) (required, times []string) {
	ref := d.schemas[schema]
	if ref == nil {
		return []string{"(the document has no such schema)"}, nil
	}
	for name, p := range ref.Value.Properties {
		if p.Value.Format == "date-time" {
			times = append(times, name)
		}
	}
	return ref.Value.Required, times
}

// check compares an answer with the document: its status, headers and every
// field. Requests for paths and methods that the document does not have must be
// answered with 404 or 405.
func (d *document) check(r *Reply) error {
	u := *r.Request.URL
	u.Scheme, u.Host = "http", strings.TrimPrefix(anyOrigin, "http://")
	method := r.Request.Method
	if method == http.MethodHead { // the same as GET
		method = http.MethodGet
	}
	route, _, err := d.router.FindRoute(&http.Request{Method: method, URL: &u, Host: u.Host})
	if err != nil {
		if r.Status != http.StatusNotFound && r.Status != http.StatusMethodNotAllowed {
			return errors.New("the document has no such operation")
		}
		return nil
	}
	if r.Status < 300 {
		succeeded.Store(route.Operation.OperationID, true)
	}
	return d.response(route, r.Status).check(r)
}

// response returns what the document says of a status.
func (d *document) response(route *routers.Route, status int) *response {
	key := fmt.Sprint(route.Operation.OperationID, " ", status)
	if known, ok := d.known.Load(key); ok {
		return known.(*response)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known, _ := d.known.LoadOrStore(key, d.compile(route, status))
	return known.(*response)
}

func (d *document) compile(route *routers.Route, status int) *response {
	ref := route.Operation.Responses.Status(status)
	name := fmt.Sprint(status)
	if ref == nil {
		ref, name = route.Operation.Responses.Default(), "default"
	}
	if ref == nil {
		return &response{err: errors.New("the operation has no such status")}
	}
	pointer := "/paths/" + escape(route.Path) + "/" + strings.ToLower(route.Method) + "/responses/" + name
	if ref.Ref != "" {
		pointer = strings.TrimPrefix(ref.Ref, "#")
	}
	answer := &response{headers: map[string]header{}, content: map[string]*jsonschema.Schema{}}
	for name, h := range ref.Value.Headers {
		at := pointer + "/headers/" + escape(name)
		if h.Ref != "" {
			at = strings.TrimPrefix(h.Ref, "#")
		}
		compiled := header{required: h.Value.Required}
		if s := h.Value.Schema; s != nil {
			compiled.number = s.Value.Type.Is("integer") || s.Value.Type.Is("number")
			compiled.schema = d.compiler.MustCompile(anyOrigin + "#" + at + "/schema")
		}
		answer.headers[name] = compiled
	}
	for name, c := range ref.Value.Content {
		answer.content[name] = nil
		if c.Schema != nil {
			answer.content[name] = d.compiler.MustCompile(anyOrigin + "#" + pointer + "/content/" + escape(name) + "/schema")
		}
	}
	return answer
}

// escape returns a name as part of a JSON pointer in a URL.
func escape(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
}

func (a *response) check(r *Reply) error {
	if a.err != nil {
		return a.err
	}
	for name, h := range a.headers {
		text := r.Header.Get(name)
		if len(r.Header.Values(name)) == 0 {
			if h.required {
				return fmt.Errorf("the header %s is missing", name)
			}
			continue
		}
		var value any = text
		var err error
		if h.number {
			value, err = jsonschema.UnmarshalJSON(strings.NewReader(text))
		}
		if err == nil && h.schema != nil {
			err = h.schema.Validate(value)
		}
		if err != nil {
			return fmt.Errorf("the header %s: %s: %w", name, text, err)
		}
	}
	if len(a.content) == 0 || r.Request.Method == http.MethodHead {
		return nil
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	schema, ok := a.content[kind]
	if !ok {
		return fmt.Errorf("the Content-Type %s", kind)
	}
	if schema == nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.Body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}
