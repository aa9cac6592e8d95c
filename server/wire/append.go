// Package wire is the one place where Go values meet JSON: it writes
// responses, reads request bodies and query strings strictly, and derives
// JSON Schema from the very structs and tags that do both, so that the
// published description cannot drift from what the server accepts.
//
// Mistakes in a struct's tags are programming errors and panic when the type
// is first used.
package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"punchcard/store"
)

// Append appends v as JSON to b and returns the extended slice. v is a
// struct, a slice, a map, or a pointer to one; pass a pointer to keep the
// value off the heap. Struct fields come in declaration order, embedded
// structs in place; nil slices and maps are written as [] and {}, NaN and
// infinities as null. Append panics on a type it cannot write.
func Append(b []byte, v any) []byte {
	return appendDynamic(b, reflect.ValueOf(v))
}

// appender writes one value of the type it was built for.
type appender func(b []byte, v reflect.Value) []byte

// appenders holds an appender per reflect.Type.
var appenders sync.Map

var (
	typeTime    = reflect.TypeFor[store.Time]()
	typeRaw     = reflect.TypeFor[json.RawMessage]()
	typeValue   = reflect.TypeFor[jsontext.Value]()
	typeStrings = reflect.TypeFor[map[string]string]()
	storePath   = typeTime.PkgPath()
)

func appenderFor(t reflect.Type) appender {
	if f, ok := appenders.Load(t); ok {
		return f.(appender)
	}
	open := make(map[reflect.Type]*appender)
	buildAppender(t, open)
	// Published only when all are complete: those of a recursive type refer to
	// one another.
	for t, f := range open {
		appenders.Store(t, *f)
	}
	return *open[t]
}

// buildAppender makes the appender of t. open holds the types under
// construction, through which a recursive type refers to itself.
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
			return mapAppender(t, buildAppender(t.Elem(), open))
		}
	case reflect.Struct:
		return structAppender(t, open)
	}
	panic(fmt.Sprintf("wire: cannot write %s as JSON", t))
}

// appendDynamic writes a value whose type is known only now.
func appendDynamic(b []byte, v reflect.Value) []byte {
	if v.IsValid() && v.Kind() == reflect.Pointer {
		v = v.Elem() // the zero Value when nil
	}
	if !v.IsValid() {
		return append(b, "null"...)
	}
	return appenderFor(v.Type())(b, v)
}

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

// mapAppender writes a map with its keys in byte order.
func mapAppender(t reflect.Type, elem appender) appender {
	if t == typeStrings {
		return func(b []byte, v reflect.Value) []byte {
			m := v.Interface().(map[string]string)
			keys := make([]string, 0, len(m))
			for k := range m {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			b = append(b, '{')
			for i, k := range keys {
				if i > 0 {
					b = append(b, ',')
				}
				b = AppendString(append(AppendString(b, k), ':'), m[k])
			}
			return append(b, '}')
		}
	}
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

// member is one struct field ready to be written.
type member struct {
	path  []int  // of the field, through embedded structs
	key   []byte // ,"name":
	omit  bool   // leave out the zero value
	write appender
}

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

// isEmpty reports whether omitempty leaves v out.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
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
