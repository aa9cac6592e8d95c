package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"punchcard/store"
)

// FuzzDecodeBody checks that any body gets valid details or is decoded into valid text and the required
// fields.
func FuzzDecodeBody(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `[`, `nul`, full(`"on":true`), full(`"tags":["a","\u0000"],"names":{"it":"x"}`), `{"name":"\ud800"}`,
		"{\"name\":\"\xff\"}",
		full(`"metadata":{"a":{"b":[1.5e3,null,true]}},"headers":{"\u0041":"b"}`),
		full(`"at":"2026-01-02T03:04:05.1+01:00","count":1e2,"lat":-1e-2`),
		full(`"email":"a@b.it","url":"https://a.it","secure":"https://a.it:1","color":"#123456","country":"IT","day":"2026-01-02",
			"code":"ab"`),
		`{"kind":null,"a":{"b":1,"b":2}}`, full(`"free":100000e-5,"cents":0.1e1`), "\xEF\xBB\xBF{}", `{"a":1} {"b":2}`,
		strings.Repeat("[", 40),
	} {
		f.Add([]byte(s), false)
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, patch bool) {
		var dst request
		mode := Create
		if patch {
			mode = Patch
		}
		details := DecodeBody(body, &dst, mode, limits)
		if len(details) > store.MaxDetails {
			t.Fatalf("%d details", len(details))
		}
		for _, d := range details {
			checkDetail(t, d)
		}
		if details != nil {
			return
		}
		checkTexts(t, reflect.ValueOf(dst))
		if patch == dst.Kind.Set || !patch && !dst.Name.Set {
			t.Fatalf("accepted without a required field or with one that is not allowed: %+v", dst)
		}
		if dst.Metadata.Set && !dst.Metadata.Null && !json.Valid(dst.Metadata.V) {
			t.Fatalf("metadata %q", dst.Metadata.V)
		}
	})
}

// codes are the codes in Detail's schema.
var codes = newRule(fieldsOf(reflect.TypeFor[Detail]())[1]).enum

// checkDetail fails the test if d has an unknown code, no message, or a field name that is too long or
// not valid UTF-8.
func checkDetail(t *testing.T, d Detail) {
	t.Helper()
	known := false
	for _, c := range codes {
		known = known || c == d.Code
	}
	if !known || d.Message == "" || !utf8.ValidString(d.Field) || utf8.RuneCountInString(d.Field) > maxFieldName+1 {
		t.Fatalf("detail %+v", d)
	}
}

// checkTexts fails the test if a string anywhere in v contains NUL or is not valid UTF-8.
func checkTexts(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); !utf8.ValidString(s) || strings.Contains(s, "\x00") {
			t.Fatalf("accepted %q", s)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			checkTexts(t, v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			checkTexts(t, v.Index(i))
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			checkTexts(t, it.Key())
			checkTexts(t, it.Value())
		}
	}
}
