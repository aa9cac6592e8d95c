package wire

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"punchcard/store"
)

type page[T any] struct {
	Data []T `json:"data"`
}

type described struct {
	base
	Status  string                 `json:"status" enum:"active,archived" doc:"Where it stands."`
	Reason  store.Null[string]     `json:"reason" enum:"a,b" doc:"Why."`
	Name    string                 `json:"name" min:"1" limit:"name"`
	Color   store.Null[string]     `json:"color" format:"hex-color"`
	Email   store.Null[string]     `json:"email" format:"email"`
	URL     string                 `json:"url" format:"url"`
	Count   int64                  `json:"count" min:"0" max:"9"`
	Share   float64                `json:"share" gt:"0" max:"0.5"`
	Until   store.Null[store.Time] `json:"until"`
	Tags    []string               `json:"tags" max:"2"`
	Labels  map[string]string      `json:"labels" keys:"it,en" limit:"name"`
	Inner   inner                  `json:"inner" doc:"What is inside."`
	Pointer *inner                 `json:"pointer"`
	List    []inner                `json:"list"`
	Tree    *tree                  `json:"tree"`
	Extra   json.RawMessage        `json:"extra"`
	Any     any                    `json:"any"`
	Note    string                 `json:"note,omitempty"`
	Small   int32                  `json:"small"`
	Counts  map[string]int         `json:"counts"`
	Anon    struct {
		A bool `json:"a"`
	} `json:"anon"`
}

func newDescribed() described {
	return described{
		Status: "active", Name: "n", URL: "https://a.it", Count: 1, Share: 0.25,
		Inner: inner{"x"}, List: []inner{{"y"}}, Extra: json.RawMessage(`{}`),
		Tree: &tree{Name: "r", Children: []*tree{nil, {Name: "c"}}},
	}
}

