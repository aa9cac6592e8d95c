// Package wire converts between Go values and JSON. It encodes responses, decodes
// request bodies and query strings strictly, and derives JSON Schemas from the same
// structs and tags, so that the published description always matches what the
// server accepts.
//
// Request fields are store.Opt; a list of objects is an Opt of a slice of pointers to
// request structs. The struct tags that have a meaning:
//
//	json:"name"      the field's name; json:"name,omitempty" in answers
//	req:"true"       must be given when something is created
//	min, max         characters, items, bytes of an object, or the number itself;
//	                 a text with a pattern or format has a min of 1 at least
//	gt:"0"           the number must be greater
//	limit:"name"     the maximum is the deployment's setting of this name (Limits)
//	enum, keys       the texts, or the keys of a map, that are allowed
//	format           the form of a text, or of the texts of a map: email, url,
//	                 https-url, target-url (of a webhook), date-time, date, hex-color,
//	                 country, or line, which is one line with a visible character
//	pattern, words   the form of a text as a regular expression, and the message for
//	                 texts of another form or length
//	patch:"nullable" null clears the field in a patch; "default" sets its default;
//	                 "not_allowed" refuses the field
//	doc              the description in documents
//	omit:"a,b"       fields of an embedded struct that the outer one does not have
//
// A mistake in a struct's tags is a programming error, and panics when the type is
// first used.
package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"punchcard/store"
	"punchcard/store/event"
)

// Append appends v as JSON to b and returns the extended slice. v is a struct, a
// slice, a map, or a pointer to one; a pointer saves a copy on the heap. Struct
// fields are written in the order of their declaration, with those of embedded
// structs in place; nil slices and maps are written as [] and {}, and NaN and
// infinities as null. Append panics on a type that it cannot write.
func Append(b []byte, v any) []byte {
	return appendDynamic(b, reflect.ValueOf(v))
}

// appender writes one value of the type it was built for.
type appender func(b []byte, v reflect.Value) []byte

// appenders caches the appender of each reflect.Type.
var appenders sync.Map

var (
	typeTime    = reflect.TypeFor[store.Time]()
	typeRaw     = reflect.TypeFor[json.RawMessage]()
	typeValue   = reflect.TypeFor[jsontext.Value]()
	typeStrings = reflect.TypeFor[map[string]string]()
	storePath   = typeTime.PkgPath()
)

// appenderFor returns the appender of a type.
func appenderFor(t reflect.Type) appender {
	if f, ok := appenders.Load(t); ok {
		return f.(appender)
	}
	open := make(map[reflect.Type]*appender)
	buildAppender(t, open)
	// None is cached before all are complete, since those of a recursive type
	// refer to one another.
	for t, f := range open {
		appenders.Store(t, *f)
	}
	return *open[t]
}

// buildAppender returns the appender of t. open has the appenders that are being
// built, by which a recursive type refers to itself.
func buildAppender(t reflect.Type, open map[reflect.Type]*appender) appender {
	if p, ok := open[t]; ok {
		if *p != nil {
			return *p
		}
		return func(b []byte, v reflect.Value) []byte { return (*p)(b, v) }
	}
	p := new(appender)
	open[t] = p
	*p = newAppender(t, open)
	return *p
}

// newAppender returns a new appender of t.
func newAppender(t reflect.Type, open map[reflect.Type]*appender) appender {
	switch {
	case t == typeTime:
		return func(b []byte, v reflect.Value) []byte {
			return append(appendTime(append(b, '"'), store.Time(v.Int())), '"')
		}
	case t == typeRaw || t == typeValue:
		return func(b []byte, v reflect.Value) []byte {
			if v.Len() == 0 {
				return append(b, "null"...)
			}
			return append(b, v.Bytes()...)
		}
	case isNull(t):
		elem := buildAppender(t.Field(0).Type, open)
		return func(b []byte, v reflect.Value) []byte {
			if !v.Field(1).Bool() {
				return append(b, "null"...)
			}
			return elem(b, v.Field(0))
		}
	}
	switch t.Kind() {
	case reflect.String:
		return func(b []byte, v reflect.Value) []byte { return AppendString(b, v.String()) }
	case reflect.Bool:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendBool(b, v.Bool()) }
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendInt(b, v.Int(), 10) }
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return func(b []byte, v reflect.Value) []byte { return strconv.AppendUint(b, v.Uint(), 10) }
	case reflect.Float32, reflect.Float64:
		bits := t.Bits()
		return func(b []byte, v reflect.Value) []byte { return appendFloat(b, v.Float(), bits) }
	case reflect.Interface:
		return func(b []byte, v reflect.Value) []byte { return appendDynamic(b, v.Elem()) }
	case reflect.Pointer:
		elem := buildAppender(t.Elem(), open)
		return func(b []byte, v reflect.Value) []byte {
			if v.IsNil() {
				return append(b, "null"...)
			}
			return elem(b, v.Elem())
		}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return sliceAppender(buildAppender(t.Elem(), open))
		}
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return mapAppender(buildAppender(t.Elem(), open))
		}
	case reflect.Struct:
		return structAppender(t, open)
	}
	panic(fmt.Sprintf("wire: cannot write %s as JSON", t))
}

