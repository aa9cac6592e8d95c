package kernel

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	"punchcard/store"
)

// Answers have fields that viewers do not see: addresses of holders, and what webhooks
// send. What they see instead is declared for the column of the same name in
// store/personal.go. A field without a column that viewers do not see has the struct tag
// viewer:"hidden".
//
// A masked field is a string or a store.Null[string], a hidden one may also be a
// []string or a json.RawMessage. Every other type panics, which TestViewersSeeNoContacts in
// server/operation would show.

// seesContacts reports whether the caller sees such fields.
func (c *Caller) seesContacts() bool { return c.Kind != Person || c.Role >= Manager }

// sight returns what viewers see of a field.
func sight(f reflect.StructField) store.Sight {
	if f.Tag.Get("viewer") == "hidden" {
		return store.Hidden
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return store.ViewersSee(name)
}

// ViewersSee reports whether viewers see a field of an answer as it is.
func ViewersSee(f reflect.StructField) bool { return sight(f) == store.Whole }

// redactable caches which types have such fields, at any depth.
var redactable sync.Map // of reflect.Type to bool

func hasRedactable(t reflect.Type) bool {
	if known, ok := redactable.Load(t); ok {
		return known.(bool)
	}
	redactable.Store(t, false) // of a type that contains itself
	found := false
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		found = hasRedactable(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			found = found || !ViewersSee(f) || (f.IsExported() || f.Anonymous) && hasRedactable(f.Type)
		}
	}
	redactable.Store(t, found)
	return found
}

// redact changes an answer, to which v points, to what a viewer sees.
func redact(v reflect.Value) {
	if !hasRedactable(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			redact(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			redact(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			switch sight(f) {
			case store.Masked:
				maskField(v.Field(i).Addr().Interface())
			case store.Hidden, store.Unseen:
				hideField(v.Field(i).Addr().Interface())
			default:
				if f.IsExported() || f.Anonymous {
					redact(v.Field(i))
				}
			}
		}
	}
}

func maskField(field any) {
	switch f := field.(type) {
	case *string:
		*f = MaskAddress(*f)
	case *store.Null[string]:
		f.V = MaskAddress(f.V)
	default:
		panic("kernel: a masked field must be a text")
	}
}

func hideField(field any) {
	switch f := field.(type) {
	case *string:
		*f = ""
	case *store.Null[string]:
		*f = store.Null[string]{}
	case *[]string:
		*f = []string{}
	case *json.RawMessage:
		*f = json.RawMessage("{}")
	default:
		panic("kernel: a hidden field must be a text, texts or JSON")
	}
}

// MaskAddress returns an address such as a***@e***.com, and a phone number such as ***78. Texts that
// are neither stay as they are.
func MaskAddress(text string) string {
	if digits, ok := strings.CutPrefix(text, "+"); ok && len(digits) > 2 && strings.Trim(digits, "0123456789") == "" {
		return "***" + digits[len(digits)-2:]
	}
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return text
	}
	local, domain := text[:at], text[at+1:]
	end := ""
	if dot := strings.LastIndexByte(domain, '.'); dot > 0 {
		domain, end = domain[:dot], domain[dot:]
	}
	return firstCharacter(local) + "***@" + firstCharacter(domain) + "***" + end
}

func firstCharacter(text string) string {
	_, size := utf8.DecodeRuneInString(text)
	return text[:size]
}
