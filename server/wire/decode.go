package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"punchcard/store"
)

// Mode says what null and absent fields of a request body mean.
type Mode int

const (
	// Create treats null like an absent field, and requires the required fields.
	Create Mode = iota
	// Patch does not change absent fields. Null clears a field if its patch tag
	// allows that.
	Patch
)

// plan has the rules of a request struct.
type plan struct {
	rules  []*rule // in struct order
	byName map[string]*rule
	depth  int // maximum depth of nested objects and arrays
}

// plans caches the *plan of each reflect.Type of a request struct.
var plans sync.Map

// planFor returns the plan of a request struct.
func planFor(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{byName: make(map[string]*rule), depth: maxDepth}
	for _, f := range fieldsOf(t) {
		r := newRule(f)
		if !r.opt {
			panic(fmt.Sprintf("wire: field %q of request %s is not a store.Opt", f.name, t))
		}
		p.rules = append(p.rules, r)
		p.byName[f.name] = r
		if item := r.item(); item != nil {
			p.depth = max(p.depth, 2+planFor(item).depth)
		}
	}
	plans.Store(t, p)
	return p
}

// target returns the struct that dst points to, and its plan.
func target(dst any, lim Limits) (*plan, reflect.Value) {
	v := reflect.ValueOf(dst).Elem()
	p := planFor(v.Type())
	for _, r := range p.rules {
		r.upper(lim) // panics if the limit is missing, whatever the request
	}
	return p, v
}

// in returns the field of the rule in the struct v.
func (r *rule) in(v reflect.Value) reflect.Value {
	for _, n := range r.path {
		v = v.Field(n)
	}
	return v
}

// DecodeBody decodes a JSON object into the struct that dst points to, whose fields
// must all be store.Opt, and validates it. A blank body equals {}. It returns nil
// if the body is valid. If the body is not a valid JSON object, it returns one
// detail; otherwise one for each offending field in the order of the body, and then
// the required fields that are missing; at most 100. Do not use dst if there are
// details. dst keeps no reference to body.
func DecodeBody(body []byte, dst any, mode Mode, lim Limits) []Detail {
	p, v := target(dst, lim)
	// Names are unique: with more members the details are full.
	pairs, fault := scan(body, store.MaxDetails+len(p.rules), p.depth)
	if fault != nil {
		return []Detail{*fault}
	}
	var out details
	named := make([]*rule, 0, len(p.rules))
	for _, m := range pairs {
		r := p.byName[m.name]
		if r == nil {
			out.add(m.name, CodeUnknownField, "is not a known field")
			continue
		}
		named = append(named, r)
		switch {
		case mode == Patch && r.patch == notAllowed:
			out.add(r.name, CodeNotAllowed, "cannot be changed after creation")
		case m.value[0] != 'n':
			r.decode(m.value, r.in(v), lim, &out)
		case mode == Create && r.required:
			out.add(r.name, CodeRequired, "is required")
		case mode == Patch && r.patch == "":
			out.add(r.name, CodeInvalidType, "must not be null")
		case mode == Patch:
			field := r.in(v)
			field.FieldByName("Set").SetBool(true)
			field.FieldByName("Null").SetBool(true)
		}
	}
	for _, r := range p.rules {
		if mode == Create && r.required && !slices.Contains(named, r) && !r.in(v).FieldByName("Set").Bool() {
			out.add(r.name, CodeRequired, "is required")
		}
	}
	return out.list
}

// Without returns the fields of a request without those that details are about. A text that is none
// of an enumeration stays: without it, rules would judge other fields by a default. A list of texts
// stays too where only items are at fault, so that the others are judged.
func Without(fields any, of []Detail) any {
	rest := reflect.New(reflect.TypeOf(fields)).Elem()
	rest.Set(reflect.ValueOf(fields))
	p := planFor(rest.Type())
	for _, d := range of {
		name, _, item := strings.Cut(d.Field, ".")
		switch r := p.byName[name]; {
		case r == nil || r.enum != nil:
		case item && r.elem == reflect.TypeFor[[]string]():
		default:
			r.in(rest).SetZero()
		}
	}
	return rest.Interface()
}

