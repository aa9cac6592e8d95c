package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"punchcard/store"
)

// Validate validates the struct that fields points to, whose fields must all be
// store.Opt, by the rules of DecodeBody. It is for values that the program itself
// makes. It returns nil if they are valid, and otherwise the details in the order of
// the struct.
func Validate(fields any, mode Mode, lim Limits) []Detail {
	p, v := target(fields, lim)
	var out details
	for _, r := range p.rules {
		field := r.in(v)
		set, null := field.FieldByName("Set").Bool(), field.FieldByName("Null").Bool()
		if null && mode == Create { // the same as an absent field
			field.SetZero()
			set = false
		}
		switch {
		case !set && mode == Create && r.required:
			out.add(r.name, CodeRequired, "is required")
		case !set:
		case mode == Patch && r.patch == nullNever:
			out.add(r.name, CodeNotAllowed, "cannot be changed after creation")
		case null && r.patch == nullRefused:
			out.add(r.name, CodeInvalidType, "must not be null")
		case null:
		default:
			r.check(field.Addr().Interface(), lim, &out)
		}
	}
	return out.list
}

// check validates the value of the store.Opt to which field points.
func (r *rule) check(field any, lim Limits, out *details) {
	switch opt := field.(type) {
	case *store.Opt[string]:
		r.checkString(r.name, opt.V, lim, out)
	case *store.Opt[int64]:
		r.checkWhole(opt.V, 0, lim, out)
	case *store.Opt[float64]:
		r.checkFloat(opt.V, lim, out)
	case *store.Opt[bool], *store.Opt[store.Time]:
	case *store.Opt[[]string]:
		r.checkCount(len(opt.V), lim, out)
		for i, s := range opt.V {
			checkUTF8(r.name+"."+strconv.Itoa(i), s, out)
		}
	case *store.Opt[map[string]string]:
		for _, key := range slices.Sorted(maps.Keys(opt.V)) {
			path := r.name + "." + key
			if r.keys != nil && !slices.Contains(r.keys, key) {
				out.add(path, CodeUnknownField, "must be one of "+strings.Join(r.keys, ", "))
				continue
			}
			r.checkString(path, opt.V[key], lim, out)
		}
	case *store.Opt[json.RawMessage]:
		opt.V = r.object(opt.V, lim, out)
	default:
		panic(fmt.Sprintf("wire: cannot check field %q of type %s", r.name, reflect.TypeOf(field)))
	}
}

// checkString checks a string that does not come from a JSON body.
func (r *rule) checkString(path, s string, lim Limits, out *details) {
	if checkUTF8(path, s, out) {
		r.checkText(path, s, lim, out)
	}
}

// checkUTF8 checks that s could come from a JSON body, and adds a detail otherwise.
func checkUTF8(path, s string, out *details) bool {
	if utf8.ValidString(s) && !strings.Contains(s, "\x00") {
		return true
	}
	out.add(path, CodeInvalidValue, "must be UTF-8 text without the character U+0000")
	return false
}
