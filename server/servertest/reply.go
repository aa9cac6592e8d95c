package servertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"punchcard/store"
)

// A Reply is an answer with its whole body.
type Reply struct {
	T      testing.TB
	What   string // the request's method and path
	Err    error  // if there is no complete answer; only of Try
	Status int
	Header http.Header
	Body   []byte

	Request *http.Request
	client  *Client
}

// Check checks what holds for every answer of an API: it has a request id, an
// error has the API's shape and that id, and it is as documented.
func (r *Reply) Check() {
	r.T.Helper()
	id := r.Header.Get("X-Request-Id")
	if !strings.HasPrefix(id, "req_") {
		r.T.Errorf("%.200s: X-Request-Id is %q", r.What, id)
	}
	if r.Status >= 400 && len(r.Body) > 0 {
		if !json.Valid(r.Body) || r.Str("error.code") == "" || r.Str("error.request_id") != id {
			r.T.Errorf("%.200s: an error without the API's shape: %d %s", r.What, r.Status, r.Body)
		}
	}
	if r.client == nil || r.client.source == nil {
		return
	}
	if d := r.client.source.get(r.client); sampled() {
		if err := d.check(r); err != nil {
			r.T.Errorf("%.200s: %d is not as documented: %v\n%.1000s", r.What, r.Status, err, r.Body)
		}
	}
}

// Want ends the test unless the answer has the status and, where one is given,
// the error code.
func (r *Reply) Want(status int, code ...string) *Reply {
	r.T.Helper()
	if r.Err != nil || r.Status != status {
		r.T.Fatalf("%s: status %d, want %d (error %v): %.1000s", r.What, r.Status, status, r.Err, r.Body)
	}
	if len(code) > 0 && r.Str("error.code") != code[0] {
		r.T.Fatalf("%s: code %q, want %q: %.1000s", r.What, r.Str("error.code"), code[0], r.Body)
	}
	return r
}

// Outcome returns the status and, of an error, the code, such as "409 conflict".
func (r *Reply) Outcome() string {
	r.T.Helper()
	if r.Status < 400 {
		return fmt.Sprint(r.Status)
	}
	return fmt.Sprint(r.Status, " ", r.Str("error.code"))
}

// WantOutcome checks the answer's Outcome.
func (r *Reply) WantOutcome(want string) {
	r.T.Helper()
	if have := r.Outcome(); have != want {
		r.T.Errorf("%s: %s, want %s: %.300s", r.What, have, want, r.Body)
	}
}

// Outcomes counts answers by their Outcome.
func Outcomes(all []*Reply) map[string]int {
	m := map[string]int{}
	for _, r := range all {
		m[r.Outcome()]++
	}
	return m
}

// Stable returns the status and the body without the request id, which two
// equal answers differ by.
func (r *Reply) Stable() string {
	r.T.Helper()
	id := r.Header.Get("X-Request-Id")
	if id == "" {
		r.T.Errorf("%s: no X-Request-Id", r.What)
		return string(r.Body)
	}
	return fmt.Sprint(r.Status, " ", strings.ReplaceAll(string(r.Body), id, "req"))
}

// replayed is the header of a remembered answer.
const replayed = "Idempotent-Replayed"

// First ends the test if the answer is a remembered one.
func (r *Reply) First() *Reply {
	r.T.Helper()
	if v := r.Header.Values(replayed); v != nil {
		r.T.Fatalf("%s: %s %q on a first answer: %s", r.What, replayed, v, r.Body)
	}
	return r
}

// Replays ends the test unless the answer is the remembered first one, with a
// request id of its own.
func (r *Reply) Replays(first *Reply) *Reply {
	r.T.Helper()
	if v := r.Header.Values(replayed); len(v) != 1 || v[0] != "true" {
		r.T.Fatalf("%s: %s %q on a replay: %d %s", r.What, replayed, v, r.Status, r.Body)
	}
	if a, b := first.Stable(), r.Stable(); a != b {
		r.T.Fatalf("%s: the replay differs:\n%s\n%s", r.What, a, b)
	}
	if r.Header.Get("X-Request-Id") == first.Header.Get("X-Request-Id") {
		r.T.Fatalf("%s: the replay has the first answer's request id", r.What)
	}
	return r
}

// Same checks that the answer has the same body as another one.
func (r *Reply) Same(other *Reply) {
	r.T.Helper()
	if string(r.Body) != string(other.Body) {
		r.T.Errorf("%s: %s\nwant, as %s answers, %s", r.What, r.Body, other.What, other.Body)
	}
}

// Decode decodes the answer into v.
func (r *Reply) Decode(v any) {
	r.T.Helper()
	if err := json.Unmarshal(r.Body, v); err != nil {
		r.T.Fatalf("%s: %v: %.1000s", r.What, err, r.Body)
	}
}