// decode decodes value, which is not null, into the store.Opt in field.
func (r *rule) decode(value []byte, field reflect.Value, lim Limits, out *details) {
	first := jsontext.Kind(value[0])
	digit := value[0] == '-' || '0' <= value[0] && value[0] <= '9'
	switch opt := field.Addr().Interface().(type) {
	case *store.Opt[string]:
		if r.expect(first == '"', "must be a string", out) {
			opt.Set, opt.V = true, unquote(value)
			r.checkText(r.name, opt.V, lim, out)
		}
	case *store.Opt[bool]:
		if r.expect(first == 't' || first == 'f', "must be true or false", out) {
			opt.Set, opt.V = true, first == 't'
		}
	case *store.Opt[int64]:
		if n, over, whole := parseWhole(string(value)); r.expect(whole, "must be a whole number", out) {
			opt.Set, opt.V = true, n
			r.checkWhole(n, over, lim, out)
		}
	case *store.Opt[float64]:
		if r.expect(digit, "must be a number", out) {
			f, _ := strconv.ParseFloat(string(value), 64) // infinite if out of range
			opt.Set, opt.V = true, f+0                    // -0 becomes 0
			r.checkFloat(f, lim, out)
		}
	case *store.Opt[store.Time]:
		if r.expect(first == '"', "must be a string", out) {
			opt.V, opt.Set = parseTime(unquote(value))
			if !opt.Set {
				out.add(r.name, CodeInvalidFormat, formats["date-time"].words)
			}
		}
	case *store.Opt[[]string]:
		if r.expect(first == '[', "must be an array of strings", out) {
			opt.Set, opt.V = true, r.list(value, lim, out)
		}
	case *store.Opt[map[string]string]:
		if r.expect(first == '{', "must be an object of strings", out) {
			opt.Set, opt.V = true, r.dictionary(value, lim, out)
		}
	case *store.Opt[json.RawMessage]:
		if r.expect(first == '{', "must be an object", out) {
			opt.Set, opt.V = true, r.object(value, lim, out)
		}
	default:
		if r.item() == nil {
			panic(fmt.Sprintf("wire: cannot read field %q of type %s", r.name, r.typ))
		}
		if r.expect(first == '[', "must be an array of objects", out) {
			field.FieldByName("Set").SetBool(true)
			field.FieldByName("V").Set(r.objects(value, lim, out))
		}
	}
}

// expect adds a detail for a wrong type unless ok is true, and returns ok.
func (r *rule) expect(ok bool, message string, out *details) bool {
	if !ok {
		out.add(r.name, CodeInvalidType, message)
	}
	return ok
}

// unquote returns the value of a JSON string, which must be valid.
func unquote(value []byte) string {
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1])
	}
	b, _ := jsontext.AppendUnquote(nil, value)
	return string(b)
}

// list decodes an array of strings. The result is never nil.
func (r *rule) list(value []byte, lim Limits, out *details) []string {
	items := []string{}
	dec := jsontext.NewDecoder(bytes.NewBuffer(value))
	dec.ReadToken()
	n := 0
	for ; dec.PeekKind() != jsontext.KindEndArray; n++ {
		item, err := dec.ReadValue()
		switch {
		case err != nil: // impossible: the body was checked
			return items
		case item.Kind() == jsontext.KindString:
			items = append(items, unquote(item))
		default:
			items = append(items, "") // so that the other items keep their index in messages
			if !out.full() {
				out.add(r.name+"."+strconv.Itoa(n), CodeInvalidType, "must be a string")
			}
		}
	}
	r.checkCount(r.count(items), lim, out)
	return items
}

// count returns the number of items of an array, without repetitions if the field is
// tagged distinct.
func (r *rule) count(items []string) int {
	if !r.distinct {
		return len(items)
	}
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		seen[item] = true
	}
	return len(seen)
}

// objects decodes an array of objects. Each of them is validated as the body of a
// request in mode Create is. If there are too many, that is the only detail.
func (r *rule) objects(value []byte, lim Limits, out *details) reflect.Value {
	items := reflect.MakeSlice(r.elem, 0, 0)
	before := out.list
	dec := jsontext.NewDecoder(bytes.NewBuffer(value))
	dec.ReadToken()
	for dec.PeekKind() != jsontext.KindEndArray {
		body, err := dec.ReadValue()
		if err != nil { // impossible: the body was checked
			return items
		}
		path := r.name + "." + strconv.Itoa(items.Len())
		item := reflect.New(r.item())
		items = reflect.Append(items, item)
		if body.Kind() != jsontext.KindBeginObject {
			out.add(path, CodeInvalidType, "must be an object")
			continue
		}
		for _, d := range DecodeBody(body, item.Interface(), Create, lim) {
			out.add(strings.TrimSuffix(path+"."+d.Field, "."), d.Code, d.Message)
		}
	}
	if maximum := r.upper(lim); maximum.set && int64(items.Len()) > maximum.whole {
		out.list = before
	}
	r.checkCount(items.Len(), lim, out)
	return items
}

