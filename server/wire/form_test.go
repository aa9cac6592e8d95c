package wire

import (
	"net/url"
	"reflect"
	"testing"

	"punchcard/store"
)

type form struct {
	Name     store.Opt[string]            `json:"name" min:"1" max:"10" format:"line"`
	Required store.Opt[string]            `json:"required" req:"true" min:"1"`
	Nullable store.Opt[string]            `json:"nullable" patch:"nullable"`
	Count    store.Opt[int64]             `json:"count" min:"1" max:"50" patch:"nullable"`
	Percent  store.Opt[float64]           `json:"percent" gt:"0" max:"100"`
	Open     store.Opt[bool]              `json:"open"`
	IDs      store.Opt[[]string]          `json:"ids" max:"3"`
	Texts    store.Opt[map[string]string] `json:"texts" keys:"it,en" max:"5"`
	At       store.Opt[store.Time]        `json:"at"`
	Rows     store.Opt[[]*formRow]        `json:"rows" max:"2"`
}

type formRow struct {
	Name  store.Opt[string] `json:"name" req:"true" min:"1" max:"5"`
	Count store.Opt[int64]  `json:"count" min:"1"`
}

func TestDecodeForm(t *testing.T) {
	check := func(mode Mode, text, want string) {
		t.Helper()
		values, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := brief(DecodeForm(values, new(form), mode, nil)); got != want {
			t.Errorf("mode %d, %s: got %s, want %s", mode, text, got, want)
		}
	}
	for text, want := range map[string]string{
		"name=&nullable=&count=&percent=&open=&at=": ``, "_key=1&_anything=%ff": ``, "other=1": `other unknown_field`,
		"name.it=1": `name.it unknown_field`, "texts=1": `texts unknown_field`, "name=12345678901": `name too_long`,
		"name=%ff": `name invalid_value`, "texts.it=%ff": `texts.it invalid_value`, "name=a%00b": `name invalid_value`,
		"count=x": `count invalid_type`, "count=1.5": `count invalid_type`, "count=007": ``, "count=0": `count too_small`,
		"count=99999999999999999999": `count too_large`, "percent=12,5": ``, "percent=NaN": `percent invalid_type`,
		"percent=1e1": `percent invalid_type`, "open=on": `open invalid_type`, "at=yesterday": `at invalid_format`,
		"ids=a&ids=b&ids=c&ids=d": `ids too_many`, "texts.xx=a": `texts.xx unknown_field`,
		"texts.it=123456": `texts.it too_long`, "rows=1": `rows unknown_field`, "rows.x.name=a": `rows.x.name unknown_field`,
		"rows.0.other=a": `rows.0.other unknown_field`, "rows.00.name=a": `rows.00.name unknown_field`,
		"rows.0=a": `rows.0 unknown_field`, "rows.0.name=%ff": `rows.0.name invalid_value`,
		"rows.0.name=a&rows.1.count=2": `rows.1.name required`, "rows.0.name=abcdef": `rows.0.name too_long`,
		"rows.0.name=a&rows.0.count=b":              `rows.0.count invalid_type`,
		"rows.0.name=a&rows.1.name=b&rows.2.name=c": `rows too_many`,
	} {
		check(Create, "required=x&"+text, want)
	}
	for text, want := range map[string]string{"required=x": ``, "": `required required`, "required=+": `required required`} {
		check(Create, text, want)
	}
	for text, want := range map[string]string{"": ``, "nullable=&count=": ``, "name=": `name required`, "open=": `open required`} {
		check(Patch, text, want)
	}
	values, _ := url.ParseQuery(
		"required=+two+lines%0D%0A&count=+7+&percent=12,50&open=false&open=true&ids=&ids=a&ids=+&ids=b" +
			"&texts.it=ciao&texts.en=&rows.10.name=b&rows.0.name=a&rows.0.count=7&rows.2.name=+&rows.2.count=",
	)
	var dst form
	DecodeForm(values, &dst, Create, nil)
	want := form{Required: opt(" two lines\n"), Count: opt(int64(7)), Percent: opt(12.5), Open: opt(true), IDs: opt([]string{"a", "b"}),
		Texts: opt(map[string]string{"it": "ciao"}), Rows: opt([]*formRow{{opt("a"), opt(int64(7))}, {Name: opt("b")}})}
	if !reflect.DeepEqual(dst, want) {
		t.Errorf("got %+v, want %+v", dst, want)
	}
	dst = form{}
	DecodeForm(url.Values{"nullable": {""}, "count": {" "}, "ids": {""}, "texts.it": {""}}, &dst, Patch, nil)
	want = form{
		Nullable: store.Opt[string]{Set: true, Null: true},
		Count:    store.Opt[int64]{Set: true, Null: true},
		IDs:      opt([]string{}),
		Texts:    opt(map[string]string{}),
	}
	if !reflect.DeepEqual(dst, want) {
		t.Errorf("got %+v, want %+v", dst, want)
	}
}

// FuzzDecodeForm checks that DecodeForm does not panic, and that Validate finds no fault in a form that
// it accepts.
func FuzzDecodeForm(f *testing.F) {
	f.Add("required=x&name=a&count=7&percent=1,5&open=true&ids=a&ids=b&texts.it=ciao&at=2026-01-02T03:04:05Z&_key=k", true)
	f.Add("name=%ff&count=-0&percent=.&texts.=&ids.0=x&open=on", false)
	f.Fuzz(func(t *testing.T, text string, patch bool) {
		values, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		mode := Create
		if patch {
			mode = Patch
		}
		var dst form
		if DecodeForm(values, &dst, mode, nil) == nil {
			if d := Validate(&dst, mode, nil); d != nil {
				t.Errorf("%q was accepted as %+v, which is invalid: %v", text, dst, d)
			}
		}
	})
}
