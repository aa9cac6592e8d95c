package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"punchcard/store"
)

type shared struct {
	Ref store.Opt[string] `json:"external_ref" max:"10" patch:"nullable" doc:"The shop's own key."`
}

type request struct {
	Name     store.Opt[string]            `json:"name" req:"true" min:"1" limit:"name"`
	Kind     store.Opt[string]            `json:"kind" req:"true" enum:"stamp,prepaid" patch:"not_allowed"`
	Email    store.Opt[string]            `json:"email" format:"email" patch:"nullable"`
	URL      store.Opt[string]            `json:"url" format:"url"`
	Secure   store.Opt[string]            `json:"secure" format:"https-url"`
	Color    store.Opt[string]            `json:"color" format:"hex-color"`
	Country  store.Opt[string]            `json:"country" format:"country"`
	Day      store.Opt[string]            `json:"day" format:"date"`
	Code     store.Opt[string]            `json:"code" pattern:"^[a-z]+$" words:"must be lower-case letters" min:"2"`
	On       store.Opt[bool]              `json:"on"`
	Count    store.Opt[int64]             `json:"count" min:"1" max:"100"`
	Free     store.Opt[int64]             `json:"free"`
	Cents    store.Opt[int64]             `json:"cents" gt:"0"`
	Lat      store.Opt[float64]           `json:"lat" min:"-90" max:"90.5"`
	Any      store.Opt[float64]           `json:"any" gt:"-1e300"`
	At       store.Opt[store.Time]        `json:"at" patch:"nullable"`
	Tags     store.Opt[[]string]          `json:"tags" min:"1" max:"3" patch:"default"`
	Names    store.Opt[map[string]string] `json:"names" keys:"it,en" min:"1" limit:"name" patch:"default"`
	Headers  store.Opt[map[string]string] `json:"headers"`
	Metadata store.Opt[json.RawMessage]   `json:"metadata" max:"20" patch:"default"`
	shared
}

var limits = Limits{"name": 5}

// full returns the smallest valid create body with more members.
func full(more string) string { return `{"name":"n","kind":"stamp",` + more + `}` }

// brief returns details as "field code" pairs.
func brief(details []Detail) string {
	var list []string
	for _, d := range details {
		list = append(list, d.Field+" "+d.Code)
	}
	return strings.Join(list, "; ")
}

// createBodies are bodies to create a request with, and the details of what is wrong with them.
var createBodies = map[string]string{
	`{}`:                        `name required; kind required`,
	``:                          `name required; kind required`,
	" \r\n\t":                   `name required; kind required`,
	`{"kind":null,"name":null}`: `kind required; name required`,
	`{"x":1,"on":3,"kind":"stamp","y":{"a":[1]}}`:              `x unknown_field; on invalid_type; y unknown_field; name required`,
	`{"name":"","kind":"stamp"}`:                               `name too_short`,
	`{"name":"èèèèè","kind":"stamp"}`:                          ``,
	`{"name":"èèèèèè","kind":"stamp"}`:                         `name too_long`,
	`{"name":"\u00e8\u00e8\u00e8\u00e8\u00e8","kind":"stamp"}`: ``,
	`{"name":5,"kind":"other"}`:                                `name invalid_type; kind invalid_value`,
	`{"name":["n"],"kind":""}`:                                 `name invalid_type; kind invalid_value`,
}

