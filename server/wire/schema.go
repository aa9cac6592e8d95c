package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// JSONSchema is a JSON Schema (2020-12). Its fields are in the order of their names
// in JSON.
type JSONSchema struct {
	Defs                 map[string]*JSONSchema `json:"$defs,omitempty"`
	Ref                  string                 `json:"$ref,omitempty"`
	Dialect              string                 `json:"$schema,omitempty"`
	AdditionalProperties any                    `json:"additionalProperties,omitempty"` // false or a *JSONSchema
	AllOf                []*JSONSchema          `json:"allOf,omitempty"`
	AnyOf                []*JSONSchema          `json:"anyOf,omitempty"`
	Const                string                 `json:"const,omitempty"`
	Description          string                 `json:"description,omitempty"`
	Discriminator        *Discriminator         `json:"discriminator,omitempty"`
	Enum                 []any                  `json:"enum,omitempty"` // strings and nil
	ExclusiveMinimum     json.Number            `json:"exclusiveMinimum,omitempty"`
	Format               string                 `json:"format,omitempty"`
	Items                *JSONSchema            `json:"items,omitempty"`
	MaxItems             json.Number            `json:"maxItems,omitempty"`
	MaxLength            json.Number            `json:"maxLength,omitempty"`
	Maximum              json.Number            `json:"maximum,omitempty"`
	MinItems             json.Number            `json:"minItems,omitempty"`
	MinLength            json.Number            `json:"minLength,omitempty"`
	Minimum              json.Number            `json:"minimum,omitempty"`
	Not                  *JSONSchema            `json:"not,omitempty"`
	OneOf                []*JSONSchema          `json:"oneOf,omitempty"`
	Pattern              string                 `json:"pattern,omitempty"`
	Properties           map[string]*JSONSchema `json:"properties,omitempty"`
	Required             []string               `json:"required,omitempty"`
	Title                string                 `json:"title,omitempty"`
	Type                 Types                  `json:"type,omitempty"`
	MaxBytes             json.Number            `json:"x-max-bytes,omitempty"` // JSON Schema cannot count bytes

	Name   string      `json:"-"` // of a schema in a Registry
	Order  []string    `json:"-"` // a struct's properties as declared; nil for a map
	Target *JSONSchema `json:"-"` // what Ref refers to
}

// Discriminator says which property of a value tells the schemas of OneOf apart.
type Discriminator struct {
	Mapping      map[string]string `json:"mapping"` // references by value
	PropertyName string            `json:"propertyName"`
}

// Types are the JSON types that a schema allows. A single one is encoded as a
// string, several as an array.
type Types []string

