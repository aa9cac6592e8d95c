package servertest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// types are the types of the tables of Shaped, by the JSON of their values.
var types = map[string]*regexp.Regexp{
	"string":    regexp.MustCompile(`^"`),
	"id":        regexp.MustCompile(`^"[^"]`),
	"date-time": regexp.MustCompile(`^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"$`),
	"color":     regexp.MustCompile(`^"#[0-9A-Fa-f]{6}"$`),
	"integer":   regexp.MustCompile(`^-?\d+$`),
	"number":    regexp.MustCompile(`^[-\d]`),
	"boolean":   regexp.MustCompile(`^[tf]`),
	"list":      regexp.MustCompile(`^\[`),
	"string[]":  regexp.MustCompile(`^\[("([^"\\]|\\.)*",?)*\]$`),
	"object":    regexp.MustCompile(`^\{`),
}

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
		kind, nullable := strings.CutSuffix(kind, "|null")
		want = append(want, name)
		v, ok := values[name]
		switch {
		case !ok:
			r.T.Errorf("%s is missing: %s", name, raw)
		case nullable && string(v) == "null":
			empty = append(empty, name)
		case !types[kind].Match(v):
			r.T.Errorf("%s is no %s: %s", name, kind, v)
		}
	}
	if have := Names(raw); !slices.Equal(have, want) {
		r.T.Errorf("fields\n%q, want\n%q", have, want)
	}
	if expect := strings.Fields(nulls); !slices.Equal(empty, expect) {
		r.T.Errorf("null are %q, want %q: %s", empty, expect, raw)
	}
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