// encoded returns v as JSON.
func encoded(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// load puts schemas into an OpenAPI document, validates it, and returns it with the references resolved.
func load(t *testing.T, reg *Registry, tops map[string]*JSONSchema) *openapi3.T {
	t.Helper()
	schemas := map[string]*JSONSchema{}
	maps.Copy(schemas, reg.Schemas)
	maps.Copy(schemas, tops)
	doc := []byte(encoded(t, map[string]any{
		"openapi":    "3.1.0",
		"info":       map[string]any{"title": "t", "version": "1"},
		"paths":      map[string]any{},
		"components": map[string]any{"schemas": schemas},
	}))
	loaded, err := openapi3.NewLoader().LoadFromData(doc)
	if err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	if err := loaded.Validate(context.Background()); err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	return loaded
}

// schemaError returns the reason for which the named schema refuses body, or nil if it accepts body.
func schemaError(t *testing.T, doc *openapi3.T, name string, body []byte) error {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return doc.Components.Schemas[name].Value.VisitJSON(v, openapi3.EnableJSONSchema2020(), openapi3.EnableFormatValidation())
}

// TestSchemaAcceptsAppend checks that a type's schema accepts what Append writes, and refuses values
// that break a rule of a type that another one has. For rules of single fields see TestSchemaAgreesWithDecodeBody.
func TestSchemaAcceptsAppend(t *testing.T) {
	reg := &Registry{Capitalized: true}
	ref := Schema(reflect.TypeFor[page[described]](), Create, limits, reg)
	if got, want := encoded(t, ref), `{"$ref":"#/components/schemas/DescribedPage"}`; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	if got := slices.Sorted(maps.Keys(reg.Schemas)); !slices.Equal(got, []string{"Described", "DescribedPage", "Inner", "Tree"}) {
		t.Errorf("registered %v", got)
	}
	doc := load(t, reg, nil)

	set := newDescribed()
	set.Reason, set.Color, set.Email = store.Some("b"), store.Some("#012aBc"), store.Some("a@b.it")
	set.Until, set.Pointer, set.Note = store.Some(store.Time(5)), &inner{"p"}, "n"
	set.Labels, set.Tags, set.Counts = map[string]string{"it": "x"}, []string{"a"}, map[string]int{"a": 1}
	set.Any = []int{1}
	for _, v := range []described{newDescribed(), set} {
		body := Append(nil, page[described]{[]described{v}})
		if err := schemaError(t, doc, "DescribedPage", body); err != nil {
			t.Errorf("%s\n%v", body, err)
		}
	}
	for name, spoil := range map[string]func(*described){
		"null enum":  func(d *described) { d.Reason = store.Some("x") },
		"map value":  func(d *described) { d.Labels = map[string]string{"it": "123456"} },
		"not object": func(d *described) { d.Extra = json.RawMessage(`[]`) },
		"nested":     func(d *described) { d.Inner.Label = "" },
		"pointer":    func(d *described) { d.Pointer = &inner{} },
	} {
		v := newDescribed()
		spoil(&v)
		if body := Append(nil, &v); schemaError(t, doc, "Described", body) == nil {
			t.Errorf("%s: the schema accepts %s", name, body)
		}
	}
	if schemaError(t, doc, "Described", []byte(`{}`)) == nil {
		t.Error("the schema accepts {}")
	}
	// Schemas of answers allow unknown fields.
	if err := schemaError(t, doc, "Described", []byte(strings.Replace(string(Append(nil, newDescribed())), `{`, `{"more":1,`,
		1))); err != nil {
		t.Error(err)
	}
}

// TestSchemaAgreesWithDecodeBody checks that a request's schema and DecodeBody refuse the same
// bodies, for every rule that JSON Schema can express.
func TestSchemaAgreesWithDecodeBody(t *testing.T) {
	reg := &Registry{Capitalized: true}
	tops := map[string]*JSONSchema{
		"create": Schema(reflect.TypeFor[request](), Create, limits, reg),
		"patch":  Schema(reflect.TypeFor[request](), Patch, limits, reg),
	}
	if got := slices.Sorted(maps.Keys(reg.Schemas)); !slices.Equal(got, []string{"Request", "RequestPatch"}) {
		t.Errorf("registered %v", got)
	}
	doc := load(t, reg, tops)
	for _, member := range []string{
		`"on":true`, `"on":1`, `"on":null`, `"name":null`, `"name":""`, `"name":"123456"`, `"name":"èèèèè"`, `"kind":"x"`,
		`"kind":null`, `"kind":"prepaid"`,
		`"email":null`, `"email":"a@b.it"`, `"url":"https://a.it"`, `"secure":"http://a.it"`, `"secure":"https://a.it"`,
		`"color":"#ffffff"`, `"color":"x"`, `"country":"IT"`, `"country":"it"`, `"code":"ab"`, `"code":"A"`, `"day":"2026-01-02"`,
		`"count":0`, `"count":1`, `"count":100`, `"count":101`, `"count":1.0`, `"count":1.5`, `"count":null`, `"cents":0`, `"cents":1`,
		`"lat":90.5`, `"lat":90.6`, `"lat":-91`, `"at":null`, `"at":"2026-01-02T03:04:05Z"`, `"at":5`,
		`"tags":[]`, `"tags":["a"]`, `"tags":["","","",""]`, `"tags":[1]`, `"tags":null`,
		`"names":{}`, `"names":{"it":"a"}`, `"names":{"fr":"a"}`, `"names":{"it":"123456"}`, `"names":{"it":""}`,
		`"names":{"it":null}`, `"names":null`,
		`"headers":{"a":"b"}`, `"headers":{"a":1}`, `"metadata":{"a":1}`, `"metadata":[]`, `"metadata":null`,
		`"external_ref":null`, `"external_ref":"12345678901"`,
		`"unknown":1`,
	} {
		for name, mode := range map[string]Mode{"create": Create, "patch": Patch} {
			body := []byte("{" + member + "}")
			if mode == Create {
				for _, must := range []string{`"name":"n"`, `"kind":"stamp"`} {
					if !strings.HasPrefix(member, must[:6]) {
						body = append(append(append(body[:len(body)-1:len(body)-1], ','), must...), '}')
					}
				}
			}
			details := DecodeBody(body, new(request), mode, limits)
			err := schemaError(t, doc, name, body)
			if (err == nil) != (details == nil) {
				t.Errorf("%s %s: schema says %v, DecodeBody %v", name, body, err, details)
			}
		}
	}
}

func TestSchemaPanics(t *testing.T) {
	type inner struct {
		Other bool `json:"other"`
	}
	reg := &Registry{Capitalized: true}
	Schema(reflect.TypeFor[described](), Create, limits, reg)
	mustPanic(t, "one name, two types", func() { Schema(reflect.TypeFor[inner](), Create, limits, reg) })
	mustPanic(t, "missing limit", func() { Schema(reflect.TypeFor[described](), Create, nil, new(Registry)) })
	mustPanic(t, "no schema", func() { Schema(reflect.TypeFor[chan int](), Create, nil, new(Registry)) })
}
