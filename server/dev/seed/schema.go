package seed

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"

	"punchcard/server/wire"
)

// Schema returns the JSON Schema (draft 2020-12) of seed files, ending in a
// newline. It is generated from the structs into which they are read. What one
// entry says of another, such as that a ref exists, is beyond a schema: Parse
// and Apply refuse more.
func Schema() []byte {
	defs := map[string]any{}
	top := describe(reflect.TypeFor[root](), defs)
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "Seed of a punchcard fixture"
	top["description"] = "The content that `punchcard dev --seed FILE` starts with. " +
		"A file is at most 16 MiB of JSON; as in the REST API null equals absence. " +
		"Entries refer to one another by ref, within their shop and in any order. " +
		"Times are RFC 3339, or durations counted from the start (the time at which the fixture's clock stands at first), so that a file can stay fresh. " +
		"Every rule of the REST API and the till holds, with the default limits; a mistake stops the start with a line that names its place. " +
		"While the seed is applied nothing is mailed and no webhook is called."
	top["$defs"] = defs
	var out bytes.Buffer
	json.Indent(&out, wire.Append(nil, top), "", "  ") // cannot fail: wire writes JSON
	out.WriteByte('\n')
	return out.Bytes()
}

// describe returns the schema of a kind of object. Those of the objects in its
// lists go into defs.
func describe(t reflect.Type, defs map[string]any) map[string]any {
	reg := &wire.Registry{}
	wire.Schema(t, wire.Create, limits, reg)
	s := reg.Schemas[t.Name()].(map[string]any)
	properties := s["properties"].(map[string]any)
	for name := range properties {
		id := t.Name() + "." + name
		if doc := docs[id]; doc != "" {
			properties[name].(map[string]any)["description"] = doc
		}
		if _, ok := absent[id]; ok {
			delete(properties, name)
		}
	}
	required, _ := s["required"].([]string)
	for _, f := range listsOf(t) {
		name, item := f.Tag.Get("list"), f.Type.Elem().Elem()
		most, _ := strconv.Atoi(f.Tag.Get("max"))
		defs[item.Name()] = describe(item, defs)
		list := map[string]any{"type": []string{"array", "null"}, "items": map[string]any{"$ref": "#/$defs/" + item.Name()}, "maxItems": most, "description": f.Tag.Get("doc")}
		if f.Tag.Get("req") != "" {
			list["type"], list["minItems"] = "array", 1
			required = append(required, name)
		}
		properties[name] = list
	}
	if len(required) > 0 {
		s["required"] = required
	}
	entry, _ := t.FieldByName("entry")
	s["description"] = entry.Tag.Get("doc")
	switch t {
	case reflect.TypeFor[activity]():
		s["allOf"] = []any{oneOf("at", "ago"), oneOf("stamp", "redeem", "top_up", "spend", "use", "reverse")}
	case reflect.TypeFor[shop]():
		s["not"] = present("at", "ago")
	case reflect.TypeFor[card]():
		s["allOf"] = []any{map[string]any{"not": present("at", "ago")}, map[string]any{"not": present("expires_at", "expires_in")}}
	}
	return s
}

// present returns the schema that demands that all of the fields are there and not null.
func present(fields ...string) map[string]any {
	properties := map[string]any{}
	for _, f := range fields {
		properties[f] = map[string]any{"not": map[string]any{"type": "null"}}
	}
	return map[string]any{"required": fields, "properties": properties}
}

// oneOf returns the schema that demands exactly one of the fields.
func oneOf(fields ...string) map[string]any {
	var each []any
	for _, f := range fields {
		each = append(each, present(f))
	}
	return map[string]any{"oneOf": each}
}