// appendDynamic appends a value by its dynamic type.
func appendDynamic(b []byte, v reflect.Value) []byte {
	if v.IsValid() && v.Kind() == reflect.Pointer {
		v = v.Elem() // the zero Value when nil
	}
	if !v.IsValid() {
		return append(b, "null"...)
	}
	return appenderFor(v.Type())(b, v)
}

// sliceAppender returns the appender of a slice.
func sliceAppender(elem appender) appender {
	return func(b []byte, v reflect.Value) []byte {
		b = append(b, '[')
		for i := range v.Len() {
			if i > 0 {
				b = append(b, ',')
			}
			b = elem(b, v.Index(i))
		}
		return append(b, ']')
	}
}

// mapAppender returns the appender of a map, which sorts the keys by their bytes.
func mapAppender(elem appender) appender {
	return func(b []byte, v reflect.Value) []byte {
		keys := v.MapKeys()
		slices.SortFunc(keys, func(x, y reflect.Value) int { return strings.Compare(x.String(), y.String()) })
		b = append(b, '{')
		for i, k := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = elem(append(AppendString(b, k.String()), ':'), v.MapIndex(k))
		}
		return append(b, '}')
	}
}

// member is a struct field with its appender.
type member struct {
	path  []int  // of the field, through embedded structs
	key   []byte // ,"name":
	omit  bool   // omit empty values
	write appender
}

// structAppender returns the appender of a struct.
func structAppender(t reflect.Type, open map[reflect.Type]*appender) appender {
	var members []member
	for _, f := range fieldsOf(t) {
		members = append(members, member{
			path:  f.path,
			key:   append(AppendString([]byte{','}, f.name), ':'),
			omit:  f.omit,
			write: buildAppender(f.typ, open),
		})
	}
	return func(b []byte, v reflect.Value) []byte {
		b = append(b, '{')
		first := true
		for i := range members {
			m := &members[i]
			fv := v.Field(m.path[0])
			for _, n := range m.path[1:] {
				fv = fv.Field(n)
			}
			if m.omit && isEmpty(fv) {
				continue
			}
			if first {
				b = append(b, m.key[1:]...)
				first = false
			} else {
				b = append(b, m.key...)
			}
			b = m.write(b, fv)
		}
		return append(b, '}')
	}
}

// isEmpty reports whether omitempty omits v.
func isEmpty(v reflect.Value) bool {
	if v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		return v.Len() == 0
	}
	return v.IsZero()
}

// isNull reports whether t is a store.Null.
func isNull(t reflect.Type) bool {
	return t.PkgPath() == storePath && strings.HasPrefix(t.Name(), "Null[")
}

// isOpt reports whether t is a store.Opt.
func isOpt(t reflect.Type) bool {
	return t.PkgPath() == storePath && strings.HasPrefix(t.Name(), "Opt[")
}

// escapes are the escape sequences of JSON strings in answers.
var escapes = event.NewEscapes("\n\r\t")

// AppendString appends s as a JSON string. It escapes only what JSON requires, and
// replaces invalid UTF-8 by U+FFFD.
func AppendString(b []byte, s string) []byte { return escapes.AppendString(b, s) }

// appendTime appends the same as t.Append, without interpreting a layout: times
// take the longest part of encoding most responses.
func appendTime(b []byte, t store.Time) []byte {
	std := t.Std()
	year, month, day := std.Date()
	if year < 0 || year > 9999 {
		return t.Append(b)
	}
	hour, minute, second := std.Clock()
	ms := std.Nanosecond() / 1e6
	b = append(b, digit(year/1000), digit(year/100), digit(year/10), digit(year), '-')
	b = append(b, digit(int(month)/10), digit(int(month)), '-', digit(day/10), digit(day), 'T')
	b = append(b, digit(hour/10), digit(hour), ':', digit(minute/10), digit(minute), ':')
	return append(b, digit(second/10), digit(second), '.', digit(ms/100), digit(ms/10), digit(ms), 'Z')
}

// digit returns the last decimal digit of n.
func digit(n int) byte { return '0' + byte(n%10) }

// appendFloat appends the shortest number that is parsed as f again, without an
// exponent if it is an integer. NaN and infinities, which JSON lacks, become null.
func appendFloat(b []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && a < 1e-6 {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, bits)
}
