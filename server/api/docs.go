package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

//go:embed docs.html
var docsHTML string

var docsPage = template.Must(template.New("docs").Funcs(template.FuncMap{"prose": prose}).Parse(docsHTML))

// manual is what the page shows.
type manual struct {
	Version, Lead, Base string
	FirstCurl           string
	KeyLength           int // of an Idempotency-Key
	ErrorJSON           string
	ErrorFields         []member
	Codes               []refusal
	Scopes              []scopeUse
	Headers             []member
	Tags                []chapter
}

type chapter struct {
	Name, Anchor string
	Operations   []entry
}

// entry is one operation.
type entry struct {
	ID, Method, Path, Title, Scope, Doc string
	Parameters                          []member
	BodyNote                            string
	Body                                []member
	Curl                                string
	Status                              int
	StatusText                          string
	Shape                               string // what the answer is called
	// Fresh: no operation above has shown this shape. Repeated tables start
	// closed, or the page is mostly the same table.
	Fresh    bool
	Response []member
	OwnCodes []store.Code // beside those of every operation
	Refusals []refusal
}

// member is one row of a table of fields, parameters or headers.
type member struct {
	Outer, Name string // Outer is the dotted path around a nested field
	In          string // of a parameter
	Type        string
	Required    bool
	Notes       []string // bounds, format, default
	Values      []string // of an enum
	Doc         string
}

type refusal struct {
	Status     int
	StatusText string
	Codes      []codeWhen
}

type codeWhen struct {
	Code store.Code
	When string
}

type scopeUse struct {
	Scope      string
	Operations []string
}

// Docs is the routes' reference as one HTML page that needs neither scripts
// nor anything from elsewhere. It is drawn from the parts of Document, so the
// two cannot disagree.
func Docs(routes []kernel.Route, lim wire.Limits, base string) []byte {
	reg := &wire.Registry{}
	d := &describer{reg: reg}
	lead, _, _ := strings.Cut(introduction, "\n\n")
	m := &manual{Version: Version, Lead: lead, Base: base, KeyLength: lim["idempotency_key"], ErrorJSON: errorJSON()}
	m.FirstCurl = curl("getMe", http.MethodGet, quoted.Replace(base)+"/me", "")
	m.ErrorFields = d.table(wire.Schema(reflect.TypeFor[kernel.ErrorBody](), wire.Create, lim, reg), nil)
	m.Codes = allCodes()
	m.Headers = headerRows()
	for _, t := range tags(routes) {
		name := t.(object)["name"].(string)
		m.Tags = append(m.Tags, chapter{Name: name, Anchor: "tag-" + strings.ToLower(strings.ReplaceAll(name, " ", "-"))})
	}
	shown := map[string]bool{}
	for i := range routes {
		r := &routes[i]
		e := d.entry(r, operation(r, lim, reg), base)
		e.Fresh = !shown[e.Shape]
		shown[e.Shape] = true
		at := slices.IndexFunc(m.Tags, func(c chapter) bool { return c.Name == r.Tag })
		m.Tags[at].Operations = append(m.Tags[at].Operations, e)
		m.use(r)
	}
	var b bytes.Buffer
	if err := docsPage.Execute(&b, m); err != nil {
		panic(fmt.Sprintf("api: the reference cannot be drawn: %v", err))
	}
	return b.Bytes()
}

// use notes which scope opens the route.
func (m *manual) use(r *kernel.Route) {
	if r.Scope == "" {
		return
	}
	at := slices.IndexFunc(m.Scopes, func(s scopeUse) bool { return s.Scope == r.Scope })
	if at < 0 {
		at = len(m.Scopes)
		m.Scopes = append(m.Scopes, scopeUse{Scope: r.Scope})
	}
	m.Scopes[at].Operations = append(m.Scopes[at].Operations, r.ID)
}

// errorJSON is an answer in the form that errors have.
func errorJSON() string {
	raw := wire.Append(nil, &kernel.ErrorBody{Error: kernel.ErrorObject{
		Code: string(store.ValidationFailed), Message: store.Invalid().Message, RequestID: "req_…",
		Details: []store.Detail{{Field: "holder_email", Code: "invalid_format", Message: "must be an email address"}}}})
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		panic(err)
	}
	return b.String()
}

