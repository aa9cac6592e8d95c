package wire

import (
	"math"
	"net/url"
	"reflect"
	"testing"

	"punchcard/store"
)

type query struct {
	Limit  store.Opt[int64]      `json:"limit" min:"1" doc:"Page size."`
	Page   store.Opt[int64]      `json:"page" min:"0" max:"200"`
	Status store.Opt[string]     `json:"status" enum:"active,archived"`
	Email  store.Opt[string]     `json:"holder_email" format:"email"`
	Cursor store.Opt[string]     `json:"cursor" min:"2" limit:"name"`
	From   store.Opt[store.Time] `json:"from"`
	Full   store.Opt[bool]       `json:"full"`
	Near   store.Opt[float64]    `json:"near" gt:"0"`
	Shop   store.Opt[string]     `json:"shop" req:"true"`
}

func TestDecodeQuery(t *testing.T) {
	for text, want := range map[string]string{
		"shop=s":                ``,
		"":                      `shop required`,
		"shop=":                 `shop invalid_value`,
		"shop=a&shop=a":         `shop invalid_value`,
		"shop=s&other=&other=2": ``,
		"shop=s&limit=1":        ``, "shop=s&limit=0": `limit too_small`, "shop=s&limit=-3": `limit too_small`,
		"shop=s&limit=": `limit invalid_value`, "shop=s&limit=1&limit=2": `limit invalid_value`,
		"shop=s&limit=x": `limit invalid_type`, "shop=s&limit=1.0": `limit invalid_type`, "shop=s&limit=1e2": `limit invalid_type`,
		"shop=s&limit=%2B5": `limit invalid_type`, "shop=s&limit=+5": `limit invalid_type`, "shop=s&limit=-": `limit invalid_type`,
		"shop=s&limit=99999999999999999999": ``, "shop=s&limit=-99999999999999999999": `limit too_small`,
		"shop=s&page=0": ``, "shop=s&page=201": `page too_large`, "shop=s&page=99999999999999999999": `page too_large`,
		"shop=s&status=active": ``, "shop=s&status=x": `status invalid_value`,
		"shop=s&holder_email=x": `holder_email invalid_format`,
		"shop=s&cursor=a":       `cursor too_short`, "shop=s&cursor=abcdef": `cursor too_long`,
		"shop=s&cursor=a%00b": `cursor invalid_value`, "shop=s&cursor=a%ffb": `cursor invalid_value`,
		"shop=s&from=2026-01-02T03:04:05Z": ``, "shop=s&from=2026-01-02": `from invalid_format`,
		"shop=s&full=true": ``, "shop=s&full=1": `full invalid_type`,
		"shop=s&near=0.5": ``, "shop=s&near=0": `near too_small`, "shop=s&near=1e999": `near too_large`,
		"shop=s&near=NaN": `near invalid_type`, "shop=s&near=Inf": `near invalid_type`, "shop=s&near=0x1p2": `near invalid_type`,
		"limit=0&status=x&from=x": `limit too_small; status invalid_value; from invalid_format; shop required`,
	} {
		q, err := url.ParseQuery(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := brief(DecodeQuery(q, new(query), limits)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	q, _ := url.ParseQuery("shop=s&limit=99999999999999999999&full=false&near=-0&from=1970-01-01T00:00:01Z")
	q.Set("near", "2")
	var dst query
	DecodeQuery(q, &dst, limits)
	want := query{Shop: opt("s"), Limit: opt(int64(math.MaxInt64)), Full: opt(false), Near: opt(2.0), From: opt(store.Time(1000))}
	if !reflect.DeepEqual(dst, want) {
		t.Errorf("got %+v, want %+v", dst, want)
	}
	mustPanic(t, "list", func() {
		var dst struct {
			A store.Opt[[]string] `json:"a"`
		}
		DecodeQuery(url.Values{"a": {"x"}}, &dst, nil)
	})
}

func FuzzDecodeQuery(f *testing.F) {
	for _, s := range []string{"", "shop=s", "limit=5&page=1&shop=%00", "near=1e5&near=",
		"from=2026-01-02T03:04:05%2B01:00&shop=%ff&full=true",
		"status=active&holder_email=a@b.it&cursor=abc&shop=x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := url.ParseQuery(s)
		if err != nil {
			return
		}
		var dst query
		details := DecodeQuery(q, &dst, limits)
		for _, d := range details {
			checkDetail(t, d)
		}
		if details == nil {
			checkTexts(t, reflect.ValueOf(dst))
			if !dst.Shop.Set || dst.Limit.Set && dst.Limit.V < 1 || dst.Page.V < 0 || dst.Page.V > 200 || dst.Near.Set && dst.Near.V <= 0 {
				t.Fatalf("accepted %+v", dst)
			}
		}
	})
}
