package seed

import (
	"bytes"
	"encoding/json"
	"reflect"

	"punchcard/server/wire"
)

// Schema returns the JSON Schema (draft 2020-12) of seed files, ending in a
// newline. It is generated from the structs into which they are read. What one
// entry says of another, such as that a ref exists, is beyond a schema: Parse
// and Apply refuse more.
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
		panic(err) // a schema holds strings and numbers only
	}
	return out.Bytes()
}

// describe returns the schema of a kind of object. Those of the objects in its
// lists go into defs.
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
		s.Not = present("at", "ago")
	case reflect.TypeFor[card]():
		s.AllOf = []*wire.JSONSchema{{Not: present("at", "ago")}, {Not: present("expires_at", "expires_in")}}
	}
	return s
}

// present returns the schema that demands that all of the fields are there and not null.
func present(fields ...string) *wire.JSONSchema {
	s := &wire.JSONSchema{Required: fields, Properties: map[string]*wire.JSONSchema{}}
	for _, f := range fields {
		s.Properties[f] = &wire.JSONSchema{Not: &wire.JSONSchema{Type: wire.Types{"null"}}}
	}
	return s
}

// oneOf returns the schema that demands exactly one of the fields.
func oneOf(fields ...string) *wire.JSONSchema {
	s := &wire.JSONSchema{}
	for _, f := range fields {
		s.OneOf = append(s.OneOf, present(f))
	}
	return s
}
