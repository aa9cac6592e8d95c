package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"punchcard/server/wire"
)

//go:embed page.html
var pageHTML string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"errorExample": errorExample,
	"fields":       fields,
	"inputs":       inputs,
	"notes":        notes,
	"prose":        prose,
	"statusText":   http.StatusText,
	"typeWords":    typeWords,
	"values":       values,
}).Parse(pageHTML))

// HTML returns the reference page. It has no scripts and loads nothing.
func (d *Document) HTML() []byte {
	var b bytes.Buffer
	if err := page.Execute(&b, d); err != nil {
		panic(fmt.Sprintf("openapi: write the page: %v", err))
	}
	return b.Bytes()
}

// Lead returns the first paragraph of the introduction.
func (d *Document) Lead() string {
	lead, _, _ := strings.Cut(d.Info.Description, "\n\n")
	return lead
}

// Face returns the description of the face.
func (d *Document) Face() About { return d.about }

// Paged reports whether there are lists with cursors.
func (d *Document) Paged() bool {
	return slices.ContainsFunc(d.Operations, func(o *Operation) bool {
		return slices.ContainsFunc(o.Parameters, func(p wire.Parameter) bool { return p.Name == "cursor" })
	})
}

// EnvelopeFields returns the rows of the v2 envelope but those of data, which differ.
func (d *Document) EnvelopeFields() []field {
	list := slices.DeleteFunc(fields(d.Components.Schemas["StampAssignedV2"]), func(f field) bool { return f.Outer == "data." })
	list[0].Schema = text("") // event, without the name of this one
	return list
}

// Base returns the URL to which the paths are relative.
func (d *Document) Base() string { return d.Servers[0]["url"] }

// Anchor returns the id of the tag's heading.
func (t *tag) Anchor() string {
	return "tag-" + strings.ToLower(strings.ReplaceAll(t.Name, " ", "-"))
}

// Scopes returns the scopes, with the operations that each permits.
func (d *Document) Scopes() (scopes []*tag) {
	for _, o := range d.Operations {
		if scope := o.Route.Scope(); scope != "" {
			scopes = addTo(scopes, scope, o)
		}
	}
	return scopes
}

// IsFirst reports whether no operation before o has an answer of the same
// type. The page opens the table of the first only.
func (d *Document) IsFirst(o *Operation) bool {
	return o == d.Operations[slices.IndexFunc(d.Operations, func(p *Operation) bool {
		return p.Answer != nil && p.Answer.Resolve() == o.Answer.Resolve()
	})]
}

// ErrorFields returns the fields of an error, without the values of its code, which
// the page shows in a table of their own.
func (d *Document) ErrorFields() []field {
	list := fields(d.Components.Schemas["ErrorBody"])
	for i, f := range list {
		if f.Outer+f.Name == "error.code" {
			list[i].Schema = &wire.JSONSchema{Type: f.Schema.Type}
		}
	}
	return list
}

// errorExample returns an example of an error's body.
func errorExample() string {
	body := faultyRequest("req_…")
	var b bytes.Buffer
	if err := json.Indent(&b, wire.Append(nil, &body), "", "  "); err != nil {
		panic(err)
	}
	return b.String()
}

// field is a row in a table of fields or parameters.
type field struct {
	Outer string // path of the object that has the field, with a trailing dot
	wire.Parameter
}

// inputs returns the rows of parameters.
func inputs(parameters []wire.Parameter) (rows []field) {
	for _, p := range parameters {
		rows = append(rows, field{"", p})
	}
	return rows
}

// fields returns the rows of an object's fields. A field that is an object itself
// is followed by the rows of its fields.
func fields(s *wire.JSONSchema) []field { return appendFields(nil, s, "", nil) }

func appendFields(rows []field, s *wire.JSONSchema, outer string, around []*wire.JSONSchema) []field {
	s = s.Resolve()
	if slices.Contains(around, s) { // a type that contains itself
		return rows
	}
	around = append(around[:len(around):len(around)], s)
	for _, name := range s.Order {
		p := s.Properties[name]
		if len(p.Resolve().OneOf) > 0 { // an envelope, which the page describes once
			p = &wire.JSONSchema{Type: p.Resolve().Type, Description: p.Description}
		}
		rows = append(
			rows,
			field{outer, wire.Parameter{Name: name, Required: slices.Contains(s.Required, name), Description: p.Description, Schema: p}},
		)
		inner, suffix := p, "."
		if p.Items != nil {
			inner, suffix = p.Items, "[]."
		}
		rows = appendFields(rows, inner, outer+name+suffix, around)
	}
	return rows
}

// typeWords returns the type of a value in words.
func typeWords(s *wire.JSONSchema) string {
	words := strings.Join(s.Resolve().Type, " or ")
	switch {
	case words == "":
		return "any JSON value"
	case len(s.AnyOf) > 0:
		words += " or null"
	case s.Items != nil:
		words = strings.Replace(words, "array", "array of "+typeWords(s.Items)+"s", 1)
	}
	return words
}

// notes returns the rules of a schema, apart from its type.
func notes(s *wire.JSONSchema) (list []string) {
	note := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	bounds := func(low, high json.Number, unit string) {
		switch {
		case low != "" && high != "":
			note("%s to %s%s", low, high, unit)
		case high != "":
			note("at most %s%s", high, unit)
		case low == "1" && unit != "":
			note("not empty")
		case low != "":
			note("at least %s%s", low, unit)
		}
	}
	// The page says in another place that integers have 64 bits.
	if s.Format != "" && s.Format != "int64" {
		note("%s", strings.Replace(s.Format, "uri", "URL", 1))
	}
	bounds(s.MinLength, s.MaxLength, " characters")
	bounds(s.MinItems, s.MaxItems, " items")
	bounds(s.Minimum, s.Maximum, "")
	if s.ExclusiveMinimum != "" {
		note("greater than %s", s.ExclusiveMinimum)
	}
	bounds("", s.MaxBytes, " bytes")
	if s.Pattern != "" {
		note("matches `%s`", s.Pattern)
	}
	if s.Const != "" {
		note("always `%s`", s.Const)
	}
	if s.Order == nil && len(s.Properties) > 0 { // a map, whose values have one schema
		keys := slices.Sorted(maps.Keys(s.Properties))
		value := s.Properties[keys[0]]
		note("keys `%s`", strings.Join(keys, "`, `"))
		note("each a %s", strings.Join(append([]string{typeWords(value)}, notes(value)...), " of "))
	}
	if s.Items != nil {
		if each := notes(s.Items); len(each) > 0 {
			note("each %s", strings.Join(each, ", "))
		}
	}
	return list
}

// values returns the values of an enum, of the value itself or the items of a list.
func values(s *wire.JSONSchema) (list []string) {
	for _, v := range s.Enum {
		if v != nil {
			list = append(list, v.(string))
		}
	}
	if s.Items != nil {
		list = append(list, values(s.Items)...)
	}
	return list
}

// marked matches text in backquotes, and words with an underscore, which are names
// of fields, codes or values.
var marked = regexp.MustCompile("`[^`]*`|\\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\\b")

// prose returns a text of the document as HTML, with names as code elements.
func prose(s string) template.HTML {
	var b strings.Builder
	from := 0
	for _, at := range marked.FindAllStringIndex(s, -1) {
		b.WriteString(html.EscapeString(s[from:at[0]]))
		b.WriteString("<code>" + html.EscapeString(strings.Trim(s[at[0]:at[1]], "`")) + "</code>")
		from = at[1]
	}
	b.WriteString(html.EscapeString(s[from:]))
	return template.HTML(b.String())
}
