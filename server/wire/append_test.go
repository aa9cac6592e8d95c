package wire

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"punchcard/store"
)

type base struct {
	ID        string     `json:"id"`
	CreatedAt store.Time `json:"created_at"`
}

type inner struct {
	Label string `json:"label" min:"1"`
}

type tree struct {
	Name     string  `json:"name"`
	Children []*tree `json:"children"`
}

type sample struct {
	base
	Name     string                 `json:"name"`
	On       bool                   `json:"on"`
	Count    int64                  `json:"count"`
	Small    uint8                  `json:"small"`
	Share    float64                `json:"share"`
	Email    store.Null[string]     `json:"email"`
	Until    store.Null[store.Time] `json:"until"`
	Points   store.Null[int64]      `json:"points"`
	Rate     store.Null[float64]    `json:"rate"`
	Live     store.Null[bool]       `json:"live"`
	Tags     []string               `json:"tags"`
	Labels   map[string]string      `json:"labels"`
	Inner    inner                  `json:"inner"`
	Pointer  *inner                 `json:"pointer"`
	List     []inner                `json:"list"`
	Metadata json.RawMessage        `json:"metadata"`
	Any      any                    `json:"any"`
	Note     string                 `json:"note,omitempty"`
	Marks    []string               `json:"marks,omitempty"`
	Secret   string                 `json:"-"`
}

