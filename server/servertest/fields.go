package servertest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"punchcard/store"
)

// RefusesBadFields sends each field of each body that a document of the server
// describes with values that no such field has: of another type, empty, too long,
// with control characters, null. It checks that each is refused as invalid, that a
// detail names the field, and that messages are sentences without regular
// expressions. paths has the path of a request by operation; base returns the other
// fields of a request. It returns the number of requests.
func (s *Server) RefusesBadFields(document string, paths map[string]string, base func(operation, field string) Fields) (requests int) {
	s.T.Helper()
	doc := s.Fetch("GET", s.Origin+document, nil, nil).Want(http.StatusOK)
	schemas := Decode[struct {
		Components struct{ Schemas map[string]any }
	}](doc).Components.Schemas
	for _, methods := range Decode[struct {
		Paths map[string]map[string]describedOperation
	}](doc).Paths {
		for method, op := range methods {
			_, name, ok := strings.Cut(op.RequestBody.Content.JSON.Schema.Ref, "schemas/")
			if !ok {
				continue
			}
			body := describedBody{}
			raw, _ := json.Marshal(BodySchema(schemas, name))
			if err := json.Unmarshal(raw, &body); err != nil {
				s.T.Fatal(err)
			}
			for field, f := range body.Properties {
				for _, value := range Sample(f.badValues(slices.Contains(body.Required, field) || method == "patch" && !f.allows("null"))) {
					requests++
					s.Call(strings.ToUpper(method), paths[op.ID], Merge(base(op.ID, field), Fields{field: value})).checkRefused(field)
				}
			}
		}
	}
	return requests
}

// BodySchema returns a schema of a document's components. Of a union of objects it returns
// a schema of all their fields: those that each of them requires are required, and the
// others may be null.
func BodySchema(schemas map[string]any, name string) map[string]any {
	whole := schemas[name].(map[string]any)
	parts, ok := whole["oneOf"].([]any)
	if !ok {
		return whole
	}
	properties, requiring := map[string]any{}, map[string]int{}
	var kinds, required []any
	by := whole["discriminator"].(map[string]any)["propertyName"].(string)
	for _, p := range parts {
		_, name, _ := strings.Cut(p.(map[string]any)["$ref"].(string), "schemas/")
		part := schemas[name].(map[string]any)
		maps.Copy(properties, part["properties"].(map[string]any))
		kinds = append(kinds, properties[by].(map[string]any)["enum"].([]any)...)
		for _, field := range part["required"].([]any) {
			requiring[field.(string)]++
		}
	}
	for field, n := range requiring {
		if n == len(parts) {
			required = append(required, field)
			continue
		}
		f := maps.Clone(properties[field].(map[string]any))
		f["type"] = []any{f["type"], "null"}
		properties[field] = f
	}
	properties[by] = map[string]any{"type": "string", "enum": kinds}
	return map[string]any{"additionalProperties": false, "properties": properties, "required": required}
}

// describedOperation is an operation in a document.
type describedOperation struct {
	ID          string `json:"operationId"`
	RequestBody struct {
		Content struct {
			JSON struct {
				Schema struct {
					Ref string `json:"$ref"`
				}
			} `json:"application/json"`
		}
	}
}

// describedBody is the schema of a body.
type describedBody struct {
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
	MaxItems   int
	MaxBytes   int `json:"x-max-bytes"`
	Items      *describedField
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
		if f.MaxItems > 0 {
			list = append(list, slices.Repeat([]any{"x"}, f.MaxItems+1))
		}
	case f.allows("integer"):
		list = append(list, 1.5, json.RawMessage("1e400"), json.RawMessage("-1e400"))
	case f.allows("number"):
		list = append(list, json.RawMessage("1e400"), json.RawMessage("-1e400"))
	case f.MaxBytes > 0:
		list = append(list, Fields{"a": strings.Repeat("x", f.MaxBytes)})
	case f.allows("object"):
		list = append(list, Fields{"it": 7}, Fields{"it": nil}, Fields{"": "x"})
		for _, text := range f.Properties["it"].badTexts() {
			list = append(list, Fields{"it": text})
		}
		if f.Additional != false { // headers
			list = append(list, Fields{"X-A": ""}, Fields{"X-A": " "}, Fields{"X-A": "a\nb"}, Fields{"X A": "x"})
		}
	}
	return list
}

// badTexts returns texts that a field of type string does not take. A field that may
// be empty is a description, which may also have line breaks.
func (f describedField) badTexts() (list []any) {
	if f.MaxLength > 0 {
		list = append(list, strings.Repeat("é", f.MaxLength+1))
	}
	if f.MinLength == 0 && f.Format == "" && f.Pattern == "" && f.Enum == nil {
		return list
	}
	return append(list, "", " ", "\t", "\u200b", "a\x01b", "a\nb", "a\u202eb", "\x1b[2J", "a\u0085", "\u2028b")
}

// checkRefused checks that an answer is a validation failure one of whose details names a
// field or a part of it, and that all messages are sentences in plain words.
func (r *Reply) checkRefused(field string) {
	r.T.Helper()
	if r.Status != http.StatusBadRequest || r.Str("error.code") != string(store.ValidationFailed) {
		r.T.Errorf("%s: a bad %s: %d %s", r.What, field, r.Status, r.Body)
		return
	}
	named := false
	for _, d := range Decode[struct {
		Error struct{ Details []store.Detail }
	}](r).Error.Details {
		named = named || d.Field == field || strings.HasPrefix(d.Field, field+".")
		r.checkMessage(d)
	}
	if !named {
		r.T.Errorf("%s: no detail names %s: %s", r.What, field, r.Body)
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
