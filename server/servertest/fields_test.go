package servertest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"punchcard/store"
)

// TestBadFieldsAreNamed sends each field of each body that a document describes with values that
// no such field has: of another type, empty, just beyond each bound, in another format, with control
// characters, null. Each must be refused as invalid, with a detail that names the field, for a bound or
// a format with its code, and with messages that are sentences without regular expressions. The ids in
// the paths are unknown, since fields are checked before resources.
func TestBadFieldsAreNamed(t *testing.T) {
	t.Parallel()
	server := Start(t)
	for _, c := range []struct {
		s        *Server
		document string
		least    int // values
	}{{server, "/openapi.json", 1000}, {server.Till(server.TillToken), "/till/openapi.json", 150}} {
		doc := Decode[describedAPI](c.s.Fetch("GET", c.s.Origin+c.document, nil, nil).Want(http.StatusOK))
		values := 0
		for path, methods := range doc.Paths {
			path = regexp.MustCompile(`\{[a-zA-Z]+\}`).ReplaceAllString(path, "crd_none") // no code that counts as a guess
			for method, op := range methods {
				body := op.RequestBody.Content.JSON
				for _, variant := range doc.variants(body.Schema) {
					values += c.s.refusesBadFields(method, path, body.Example, variant)
				}
			}
		}
		if values < c.least {
			t.Errorf("%s: %d values, so the document was not read", c.document, values)
		}
	}
}

// refusesBadFields makes the requests for the fields of a body, and returns the number of values. example
// has the other fields.
func (s *Server) refusesBadFields(method, path string, example Fields, body describedBody) (values int) {
	s.T.Helper()
	if kind := body.Properties["type"].Enum; len(kind) == 1 { // of a union, so that the fields are those of this type
		example = Merge(example, Fields{"type": kind[0]})
	}
	for field, f := range body.Properties {
		noNull := slices.Contains(body.Required, field) || method == "patch" && !f.allows("null")
		send := func(value any, code string) {
			if values++; !Sampled(values) {
				return
			}
			fields := Merge(example, Fields{field: value})
			if field != "url" && fields["url"] != nil {
				fields["url"] = "https://127.0.0.1/a" // which needs no look-up
			}
			s.Call(strings.ToUpper(method), path, fields).checkRefused(field, code)
		}
		for _, value := range f.badValues(noNull) {
			send(value, "")
		}
		for code, value := range f.beyondBounds() {
			send(value, code)
		}
	}
	return values
}

// describedAPI is a document.
type describedAPI struct {
	Paths      map[string]map[string]describedOperation
	Components struct{ Schemas map[string]describedBody }
}

// variants returns the schemas of a body: those of a union, or the only one.
func (d *describedAPI) variants(s schemaReference) (list []describedBody) {
	_, name, ok := strings.Cut(s.Ref, "schemas/")
	if !ok {
		return nil
	}
	body := d.Components.Schemas[name]
	for _, one := range body.OneOf {
		list = append(list, d.variants(one)...)
	}
	if list == nil {
		list = append(list, body)
	}
	return list
}

// schemaReference refers to a schema of the components.
type schemaReference struct {
	Ref string `json:"$ref"`
}

// describedOperation is an operation in a document.
type describedOperation struct {
	RequestBody struct {
		Content struct {
			JSON struct {
				Schema  schemaReference
				Example Fields
			} `json:"application/json"`
		}
	}
}

// describedBody is the schema of a body.
type describedBody struct {
	OneOf      []schemaReference
	Required   []string
	Properties map[string]describedField
}

// describedField is the schema of a field.
type describedField struct {
	Type       any // a name or a list of names
	Format     string
	Pattern    string
	Enum       []any
	MinLength  int
	MaxLength  int
	MinItems   int
	MaxItems   int
	Minimum    *float64
	Above      *float64 `json:"exclusiveMinimum"`
	Maximum    *float64
	MaxBytes   int `json:"x-max-bytes"`
	Properties map[string]describedField
	Additional any `json:"additionalProperties"`
}

// allows reports whether a field may have a JSON type.
func (f describedField) allows(kind string) bool {
	list, ok := f.Type.([]any)
	return f.Type == kind || ok && slices.Contains(list, any(kind))
}

