package wire

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

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