func TestAppend(t *testing.T) {
	at := store.TimeOf(time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC))
	full := sample{
		base: base{"crd_1", at}, Name: "Ann", On: true, Count: -3, Small: 255, Share: 0.5,
		Email: store.Some("a@b.it"), Until: store.Some(at), Points: store.Some(int64(7)),
		Rate: store.Some(1e21), Live: store.Some(false),
		Tags: []string{"x", "y"}, Labels: map[string]string{"it": "i", "en": "e"},
		Inner: inner{"in"}, Pointer: &inner{"p"}, List: []inner{{"l"}},
		Metadata: json.RawMessage(`{ "k" : 1 }`), Any: map[string]any{"b": 1, "a": []any{nil, "s", 2.5}},
		Note: "n", Marks: []string{"m"}, Secret: "s",
	}
	for _, c := range []struct {
		name string
		v    any
		want string
	}{
		{"full", &full, `{"id":"crd_1","created_at":"2026-01-02T03:04:05.678Z","name":"Ann","on":true,"count":-3,"small":255,` +
			`"share":0.5,"email":"a@b.it","until":"2026-01-02T03:04:05.678Z","points":7,"rate":1000000000000000000000,"live":false,` +
			`"tags":["x","y"],"labels":{"en":"e","it":"i"},"inner":{"label":"in"},"pointer":{"label":"p"},"list":[{"label":"l"}],` +
			`"metadata":{ "k" : 1 },"any":{"a":[null,"s",2.5],"b":1},"note":"n","marks":["m"]}`},
		{"zero", sample{}, `{"id":"","created_at":"1970-01-01T00:00:00.000Z","name":"","on":false,"count":0,"small":0,` +
			`"share":0,"email":null,"until":null,"points":null,"rate":null,"live":null,` +
			`"tags":[],"labels":{},"inner":{"label":""},"pointer":null,"list":[],"metadata":null,"any":null}`},
		{"nil", nil, `null`},
		{"nil pointer", (*sample)(nil), `null`},
		{"pointer to pointer", new(&inner{"x"}), `{"label":"x"}`},
		{"slice", []inner{{"a"}, {"b"}}, `[{"label":"a"},{"label":"b"}]`},
		{"map", map[string]int{"b": 2, "a": 1}, `{"a":1,"b":2}`},
		{"nil map of any", map[string]any(nil), `{}`},
		{"recursive", tree{"r", []*tree{{Name: "c"}, nil}}, `{"name":"r","children":[{"name":"c","children":[]},null]}`},
		{"all omitted", struct {
			A string `json:"a,omitempty"`
			B int    `json:"b,omitempty"`
		}{}, `{}`},
		{"first omitted", struct {
			A string `json:"a,omitempty"`
			B int    `json:"b"`
		}{}, `{"b":0}`},
		{"raw value", jsontext.Value(`[1]`), `[1]`},
		{"not finite", []float64{math.NaN(), math.Inf(1), math.Inf(-1)}, `[null,null,null]`},
		{"floats", []float64{1, -2.5, 1e20, 1e-7, 0.1, 123456789.125}, `[1,-2.5,100000000000000000000,1e-07,0.1,123456789.125]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(Append([]byte("x"), c.v)); got != "x"+c.want {
				t.Errorf("got  %s\nwant x%s", got, c.want)
			}
		})
	}
}

func TestAppendString(t *testing.T) {
	for in, want := range map[string]string{
		"":                   `""`,
		"plain":              `"plain"`,
		`q"b\`:               `"q\"b\\"`,
		"\n\t\r\x00\x1f\b":   `"\n\t\r\u0000\u001f\u0008"`,
		"<a&b>\u2028\u2029":  "\"<a&b>\u2028\u2029\"",
		"è€😀":                `"è€😀"`,
		"a\xffb\xe2\x82":     "\"a\uFFFDb\uFFFD\uFFFD\"",
		"\uFFFD":             "\"\uFFFD\"",
		"\x7f":               "\"\x7f\"",
		"end\xc3":            "\"end\uFFFD\"",
		"surrogate\xed\xa0x": "\"surrogate\uFFFD\uFFFDx\"",
	} {
		if got := string(AppendString(nil, in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func TestAppendTimeEqualsString(t *testing.T) {
	times := []store.Time{0, -1, 1, 253402300799999, 253402300800000, -62135596800000, -62167219200001}
	for range 500 {
		times = append(times, store.Time(rand.Int64N(4e14)-1e14))
	}
	for _, at := range times {
		if got := string(appendTime(nil, at)); got != at.String() {
			t.Fatalf("%d: got %s, want %s", at, got, at)
		}
	}
}

// plainSample has only types that encoding/json writes the same way.
type plainSample struct {
	S string            `json:"s"`
	B bool              `json:"b"`
	I int32             `json:"i"`
	U uint64            `json:"u"`
	F float64           `json:"f"`
	L []string          `json:"l"`
	M map[string]string `json:"m"`
	P *inner            `json:"p"`
	N map[string][]int  `json:"n"`
	O string            `json:"o,omitempty"`
}

func TestAppendEqualsEncodingJSON(t *testing.T) {
	text := func() string {
		b := make([]byte, rand.IntN(12))
		for i := range b {
			b[i] = byte(rand.IntN(256))
		}
		return string(b)
	}
	for range 500 {
		v := plainSample{
			S: text(), B: rand.IntN(2) == 0, I: rand.Int32() - 1<<30, U: rand.Uint64(),
			F: (rand.Float64() - 0.5) * math.Pow10(rand.IntN(40)-20),
			L: []string{text(), text()}, M: map[string]string{text(): text()},
			N: map[string][]int{"n": {rand.Int(), 1}}, O: text(),
		}
		if rand.IntN(2) == 0 {
			v.P = &inner{text()}
		}
		want, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		got := Append(nil, &v)
		var a, b any
		if err := json.Unmarshal(got, &a); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		json.Unmarshal(want, &b)
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}

func TestAppendPanics(t *testing.T) {
	for name, v := range map[string]any{
		"no tag":         struct{ A string }{},
		"unexported":     struct{ a string }{},
		"unexported tag": structOf(reflect.StructField{Name: "a", PkgPath: "p", Type: reflect.TypeFor[int](), Tag: `json:"a"`}),
		"name twice": structOf(
			reflect.StructField{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"a"`},
			reflect.StructField{Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"a"`}),
		"option": struct {
			A int `json:"a,string"`
		}{},
		"bytes":    []byte("x"),
		"function": func() {},
		"channel":  make(chan int),
		"foreign":  struct{ time.Time }{},
		"int keys": map[int]string{},
	} {
		mustPanic(t, name, func() { Append(nil, v) })
	}
}

// structOf returns a struct with fields that go vet would refuse.
func structOf(fields ...reflect.StructField) any {
	return reflect.Zero(reflect.StructOf(fields)).Interface()
}

// mustPanic fails the test if f does not panic.
func mustPanic(t *testing.T, name string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s: no panic", name)
		}
	}()
	f()
}

func TestAppendConcurrentFirstUse(t *testing.T) {
	type fresh struct {
		Next []*fresh `json:"next"`
	}
	done := make(chan string)
	for range 8 {
		go func() { done <- string(Append(nil, []*fresh{{Next: []*fresh{{}}}})) }()
	}
	for range 8 {
		if got := <-done; got != `[{"next":[{"next":[]}]}]` {
			t.Error(got)
		}
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	v := &struct {
		base
		Holder   store.Null[string]     `json:"holder_name"`
		Expires  store.Null[store.Time] `json:"expires_at"`
		Stamps   int64                  `json:"stamps_count"`
		Locked   bool                   `json:"locked"`
		Metadata json.RawMessage        `json:"metadata"`
	}{base{"crd_1", 1}, store.Some("Ann"), store.Some(store.Time(2)), 4, true, json.RawMessage(`{"source":"web"}`)}
	b := Append(nil, v)
	if n := testing.AllocsPerRun(200, func() { b = Append(b[:0], v) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