// MarshalJSON implements json.Marshaler.
func (t Types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// Resolve returns the schema that s refers to, also if s is a reference or null. It
// returns s if s does not refer to another schema.
func (s *JSONSchema) Resolve() *JSONSchema {
	if len(s.AnyOf) > 0 {
		s = s.AnyOf[0]
	}
	if s.Target != nil {
		return s.Target
	}
	return s
}

// Registry collects the schemas of named types, for components/schemas of an
// OpenAPI document. The zero value is ready for use; it is not safe for
// concurrent use.
type Registry struct {
	Schemas map[string]*JSONSchema
	// Unions are the types of the values that interfaces hold. Other interfaces may hold
	// anything.
	Unions map[reflect.Type][]reflect.Type
	// Capitalized says that the names of all schemas begin with a capital, also those of
	// unexported types.
	Capitalized bool
	owners      map[string]owner
}

// owner is the type and mode of a schema in a Registry.
type owner struct {
	t    reflect.Type
	mode Mode
}

// Schema returns the JSON Schema of what Append writes for t or, for a struct of
// store.Opt fields, of what DecodeBody accepts in mode. Named structs are added to
// reg under their Go name, and referred to. The name of a request struct in mode
// Patch ends in "Patch", and the name of an instance List[Card] of a generic type is
// CardList. Schema panics if two types have the same name.
func Schema(t reflect.Type, mode Mode, lim Limits, reg *Registry) *JSONSchema {
	g := &generator{mode, lim, reg}
	return g.typeOf(t)
}

type generator struct {
	mode Mode
	lim  Limits
	reg  *Registry
}

// typeOf returns the schema of type t without the rules of tags.
func (g *generator) typeOf(t reflect.Type) *JSONSchema {
	if isNull(t) {
		return orNull(g.typeOf(t.Field(0).Type))
	}
	switch kindOf(t) {
	case KindTime:
		return &JSONSchema{Type: Types{"string"}, Format: "date-time"}
	case KindObject:
		return &JSONSchema{Type: Types{"object"}}
	case KindString:
		return &JSONSchema{Type: Types{"string"}}
	case KindBool:
		return &JSONSchema{Type: Types{"boolean"}}
	case KindInt:
		s := &JSONSchema{Type: Types{"integer"}}
		if t.Size() == 8 {
			s.Format = "int64"
		}
		return s
	case KindFloat:
		return &JSONSchema{Type: Types{"number"}}
	case KindList:
		return &JSONSchema{Type: Types{"array"}, Items: g.typeOf(t.Elem())}
	}
	switch {
	case g.reg.Unions[t] != nil:
		s := &JSONSchema{}
		for _, one := range g.reg.Unions[t] {
			s.OneOf = append(s.OneOf, g.typeOf(one))
		}
		return s
	case t == typeValue || t.Kind() == reflect.Interface:
		// The empty schema means the same, but validators for OpenAPI 3.0 do not accept null for it.
		// A list of all types does too, but oapi-codegen refuses it.
		return &JSONSchema{AnyOf: []*JSONSchema{{}, {Type: Types{"null"}}}}
	case t.Kind() == reflect.Pointer:
		return orNull(g.typeOf(t.Elem()))
	case t.Kind() == reflect.Map:
		return &JSONSchema{Type: Types{"object"}, AdditionalProperties: g.typeOf(t.Elem())}
	case t.Kind() == reflect.Struct && t.Name() == "":
		return g.structOf(new(JSONSchema), t)
	case t.Kind() == reflect.Struct:
		target := g.register(t)
		return &JSONSchema{Ref: "#/components/schemas/" + target.Name, Target: target}
	}
	panic(fmt.Sprintf("wire: no schema for %s", t))
}

// register returns the schema of t in the registry, and adds it if necessary.
func (g *generator) register(t reflect.Type) *JSONSchema {
	mode := Create
	name := g.componentName(t.Name())
	if g.mode == Patch && isRequest(t) {
		mode = Patch
		if !strings.HasSuffix(name, "Patch") {
			name += "Patch"
		}
	}
	me := owner{t, mode}
	if o, taken := g.reg.owners[name]; taken {
		if o != me {
			panic(fmt.Sprintf("wire: %s and %s both have the schema name %s", o.t, t, name))
		}
		return g.reg.Schemas[name]
	}
	if g.reg.owners == nil {
		g.reg.owners = make(map[string]owner)
		g.reg.Schemas = make(map[string]*JSONSchema)
	}
	s := &JSONSchema{Name: name}
	g.reg.owners[name] = me // before the fields, which may refer to t
	g.reg.Schemas[name] = s
	return g.structOf(s, t)
}

// componentName returns the name of a type's schema: CardList for List[a/b.Card].
func (g *generator) componentName(name string) string {
	capitalized := func(name string) string {
		if g.reg.Capitalized {
			return strings.ToUpper(name[:1]) + name[1:]
		}
		return name
	}
	base, args, generic := strings.Cut(name, "[")
	if !generic {
		return capitalized(base)
	}
	var prefix string
	for arg := range strings.FieldsFuncSeq(args, func(c rune) bool { return strings.ContainsRune("[],", c) }) {
		prefix += capitalized(arg[strings.LastIndexAny(arg, "./")+1:])
	}
	return prefix + capitalized(base)
}

// isRequest reports whether t is a struct of store.Opt fields.
func isRequest(t reflect.Type) bool {
	fields := fieldsOf(t)
	return len(fields) > 0 && isOpt(fields[0].typ)
}

// structOf sets s to the schema of struct t, and returns s.
func (g *generator) structOf(s *JSONSchema, t reflect.Type) *JSONSchema {
	s.Type, s.Properties = Types{"object"}, make(map[string]*JSONSchema)
	for _, f := range fieldsOf(t) {
		r := newRule(f)
		if r.opt {
			// Answers allow additional properties, so that generated clients accept
			// fields which are added later.
			s.AdditionalProperties = false
		}
		if r.opt && g.mode == Patch && r.patch == notAllowed {
			continue
		}
		s.Properties[r.name] = g.property(r)
		s.Order = append(s.Order, r.name)
		if r.opt && g.mode == Create && r.required || !r.opt && !r.omit {
			s.Required = append(s.Required, r.name)
		}
	}
	return s
}

// property returns the schema of a field.
func (g *generator) property(r *rule) *JSONSchema {
	s := g.typeOf(r.elem)
	g.constrain(s, r)
	null := r.nullable
	if r.opt && g.mode == Create {
		null = !r.required
	} else if r.opt {
		null = r.patch != ""
	}
	if null {
		s = orNull(s)
	}
	s.Description = r.doc
	return s
}

// constrain adds the rules for values that are not null to s.
func (g *generator) constrain(s *JSONSchema, r *rule) {
	minimum, maximum := json.Number(r.min.text), json.Number(r.upper(g.lim).text)
	switch r.kind {
	case KindString:
		textRules(s, r, minimum, maximum)
	case KindInt, KindFloat:
		s.Minimum, s.Maximum, s.ExclusiveMinimum = minimum, maximum, json.Number(r.above.text)
	case KindList:
		s.MinItems = minimum
		if !r.distinct { // JSON Schema cannot count without repetitions
			s.MaxItems = maximum
		}
		if item := r.item(); item != nil { // no item is null, and a new list has whole items in mode Patch too
			s.Items = Schema(item, Create, g.lim, g.reg)
		}
	case KindObject:
		s.MaxBytes = maximum
	case KindMap:
		value := &JSONSchema{Type: Types{"string"}}
		textRules(value, r, minimum, maximum)
		s.AdditionalProperties = value
		if r.keys != nil {
			s.Properties, s.AdditionalProperties = make(map[string]*JSONSchema), false
			for _, k := range r.keys {
				s.Properties[k] = value
			}
		}
	}
}

// textRules adds the rules for strings to s.
func textRules(s *JSONSchema, r *rule, minimum, maximum json.Number) {
	s.MinLength, s.MaxLength = minimum, maximum
	if f := formats[r.format]; f != nil {
		s.Format, s.Pattern = f.schemaFormat, f.schemaPattern
	}
	if r.pattern != nil {
		s.Pattern = r.pattern.String()
	}
	for _, v := range r.enum {
		s.Enum = append(s.Enum, v)
	}
}

// orNull returns a schema that allows null and what s allows.
func orNull(s *JSONSchema) *JSONSchema {
	if s.Type == nil { // a reference
		return &JSONSchema{AnyOf: []*JSONSchema{s, {Type: Types{"null"}}}}
	}
	if len(s.Type) == 1 {
		s.Type = append(s.Type, "null")
		if s.Enum != nil {
			s.Enum = append(s.Enum, nil)
		}
	}
	return s
}

// Parameter is a parameter of an operation in an OpenAPI document.
type Parameter struct {
	Description string      `json:"description,omitempty"`
	Example     any         `json:"example,omitempty"`
	In          string      `json:"in"` // query, path or header
	Name        string      `json:"name"`
	Required    bool        `json:"required"`
	Schema      *JSONSchema `json:"schema"`
}

// Parameters returns the parameters for the fields of a query struct, in their
// order.
func Parameters(t reflect.Type, lim Limits) []Parameter {
	g := &generator{Create, lim, new(Registry)}
	var list []Parameter
	for _, r := range planFor(t).rules {
		s := g.typeOf(r.elem)
		g.constrain(s, r)
		list = append(list, Parameter{Description: r.doc, In: "query", Name: r.name, Required: r.required, Schema: s})
	}
	return list
}
