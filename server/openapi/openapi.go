// Package openapi generates the OpenAPI 3.1 document of a list of routes, and a
// reference page for people from the same data.
package openapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// version is the version of the API descriptions.
const version = "1.0.0"

// About describes a face for its document.
type About struct {
	Title        string
	Introduction string
	Prefix       string // of all paths; the base URL ends in it
	Docs         string // path of the reference page
	OtherTitle   string // of the other face's reference page
	OtherDocs    string // and its path, relative to Docs
	// Authentication is the page's text about keys, in paragraphs, and SampleKey the
	// beginning of a key.
	Authentication []string
	SampleKey      string
	// Sections are the texts about the groups of operations, by name.
	Sections map[string]string
	// Webhooks adds the events to the document.
	Webhooks   bool
	Key        string // describes the bearer token
	KeyScope   string // describes who shares idempotency keys
	Open       bool   // there are no keys, neither of callers nor for idempotency
	StaffPIN   bool   // writes take X-Staff-Pin
	RateLimits bool   // answers have the RateLimit headers

	// Guard returns the codes of the checks before an operation.
	Guard func(*kernel.Route) []store.Code
	// Status returns the HTTP status of a code.
	Status func(store.Code) int
	// When replaces texts of kernel.Codes.
	When map[store.Code]string
	// Examples are field values for the sample requests, by operation. They replace
	// values derived from the schema, and add fields that the schema does not
	// require.
	Examples map[string]map[string]any
	// Values are values of fields in examples, by name or by schema and name, in place of
	// those of all faces.
	Values map[string]any
	// Unions are the types of the values that interfaces in answers hold.
	Unions map[reflect.Type][]reflect.Type
}

// Document is an OpenAPI document. The fields of each struct are in the order of
// their names in JSON.
type Document struct {
	Components components                       `json:"components"`
	Info       info                             `json:"info"`
	OpenAPI    string                           `json:"openapi"`
	Paths      map[string]map[string]*Operation `json:"paths"`
	Security   []map[string][]string            `json:"security"`
	Servers    []map[string]string              `json:"servers"`
	Tags       []*tag                           `json:"tags"`
	Webhooks   map[string]map[string]*Webhook   `json:"webhooks,omitempty"`

	// Operations are those of Paths, in the order of the routes.
	Operations []*Operation `json:"-"`
	// Events are those of Webhooks, in the order of the catalogue.
	Events []*Webhook `json:"-"`
	// KeyLength is the maximum length of an idempotency key.
	KeyLength int `json:"-"`

	about    About
	registry wire.Registry
	limits   wire.Limits
	samples  Samples
	inside   []*wire.JSONSchema // the objects of which sample makes an example at present
}

type components struct {
	Examples        map[string]sampleError       `json:"examples"`
	Headers         map[string]header            `json:"headers"`
	Schemas         map[string]*wire.JSONSchema  `json:"schemas"`
	SecuritySchemes map[string]map[string]string `json:"securitySchemes,omitempty"`
}

type info struct {
	Contact     map[string]string `json:"contact"`
	Description string            `json:"description"`
	License     map[string]string `json:"license"`
	Title       string            `json:"title"`
	Version     string            `json:"version"`
}

// tag is a name for operations that belong together.
type tag struct {
	Description string       `json:"description"`
	Name        string       `json:"name"`
	Operations  []*Operation `json:"-"`
}

// Operation is one operation of a Document.
type Operation struct {
	Description string               `json:"description"`
	ID          string               `json:"operationId"`
	Parameters  []wire.Parameter     `json:"parameters,omitempty"`
	RequestBody *requestBody         `json:"requestBody,omitempty"`
	Responses   map[string]*response `json:"responses"`
	Summary     string               `json:"summary"`
	Tags        []string             `json:"tags"`

	Route  *kernel.Route    `json:"-"`
	Path   string           `json:"-"` // with {name} parameters
	Body   *wire.JSONSchema `json:"-"` // all fields of the request; nil for none
	Answer *wire.JSONSchema `json:"-"` // of success; nil for no body
	Errors []refusal        `json:"-"` // by ascending status
}

type requestBody struct {
	Content     *content `json:"content"`
	Description string   `json:"description"`
	Required    bool     `json:"required"`
}

type response struct {
	Content     *content             `json:"content,omitempty"`
	Description string               `json:"description"`
	Headers     map[string]reference `json:"headers,omitempty"`
}

// content is the content of a body, which is always JSON.
type content struct {
	JSON mediaType `json:"application/json"`
}

// inJSON returns the content of a body of a schema.
func inJSON(s *wire.JSONSchema) *content { return &content{JSON: mediaType{Schema: s}} }

