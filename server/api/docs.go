package api

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"punchcard/server"
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
func Docs(routes []server.Route, lim wire.Limits, base string) []byte {
	reg := &wire.Registry{}
	d := &describer{reg: reg}
	lead, _, _ := strings.Cut(introduction, "\n\n")
	m := &manual{Version: Version, Lead: lead, Base: base, KeyLength: lim["idempotency_key"], ErrorJSON: errorJSON()}
	m.FirstCurl = curl("getMe", http.MethodGet, quoted.Replace(base)+"/me", "")
	m.ErrorFields = d.table(wire.Schema(reflect.TypeFor[server.ErrorBody](), wire.Create, lim, reg), nil)
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
func (m *manual) use(r *server.Route) {
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
	raw := wire.Append(nil, &server.ErrorBody{Error: server.ErrorObject{
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
		s := server.Statuses[c]
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

func (d *describer) entry(r *server.Route, op object, base string) entry {
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

// resolve follows a reference, also one that may be null, and tells its name;
// what is no reference has none.
func (d *describer) resolve(s object) (object, string) {
	if some, ok := s["anyOf"].([]any); ok {
		for _, o := range some {
			if o := o.(object); o["$ref"] != nil {
				s = o
			}
		}
	}
	ref := text(s["$ref"])
	if ref == "" {
		return s, ""
	}
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	return d.reg.Schemas[name].(object), name
}

// uniform is the schema of an object's values where it is a map with known
// keys, whose values are all alike and optional; nil for other objects.
func uniform(s object) (value object) {
	properties, _ := s["properties"].(object)
	if s["required"] != nil {
		return nil
	}
	for _, p := range properties {
		p := p.(object)
		if value != nil && !reflect.DeepEqual(p, value) {
			return nil
		}
		value = p
	}
	if len(properties) < 2 {
		return nil
	}
	return value
}

// typeText says what a value is, in words.
func (d *describer) typeText(s object) string {
	if inner, name := d.resolve(s); name != "" {
		t := typeWords(inner)
		if s["anyOf"] != nil {
			t += " or null"
		}
		return t
	}
	if items, ok := s["items"].(object); ok {
		return strings.Replace(typeWords(s), "array", "array of "+d.typeText(items)+"s", 1)
	}
	return typeWords(s)
}

func typeWords(s object) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		if len(t) > 3 {
			return "any JSON value"
		}
		words := make([]string, len(t))
		for i, w := range t {
			words[i] = text(w)
		}
		return strings.Join(words, " or ")
	}
	return "any JSON value"
}

// describe fills in what a schema demands of a value.
func (m *member) describe(s object) {
	if m.Type == "" {
		m.Type = typeWords(s)
	}
	note := func(format string, args ...any) { m.Notes = append(m.Notes, fmt.Sprintf(format, args...)) }
	bounds := func(low, high, unit string) {
		from, to := s[low], s[high]
		switch {
		case from != nil && to != nil:
			note("%s to %s%s", number(from), number(to), unit)
		case to != nil:
			note("at most %s%s", number(to), unit)
		case from != nil && unit != "" && number(from) == "1":
			note("not empty")
		case from != nil:
			note("at least %s%s", number(from), unit)
		}
	}
	// That integers have 64 bits is said once for all.
	if f := text(s["format"]); f != "" && f != "int64" {
		note("%s", strings.Replace(f, "uri", "URL", 1))
	}
	bounds("minLength", "maxLength", " characters")
	bounds("minItems", "maxItems", " items")
	bounds("minimum", "maximum", "")
	if v := s["exclusiveMinimum"]; v != nil {
		note("greater than %s", number(v))
	}
	if v := s["x-max-bytes"]; v != nil {
		note("at most %s bytes", number(v))
	}
	if v := text(s["pattern"]); v != "" {
		note("matches `%s`", v)
	}
	if v := s["const"]; v != nil {
		note("always `%v`", v)
	}
	if v := s["default"]; v != nil {
		note("default `%v`", v)
	}
	if values, ok := s["enum"].([]any); ok {
		for _, v := range values {
			if v != nil {
				m.Values = append(m.Values, fmt.Sprint(v))
			}
		}
	}
	if v := uniform(s); v != nil {
		keys := sortedKeys(s["properties"].(object))
		note("keys `%s`", strings.Join(keys, "`, `"))
		value := member{}
		value.describe(v)
		note("each a %s", strings.Join(append([]string{value.Type}, value.Notes...), " of "))
	}
	if items, ok := s["items"].(object); ok && items["$ref"] == nil {
		value := member{}
		value.describe(items)
		m.Values = append(m.Values, value.Values...)
		if len(value.Notes) > 0 {
			note("each %s", strings.Join(value.Notes, ", "))
		}
	}
}

func number(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func sortedKeys(o object) []string {
	keys := make([]string, 0, len(o))
	for k := range o {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// samples are values that read better than what the schema alone suggests, and
// fields that the domain wants beside those that the schema requires.
var samples = map[string]object{
	"createProgram":  {"name": "Coffee card", "total_stamps": 10, "icon_key": "coffee"},
	"updateProgram":  {"name": "Coffee and cake card"},
	"createPrize":    {"name": "Free coffee", "threshold": 10},
	"updatePrize":    {"name": "Free coffee, any size"},
	"issueCard":      {"external_ref": "crm-4711", "holder_name": "Ada Lovelace"},
	"updateCard":     {"holder_name": "Ada King"},
	"updateLocation": {"name": "Harbour Street"},
}

// sample is a body that the operation accepts, on one line; empty where none
// is needed.
func (d *describer) sample(r *server.Route, schema object) string {
	schema, _ = d.resolve(schema)
	properties, _ := schema["properties"].(object)
	required, _ := schema["required"].([]string)
	names := order(schema, namesOf(r.Body))
	chosen := slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return samples[r.ID][n] == nil && !slices.Contains(required, n)
	})
	if len(chosen) == 0 && r.Mode == wire.Patch {
		chosen = names[:1]
	}
	if len(chosen) == 0 {
		return ""
	}
	fields := make([]string, len(chosen))
	for i, n := range chosen {
		v := samples[r.ID][n]
		if v == nil {
			v = d.example(n, properties[n].(object))
		}
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		fields[i] = fmt.Sprintf("%q: %s", n, raw)
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// example is a value that fits the schema.
func (d *describer) example(name string, s object) any {
	s, _ = d.resolve(s)
	if values, ok := s["enum"].([]any); ok {
		return values[0]
	}
	kind, _, _ := strings.Cut(typeWords(s), " ")
	switch kind {
	case "boolean":
		return true
	case "integer", "number":
		for _, bound := range []string{"minimum", "maximum"} {
			if v := s[bound]; v != nil && number(v) != "0" {
				return v
			}
		}
		return 1
	case "array":
		if items, ok := s["items"].(object); ok {
			return []any{d.example(name, items)}
		}
		return []any{}
	case "object":
		return object{}
	}
	switch text(s["format"]) {
	case "email":
		return "ada@example.com"
	case "uri":
		return "https://example.com/" + name
	case "date-time":
		return "2030-01-31T12:00:00Z"
	case "date":
		return "2030-01-31"
	}
	return "example"
}

// shellPath writes a path with shell variables where its parameters are:
// /cards/:id is /cards/$CARD_ID, after the collection that the id is of.
func shellPath(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, ":") {
			parts[i] = "$" + strings.ToUpper(strings.TrimSuffix(parts[i-1], "s")) + "_ID"
		}
	}
	return strings.Join(parts, "/")
}

// quoted escapes what a shell would change between double quotes.
var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")

// curl is the command for an operation, for a POSIX shell.
func curl(id, method, url, body string) string {
	lines := []string{`curl -H "Authorization: Bearer $KEY"`}
	if method != http.MethodGet {
		lines[0] = "curl -X " + method + strings.TrimPrefix(lines[0], "curl")
		// uuidgen is not everywhere, and in a shell without RANDOM two commands
		// of one second need different keys as well.
		lines = append(lines, `-H "Idempotency-Key: `+id+`-$(date +%s)-$RANDOM"`)
	}
	if body != "" {
		// curl's own Content-Type for -d is that of a form.
		lines = append(lines, `-H "Content-Type: application/json"`, "-d '"+strings.ReplaceAll(body, "'", `'\''`)+"'")
	}
	return strings.Join(append(lines, `"`+url+`"`), " \\\n  ")
}

// A word with an underscore names a field, a code or a value.
var marked = regexp.MustCompile("`[^`]*`|\\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\\b")

// prose escapes a text of the API description and sets its names as code.
func prose(s string) template.HTML {
	var b strings.Builder
	from := 0
	for _, at := range marked.FindAllStringIndex(s, -1) {
		b.WriteString(html.EscapeString(s[from:at[0]]))
		b.WriteString("<code>" + html.EscapeString(strings.Trim(s[at[0]:at[1]], "`")) + "</code>")
		from = at[1]
	}
	b.WriteString(html.EscapeString(s[from:]))
	return template.HTML(b.String())
}
