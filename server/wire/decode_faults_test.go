package wire

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"punchcard/store"
)

func TestDecodeBodyFaults(t *testing.T) {
	nested := func(n int) string {
		return `{"x":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
	}
	type fault struct{ field, code, message string }
	faults := map[string]fault{
		`[]`:                               {"", "invalid_type", "the body must be a JSON object"},
		`[{"a":1}]`:                        {"", "invalid_type", "the body must be a JSON object"},
		`null`:                             {"", "invalid_type", "the body must be a JSON object"},
		`"x"`:                              {"", "invalid_type", "the body must be a JSON object"},
		`12`:                               {"", "invalid_type", "the body must be a JSON object"},
		`{"name":"a","name":"b"}`:          {"name", "invalid_value", "appears twice"},
		`{"name":"a","\u006eame":"b"}`:     {"name", "invalid_value", "appears twice"},
		`{"x":[{},{"a/b":{"c":1,"c":2}}]}`: {"x.1.a/b.c", "invalid_value", "appears twice"},
		`{"` + strings.Repeat("k", 200) + `":1,"` + strings.Repeat("k", 200) + `":1}`: {
			strings.Repeat("k", 100) + "…", "invalid_value", "appears twice",
		},
		`{"name":"\u0000"}`:            {"name", "invalid_value", "must not contain the character U+0000"},
		`{"x":["a",{"y":"b\u0000"}]}`:  {"x.1.y", "invalid_value", "must not contain the character U+0000"},
		`{"x":{"\u0000":1}}`:           {"x", "invalid_value", "must not contain the character U+0000"},
		`{"a\u0000":1}`:                {"", "invalid_value", "must not contain the character U+0000"},
		nested(17):                     {"", "invalid_format", "the body must not be nested deeper than 16 levels"},
		strings.Repeat("[", 1<<20):     {"", "invalid_format", "the body must not be nested deeper than 16 levels"},
		strings.Repeat(`{"a":`, 1<<18): {"", "invalid_format", "the body must not be nested deeper than 16 levels"},
	}
	for body, what := range map[string]string{
		`{"a":1,}`:                 "unexpected character at byte 6",
		`{"a":`:                    "it ends too early at byte 5",
		`{`:                        "it ends too early at byte 1",
		`nope`:                     "unexpected character at byte 1",
		`{a:1}`:                    "unexpected character at byte 1",
		`{"a":01}`:                 "unexpected character at byte 6",
		`{"a":NaN}`:                "unexpected character at byte 5",
		"{\"a\":\"\x01\"}":         "unexpected character at byte 6",
		"{\"a\":\"\x00\"}":         "unexpected character at byte 6",
		`{"a":"\x"}`:               "invalid escape sequence at byte 6",
		`{"a":"\ud800"}`:           "invalid escape sequence at byte 6",
		`{"a":"\udc00"}`:           "invalid escape sequence at byte 6",
		`{"a":"\ud800\u0041"}`:     "invalid escape sequence at byte 6",
		"{\"a\":\"\xff\"}":         "invalid UTF-8 at byte 6",
		"{\"a\":\"\xed\xa0\x80\"}": "invalid UTF-8 at byte 6",
		"\xEF\xBB\xBF{}":           "it starts with a byte order mark at byte 0",
		"\xFF\xFE{\x00}\x00":       "invalid UTF-8 at byte 0",
		"{\x00}\x00":               "unexpected character at byte 1",
		`{} {}`:                    "it goes on after its end at byte 3",
		`{}x`:                      "it goes on after its end at byte 2",
		`[] 1`:                     "it goes on after its end at byte 3",
		`[1,`:                      "it ends too early at byte 3",
	} {
		faults[body] = fault{"", CodeInvalidFormat, "the body is not valid JSON: " + what}
	}
	for body, c := range faults {
		want := Detail{Field: c.field, Code: c.code, Message: c.message}
		for _, mode := range []Mode{Create, Patch} {
			if got := DecodeBody([]byte(body), new(request), mode, limits); len(got) != 1 || got[0] != want {
				t.Errorf("%.60q\n got  %+v\n want %+v", body, got, want)
			}
		}
	}
	for _, body := range []string{nested(16), `{"x":"\\u0000"}`, `{"x":"\ud83d\ude00"}`} {
		if got := brief(DecodeBody([]byte(body), new(request), Patch, limits)); got != "x unknown_field" {
			t.Errorf("%s: %s", body, got)
		}
	}
}

func TestDecodeBodyManyFaults(t *testing.T) {
	var b strings.Builder
	b.WriteString("{")
	for i := range 5000 {
		fmt.Fprintf(&b, `"k%d":1,`, i)
	}
	unknown := b.String()
	details := DecodeBody([]byte(unknown+`"name":1}`), new(request), Create, limits)
	if len(details) != 100 || details[99].Field != "k99" {
		t.Errorf("%d details, last %v", len(details), details[len(details)-1])
	}
	if got := DecodeBody([]byte(full(unknown[1:]+`"on":1`)), new(request), Create, limits); len(got) != 100 {
		t.Errorf("%d details behind known fields", len(got))
	}
	if got := DecodeBody([]byte(unknown+`"k1":1}`), new(request), Create, limits); brief(got) != "k1 invalid_value" {
		t.Errorf("a fault behind many members: %v", got)
	}
	items := `{"tags":[` + strings.TrimSuffix(strings.Repeat("1,", 5000), ",") + `]}`
	if got := DecodeBody([]byte(items), new(request), Patch, limits); len(got) != 100 {
		t.Errorf("%d details", len(got))
	}
}

func TestMessages(t *testing.T) {
	var dst request
	for body, want := range map[string]string{
		`{"name":"123456"}`:      "must be at most 5 characters",
		`{"name":""}`:            "must have at least 1 character",
		`{"email":"secret"}`:     "must be an email address",
		`{"names":{"xx":""}}`:    "must be one of it, en",
		`{"count":1000}`:         "must be at most 100",
		`{"cents":-5}`:           "must be greater than 0",
		`{"lat":99}`:             "must be at most 90.5",
		`{"tags":["","","",""]}`: "must have at most 3 items",
		`{"free":1e30}`:          "must be at most 9223372036854775807",
		`{"code":"SECRET"}`:      "must be lower-case letters",
		`{"metadata":{"a":"` + strings.Repeat("x", 30) + `"}}`: "must be at most 20 bytes of JSON",
	} {
		got := DecodeBody([]byte(body), &dst, Patch, limits)
		if len(got) != 1 || got[0].Message != want {
			t.Errorf("%s: %+v, want %q", body, got, want)
		}
	}
}

func TestDecodePanics(t *testing.T) {
	mustPanic(t, "missing limit", func() { DecodeBody(nil, new(request), Create, nil) })
	mustPanic(t, "not an Opt", func() {
		DecodeBody(nil, new(struct {
			A string `json:"a"`
		}), Create, limits)
	})
	for kind, tags := range map[reflect.Type][]reflect.StructTag{
		reflect.TypeFor[store.Opt[string]](): {
			`max:"1" limit:"name"`, `gt:"1"`, `keys:"it"`, `format:"phone"`, `patch:"maybe"`, `req:"false"`, `pattern:"("`, `max:"x"`,
		},
		reflect.TypeFor[store.Opt[bool]]():       {`min:"1"`},
		reflect.TypeFor[store.Opt[int64]]():      {`enum:"1"`, `max:"1.5"`},
		reflect.TypeFor[store.Opt[store.Time]](): {`format:"email"`},
	} {
		for _, tag := range tags {
			body := reflect.StructOf([]reflect.StructField{{Name: "A", Type: kind, Tag: `json:"a" ` + tag}})
			mustPanic(t, fmt.Sprint(kind, tag), func() { DecodeBody(nil, reflect.New(body).Interface(), Create, limits) })
		}
	}
	mustPanic(t, "unknown type", func() {
		DecodeBody([]byte(`{"a":1}`), new(struct {
			A store.Opt[int8] `json:"a"`
		}), Create, nil)
	})
}
