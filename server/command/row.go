package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// row is a JSON object of an answer.
type row map[string]any

// decode decodes JSON, with numbers as they are.
func decode(text []byte) (r row, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&r)
	return r, err
}

// object returns the object in a field; none if the field has none.
func (r row) object(field string) row {
	inner, _ := r[field].(map[string]any)
	return inner
}

// rows returns the objects in a list.
func (r row) rows(field string) (rows []row) {
	items, _ := r[field].([]any)
	for _, item := range items {
		object, _ := item.(map[string]any)
		rows = append(rows, object)
	}
	return rows
}

// value returns a field as text; empty for null.
func (r row) value(field string) string {
	switch v := r[field].(type) {
	case nil:
		return ""
	case []any:
		return strings.Trim(fmt.Sprint(v), "[]")
	default:
		return fmt.Sprint(v)
	}
}

// count returns the length of a list.
func (r row) count(field string) int {
	items, _ := r[field].([]any)
	return len(items)
}

// past reports whether the time in a field has come.
func (r row) past(field string) bool {
	at, err := time.Parse(time.RFC3339, r.value(field))
	return err == nil && !at.After(time.Now())
}

// text returns a column for people: a field, which a path such as health.failed finds in an object, or
// a text that is made of fields. It is a dash where there is none.
func (r row) text(path string) string {
	if name, rest, nested := strings.Cut(path, "."); nested {
		return r.object(name).text(rest)
	}
	if compute := computed[path]; compute != nil {
		return compute(r)
	}
	return cmp.Or(r.value(path), "-")
}