// createMembers are members of such bodies beside the required ones.
var createMembers = map[string]string{
	`"on":true`:                            ``,
	`"` + strings.Repeat("é", 101) + `":1`: strings.Repeat("é", 100) + `… unknown_field`,
	`"` + strings.Repeat("é", 100) + `":1`: strings.Repeat("é", 100) + ` unknown_field`,
	`"email":"a@b.it"`:                     ``, `"email":"a.b+c@x-y.example.com"`: ``, `"email":"é@bücher.example"`: ``,
	`"email":"a"`: `email invalid_format`, `"email":"@b.it"`: `email invalid_format`,
	`"email":"a@b"`: `email invalid_format`, `"email":"a@-b.it"`: `email invalid_format`,
	`"email":"a..b@b.it"`: `email invalid_format`, `"email":"a b@b.it"`: `email invalid_format`,
	`"email":"a@b.it\r\nx"`: `email invalid_format`, `"email":"A <a@b.it>"`: `email invalid_format`,
	`"email":"a@b..it"`: `email invalid_format`, `"email":""`: `email too_short`,
	`"email":"a\u202e@b.it"`:                          `email invalid_format`,
	`"email":"` + strings.Repeat("a", 65) + `@b.it"`:  `email invalid_format`,
	`"email":"a@` + strings.Repeat("b", 64) + `.it"`:  `email invalid_format`,
	`"email":"a@` + strings.Repeat("b.", 130) + `it"`: `email invalid_format`,
	`"url":"https://a.it/x?y#z"`:                      ``, `"url":"http://127.0.0.1:80"`: ``, `"url":"HTTP://[::1]:8080/"`: ``,
	`"url":"/x"`: `url invalid_format`, `"url":"ftp://a.it"`: `url invalid_format`,
	`"url":"https://"`: `url invalid_format`, `"url":"https:a.it"`: `url invalid_format`,
	`"url":"https://u:p@a.it"`: `url invalid_format`, `"url":"https://@a.it"`: `url invalid_format`,
	`"url":"https://a.it/ x"`: `url invalid_format`, `"url":"https://a.it\\x"`: `url invalid_format`,
	`"url":"https://a.it:99999"`: `url invalid_format`, `"url":"https://:80"`: `url invalid_format`,
	`"url":"https://a.it/\u0001"`: `url invalid_format`, `"url":"//a.it"`: `url invalid_format`,
	`"secure":"https://a.it"`: ``, `"secure":"http://a.it"`: `secure invalid_value`,
	`"secure":"a.it"`:   `secure invalid_format`,
	`"color":"#00ffAA"`: ``, `"color":"#00ffAG"`: `color invalid_format`, `"color":"00ffAA"`: `color invalid_format`,
	`"color":"#fff"`: `color invalid_format`,
	`"country":"IT"`: ``, `"country":"it"`: `country invalid_format`, `"country":"ITA"`: `country invalid_format`,
	`"day":"2028-02-29"`: ``, `"day":"2026-02-29"`: `day invalid_format`, `"day":"2026-2-9"`: `day invalid_format`,
	`"day":"0000-01-01"`: `day invalid_format`,
	`"code":"ab"`:        ``, `"code":"a"`: `code too_short`, `"code":"aB"`: `code invalid_format`,
	`"on":false`: ``, `"on":"true"`: `on invalid_type`, `"on":0`: `on invalid_type`,
	`"count":1`: ``, `"count":100`: ``, `"count":1.0`: ``, `"count":1e2`: ``, `"count":200e-1`: ``, `"count":0.5e1`: ``,
	`"count":0`: `count too_small`, `"count":-0`: `count too_small`, `"count":101`: `count too_large`,
	`"count":0e999999999999999999999`: `count too_small`, `"count":1.5`: `count invalid_type`,
	`"count":1e-1`: `count invalid_type`, `"count":1e-99999999999999999999`: `count invalid_type`,
	`"count":1e400`: `count too_large`, `"count":-1e400`: `count too_small`,
	`"count":` + strings.Repeat("9", 400): `count too_large`, `"count":"1"`: `count invalid_type`,
	`"count":true`:               `count invalid_type`,
	`"free":9223372036854775807`: ``, `"free":-9223372036854775808`: ``, `"free":-9223372036854775808.0`: ``,
	`"free":922337203685477580700e-2`: ``, `"free":9223372036854775808`: `free too_large`,
	`"free":-9223372036854775809`: `free too_small`, `"free":9223372036854775808.0`: `free too_large`,
	`"free":1e99999999999999999999`: `free too_large`,
	`"cents":1`:                     ``, `"cents":0`: `cents too_small`, `"cents":-1e30`: `cents too_small`,
	`"cents":1e30`: `cents too_large`,
	`"lat":90.5`:   ``, `"lat":-90`: ``, `"lat":90.51`: `lat too_large`, `"lat":-90.1`: `lat too_small`,
	`"lat":1e999`: `lat too_large`, `"lat":-1e999`: `lat too_small`, `"lat":"1"`: `lat invalid_type`,
	`"any":1e308`: ``, `"any":1e309`: `any too_large`, `"any":-1e300`: `any too_small`, `"any":1e-400`: ``,
	`"at":"2026-01-02T03:04:05Z"`: ``, `"at":5`: `at invalid_type`, `"at":""`: `at invalid_format`,
	`"tags":["a","b"]`: ``, `"tags":[]`: `tags too_short`, `"tags":["","","",""]`: `tags too_many`,
	`"tags":["a",1,null]`: `tags.1 invalid_type; tags.2 invalid_type`, `"tags":"a"`: `tags invalid_type`,
	`"tags":{}`:                   `tags invalid_type`,
	`"names":{"it":"a","en":"b"}`: ``, `"names":{}`: ``,
	`"names":{"xx":"a","it":"123456","en":null}`: `names.xx unknown_field; names.it too_long; names.en invalid_type`,
	`"names":{"it":""}`:                          `names.it too_short`, `"names":[]`: `names invalid_type`,
	`"headers":{"A":"b"}`: ``, `"headers":{"A":{"b":1}}`: `headers.A invalid_type`,
	`"metadata":{"a":[1,{"b":2}]}`: ``, `"metadata":[1]`: `metadata invalid_type`, `"metadata":{"a":[1e308]}`: ``,
	`"metadata":{"a":[-1e309]}`: `metadata invalid_value`, `"metadata":{"a":1e-999}`: ``,
	`"metadata":"{}"`: `metadata invalid_type`, `"metadata":{"a":"23456789012345"}`: `metadata too_large`,
	`"metadata":{ "a" :     "234567890123" }`: ``,
	`"external_ref":"12345678901"`:            `external_ref too_long`,
	`"on":null,"count":null,"tags":null,"metadata":null,"email":null,"names":null,"at":null`: ``,
}