type mediaType struct {
	Example  json.RawMessage      `json:"example,omitempty"`
	Examples map[string]reference `json:"examples,omitempty"`
	Schema   *wire.JSONSchema     `json:"schema"`
}

type reference struct {
	Ref string `json:"$ref"`
}

type header struct {
	Description string           `json:"description"`
	Required    bool             `json:"required"`
	Schema      *wire.JSONSchema `json:"schema"`
}

// New returns the document of a face's routes. base is the URL of the face,
// including its prefix. The examples have the ids of samples, which may be nil.
func New(about About, routes []kernel.Route, lim wire.Limits, base string, samples Samples) *Document {
	d := &Document{
		OpenAPI: "3.1.0",
		Info: info{
			Contact:     map[string]string{"name": "punchcard", "url": strings.TrimSuffix(base, about.Prefix) + about.Docs},
			Description: about.Introduction,
			License:     map[string]string{"name": "MIT", "identifier": "MIT"},
			Title:       about.Title,
			Version:     version,
		},
		Servers:   []map[string]string{{"url": base}},
		Security:  []map[string][]string{{"key": {}}},
		Paths:     map[string]map[string]*Operation{},
		KeyLength: lim["idempotency_key"],
		about:     about,
		limits:    lim,
		samples:   samples,
		registry:  wire.Registry{Unions: about.Unions, Capitalized: true},
	}
	d.schema(reflect.TypeFor[kernel.ErrorBody](), wire.Create)
	for i := range routes {
		d.add(&routes[i])
	}
	d.Components = components{Headers: d.usedHeaders(), Schemas: d.registry.Schemas}
	if about.Open {
		d.Security = []map[string][]string{}
	} else {
		d.Components.SecuritySchemes = map[string]map[string]string{"key": {"type": "http", "scheme": "bearer", "description": about.Key}}
	}
	d.Components.Schemas["ErrorObject"].Properties["code"].Enum = d.codes()
	for _, t := range d.Tags {
		t.Description = about.Sections[t.Name]
	}
	if about.Webhooks {
		d.addWebhooks()
	}
	d.addExamples()
	return d
}

