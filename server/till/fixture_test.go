package till_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	_ "modernc.org/sqlite"

	"punchcard/store"
)

// fields is a JSON object.
type fields = map[string]any

// plus is a copy of f with more laid over it.
func plus(f, more fields) fields {
	c := fields{}
	maps.Copy(c, f)
	maps.Copy(c, more)
	return c
}

// on returns the same client that reports to t, a subtest.
func (s *server) on(t *testing.T) *server {
	c := *s
	c.t = t
	return &c
}

// sql changes the file beside the server, as another process does.
func (s *server) sql(query string, args ...any) {
	s.t.Helper()
	s.beside(func(db *sql.DB) error {
		_, err := db.Exec(query, args...)
		return err
	})
}

// value reads one value from the file.
func (s *server) value(query string, args ...any) (v string) {
	s.t.Helper()
	s.beside(func(db *sql.DB) error { return db.QueryRow(query, args...).Scan(&v) })
	return v
}

func (s *server) beside(do func(*sql.DB) error) {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: s.app.Store.Path()}).EscapedPath()+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)")
	if err == nil {
		defer db.Close()
		err = do(db)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// row is the key in the file of what an id names.
func (s *server) row(kind store.Kind, id string) int64 {
	s.t.Helper()
	key, ok := s.app.Store.Key(kind, id)
	if !ok {
		s.t.Fatalf("%q is no id", id)
	}
	return key
}

func (s *server) advance(by string) { s.control("POST", "/clock", fields{"advance": by}) }

// bases are the least that a program of each type is made from.
var bases = map[string]fields{
	"standard": {"type": "standard", "name": "S", "total_stamps": 10, "icon_key": "cup"},
	"private":  {"type": "private", "name": "P", "total_stamps": 10, "icon_key": "cup"},
	"discount": {"type": "discount", "name": "D", "discount_percent": 12.5},
	"access":   {"type": "access", "name": "A", "access_image_url": "https://example.com/a.png"},
	"prepaid":  {"type": "prepaid", "name": "V", "initial_balance_cents": 500},
}

var types = []string{"standard", "private", "discount", "access", "prepaid"}

// ids are those of a page's items.
func (r *reply) ids() (list []string) {
	r.t.Helper()
	items, ok := r.at("data").([]any)
	if !ok {
		r.t.Fatalf("no list: %.300s", r.body)
	}
	for _, i := range items {
		list = append(list, i.(map[string]any)["id"].(string))
	}
	return list
}

var instant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

// holds tells whether a JSON value is of a type as the tables name them.
func holds(kind string, raw json.RawMessage) bool {
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
		return isText && regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`).MatchString(text)
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

// part is the raw JSON at a dotted path; empty is the whole body.
func (r *reply) part(path string) json.RawMessage {
	r.t.Helper()
	raw := json.RawMessage(r.body)
	for _, p := range strings.FieldsFunc(path, func(c rune) bool { return c == '.' }) {
		var object map[string]json.RawMessage
		var list []json.RawMessage
		var i int
		if json.Unmarshal(raw, &object) == nil && object[p] != nil {
			raw = object[p]
		} else if _, err := fmt.Sscan(p, &i); err == nil && json.Unmarshal(raw, &list) == nil && i < len(list) {
			raw = list[i]
		} else {
			r.t.Fatalf("nothing at %s: %.300s", path, r.body)
		}
	}
	return raw
}

// shaped holds the object at a path to a table of its fields: their names in
// order, none missing, none more, each of its type. nulls are the names of
// those that must be null; all others must not be.
func (r *reply) shaped(path, table, nulls string) {
	r.t.Helper()
	raw := r.part(path)
	var values map[string]json.RawMessage
	if err := json.Unmarshal(raw, &values); err != nil {
		r.t.Fatalf("no object: %s", raw)
	}
	var want, empty []string
	for line := range strings.Lines(strings.TrimSpace(table)) {
		name, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		want = append(want, name)
		v, ok := values[name]
		switch {
		case !ok:
			r.t.Errorf("%s is missing: %s", name, raw)
		case !holds(kind, v):
			r.t.Errorf("%s is no %s: %s", name, kind, v)
		case string(v) == "null":
			empty = append(empty, name)
		}
	}
	if have := names(raw); !slices.Equal(have, want) {
		r.t.Errorf("fields\n%q, want\n%q", have, want)
	}
	if expect := strings.Fields(nulls); !slices.Equal(empty, expect) {
		r.t.Errorf("null are %q, want %q: %s", empty, expect, raw)
	}
}

// names are an object's, in order.
func names(raw json.RawMessage) (list []string) {
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

// shows holds fields of the body to values; numbers of any kind compare.
func (r *reply) shows(want fields) {
	r.t.Helper()
	for name, v := range want {
		raw, _ := json.Marshal(v)
		var expect any
		json.Unmarshal(raw, &expect)
		if have := r.at(name); !reflect.DeepEqual(have, expect) {
			r.t.Errorf("%s is %v, want %v", name, have, expect)
		}
	}
}

// invalid holds the answer to a validation failure with exactly these details.
func (r *reply) invalid(details ...string) {
	r.t.Helper()
	if r.want(400, "validation_failed"); !slices.Equal(r.details(), details) {
		r.t.Errorf("details %q, want %q", r.details(), details)
	}
}

// refused holds an answer to "status code", such as "409 conflict", or to the
// status alone.
func (r *reply) refused(want string) {
	r.t.Helper()
	have := fmt.Sprint(r.status)
	if r.status >= 400 {
		have += " " + r.str("error.code")
	}
	if have != want {
		r.t.Errorf("%s, want %s: %.300s", have, want, r.body)
	}
}

// newProgram makes a program of a type that is published.
func (s *server) newProgram(kind string, more fields) string {
	s.t.Helper()
	id := s.rest().post("/programs", plus(bases[kind], more)).want(201).str("id")
	s.rest().post("/programs/"+id+"/publish", nil).want(200)
	return id
}

// prize adds a prize to a program.
func (s *server) prize(program string, threshold int) string {
	s.t.Helper()
	return s.rest().post("/programs/"+program+"/prizes", fields{"threshold": threshold, "name": fmt.Sprint("At ", threshold)}).want(201).str("id")
}

// issue makes a card over the REST API and returns its id.
func (s *server) issue(program string, body fields) string {
	s.t.Helper()
	return s.rest().post("/programs/"+program+"/cards", plus(body, nil)).want(201).str("id")
}

// card is a new card of a new program of a type.
func (s *server) card(kind string, more fields) (card, program string) {
	s.t.Helper()
	program = s.newProgram(kind, more)
	return s.issue(program, nil), program
}

// location makes a site and a till there.
func (s *server) location(body fields) (till *server, location string) {
	s.t.Helper()
	location = s.control("POST", "/locations", body).str("id")
	return s.device(location), location
}

// device is another till at a location.
func (s *server) device(location string) *server {
	s.t.Helper()
	return s.with(s.control("POST", "/devices", fields{"location_id": location}).str("token"))
}

// stamp gives stamps.
func (s *server) stamp(card string, n int) *reply {
	s.t.Helper()
	return s.post("/cards/"+card+"/stamps", fields{"count": n}).want(201)
}

// rows counts the ledger.
func (s *server) rows() string { return s.value("SELECT count(*) FROM transactions") }

// untouched runs what must write nothing.
func (s *server) untouched(do func()) {
	s.t.Helper()
	state := func() string {
		return s.value("SELECT (SELECT count(*) FROM transactions)||' rows, '||(SELECT count(*) FROM audit)||' audited, '||(SELECT count(*) FROM claims)||' claims, '||(SELECT count(*) FROM cards)||' cards, '||" +
			"(SELECT count(*) FROM cards WHERE activated_at IS NOT NULL)||' active, '||(SELECT count(*) FROM idempotency)||' remembered'")
	}
	before := state()
	do()
	if after := state(); after != before {
		s.t.Errorf("before %s; after %s", before, after)
	}
}

// each runs f at once n times, which begin together.
func each[R any](n int, f func(int) R) []R {
	out, begin := make([]R, n), make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-begin
			out[i] = f(i)
		})
	}
	close(begin)
	wg.Wait()
	return out
}

// tally counts answers by "status code".
func tally(all []*reply) map[string]int {
	m := map[string]int{}
	for _, r := range all {
		k := fmt.Sprint(r.status)
		if r.status >= 400 {
			k += " " + r.str("error.code")
		}
		m[k]++
	}
	return m
}