// allCodes are the codes there are, by the status that goes with each.
func allCodes() (list []refusal) {
	byStatus := map[int][]codeWhen{}
	for c, text := range when {
		s := kernel.Statuses[c]
		byStatus[s] = append(byStatus[s], codeWhen{c, text})
	}
	for s, codes := range byStatus {
		slices.SortFunc(codes, func(a, b codeWhen) int { return strings.Compare(string(a.Code), string(b.Code)) })
		list = append(list, refusal{s, http.StatusText(s), codes})
	}
	slices.SortFunc(list, func(a, b refusal) int { return a.Status - b.Status })
	return list
}

func headerRows() (rows []member) {
	all := headers()
	for _, name := range sortedKeys(all) {
		h := all[name].(object)
		m := member{Name: name, Required: h["required"] == true, Doc: text(h["description"])}
		m.describe(h["schema"].(object))
		rows = append(rows, m)
	}
	return rows
}

// describer turns the maps of the OpenAPI document into tables.
type describer struct{ reg *wire.Registry }

func (d *describer) entry(r *kernel.Route, op object, base string) entry {
	e := entry{ID: r.ID, Method: r.Method, Path: pathOf(r.Path), Title: r.Title, Scope: r.Scope, Doc: r.Doc,
		Status: r.Status, StatusText: http.StatusText(r.Status), OwnCodes: r.Codes}
	params, _ := op["parameters"].([]any)
	paged := false
	for _, p := range params {
		p := p.(object)
		m := member{Name: text(p["name"]), In: text(p["in"]), Required: p["required"] == true, Doc: text(p["description"])}
		m.describe(p["schema"].(object))
		e.Parameters = append(e.Parameters, m)
		paged = paged || m.In == "query" && m.Name == "limit"
	}
	var send string
	if body, ok := op["requestBody"].(object); ok {
		schema := jsonOf(body)
		e.BodyNote = text(body["description"])
		e.Body = d.table(schema, namesOf(r.Body))
		send = d.sample(r, schema)
	}
	url := quoted.Replace(base) + shellPath(r.Path)
	if paged {
		url += "?limit=20"
	}
	e.Curl = curl(r.ID, r.Method, url, send)
	answer := op["responses"].(object)[strconv.Itoa(r.Status)].(object)
	if _, ok := answer["content"]; ok {
		schema := jsonOf(answer)
		_, e.Shape = d.resolve(schema)
		e.Response = d.table(schema, nil)
	}
	statuses, codes := statusesOf(r)
	for _, s := range statuses {
		row := refusal{Status: s, StatusText: http.StatusText(s)}
		for _, c := range codes[s] {
			row.Codes = append(row.Codes, codeWhen{c, why(r, s, c)})
		}
		e.Refusals = append(e.Refusals, row)
	}
	return e
}

func jsonOf(o object) object {
	return o["content"].(object)["application/json"].(object)["schema"].(object)
}

// namesOf are the fields of a request in the order of their declaration, which
// the schema does not keep.
func namesOf(t reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// order lists an object's properties: first those in hint, then the required
// ones (an answer's are all required and in order), then the rest.
func order(s object, hint []string) (names []string) {
	properties, _ := s["properties"].(object)
	required, _ := s["required"].([]string)
	for _, list := range [][]string{hint, required, sortedKeys(properties)} {
		for _, n := range list {
			if properties[n] != nil && !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// table lists the fields of an object, those of objects inside right after it.
func (d *describer) table(s object, hint []string) []member { return d.rows(nil, s, hint, "", nil) }

func (d *describer) rows(rows []member, s object, hint []string, outer string, around []string) []member {
	s, called := d.resolve(s)
	if called != "" {
		// A type inside itself would never end.
		if slices.Contains(around, called) {
			return rows
		}
		around = append(around[:len(around):len(around)], called)
	}
	properties, _ := s["properties"].(object)
	required, _ := s["required"].([]string)
	for _, name := range order(s, hint) {
		p := properties[name].(object)
		m := member{Outer: outer, Name: name, Required: slices.Contains(required, name), Doc: text(p["description"]), Type: d.typeText(p)}
		m.describe(p)
		rows = append(rows, m)
		inner, suffix := p, "."
		if items, ok := p["items"].(object); ok {
			inner, suffix = items, "[]."
		}
		if uniform(inner) == nil {
			rows = d.rows(rows, inner, nil, outer+name+suffix, around)
		}
	}
	return rows
}