// dictionary decodes an object of strings, to each of which the rules of the field
// apply.
func (r *rule) dictionary(value []byte, lim Limits, out *details) map[string]string {
	m := make(map[string]string)
	pairs, _ := scan(value, math.MaxInt, math.MaxInt) // never fails: the body was checked
	for _, item := range pairs {
		path := r.name + "." + item.name
		switch {
		case r.keys != nil && !slices.Contains(r.keys, item.name):
			out.add(path, CodeUnknownField, "must be one of "+strings.Join(r.keys, ", "))
		case item.value[0] != '"':
			out.add(path, CodeInvalidType, "must be a string")
		default:
			m[item.name] = unquote(item.value)
			r.checkText(path, m[item.name], lim, out)
		}
	}
	return m
}

// object returns a copy of a JSON object without the whitespace between tokens. max
// applies to the size of the copy.
func (r *rule) object(value []byte, lim Limits, out *details) json.RawMessage {
	raw := jsontext.Value(value).Clone()
	raw.Compact() // never fails: the body was checked
	if maximum := r.upper(lim); maximum.set && int64(len(raw)) > maximum.whole {
		out.add(r.name, CodeTooLarge, "must be at most "+maximum.text+" bytes of JSON")
	}
	if !numbersInRange(raw) {
		out.add(r.name, CodeInvalidValue, "has a number that is out of the range of a double")
	}
	return json.RawMessage(raw)
}

// numbersInRange reports whether all numbers of a JSON text are in the range of a
// double. Strict parsers refuse a text with others.
func numbersInRange(raw jsontext.Value) bool {
	for d := jsontext.NewDecoder(bytes.NewReader(raw)); ; {
		t, err := d.ReadToken()
		if err != nil {
			return true // the end
		}
		if t.Kind() != '0' {
			continue
		}
		if _, err := strconv.ParseFloat(t.String(), 64); err != nil {
			return false
		}
	}
}

// DecodeQuery decodes a query string into the struct that dst points to, whose
// fields must be store.Opt of string, bool, int64, float64 or store.Time, and
// validates it. It ignores unknown parameters; a known one that is empty or repeated
// is invalid_value. It returns nil if the query is valid, and otherwise a detail for
// each offending parameter, in the order of the struct.
//
// An integer out of the range of an int64 is decoded as the nearest int64 if the
// field has no bound on that side, so that an operation can clamp a page size of any
// magnitude.
func DecodeQuery(q url.Values, dst any, lim Limits) []Detail {
	p, v := target(dst, lim)
	var out details
	for _, r := range p.rules {
		switch values := q[r.name]; {
		case len(values) == 0 && r.required:
			out.add(r.name, CodeRequired, "is required")
		case len(values) == 0:
		case len(values) > 1:
			out.add(r.name, CodeInvalidValue, "must not be repeated")
		case values[0] == "":
			out.add(r.name, CodeInvalidValue, "must not be empty")
		default:
			r.parse(values[0], r.in(v), lim, &out)
		}
	}
	return out.list
}

// parse parses a parameter, which is not empty, into the store.Opt in field.
func (r *rule) parse(s string, field reflect.Value, lim Limits, out *details) {
	switch opt := field.Addr().Interface().(type) {
	case *store.Opt[string]:
		opt.Set, opt.V = true, s
		r.checkString(r.name, s, lim, out)
	case *store.Opt[bool]:
		if r.expect(s == "true" || s == "false", "must be true or false", out) {
			opt.Set, opt.V = true, s == "true"
		}
	case *store.Opt[int64]:
		if r.expect(isInteger(s), "must be a whole number", out) {
			n, over, _ := parseWhole(s)
			if over > 0 && !r.upper(lim).set || over < 0 && !r.min.set && !r.above.set {
				over = 0
			}
			opt.Set, opt.V = true, n
			r.checkWhole(n, over, lim, out)
		}
	case *store.Opt[float64]:
		f, err := strconv.ParseFloat(s, 64)
		plain := strings.Trim(s, "+-.0123456789eE") == "" // not 0x1p-2, 1_000, NaN
		if r.expect(plain && (err == nil || math.IsInf(f, 0)), "must be a number", out) {
			opt.Set, opt.V = true, f+0 // -0 becomes 0
			r.checkFloat(f, lim, out)
		}
	case *store.Opt[store.Time]:
		if opt.V, opt.Set = parseTime(s); !opt.Set {
			out.add(r.name, CodeInvalidFormat, formats["date-time"].words+plusHint(s))
		}
	default:
		panic("wire: parameter " + strconv.Quote(r.name) + " cannot be of type " + r.typ.String())
	}
}

// plusHint returns what to add to the message for a time in a query: a hint if it
// would be valid with a plus sign in place of its blank, which is what a query makes
// of a plus sign that is not escaped.
func plusHint(s string) string {
	if _, ok := parseTime(strings.Replace(s, " ", "+", 1)); ok {
		return "; write the plus sign of an offset as %2B in a query"
	}
	return ""
}

// isInteger reports whether s is an optional minus sign and digits. A plus sign
// means a space in a query.
func isInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}
