package wire

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of a value, as far as the rules distinguish them.
type Kind int

// The kinds of values.
const (
	KindOther Kind = iota
	KindString
	KindBool
	KindInt
	KindFloat
	KindTime
	KindList
	KindMap     // texts by key
	KindObject  // a JSON object that is kept as it is
	KindObjects // a list of objects, which is a KindList to the rules; see Inputs
)

func kindOf(t reflect.Type) Kind {
	switch {
	case t == typeTime:
		return KindTime
	case t == typeRaw:
		return KindObject
	case t == typeValue:
		return KindOther
	case t == typeStrings:
		return KindMap
	}
	switch t.Kind() {
	case reflect.String:
		return KindString
	case reflect.Bool:
		return KindBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return KindInt
	case reflect.Float32, reflect.Float64:
		return KindFloat
	case reflect.Slice:
		return KindList
	}
	return KindOther
}

// bound is a lower or upper bound. Its unit depends on the kind of the field:
// characters, items, bytes, or the number itself.
type bound struct {
	set   bool
	whole int64
	float float64
	text  string // for messages
}

// notAllowed is the patch tag of a field that must be absent in mode Patch. With the
// other patch tags null is allowed.
const notAllowed = "not_allowed"

// rule has the rules for a field, from its tags.
type rule struct {
	field
	kind     Kind
	elem     reflect.Type // type of the value in Opt, Null or the pointer
	opt      bool         // the field is a store.Opt
	nullable bool         // the field is a store.Null or a pointer
	doc      string
	required bool
	patch    string // the patch tag
	min      bound
	max      bound
	above    bound  // exclusive lower bound
	limit    string // name of the upper bound in Limits
	format   string
	pattern  *regexp.Regexp
	words    string // what is allowed, for the messages of a field with a pattern
	enum     []string
	keys     []string
	distinct bool // the items of a list are counted without repetitions
}

// Limits are the upper bounds that are settings, by the names in limit tags. Using a
// name that is not in Limits panics.
type Limits map[string]int

// upper returns the field's upper bound.
func (r *rule) upper(lim Limits) bound {
	if r.limit == "" {
		return r.max
	}
	n, ok := lim[r.limit]
	if !ok {
		panic(fmt.Sprintf("wire: no limit named %q", r.limit))
	}
	return bound{set: true, whole: int64(n), float: float64(n), text: strconv.Itoa(n)}
}

// newRule returns the rules of f. It panics on tags that do not fit its type.
func newRule(f field) *rule {
	r := &rule{field: f, elem: f.typ, doc: f.tag.Get("doc")}
	switch {
	case isOpt(f.typ):
		r.opt, r.elem = true, f.typ.Field(0).Type
	case isNull(f.typ):
		r.nullable, r.elem = true, f.typ.Field(0).Type
	case f.typ.Kind() == reflect.Pointer:
		r.nullable, r.elem = true, f.typ.Elem()
	}
	r.kind = kindOf(r.elem)
	sized := r.kind != KindOther && r.kind != KindBool && r.kind != KindTime
	number := r.kind == KindInt || r.kind == KindFloat
	text := r.kind == KindString

	r.required = r.option("req", "true", r.opt) != ""
	r.min = r.bound("min", sized && r.kind != KindObject)
	r.max = r.bound("max", sized)
	r.above = r.bound("gt", number)
	r.limit = r.text("limit", sized && !r.max.set)
	r.enum = split(r.text("enum", text))
	r.keys = split(r.text("keys", r.kind == KindMap))
	if p := r.text("pattern", text); p != "" {
		r.pattern = regexp.MustCompile(p)
	}
	if r.words = r.text("words", r.pattern != nil); r.opt && r.pattern != nil && r.words == "" {
		r.fail("words")
	}
	if r.format = r.text("format", text || r.kind == KindTime || r.kind == KindMap); r.format != "" {
		if formats[r.format] == nil || r.kind == KindTime && r.format != "date-time" {
			r.fail("format")
		}
	}
	r.distinct = r.option("distinct", "true", r.kind == KindList) != ""
	if r.opt && text && (r.format != "" || r.pattern != nil) && !r.min.set {
		r.min = bound{set: true, whole: 1, float: 1, text: "1"} // no form allows the empty text
	}
	r.patch = r.option("patch", "nullable default "+notAllowed, r.opt)
	return r
}

// item returns the struct type of the items if the field is an Opt of a list of
// objects, and otherwise nil.
func (r *rule) item() reflect.Type {
	if !r.opt || r.kind != KindList || r.elem.Elem().Kind() != reflect.Pointer {
		return nil
	}
	return r.elem.Elem().Elem()
}

// text returns the value of a tag. It panics if the tag is present and fits is
// false.
func (r *rule) text(tag string, fits bool) string {
	s, ok := r.tag.Lookup(tag)
	if ok && (!fits || s == "") {
		r.fail(tag)
	}
	return s
}

// option returns the value of a tag, which must be one of the words in allowed.
func (r *rule) option(tag, allowed string, fits bool) string {
	s := r.text(tag, fits)
	if s != "" && !slices.Contains(strings.Fields(allowed), s) {
		r.fail(tag)
	}
	return s
}

// bound returns the value of a tag as a bound.
func (r *rule) bound(tag string, fits bool) bound {
	s := r.text(tag, fits)
	if s == "" {
		return bound{}
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		r.fail(tag)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil && r.kind != KindFloat {
		r.fail(tag)
	}
	return bound{set: true, whole: n, float: f, text: s}
}

// fail panics because of a tag.
func (r *rule) fail(tag string) {
	panic(fmt.Sprintf("wire: field %q: the %s tag is wrong or does not fit %s", r.name, tag, r.typ))
}

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// field is a struct field with its name in JSON.
type field struct {
	name string
	omit bool  // tagged omitempty
	path []int // indices from the outer struct through embedded ones
	typ  reflect.Type
	tag  reflect.StructTag
}

// fieldsOf returns the fields of struct t in the order of their declaration, with
// those of embedded structs in place, except those that its omit tag names. It panics
// on a field that has no json tag or is not exported, and if two fields have the same
// name.
func fieldsOf(t reflect.Type) []field {
	fields := appendFields(nil, t, nil)
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		if seen[f.name] {
			panic(fmt.Sprintf("wire: %s has two fields named %q", t, f.name))
		}
		seen[f.name] = true
	}
	return fields
}

func appendFields(fields []field, t reflect.Type, parent []int) []field {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("json")
		if tag == "-" {
			continue
		}
		path := append(parent[:len(parent):len(parent)], i)
		name, option, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && tag == "" && f.Type.Kind() == reflect.Struct:
			omitted := split(f.Tag.Get("omit"))
			for _, inner := range appendFields(nil, f.Type, path) {
				if !slices.Contains(omitted, inner.name) {
					fields = append(fields, inner)
				}
			}
			continue
		case name == "":
			panic(fmt.Sprintf("wire: field %s of %s has no json tag", f.Name, t))
		case !f.IsExported():
			panic(fmt.Sprintf("wire: field %s of %s is not exported", f.Name, t))
		case option != "" && option != "omitempty":
			panic(fmt.Sprintf("wire: field %s of %s: unknown json option %q", f.Name, t, option))
		}
		fields = append(fields, field{name: name, omit: option == "omitempty", path: path, typ: f.Type, tag: f.Tag})
	}
	return fields
}