func TestDecodeBodyRules(t *testing.T) {
	bodies := maps.Clone(createBodies)
	for member, want := range createMembers {
		bodies[full(member)] = want
	}
	for body, want := range bodies {
		if got := brief(DecodeBody([]byte(body), new(request), Create, limits)); got != want {
			t.Errorf("%.150s\n got  %s\n want %s", body, got, want)
		}
	}
}

func TestDecodeBodyPatch(t *testing.T) {
	for body, want := range map[string]string{
		``: ``, `{}`: ``, `{"name":"n"}`: ``, `{"name":null}`: `name invalid_type`, `{"on":null}`: `on invalid_type`,
		`{"kind":"stamp"}`: `kind not_allowed`, `{"kind":null}`: `kind not_allowed`, `{"kind":7}`: `kind not_allowed`,
		`{"email":null,"tags":null,"at":null,"external_ref":null}`: ``,
		`{"names":{"it":null}}`: `names.it invalid_type`,
	} {
		if got := brief(DecodeBody([]byte(body), new(request), Patch, limits)); got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
	}
	var dst request
	DecodeBody([]byte(`{"email":null,"tags":null,"at":null,"external_ref":null}`), &dst, Patch, limits)
	if !dst.Email.Set || !dst.Email.Null || !dst.Tags.Null || !dst.Tags.Set || !dst.At.Null || !dst.Ref.Null || dst.Name.Set {
		t.Errorf("%+v", dst)
	}
	dst = request{}
	DecodeBody([]byte(full(`"email":null,"tags":null`)), &dst, Create, limits)
	if dst.Email != (store.Opt[string]{}) || dst.Tags.Set || dst.Tags.Null {
		t.Errorf("null in Create: %+v", dst)
	}
}

func TestDecodeBodyValues(t *testing.T) {
	var dst request
	body := []byte(` {"name":"a\"\u00e8","kind":"stamp","on":true,"count":1e1,"lat":-0.0,"at":"2026-01-02T03:04:05.678+01:00",
		"tags":["x","\ud83d\ude00"],"names":{"it":"i"},"metadata":{ "k" : [ 1 , 2 ] },"external_ref":"r"} `)
	if details := DecodeBody(body, &dst, Create, limits); details != nil {
		t.Fatal(details)
	}
	clear(body) // the result must not refer to body
	want := request{
		Name: opt(`a"è`), Kind: opt("stamp"), On: opt(true), Count: opt(int64(10)), Lat: opt(0.0),
		At:   opt(store.TimeOf(time.Date(2026, 1, 2, 2, 4, 5, 678e6, time.UTC))),
		Tags: opt([]string{"x", "😀"}), Names: opt(map[string]string{"it": "i"}),
		Metadata: opt(json.RawMessage(`{"k":[1,2]}`)), shared: shared{Ref: opt("r")},
	}
	if !reflect.DeepEqual(dst, want) {
		t.Errorf("got  %+v\nwant %+v", dst, want)
	}
	if s := fmt.Sprint(dst.Lat.V); s != "0" {
		t.Errorf("-0.0 reads as %s", s)
	}
}