// JSON returns the document as JSON.
func (d *Document) JSON() []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		panic(fmt.Sprintf("openapi: encode the document: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// schema returns the schema of a type, and adds it to the components if it is a
// named struct.
func (d *Document) schema(t reflect.Type, mode wire.Mode) *wire.JSONSchema {
	return wire.Schema(t, mode, d.limits, &d.registry)
}

// add adds the operation of a route to the paths and to its tag.
func (d *Document) add(r *kernel.Route) {
	text := cmp.Or(r.Doc, r.Title+".")
	if scope := r.Scope(); scope != "" {
		text = strings.TrimSpace("Scope `" + scope + "`. " + text)
	}
	o := &Operation{ID: r.ID, Tags: []string{r.Group}, Summary: r.Title, Description: text, Route: r,
		Path: pathOf(r.Path), Parameters: d.parameters(r), Errors: d.refusals(r)}
	if r.Writes() && r.In.NumField() > 0 {
		body := d.schema(r.In, r.Mode)
		o.Body = body.Resolve()
		if in, ok := reflect.Zero(r.In).Interface().(varied); ok && r.Mode == wire.Create {
			o.Body = d.divide(o.Body, in)
		}
		o.RequestBody = &requestBody{inJSON(body),
			"A JSON object of at most 1 MiB; an absent or empty body equals {}.", len(o.Body.Required) > 0}
	} else if r.Writes() && r.Method != http.MethodDelete {
		empty := &wire.JSONSchema{Type: wire.Types{"object"}, Properties: map[string]*wire.JSONSchema{}, AdditionalProperties: false}
		o.RequestBody = &requestBody{inJSON(empty), "The operation has no fields: no body is needed, and {} is accepted.", false}
	}
	success := &response{Description: "Success.", Headers: d.headers(r, r.Status)}
	if r.Out != nil {
		o.Answer = d.schema(r.Out, wire.Create)
		success.Content = inJSON(o.Answer)
	}
	o.Responses = map[string]*response{strconv.Itoa(r.Status): success}
	for _, e := range o.Errors {
		o.Responses[strconv.Itoa(e.Status)] = d.errorResponse(o, e.Status)
	}

	if d.Paths[o.Path] == nil {
		d.Paths[o.Path] = map[string]*Operation{}
	}
	d.Paths[o.Path][strings.ToLower(r.Method)] = o
	d.Operations = append(d.Operations, o)
	d.Tags = addTo(d.Tags, r.Group, o)
}

// varied is a body whose rules depend on the value of a field.
type varied interface {
	Variants() (field string, by []store.Variant)
}

// divide makes the schema of a body the union of one schema for each of its variants, and
// returns a schema of all fields. Fields that a variant does not allow are absent from its
// schema, although the server accepts null for them: generators cannot express that.
func (d *Document) divide(s *wire.JSONSchema, in varied) *wire.JSONSchema {
	whole := *s
	field, variants := in.Variants()
	*s = wire.JSONSchema{Name: s.Name, Type: s.Type,
		Description: "The rules depend on `" + field + "`. Fields that belong to other values of it are refused unless they are " +
			"null or false.",
		Discriminator: &wire.Discriminator{Mapping: map[string]string{}, PropertyName: field}}
	for _, v := range variants {
		part := whole
		part.Properties = maps.Clone(whole.Properties)
		part.Order = slices.DeleteFunc(slices.Clone(whole.Order), func(n string) bool { return slices.Contains(v.NotAllowed, n) })
		part.Required = slices.Concat(whole.Required, v.Required)
		for _, n := range v.NotAllowed {
			delete(part.Properties, n)
		}
		for _, n := range v.Required {
			required := *part.Properties[n]
			required.Type = slices.DeleteFunc(slices.Clone(required.Type), func(t string) bool { return t == "null" })
			part.Properties[n] = &required
		}
		part.Properties[field] = oneOfTexts("", v.Value)
		ref := d.component(strings.ToUpper(v.Value[:1])+v.Value[1:]+s.Name, &part)
		s.OneOf = append(s.OneOf, ref)
		s.Discriminator.Mapping[v.Value] = ref.Ref
	}
	return &whole
}

// addTo adds an operation to the tag with a name, which it appends if there is none.
func addTo(tags []*tag, name string, o *Operation) []*tag {
	at := slices.IndexFunc(tags, func(t *tag) bool { return t.Name == name })
	if at < 0 {
		at = len(tags)
		tags = append(tags, &tag{Name: name})
	}
	tags[at].Operations = append(tags[at].Operations, o)
	return tags
}

// pathOf returns a path such as /cards/:id in the form /cards/{id}.
func pathOf(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if name, ok := strings.CutPrefix(p, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

// parameters returns the parameters and headers of requests for a route.
func (d *Document) parameters(r *kernel.Route) (list []wire.Parameter) {
	text := func(minimum, maximum json.Number, pattern string) *wire.JSONSchema {
		return &wire.JSONSchema{Type: wire.Types{"string"}, MinLength: minimum, MaxLength: maximum, Pattern: pattern}
	}
	for _, part := range strings.Split(r.Path, "/") {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			path := wire.Parameter{Name: name, In: "path", Required: true, Description: "Opaque id.", Schema: text("1", "", "")}
			list = append(list, path)
		}
	}
	if !r.Writes() {
		list = append(list, wire.Parameters(r.In, d.limits)...)
	}
	add := func(name, doc string, required bool, s *wire.JSONSchema) {
		list = append(list, wire.Parameter{Name: name, In: "header", Required: required, Description: doc, Schema: s})
	}
	if r.Writes() && d.about.StaffPIN && !r.WithoutStaff {
		add("X-Staff-Pin", "Where the location demands it.", false, text("", "", "^[0-9]{4,8}$"))
	}
	if d.about.StaffPIN && (r.Writes() || r.StaffSession) && r.ID != "openStaffSession" {
		add("X-Staff-Session", "The token of a staff session, in place of X-Staff-Pin. The rows are that person's.",
			r.StaffSession, text("", "", ""))
	}
	if r.Writes() && !d.about.Open {
		add("Idempotency-Key", "Makes a retry safe. Scoped to "+d.about.KeyScope+".",
			false, text("1", json.Number(strconv.Itoa(d.KeyLength)), ""))
	}
	return list
}

// errorResponse returns the response for the errors of an operation with a status.
func (d *Document) errorResponse(o *Operation, status int) *response {
	var texts []string
	var codes []any
	for _, e := range o.Errors {
		if e.Status == status {
			texts = append(texts, fmt.Sprintf("`%s`: %s", e.Code, e.When))
			codes = append(codes, string(e.Code))
		}
	}
	only := func(name string, s *wire.JSONSchema) *wire.JSONSchema {
		return &wire.JSONSchema{Properties: map[string]*wire.JSONSchema{name: s}}
	}
	schema := &wire.JSONSchema{AllOf: []*wire.JSONSchema{
		{Ref: "#/components/schemas/ErrorBody"},
		only("error", only("code", &wire.JSONSchema{Enum: codes})),
	}}
	return &response{inJSON(schema), strings.Join(texts, "\n\n"), d.headers(o.Route, status)}
}
