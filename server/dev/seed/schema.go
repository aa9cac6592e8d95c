package seed

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"

	"punchcard/server/wire"
)

// Schema returns the JSON Schema (draft 2020-12) of seed files, ending in a
// newline. It is generated from the structs that Parse fills. A schema cannot
// express rules about several objects, such as that a ref exists, so Parse and
// Apply refuse more.
func Schema() []byte {
	reg := &wire.Registry{}
	top := wire.Schema(reflect.TypeFor[root](), wire.Create, limits, reg).Target
	delete(reg.Schemas, top.Name)
	reference(top)
	for kind, s := range reg.Schemas {
		reference(s)
		for name, property := range s.Properties {
			property.Description = cmp.Or(docs[kind+"."+name], property.Description)
		}
	}
	for _, o := range []object{&shop{}, &location{}, &program{}, &prize{}, &key{}, &card{}, &webhook{}, &activity{}} {
		t := reflect.TypeOf(o).Elem()
		f, _ := t.FieldByName("entry")
		reg.Schemas[t.Name()].Description = f.Tag.Get("doc")
	}
	reg.Schemas["activity"].AllOf = []*wire.JSONSchema{oneOf("at", "ago"), oneOf("stamp", "redeem", "top_up", "spend", "use", "reverse")}
	reg.Schemas["shop"].Not = requireFields("at", "ago")
	reg.Schemas["card"].AllOf = []*wire.JSONSchema{{Not: requireFields("at", "ago")}, {Not: requireFields("expires_at", "expires_in")}}
	top.Dialect = "https://json-schema.org/draft/2020-12/schema"
	top.Title = "Seed of a punchcard fixture"
	top.Description = "The content that `punchcard dev --seed FILE` starts with. " +
		"A file is at most 16 MiB of JSON; as in the REST API null equals absence. " +
		"Entries refer to one another by ref, within their shop and in any order. " +
		"Times are RFC 3339, or durations counted from the start (the time at which the fixture's clock stands at first), so that " +
		"a file can stay fresh. " +
		"Every rule of the REST API and the till holds, with the default limits; a mistake stops the start with a line that names " +
		"its place. " +
		"While the seed is applied nothing is mailed and no webhook is called."
	top.Defs = reg.Schemas
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(top); err != nil {
		panic(err) // cannot happen: a schema has only strings and numbers
	}
	return out.Bytes()
}

// reference makes the items of the lists in s refer to $defs. Package wire makes
// references to the components of an OpenAPI document.
func reference(s *wire.JSONSchema) {
	for _, property := range s.Properties {
		if item := property.Items; item != nil && item.Target != nil {
			item.Ref = "#/$defs/" + item.Target.Name
		}
	}
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