func opt[T any](v T) store.Opt[T] { return store.Opt[T]{V: v, Set: true} }

type order struct {
	Lines store.Opt[[]*line] `json:"lines" req:"true" min:"1" max:"3"`
}

type line struct {
	noted `omit:"note"`
	Name  store.Opt[string]          `json:"name" req:"true" min:"1"`
	Parts store.Opt[[]*part]         `json:"parts" max:"2"`
	Extra store.Opt[json.RawMessage] `json:"extra"`
}

type noted struct {
	Note store.Opt[string] `json:"note"`
	Ref  store.Opt[string] `json:"external_ref"`
}

type part struct {
	Count store.Opt[int64] `json:"count" max:"9"`
}

// TestDecodeLists checks lists of objects: the paths of details, the bounds, and the maximum depth,
// which grows by two levels for each list.
func TestDecodeLists(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for body, want := range map[string]string{
		`{"lines":[{"name":"a","parts":[{"count":9},{}]},{"name":"b","parts":null,"external_ref":"r"}]}`: "",
		`{}`:                              "lines required",
		`{"lines":null}`:                  "lines required",
		`{"lines":[]}`:                    "lines too_short",
		`{"lines":{}}`:                    "lines invalid_type",
		`{"lines":[{"name":"a"},7,null]}`: "lines.1 invalid_type; lines.2 invalid_type",
		`{"lines":[{},{},{},{}]}`:         "lines too_many",
		`{"lines":[{"name":"a"},{"name":"","note":1,"parts":[{"count":10,"x":1}]}]}`: "lines.1.name too_short; lines.1.note " +
			"unknown_field; lines.1.parts.0.count too_large; lines.1.parts.0.x unknown_field",
		`{"lines":[{"name":"a","extra":` + deep(17) + `}]}`:              "",
		`{"lines":[{"name":"a","parts":[{}],"extra":` + deep(18) + `}]}`: " invalid_format",
	} {
		var dst order
		if got := brief(DecodeBody([]byte(body), &dst, Create, limits)); got != want {
			t.Errorf("%s\n got  %s\n want %s", body, got, want)
		} else if got == "" && (!dst.Lines.Set || dst.Lines.V[0].Name.V != "a") {
			t.Errorf("%s: %+v", body, dst)
		}
	}
}

func TestParseTime(t *testing.T) {
	for in, want := range map[string]string{
		"2026-01-02T03:04:05Z":                "2026-01-02T03:04:05.000Z",
		"2026-01-02t03:04:05.6z":              "2026-01-02T03:04:05.600Z",
		"2026-01-02T03:04:05.678999999+02:30": "2026-01-02T00:34:05.678Z",
		"2026-01-02T03:04:05.1239999999999Z":  "2026-01-02T03:04:05.123Z",
		"2026-01-02T03:04:05-23:59":           "2026-01-03T03:03:05.000Z",
		"2026-01-02T03:04:05-00:00":           "2026-01-02T03:04:05.000Z",
		"1969-12-31T23:59:59.9999Z":           "1969-12-31T23:59:59.999Z",
		"0001-01-01T00:00:00Z":                "0001-01-01T00:00:00.000Z",
		"9999-12-31T23:59:59.999Z":            "9999-12-31T23:59:59.999Z",
		"2028-02-29T00:00:00Z":                "2028-02-29T00:00:00.000Z",
	} {
		if at, ok := parseTime(in); !ok || at.String() != want {
			t.Errorf("%q: got %q, %t, want %q", in, at, ok, want)
		}
	}
	for _, in := range []string{
		"0000-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "2026-02-29T00:00:00Z",
		"2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-02T24:00:00Z",
		"2026-01-02T03:60:00Z", "2026-01-02T23:59:60Z", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z",
		"2026-01-02T03:04:05.Z", "2026-01-02T03:04:05,5Z", "2026-01-02T03:04:05+24:00",
		"2026-01-02T03:04:05+01:60", "2026-01-02T03:04:05+0100", "2026-01-02T03:04:05+01", "2026-01-02T03:04:05ZZ",
		"2026-01-02", "", "2026-1-02T03:04:05Z", "+026-01-02T03:04:05Z", "2026-01-02T3:04:05Z", "２026-01-02T03:04:05Z",
		"2026-01-02T03:04Z", "2026-01-02T03:04:05+a1:00",
	} {
		if at, ok := parseTime(in); ok {
			t.Errorf("%q is read as %s", in, at)
		}
	}
}
