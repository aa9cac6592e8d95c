package servertest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

var (
	instant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
	colour  = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)
)

// Shaped checks the object at a path against a table of its fields, one "name
// type" a line: the names are in that order, none is missing, none is added, and
// each value is of its type. nulls names the fields that must be null; all
// others must not be.
func (r *Reply) Shaped(path, table, nulls string) {
	r.T.Helper()
	raw := r.Raw(path)
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		r.T.Fatalf("no object: %s", raw)
	}
	var want, empty []string
	for line := range strings.Lines(strings.TrimSpace(table)) {
		name, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		want = append(want, name)
		v, ok := values[name]
		switch {
		case !ok:
			r.T.Errorf("%s is missing: %s", name, raw)
		case !isOfType(kind, v):
			r.T.Errorf("%s is no %s: %s", name, kind, v)
		case string(v) == "null":
			empty = append(empty, name)
		}
	}
	if have := Names(raw); !slices.Equal(have, want) {
		r.T.Errorf("fields\n%q, want\n%q", have, want)
	}
	if expect := strings.Fields(nulls); !slices.Equal(empty, expect) {
		r.T.Errorf("null are %q, want %q: %s", empty, expect, raw)
	}
}

// isOfType reports whether a JSON value is of a type of the tables of Shaped.
func isOfType(kind string, raw json.RawMessage) bool {
	kind, nullable := strings.CutSuffix(kind, "|null")
	if string(raw) == "null" {
		return nullable
	}
	var v any
	json.Unmarshal(raw, &v)
	text, isText := v.(string)
	_, isNumber := v.(float64)
	list, isList := v.([]any)
	switch kind {
	case "string":
		return isText
	case "id":
		return isText && text != ""
	case "date-time":
		return isText && instant.MatchString(text)
	case "color":
		return isText && colour.MatchString(text)
	case "integer":
		return isNumber && !bytes.ContainsAny(raw, ".eE")
	case "number":
		return isNumber
	case "boolean":
		return string(raw) == "true" || string(raw) == "false"
	case "list":
		return isList
	case "string[]":
		return isList && !slices.ContainsFunc(list, func(i any) bool { _, ok := i.(string); return !ok })
	case "object":
		_, ok := v.(map[string]any)
		return ok
	}
	panic("no type " + kind)
}

// Names returns the names of an object's fields, in order.
func Names(raw json.RawMessage) (list []string) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.Token()
	for d.More() {
		t, _ := d.Token()
		list = append(list, t.(string))
		var skip json.RawMessage
		if d.Decode(&skip) != nil {
			return list
		}
	}
	return list
}
