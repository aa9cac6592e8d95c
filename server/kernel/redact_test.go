package kernel

import (
	"encoding/json"
	"reflect"
	"testing"

	"punchcard/store"
)

func TestMaskAddress(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "customer 7": "customer 7", "ada@example.com": "a***@e***.com", "a@b": "a***@b***", "@": "***@***",
		"élan@ü.example.co.uk": "é***@ü***.uk",
		"a@b@mail.example":     "a***@m***.example", "a@.com": "a***@.***", "x@y.": "x***@y***.",
	} {
		if got := MaskAddress(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	type contact struct {
		Email store.Null[string] `json:"holder_email"`
		Other store.Null[string] `viewer:"hidden"`
		Name  string
		Next  *contact
	}
	type answer struct {
		contact
		Inner contact
		List  []contact
		Body  json.RawMessage `viewer:"hidden"`
		Text  string          `json:"external_ref"`
		Code  string          `viewer:"hidden"`
		Items [2]*contact
		None  *contact
	}
	one := func(email string) contact {
		return contact{Email: store.Some(email), Other: store.Some("x"), Name: email}
	}
	masked := func(email, name string) contact { return contact{Email: store.Some(email), Name: name} }
	p, chained := one("p@q.r"), one("c@d.e")
	chained.Next = &p
	got := answer{
		contact: one("i@j.k"),
		Inner:   chained,
		List:    []contact{one("ada@example.com"), {}},
		Body:    json.RawMessage(`{"a":1}`),
		Text:    "b@c.d",
		Code:    "secret",
		Items:   [2]*contact{{Name: "n"}, nil},
	}
	redact(reflect.ValueOf(&got))
	inner, q := masked("c***@d***.e", "c@d.e"), masked("p***@q***.r", "p@q.r")
	inner.Next = &q
	want := answer{
		contact: masked("i***@j***.k", "i@j.k"),
		Inner:   inner,
		List:    []contact{masked("a***@e***.com", "ada@example.com"), {}},
		Body:    json.RawMessage("{}"),
		Text:    "b***@c***.d",
		Items:   [2]*contact{{Name: "n"}, nil},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}
