package store

import (
	"strings"
	"testing"
)

// TestNeverNull: what is packed without ifnull cannot be null.
func TestNeverNull(t *testing.T) {
	f := start(t, Options{})
	for column := range neverNull {
		if column == epochColumn { // of the one row that meta has
			continue
		}
		name := strings.TrimPrefix(column, "c.")
		if f.number("SELECT count(*) FROM pragma_table_info('cards') WHERE name=? AND (\"notnull\"=1 OR pk>0)", name) != 1 {
			t.Errorf("%s can be null", column)
		}
	}
}
