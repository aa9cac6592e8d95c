package seed

import (
	"bytes"
	"encoding/json"
	"reflect"

	"punchcard/server/wire"
)

// Schema returns the JSON Schema (draft 2020-12) of seed files, ending in a
// newline. It is generated from the structs that Parse fills. A schema cannot
// express rules about several objects, such as that a ref exists, so Parse and
// Apply refuse more.
func Schema() []byte {
	defs := map[string]*wire.JSONSchema{}
	top := describe(reflect.TypeFor[root](), defs)
	top.Dialect = "https://json-schema.org/draft/2020-12/schema"
	top.Title = "Seed of a punchcard fixture"
	top.Description = "The content that `punchcard dev --seed FILE` starts with. " +
		"A file is at most 16 MiB of JSON; as in the REST API null equals absence. " +
		"Entries refer to one another by ref, within their shop and in any order. " +
		"Times are RFC 3339, or durations counted from the start (the time at which the fixture's clock stands at first), so that a file can stay fresh. " +
		"Every rule of the REST API and the till holds, with the default limits; a mistake stops the start with a line that names its place. " +
		"While the seed is applied nothing is mailed and no webhook is called."
	top.Defs = defs
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(top); err != nil {
		panic(err) // cannot happen: a schema has only strings and numbers
	}
	return out.Bytes()
}

// describe returns the schema of a type of object. It adds the schemas of the
// objects in its lists to defs.
func describe(t reflect.Type, defs map[string]*wire.JSONSchema) *wire.JSONSchema {
	s := wire.Schema(t, wire.Create, limits, &wire.Registry{}).Target
	for name, property := range s.Properties {
		id := t.Name() + "." + name
		if doc := docs[id]; doc != "" {
			property.Description = doc
		}
		if _, ok := absent[id]; ok {
			delete(s.Properties, name)
		}
	}
	for _, f := range listsOf(t) {
		name, item := f.Tag.Get("list"), f.Type.Elem().Elem()
		defs[item.Name()] = describe(item, defs)
		list := &wire.JSONSchema{Type: wire.Types{"array", "null"}, Items: &wire.JSONSchema{Ref: "#/$defs/" + item.Name()},
			MaxItems: json.Number(f.Tag.Get("max")), Description: f.Tag.Get("doc")}
		if f.Tag.Get("req") != "" {
			list.Type, list.MinItems = wire.Types{"array"}, "1"
			s.Required = append(s.Required, name)
		}
		s.Properties[name] = list
	}
	entry, _ := t.FieldByName("entry")
	s.Description = entry.Tag.Get("doc")
	switch t {
	case reflect.TypeFor[activity]():
		s.AllOf = []*wire.JSONSchema{oneOf("at", "ago"), oneOf("stamp", "redeem", "top_up", "spend", "use", "reverse")}
	case reflect.TypeFor[shop]():
		s.Not = requireFields("at", "ago")
	case reflect.TypeFor[card]():
		s.AllOf = []*wire.JSONSchema{{Not: requireFields("at", "ago")}, {Not: requireFields("expires_at", "expires_in")}}
	}
	return s
}

// requireFields returns a schema that requires all fields, with values other than
// null.
func requireFields(fields ...string) *wire.JSONSchema {
	s := &wire.JSONSchema{Required: fields, Properties: map[string]*wire.JSONSchema{}}
	for _, f := range fields {
		s.Properties[f] = &wire.JSONSchema{Not: &wire.JSONSchema{Type: wire.Types{"null"}}}
	}
	return s
}

// oneOf returns a schema that requires exactly one of the fields.
func oneOf(fields ...string) *wire.JSONSchema {
	s := &wire.JSONSchema{}
	for _, f := range fields {
		s.OneOf = append(s.OneOf, requireFields(f))
	}
	return s
}
