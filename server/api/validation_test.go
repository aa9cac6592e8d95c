package api_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/servertest"
)

type schema = map[string]any

// readDocument returns the OpenAPI document.
func readDocument(s *servertest.Server) schema {
	s.T.Helper()
	return parseObject(s.T, string(s.Fetch("GET", s.Origin+"/openapi.json", nil, nil).Body))
}

// dig returns the value at a path of nested objects, or nil if there is none.
func dig(v any, path ...string) any {
	for _, p := range path {
		m, _ := v.(schema)
		v = m[p]
	}
	return v
}

// operationOf returns what the document says of a route.
func operationOf(doc schema, r kernel.Route) any {
	path := strings.Split(r.Path, "/")
	for i, p := range path {
		if name, ok := strings.CutPrefix(p, ":"); ok {
			path[i] = "{" + name + "}"
		}
	}
	return dig(doc, "paths", strings.Join(path, "/"), strings.ToLower(r.Method))
}

// bodySchema returns the schema of an operation's body; nil if it has none.
func bodySchema(doc schema, r kernel.Route) schema {
	ref, _ := dig(operationOf(doc, r), "requestBody", "content", "application/json", "schema", "$ref").(string)
	if ref == "" {
		return nil
	}
	return wholeSchema(dig(doc, "components", "schemas").(schema), ref)
}

// wholeSchema returns the schema that a reference names. Of a union of objects it returns a schema
// of all their fields: those that each of them requires are required, and the others may be null.
func wholeSchema(schemas schema, ref string) schema {
	whole := schemas[strings.TrimPrefix(ref, "#/components/schemas/")].(schema)
	parts, ok := whole["oneOf"].([]any)
	if !ok {
		return whole
	}
	properties, requiring := schema{}, map[string]int{}
	var kinds, required []any
	by := whole["discriminator"].(schema)["propertyName"].(string)
	for _, p := range parts {
		part := wholeSchema(schemas, p.(schema)["$ref"].(string))
		maps.Copy(properties, part["properties"].(schema))
		kinds = append(kinds, properties[by].(schema)["enum"].([]any)...)
		for _, field := range part["required"].([]any) {
			requiring[field.(string)]++
		}
	}
	for field, n := range requiring {
		if n == len(parts) {
			required = append(required, field)
			continue
		}
		f := maps.Clone(properties[field].(schema))
		f["type"] = []any{f["type"], "null"}
		properties[field] = f
	}
	properties[by] = schema{"type": "string", "enum": kinds}
	return schema{"additionalProperties": false, "properties": properties, "required": required}
}

// queryOf returns the names of an operation's query parameters.
func queryOf(doc schema, r kernel.Route) (names []string) {
	list, _ := dig(operationOf(doc, r), "parameters").([]any)
	for _, p := range list {
		if dig(p, "in") == "query" {
			names = append(names, dig(p, "name").(string))
		}
	}
	return names
}

// typesOf returns the JSON types that a schema allows.
func typesOf(s schema) (types []string) {
	switch t := s["type"].(type) {
	case string:
		return []string{t}
	case []any:
		for _, v := range t {
			types = append(types, v.(string))
		}
	}
	alternatives, _ := s["anyOf"].([]any)
	for _, a := range alternatives {
		types = append(types, typesOf(a.(schema))...)
	}
	return types
}

// template maps fields that stamp programs lack to a type of program that has the field.
var template = map[string]string{"discount_percent": "discount", "access_image_url": "access", "initial_balance_cents": "prepaid"}

// base returns a body that the operation accepts and in which the field applies.
func base(t *testing.T, r kernel.Route, field string) schema {
	switch kind := template[field]; {
	case r.Method != "POST":
		return schema{}
	case r.ID == "createProgram" && kind != "":
		return servertest.Programs[kind]
	}
	return parseObject(t, sampleBodies[r.ID])
}