// Decode returns the answer decoded into a T.
func Decode[T any](r *Reply) (v T) {
	r.T.Helper()
	r.Decode(&v)
	return v
}

// At returns the value at a dotted path of the body: nil when null or absent.
func (r *Reply) At(path string) (v any) {
	r.T.Helper()
	if !json.Valid(r.Body) {
		r.T.Fatalf("%s: no JSON: %.1000s", r.What, r.Body)
	}
	json.Unmarshal(r.find(path), &v)
	return v
}

// Str returns the string at a dotted path of the body: empty when there is none.
func (r *Reply) Str(path string) string {
	r.T.Helper()
	s, _ := r.At(path).(string)
	return s
}

// Raw returns the JSON at a dotted path; the whole body for the empty path.
func (r *Reply) Raw(path string) json.RawMessage {
	r.T.Helper()
	raw := r.find(path)
	if raw == nil {
		r.T.Fatalf("%s: nothing at %s: %.300s", r.What, path, r.Body)
	}
	return raw
}

// find returns the JSON at a dotted path, nil if there is none.
func (r *Reply) find(path string) json.RawMessage {
	raw := json.RawMessage(r.Body)
	for _, p := range strings.FieldsFunc(path, func(c rune) bool { return c == '.' }) {
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) == nil {
			raw = object[p]
			continue
		}
		var list []json.RawMessage
		i, err := strconv.Atoi(p)
		if err != nil || json.Unmarshal(raw, &list) != nil || i >= len(list) {
			return nil
		}
		raw = list[i]
	}
	return raw
}

// IDs returns the ids of a page's items.
func (r *Reply) IDs() (list []string) {
	r.T.Helper()
	items, ok := r.At("data").([]any)
	if !ok {
		r.T.Fatalf("%s: no list: %.300s", r.What, r.Body)
	}
	for _, i := range items {
		list = append(list, i.(map[string]any)["id"].(string))
	}
	return list
}

// Details returns the validation details as "field code", in order.
func (r *Reply) Details() (list []string) {
	r.T.Helper()
	body := Decode[struct {
		Error struct{ Details []store.Detail }
	}](r)
	for _, d := range body.Error.Details {
		list = append(list, d.Field+" "+d.Code)
	}
	return list
}

// Invalid checks that the answer is a validation failure with exactly these
// details.
func (r *Reply) Invalid(details ...string) {
	r.T.Helper()
	if r.Want(400, "validation_failed"); !slices.Equal(r.Details(), details) {
		r.T.Errorf("%s: details %q, want %q", r.What, r.Details(), details)
	}
}

// Shows checks the values at dotted paths of the body. Numbers are compared by value,
// whatever their Go types.
func (r *Reply) Shows(want Fields) {
	r.T.Helper()
	for name, v := range want {
		raw, _ := json.Marshal(v)
		var expect any
		json.Unmarshal(raw, &expect)
		if have := r.At(name); !reflect.DeepEqual(have, expect) {
			r.T.Errorf("%s: %s is %v, want %v", r.What, name, have, expect)
		}
	}
}

// WantOK ends the test unless the answer has the status 200, and checks values of its body as Shows does.
func (r *Reply) WantOK(fields Fields) {
	r.T.Helper()
	r.Want(http.StatusOK).Shows(fields)
}

// NewID ends the test unless the answer has the status 201, and returns the id of what was created.
func (r *Reply) NewID() string {
	r.T.Helper()
	return r.Want(http.StatusCreated).Str("id")
}

// instant is the form of times in answers.
var instant = regexp.MustCompile(`^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"$`)

// Shaped checks the object at a path against a schema of the server's document, beyond what
// Check does: it has the required fields in the schema's order, its times have
// milliseconds, and its ids are not empty. nulls names the fields that must be null; all others must not be.
func (r *Reply) Shaped(path, schema, nulls string) {
	r.T.Helper()
	want, times := r.client.source.get(r.client).fields(schema)
	raw := r.Raw(path)
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		r.T.Fatalf("no object: %s", raw)
	}
	var have, empty []string
	for _, name := range Names(raw) {
		if slices.Contains(want, name) {
			have = append(have, name)
		}
		if v := values[name]; string(v) == "null" {
			empty = append(empty, name)
		} else if slices.Contains(times, name) && !instant.Match(v) {
			r.T.Errorf("%s is no time with milliseconds: %s", name, v)
		} else if (name == "id" || strings.HasSuffix(name, "_id")) && string(v) == `""` {
			r.T.Errorf("%s is empty", name)
		}
	}
	if !slices.Equal(have, want) {
		r.T.Errorf("fields\n%q, want those of %s\n%q", have, schema, want)
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
