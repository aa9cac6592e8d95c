package wire

import (
	"fmt"
	"strings"
	"testing"

	"punchcard/store"
)

func TestDecodeBodyFaults(t *testing.T) {
	nested := func(n int) string {
		return `{"x":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
	}
	const json = "the body is not valid JSON: "
	for _, c := range []struct{ body, field, code, message string }{
		{`{"a":1,}`, "", "invalid_format", json + "unexpected character at byte 6"},
		{`{"a":`, "", "invalid_format", json + "it ends too early at byte 5"},
		{`{`, "", "invalid_format", json + "it ends too early at byte 1"},
		{`nope`, "", "invalid_format", json + "unexpected character at byte 1"},
		{`{a:1}`, "", "invalid_format", json + "unexpected character at byte 1"},
		{`{"a":01}`, "", "invalid_format", json + "unexpected character at byte 6"},
		{`{"a":NaN}`, "", "invalid_format", json + "unexpected character at byte 5"},
		{"{\"a\":\"\x01\"}", "", "invalid_format", json + "unexpected character at byte 6"},
		{"{\"a\":\"\x00\"}", "", "invalid_format", json + "unexpected character at byte 6"},
		{`{"a":"\x"}`, "", "invalid_format", json + "invalid escape sequence at byte 6"},
		{`{"a":"\ud800"}`, "", "invalid_format", json + "invalid escape sequence at byte 6"},
		{`{"a":"\udc00"}`, "", "invalid_format", json + "invalid escape sequence at byte 6"},
		{`{"a":"\ud800\u0041"}`, "", "invalid_format", json + "invalid escape sequence at byte 6"},
		{"{\"a\":\"\xff\"}", "", "invalid_format", json + "invalid UTF-8 at byte 6"},
		{"{\"a\":\"\xed\xa0\x80\"}", "", "invalid_format", json + "invalid UTF-8 at byte 6"},
		{"\xEF\xBB\xBF{}", "", "invalid_format", json + "it starts with a byte order mark at byte 0"},
		{"\xFF\xFE{\x00}\x00", "", "invalid_format", json + "invalid UTF-8 at byte 0"},
		{"{\x00}\x00", "", "invalid_format", json + "unexpected character at byte 1"},
		{`{} {}`, "", "invalid_format", json + "it goes on after its end at byte 3"},
		{`{}x`, "", "invalid_format", json + "it goes on after its end at byte 2"},
		{`[] 1`, "", "invalid_format", json + "it goes on after its end at byte 3"},
		{`[]`, "", "invalid_type", "the body must be a JSON object"},
		{`[{"a":1}]`, "", "invalid_type", "the body must be a JSON object"},
		{`null`, "", "invalid_type", "the body must be a JSON object"},
		{`"x"`, "", "invalid_type", "the body must be a JSON object"},
		{`12`, "", "invalid_type", "the body must be a JSON object"},
		{`[1,`, "", "invalid_format", json + "it ends too early at byte 3"},
		{`{"name":"a","name":"b"}`, "name", "invalid_value", "appears twice"},
		{`{"name":"a","\u006eame":"b"}`, "name", "invalid_value", "appears twice"},
		{`{"x":[{},{"a/b":{"c":1,"c":2}}]}`, "x.1.a/b.c", "invalid_value", "appears twice"},
		{`{"` + strings.Repeat("k", 200) + `":1,"` + strings.Repeat("k", 200) + `":1}`, strings.Repeat("k", 100) + "…", "invalid_value", "appears twice"},
		{`{"name":"\u0000"}`, "name", "invalid_value", "must not contain the character U+0000"},
		{`{"x":["a",{"y":"b\u0000"}]}`, "x.1.y", "invalid_value", "must not contain the character U+0000"},
		{`{"x":{"\u0000":1}}`, "x", "invalid_value", "must not contain the character U+0000"},
		{`{"a\u0000":1}`, "", "invalid_value", "must not contain the character U+0000"},
		{nested(17), "", "invalid_format", "the body must not be nested deeper than 16 levels"},
		{strings.Repeat("[", 1<<20), "", "invalid_format", "the body must not be nested deeper than 16 levels"},
		{strings.Repeat(`{"a":`, 1<<18), "", "invalid_format", "the body must not be nested deeper than 16 levels"},
	} {
		for _, mode := range []Mode{Create, Patch} {
			var dst request
			got := DecodeBody([]byte(c.body), &dst, mode, limits)
			if len(got) != 1 || got[0] != (Detail{Field: c.field, Code: c.code, Message: c.message}) {
				t.Errorf("%.60q\n got  %+v\n want %+v", c.body, got, c)
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
	for name, dst := range map[string]any{
		"not an Opt": new(struct {
			A string `json:"a"`
		}),
		"limit and max": new(struct {
			A store.Opt[string] `json:"a" max:"1" limit:"name"`
		}),
		"min on bool": new(struct {
			A store.Opt[bool] `json:"a" min:"1"`
		}),
		"gt on string": new(struct {
			A store.Opt[string] `json:"a" gt:"1"`
		}),
		"enum on int": new(struct {
			A store.Opt[int64] `json:"a" enum:"1"`
		}),
		"keys on string": new(struct {
			A store.Opt[string] `json:"a" keys:"it"`
		}),
		"unknown format": new(struct {
			A store.Opt[string] `json:"a" format:"phone"`
		}),
		"format on time": new(struct {
			A store.Opt[store.Time] `json:"a" format:"email"`
		}),
		"unknown patch": new(struct {
			A store.Opt[string] `json:"a" patch:"maybe"`
		}),
		"req false": new(struct {
			A store.Opt[string] `json:"a" req:"false"`
		}),
		"bad pattern": new(struct {
			A store.Opt[string] `json:"a" pattern:"("`
		}),
		"fraction on int": new(struct {
			A store.Opt[int64] `json:"a" max:"1.5"`
		}),
		"bad bound": new(struct {
			A store.Opt[string] `json:"a" max:"x"`
		}),
	} {
		mustPanic(t, name, func() { DecodeBody(nil, dst, Create, limits) })
	}
	mustPanic(t, "unknown type", func() {
		DecodeBody([]byte(`{"a":1}`), new(struct {
			A store.Opt[int8] `json:"a"`
		}), Create, nil)
	})
}
