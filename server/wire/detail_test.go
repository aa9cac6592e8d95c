package wire

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"punchcard/store"
)

// TestJoin checks that Join adds only details for fields of which the list has no detail, neither for
// the field nor for a part of it, and keeps the maximum number.
func TestJoin(t *testing.T) {
	at := func(field string) Detail { return Detail{Field: field, Code: CodeInvalidValue, Message: "m"} }
	have := []Detail{at("url"), at("events.1")}
	for _, c := range []struct {
		field string
		added bool
	}{{"url", false}, {"events.1", false}, {"events", false}, {"events.0", true}, {"events.11", true}, {"url.x", true}, {"ur", true},
		{"event", true}} {
		got := Join(slices.Clone(have), at(c.field))
		if added := len(got) == 3; added != c.added || added && got[2] != at(c.field) {
			t.Errorf("%s: %v", c.field, got)
		}
	}
	// Join does not compare the added details with one another.
	if got := Join(nil, at("events.0"), at("events")); len(got) != 2 {
		t.Errorf("added %v, want both details", got)
	}
	if got := Join(nil); got != nil {
		t.Errorf("%v of nothing", got)
	}
	var many []Detail
	for i := range 300 {
		many = append(many, at(strings.Repeat("é", 300)+fmt.Sprint(i)))
	}
	got := Join(have, many...)
	if len(got) != store.MaxDetails || got[99].Field != strings.Repeat("é", maxFieldName)+"…" {
		t.Errorf("%d details, the last %s", len(got), got[len(got)-1].Field)
	}
}
