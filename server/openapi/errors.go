package openapi

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"punchcard/server/kernel"
	"punchcard/server/wire"
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
	if r.Writes() && !d.about.Open {
		list = d.refuse(list, store.IdempotencyConflict)
	}
	list = append(
		list,
		refusal{
			http.StatusMethodNotAllowed,
			store.BadRequest,
			"The path does not take this method; the header `Allow` lists those that it takes.",
		},
	)
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

// sampleError is the example of an error, by its code.
type sampleError struct {
	Summary string          `json:"summary"`
	Value   json.RawMessage `json:"value"`
}

// addExamples adds examples to all parameters, bodies and answers.
func (d *Document) addExamples() {
	d.Components.Examples = map[string]sampleError{}
	for _, o := range d.Operations {
		d.sampleParameters(o)
		if o.RequestBody != nil {
			o.RequestBody.Content.JSON.Example = json.RawMessage(cmp.Or(d.sampleBody(o), "{}"))
		}
		if o.Answer != nil {
			o.Responses[strconv.Itoa(o.Route.Status)].Content.JSON.Example = d.sample("", "", o.Answer)
		}
		for _, e := range o.Errors {
			d.Components.Examples[string(e.Code)] = d.sampleError(e)
			answer := &o.Responses[strconv.Itoa(e.Status)].Content.JSON
			if answer.Examples == nil {
				answer.Examples = map[string]reference{}
			}
			answer.Examples[string(e.Code)] = reference{"#/components/examples/" + string(e.Code)}
		}
	}
	for _, w := range d.Events {
		w.RequestBody.Content.JSON.Example = d.sample("", "", w.RequestBody.Content.JSON.Schema)
	}
}

// sampleError returns the example of an error. Its message is a sentence of the kind that
// the server writes, not one of the server's own.
func (d *Document) sampleError(e refusal) sampleError {
	id := d.samples.id("request")
	body := kernel.ErrorBody{Error: kernel.ErrorObject{Code: string(e.Code), Message: "The request was refused.", RequestID: id}}
	if e.Code == store.ValidationFailed {
		body = faultyRequest(id)
	}
	return sampleError{string(e.Code), wire.Append(nil, &body)}
}

// faultyRequest is the body of the error for a faulty field.
func faultyRequest(id string) (body kernel.ErrorBody) {
	body.Error = kernel.ErrorObject{Code: string(store.ValidationFailed), Message: store.Invalid().Message, RequestID: id}
	body.Error.Details = []store.Detail{
		{Field: "holder_email", Code: "invalid_format", Message: "holder_email must be an email address."},
	}
	return body
}
