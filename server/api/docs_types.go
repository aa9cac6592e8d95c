package api

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// resolve follows a reference, also one that may be null, and tells its name;
// what is no reference has none.
func (d *describer) resolve(s object) (object, string) {
	if some, ok := s["anyOf"].([]any); ok {
		for _, o := range some {
			if o := o.(object); o["$ref"] != nil {
				s = o
			}
		}
	}
	ref := text(s["$ref"])
	if ref == "" {
		return s, ""
	}
	name := ref[strings.LastIndexByte(ref, '/')+1:]
	return d.reg.Schemas[name].(object), name
}

// uniform is the schema of an object's values where it is a map with known
// keys, whose values are all alike and optional; nil for other objects.
func uniform(s object) (value object) {
	properties, _ := s["properties"].(object)
	if s["required"] != nil {
		return nil
	}
	for _, p := range properties {
		p := p.(object)
		if value != nil && !reflect.DeepEqual(p, value) {
			return nil
		}
		value = p
	}
	if len(properties) < 2 {
		return nil
	}
	return value
}

// typeText says what a value is, in words.
func (d *describer) typeText(s object) string {
	if inner, name := d.resolve(s); name != "" {
		t := typeWords(inner)
		if s["anyOf"] != nil {
			t += " or null"
		}
		return t
	}
	if items, ok := s["items"].(object); ok {
		return strings.Replace(typeWords(s), "array", "array of "+d.typeText(items)+"s", 1)
	}
	return typeWords(s)
}

func typeWords(s object) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		if len(t) > 3 {
			return "any JSON value"
		}
		words := make([]string, len(t))
		for i, w := range t {
			words[i] = text(w)
		}
		return strings.Join(words, " or ")
	}
	return "any JSON value"
}

// describe fills in what a schema demands of a value.
func (m *member) describe(s object) {
	if m.Type == "" {
		m.Type = typeWords(s)
	}
	note := func(format string, args ...any) { m.Notes = append(m.Notes, fmt.Sprintf(format, args...)) }
	bounds := func(low, high, unit string) {
		from, to := s[low], s[high]
		switch {
		case from != nil && to != nil:
			note("%s to %s%s", number(from), number(to), unit)
		case to != nil:
			note("at most %s%s", number(to), unit)
		case from != nil && unit != "" && number(from) == "1":
			note("not empty")
		case from != nil:
			note("at least %s%s", number(from), unit)
		}
	}
	// That integers have 64 bits is said once for all.
	if f := text(s["format"]); f != "" && f != "int64" {
		note("%s", strings.Replace(f, "uri", "URL", 1))
	}
	bounds("minLength", "maxLength", " characters")
	bounds("minItems", "maxItems", " items")
	bounds("minimum", "maximum", "")
	if v := s["exclusiveMinimum"]; v != nil {
		note("greater than %s", number(v))
	}
	if v := s["x-max-bytes"]; v != nil {
		note("at most %s bytes", number(v))
	}
	if v := text(s["pattern"]); v != "" {
		note("matches `%s`", v)
	}
	if v := s["const"]; v != nil {
		note("always `%v`", v)
	}
	if v := s["default"]; v != nil {
		note("default `%v`", v)
	}
	if values, ok := s["enum"].([]any); ok {
		for _, v := range values {
			if v != nil {
				m.Values = append(m.Values, fmt.Sprint(v))
			}
		}
	}
	if v := uniform(s); v != nil {
		keys := sortedKeys(s["properties"].(object))
		note("keys `%s`", strings.Join(keys, "`, `"))
		value := member{}
		value.describe(v)
		note("each a %s", strings.Join(append([]string{value.Type}, value.Notes...), " of "))
	}
	if items, ok := s["items"].(object); ok && items["$ref"] == nil {
		value := member{}
		value.describe(items)
		m.Values = append(m.Values, value.Values...)
		if len(value.Notes) > 0 {
			note("each %s", strings.Join(value.Notes, ", "))
		}
	}
}

func number(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func sortedKeys(o object) []string {
	keys := make([]string, 0, len(o))
	for k := range o {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
