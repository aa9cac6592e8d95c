package dev

import (
	"bytes"
	"encoding/json"
	"strconv"

	"punchcard/server/wire"
)

// SeedSchema is the JSON Schema (draft 2020-12) of seed files, ending in a
// newline. It comes from the types that reading uses. What one entry says of
// another, such as that a ref exists, is beyond a schema: ParseSeed and Apply
// refuse more.
func SeedSchema() []byte {
	defs := map[string]*wire.JSONSchema{}
	top := describe(seedKinds.top, defs)
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

// describe is the schema of a kind of object. Those of the objects in its
// lists go into defs.
func describe(k *seedKind, defs map[string]*wire.JSONSchema) *wire.JSONSchema {
	s := wire.Schema(k.fields, wire.Create, seedLimits, &wire.Registry{}).Target
	for name := range k.hidden {
		delete(s.Properties, name)
	}
	for name, doc := range k.docs {
		s.Properties[name].Description = doc
	}
	for _, l := range k.lists {
		defs[l.of.name] = describe(l.of, defs)
		list := &wire.JSONSchema{Type: wire.Types{"array", "null"}, Items: &wire.JSONSchema{Ref: "#/$defs/" + l.of.name},
			MaxItems: json.Number(strconv.Itoa(l.max)), Description: l.doc}
		if l.required {
			list.Type, list.MinItems = wire.Types{"array"}, "1"
			s.Required = append(s.Required, l.name)
		}
		s.Properties[l.name] = list
	}
	s.Description = k.doc
	switch k {
	case seedKinds.activity:
		s.AllOf = []*wire.JSONSchema{oneOf("at", "ago"), oneOf("stamp", "redeem", "top_up", "spend", "use", "reverse")}
	case seedKinds.shop:
		s.Not = present("at", "ago")
	case seedKinds.card:
		s.AllOf = []*wire.JSONSchema{{Not: present("at", "ago")}, {Not: present("expires_at", "expires_in")}}
	}
	return s
}

// present demands that all of the fields are there and not null.
func present(fields ...string) *wire.JSONSchema {
	s := &wire.JSONSchema{Required: fields, Properties: map[string]*wire.JSONSchema{}}
	for _, f := range fields {
		s.Properties[f] = &wire.JSONSchema{Not: &wire.JSONSchema{Type: wire.Types{"null"}}}
	}
	return s
}

// oneOf demands exactly one of the fields.
func oneOf(fields ...string) *wire.JSONSchema {
	s := &wire.JSONSchema{}
	for _, f := range fields {
		s.OneOf = append(s.OneOf, present(f))
	}
	return s
}