// TestNull checks that null in a POST equals absence, and in a PATCH clears a
// nullable field and is invalid_type for others.
func TestNull(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Limits.PrizeMaxOptions, c.Limits.PrizeMaxThresholds = 1000, 1000 })
	doc := readDocument(s)
	// Fields that are nullable, but not in programs of the types that have them.
	const needed = " total_stamps icon_key discount_percent access_image_url initial_balance_cents "
	n := 0
	for _, r := range writingRoutes() {
		sc := bodySchema(doc, r)
		properties, _ := sc["properties"].(schema)
		required, _ := sc["required"].([]any)
		made := newThings(s)
		for field, p := range properties {
			if n++; !servertest.Sampled(n) {
				continue
			}
			th := made
			if r.ID == "updateProgram" && template[field] != "" {
				th.program = s.ProgramIDs[template[field]]
			}
			path := th.fill(t, r)
			got := s.Call(r.Method, path, withFields(base(t, r, field), schema{field: nil}))
			nullable := slices.Contains(typesOf(p.(schema)), "null")
			need := slices.Contains(required, any(field)) || strings.Contains(needed, " "+field+" ")
			switch {
			case r.Method == "POST" && need || r.Method == "PATCH" && nullable && need:
				if got.Want(400); !slices.Equal(got.Details(), []string{field + " required"}) {
					t.Errorf("%s %s: null: %s", r.ID, field, got.Body)
				}
			case r.ID == "updateProgram" && field == "repeat_after_reset", r.Method == "PATCH" && !nullable:
				if got.Want(400); !slices.Equal(got.Details(), []string{field + " invalid_type"}) {
					t.Errorf("%s %s: null: %s", r.ID, field, got.Body)
				}
			case r.Method == "POST":
				without := s.Call(r.Method, path, withFields(base(t, r, field), schema{field: leaveOut}))
				if got.Status != r.Status || got.Status != without.Status ||
					!slices.Equal(slices.Sorted(maps.Keys(parseObject(t, string(got.Body)))),
						slices.Sorted(maps.Keys(parseObject(t, string(without.Body))))) {
					t.Errorf("%s %s: null: %s\nabsent: %s", r.ID, field, got.Body, without.Body)
				}
			default:
				got.Want(200)
				if v, ok := parseObject(t, string(got.Body))[field]; ok && v != nil && v != "" && !reflect.ValueOf(v).IsZero() &&
					reflect.ValueOf(v).Len() > 0 {
					t.Errorf("%s %s: null left %v", r.ID, field, v)
				}
			}
		}
	}
}

// TestAllOffendingFieldsAtOnce checks that one answer has a detail for each
// offending field.
func TestAllOffendingFieldsAtOnce(t *testing.T) {
	s := start(t)
	th := newThings(s)
	doc := readDocument(s)
	for _, r := range writingRoutes() {
		sc := bodySchema(doc, r)
		properties, _ := sc["properties"].(schema)
		body, want := schema{"surprise": 1, "another": nil}, []string{"another unknown_field", "surprise unknown_field"}
		for field, p := range properties {
			body[field] = []any{schema{}}
			code := field + " invalid_type"
			if slices.Contains(typesOf(p.(schema)), "array") {
				code = field + ".0 invalid_type"
			}
			want = append(want, code)
		}
		if r.ID == "updateProgram" {
			body["type"] = "discount"
			want = append(want, "type not_allowed")
		}
		if r.Method == "DELETE" {
			continue // ignores its body
		}
		got := s.Call(r.Method, th.fill(t, r), body).Want(400, "validation_failed")
		slices.Sort(want)
		if have := slices.Sorted(slices.Values(got.Details())); !slices.Equal(have, want) {
			t.Errorf("%s: details\n%q, want\n%q", r.ID, have, want)
		}
	}
	// A rule across fields is reported together with the rules of single fields.
	got := s.Post("/programs", `{"type":"discount","total_stamps":5,"name":"","location_scope":"selected_locations"}`).Want(400)
	if have := slices.Sorted(slices.Values(got.Details())); !slices.Equal(have,
		[]string{"discount_percent required", "name too_short", "scoped_location_ids required", "total_stamps not_allowed"}) {
		t.Errorf("details %q", have)
	}
	// A rule that needs a field is not judged by the field's default if the field is at fault.
	s.Post("/programs", `{"type":"discount","name":"n","discount_percent":5,"location_scope":"some","scoped_location_ids":["x"]}`).
		Invalid("location_scope invalid_value", "scoped_location_ids.0 invalid_value")
	s.Post("/programs", `{"type":"points","name":"n","discount_percent":5,"total_stamps":5}`).Invalid("type invalid_value")
}
