package store

import (
	"math"
	"slices"
)

// maxTotal is the most items that a Total counts, and maxTotalVisits the most rows that counting them visits, which
// a test lowers.
const maxTotal = 10_000

var maxTotalVisits = 100_000

// Total is the number of items of a list.
type Total struct {
	N    int64 `json:"n"`
	More bool  `json:"more" doc:"n is all that was counted; there may be more."`
}

// Counted is a page of a list, with the number of items of all its pages.
type Counted[T any] struct {
	Page[T]
	Total Total
}

// count returns the number of items of a list.
func (v *View) count(w listQuery) (t Total) {
	from := w.visited(math.MaxInt64)
	if w.filters.list == nil {
		t.N = v.number("SELECT count(*) FROM (SELECT "+w.alias+".id"+from+")", append(w.index.args, maxTotal+1)...)
	} else {
		visited := int64(0)
		v.one(into(&visited, &t.N), "SELECT count(*), ifnull(sum("+w.filters.sql()+"), 0) FROM (SELECT *"+from+") "+w.alias+w.join,
			append(slices.Concat(w.filters.args, w.index.args), maxTotalVisits)...)
		t.More = visited == int64(maxTotalVisits)
	}
	if t.N > maxTotal {
		t = Total{maxTotal, true}
	}
	return t
}

// IDFilter has the ids by which lists and figures are filtered.
type IDFilter struct {
	ProgramID  Opt[string] `json:"program_id"`
	LocationID Opt[string] `json:"location_id"`
	CardID     Opt[string] `json:"card_id"`
}

// CheckIDs refuses ids that name nothing which a caller may read. A list that is filtered by one
// is empty, which an assistant would take for an answer.
func (v *View) CheckIDs(a Access, f IDFilter) error {
	for _, x := range []struct {
		field, word string
		id          Opt[string]
		kind        Kind
		read        func(id string) error
	}{
		{"program_id", "program", f.ProgramID, KindProgram, func(id string) error { _, err := v.program(a, id); return err }},
		{"location_id", "location", f.LocationID, KindLocation, func(id string) error { _, _, err := v.location(a, id); return err }},
		{"card_id", "card", f.CardID, KindCard, func(id string) error { _, err := v.Card(a, id); return err }},
	} {
		if !x.id.Set {
			continue
		}
		if _, ok := v.Key(x.kind, x.id.V); !ok {
			return InvalidField(x.field, "invalid_format", "must be the id of a "+x.word)
		}
		if err := x.read(x.id.V); err != nil {
			return err
		}
	}
	return nil
}