// badValues returns values that the field does not take.
func (f describedField) badValues(noNull bool) (list []any) {
	for kind, value := range map[string]any{"string": "7", "integer": 7, "boolean": true, "array": []any{}, "object": Fields{}} {
		if !f.allows(kind) && !(kind == "integer" && f.allows("number")) {
			list = append(list, value)
		}
	}
	if noNull {
		list = append(list, nil)
	}
	switch {
	case f.allows("string"):
		list = append(list, f.badTexts()...)
	case f.allows("array"):
		list = append(list, []any{7}, []any{nil}, []any{[]any{}})
	case f.allows("integer"):
		list = append(list, 1.5, json.RawMessage("1e400"), json.RawMessage("-1e400"))
	case f.allows("number"):
		list = append(list, json.RawMessage("1e400"), json.RawMessage("-1e400"))
	case f.MaxBytes > 0:
		list = append(list, Fields{"a": strings.Repeat("x", f.MaxBytes)})
	case f.allows("object"):
		list = append(list, Fields{"it": 7}, Fields{"it": nil}, Fields{"": "x"})
		it := f.Properties["it"]
		for _, text := range append(it.badTexts(), strings.Repeat("é", it.MaxLength+1)) {
			list = append(list, Fields{"it": text})
		}
		if f.Additional != false { // headers
			list = append(list, Fields{"X-A": ""}, Fields{"X-A": " "}, Fields{"X-A": "a\nb"}, Fields{"X A": "x"})
		}
	}
	return list
}

// beyondBounds returns a value beyond each bound of the field, and one that is in no format, by the codes of their
// details.
func (f describedField) beyondBounds() map[string]any {
	list := map[string]any{}
	step := 1.0
	if f.allows("number") {
		step = 1.0 / 64
	}
	if f.Minimum != nil {
		list["too_small"] = *f.Minimum - step
	}
	if f.Above != nil {
		list["too_small"] = *f.Above
	}
	if f.Maximum != nil {
		list["too_large"] = *f.Maximum + step
	}
	if f.MinLength > 0 {
		list["too_short"] = strings.Repeat("é", f.MinLength-1)
	}
	if f.MaxLength > 0 {
		list["too_long"] = strings.Repeat("é", f.MaxLength+1)
	}
	if f.MinItems > 0 {
		list["too_short"] = []any{}
	}
	if f.MaxItems > 0 {
		list["too_many"] = slices.Repeat([]any{"x"}, f.MaxItems+1)
	}
	if f.Enum != nil {
		list["invalid_value"] = "bogus"
	} else if f.Pattern != "" {
		list["invalid_format"] = "ÀÀÀÀ"
	}
	if bad := map[string]string{"email": "ada@", "uri": "/x.png", "date-time": "2030-02-30T00:00:00Z"}[f.Format]; bad != "" {
		list["invalid_format"] = bad
	}
	return list
}

// badTexts returns texts that a field of type string does not take. A field that may
// be empty is a description, which may also have line breaks.
func (f describedField) badTexts() (list []any) {
	if f.MinLength == 0 && f.Format == "" && f.Pattern == "" && f.Enum == nil {
		return list
	}
	return append(list, "", " ", "\t", "\u200b", "a\x01b", "a\nb", "a\u202eb", "\x1b[2J", "a\u0085", "\u2028b")
}

// checkRefused checks that an answer is a validation failure one of whose details names a
// field or a part of it and has the code, unless that is empty, and that all messages are sentences in plain words.
func (r *Reply) checkRefused(field, code string) {
	r.T.Helper()
	if r.Status != http.StatusBadRequest || r.Str("error.code") != string(store.ValidationFailed) {
		r.T.Errorf("%s: a bad %s: %d %s", r.What, field, r.Status, r.Body)
		return
	}
	named := false
	for _, d := range Decode[struct {
		Error struct{ Details []store.Detail }
	}](r).Error.Details {
		named = named || (d.Field == field || strings.HasPrefix(d.Field, field+".")) && (d.Code == code || code == "")
		r.checkMessage(d)
	}
	if !named {
		r.T.Errorf("%s: no detail names %s with the code %q: %s", r.What, field, code, r.Body)
	}
}

// checkMessage checks that the message of a detail is a sentence that names the
// field, unless it is the webhook guard's, and has no regular expression.
func (r *Reply) checkMessage(d store.Detail) {
	r.T.Helper()
	whole := strings.HasPrefix(d.Message, d.Field+" ") || strings.HasPrefix(d.Message, "The ")
	if !whole || !strings.HasSuffix(d.Message, ".") || strings.ContainsAny(d.Message, "^$\\") {
		r.T.Errorf("%s: %s: not a plain sentence: %q", r.What, d.Field, d.Message)
	}
}
