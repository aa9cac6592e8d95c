package wire

import (
	"fmt"
	"reflect"
	"strings"
)

// Registry collects the schemas of named types, for components/schemas of an
// OpenAPI document. The zero value is ready for use; it is not safe for
// concurrent use.
type Registry struct {
	Schemas map[string]any
	owners  map[string]owner
}

// owner is what a name in a Registry stands for.
type owner struct {
	t    reflect.Type
	mode Mode
}

// Schema returns the JSON Schema (2020-12) of what Append writes for t, or,
// for a struct of store.Opt fields, of what DecodeBody accepts in mode. Named
// structs are put into reg under their Go name and referred to; a request
// struct described for Patch gets "Patch" appended unless it ends so already,
// and an instance List[Card] of a generic type is called CardList. Schema
// panics when two types claim one name.
func Schema(t reflect.Type, mode Mode, lim Limits, reg *Registry) map[string]any {
	g := &generator{mode, lim, reg}
	return g.typeOf(t)
}

type generator struct {
	mode Mode
	lim  Limits
	reg  *Registry
}

// typeOf describes values of type t, without regard to a field's tags.
func (g *generator) typeOf(t reflect.Type) map[string]any {
	switch {
	case isNull(t):
		return orNull(g.typeOf(t.Field(0).Type))
	}
	switch kindOf(t) {
	case kindTime:
		return map[string]any{"type": "string", "format": "date-time"}
	case kindObject:
		return map[string]any{"type": "object"}
	case kindString:
		return map[string]any{"type": "string"}
	case kindBool:
		return map[string]any{"type": "boolean"}
	case kindInt:
		s := map[string]any{"type": "integer"}
		if t.Size() == 8 {
			s["format"] = "int64"
		}
		return s
	case kindFloat:
		return map[string]any{"type": "number"}
	case kindList:
		return map[string]any{"type": "array", "items": g.typeOf(t.Elem())}
	}
	switch {
	case t == typeValue || t.Kind() == reflect.Interface:
		// The empty schema says the same, but validators that grew up with
		// OpenAPI 3.0 refuse null there.
		return map[string]any{"type": []any{"string", "number", "boolean", "object", "array", "null"}}
	case t.Kind() == reflect.Pointer:
		return orNull(g.typeOf(t.Elem()))
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": g.typeOf(t.Elem())}
	case t.Kind() == reflect.Struct && t.Name() == "":
		return g.structOf(t)
	case t.Kind() == reflect.Struct:
		return map[string]any{"$ref": "#/components/schemas/" + g.register(t)}
	}
	panic(fmt.Sprintf("wire: no schema for %s", t))
}

// register makes sure that t is described in the registry, under the name
// that it returns.
func (g *generator) register(t reflect.Type) string {
	mode := Create
	name := componentName(t.Name())
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
		return name
	}
	if g.reg.owners == nil {
		g.reg.owners = make(map[string]owner)
	}
	if g.reg.Schemas == nil {
		g.reg.Schemas = make(map[string]any)
	}
	g.reg.owners[name] = me // before the fields, which may refer to t
	g.reg.Schemas[name] = g.structOf(t)
	return name
}

// componentName makes List[a/b.Card] into CardList.
func componentName(name string) string {
	base, args, generic := strings.Cut(name, "[")
	if !generic {
		return base
	}
	var prefix string
	for arg := range strings.FieldsFuncSeq(args, func(c rune) bool { return strings.ContainsRune("[],", c) }) {
		prefix += arg[strings.LastIndexAny(arg, "./")+1:]
	}
	return prefix + base
}

func isRequest(t reflect.Type) bool {
	fields := fieldsOf(t)
	return len(fields) > 0 && isOpt(fields[0].typ)
}

func (g *generator) structOf(t reflect.Type) map[string]any {
	properties := make(map[string]any)
	required := []string{}
	request := false
	for _, f := range fieldsOf(t) {
		r := newRule(f)
		request = request || r.opt
		if r.opt && g.mode == Patch && r.patch == nullNever {
			continue
		}
		properties[r.name] = g.property(r)
		if r.opt && g.mode == Create && r.required || !r.opt && !r.omit {
			required = append(required, r.name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties}
	if request {
		// Answers stay open: fields may be added to them, and clients
		// generated from the description must tolerate that.
		s["additionalProperties"] = false
	}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// property describes a field: its type, its rules, and whether it may be null.
func (g *generator) property(r *rule) map[string]any {
	s := g.typeOf(r.elem)
	g.constrain(s, r)
	null := r.nullable
	if r.opt && g.mode == Create {
		null = !r.required
	} else if r.opt {
		null = r.patch == nullClears
	}
	if null {
		s = orNull(s)
	}
	if r.doc != "" {
		s["description"] = r.doc
	}
	return s
}

// constrain adds to s what the rule's tags demand of a value that is not null.
func (g *generator) constrain(s map[string]any, r *rule) {
	maximum := r.upper(g.lim)
	switch r.kind {
	case kindString:
		textRules(s, r, maximum)
	case kindInt, kindFloat:
		put(s, "minimum", r.number(r.min))
		put(s, "maximum", r.number(maximum))
		put(s, "exclusiveMinimum", r.number(r.above))
	case kindList:
		put(s, "minItems", size(r.min))
		put(s, "maxItems", size(maximum))
	case kindObject:
		// JSON Schema cannot count bytes.
		put(s, "x-max-bytes", size(maximum))
	case kindMap:
		value := map[string]any{"type": "string"}
		textRules(value, r, maximum)
		s["additionalProperties"] = value
		if r.keys != nil {
			properties := make(map[string]any)
			for _, k := range r.keys {
				properties[k] = value
			}
			s["properties"], s["additionalProperties"] = properties, false
		}
	}
}

func textRules(s map[string]any, r *rule, maximum bound) {
	put(s, "minLength", size(r.min))
	put(s, "maxLength", size(maximum))
	if f := formats[r.format]; f != nil {
		for k, v := range f.schema {
			s[k] = v
		}
	}
	if r.pattern != nil {
		s["pattern"] = r.pattern.String()
	}
	if r.enum != nil {
		values := make([]any, len(r.enum))
		for i, v := range r.enum {
			values[i] = v
		}
		s["enum"] = values
	}
}

func put(s map[string]any, key string, value any) {
	if value != nil {
		s[key] = value
	}
}

// number returns a bound in the field's own type, or nil.
func (r *rule) number(b bound) any {
	if b.set && r.kind == kindFloat {
		return b.float
	}
	return size(b)
}

func size(b bound) any {
	if !b.set {
		return nil
	}
	return b.whole
}

// orNull lets null pass beside what s allows.
func orNull(s map[string]any) map[string]any {
	switch t := s["type"].(type) {
	case string:
		s["type"] = []any{t, "null"}
		if values, ok := s["enum"].([]any); ok {
			s["enum"] = append(values[:len(values):len(values)], nil)
		}
	case nil: // a reference
		return map[string]any{"anyOf": []any{s, map[string]any{"type": "null"}}}
	}
	return s
}

// Parameters describes a query struct as OpenAPI parameters, in struct order.
func Parameters(t reflect.Type, lim Limits) []map[string]any {
	g := &generator{Create, lim, new(Registry)}
	list := []map[string]any{}
	for _, r := range planFor(t).rules {
		s := g.typeOf(r.elem)
		g.constrain(s, r)
		p := map[string]any{"name": r.name, "in": "query", "required": r.required, "schema": s}
		if r.doc != "" {
			p["description"] = r.doc
		}
		list = append(list, p)
	}
	return list
}
