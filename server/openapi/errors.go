package openapi

import (
	"cmp"
	"maps"
	"net/http"
	"slices"

	"punchcard/server/kernel"
	"punchcard/store"
)

// refusal is an error with which an operation may answer.
type refusal struct {
	Status int
	Code   store.Code
	When   string
}

// refuse appends the refusals of codes, with the face's status and text, unless list
// has them.
func (d *Document) refuse(list []refusal, codes ...store.Code) []refusal {
	for _, c := range codes {
		e := refusal{d.about.Status(c), c, cmp.Or(d.about.When[c], kernel.Codes[c].When)}
		if !slices.Contains(list, e) {
			list = append(list, e)
		}
	}
	return list
}

func byStatus(a, b refusal) int { return a.Status - b.Status }

// refusals lists the errors of a route by ascending status. Those of one
// status are in the order of the checks.
func (d *Document) refusals(r *kernel.Route) []refusal {
	list := d.refuse(nil, store.ValidationFailed)
	list = d.refuse(list, d.about.Guard(r)...)
	list = d.refuse(list, r.Codes...)
	if r.Writes() {
		list = d.refuse(list, store.IdempotencyConflict)
	}
	list = append(list, refusal{http.StatusMethodNotAllowed, store.BadRequest, "The path does not take this method; the header `Allow` lists those that it takes."})
	if r.Writes() && r.Method != http.MethodDelete {
		list = append(d.refuse(list, store.BadRequest),
			refusal{http.StatusRequestEntityTooLarge, store.BadRequest, "The body is larger than 1 MiB."},
			refusal{http.StatusUnsupportedMediaType, store.BadRequest, "The Content-Type is not JSON."})
	}
	slices.SortStableFunc(list, byStatus)
	return list
}

// AllErrors lists the errors of all faces by ascending status.
func (d *Document) AllErrors() []refusal {
	list := d.refuse(nil, slices.Sorted(maps.Keys(kernel.Codes))...)
	list = slices.DeleteFunc(list, func(e refusal) bool { return e.When == "" })
	slices.SortStableFunc(list, byStatus)
	return list
}

// codes returns the codes of all operations, sorted.
func (d *Document) codes() (list []any) {
	used := map[string]bool{}
	for _, o := range d.Operations {
		for _, e := range o.Errors {
			used[string(e.Code)] = true
		}
	}
	for _, c := range slices.Sorted(maps.Keys(used)) {
		list = append(list, c)
	}
	return list
}
