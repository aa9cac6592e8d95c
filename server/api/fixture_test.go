package api_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

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

// happened is the key of a delivery's event.
func (s *server) happened(delivery string) int64 {
	s.t.Helper()
	for hook := int64(1); hook < 1000; hook++ {
		if key, ok := s.app.Store.DeliveryKey(hook, delivery); ok {
			return key
		}
	}
	s.t.Fatalf("%q is no delivery", delivery)
	return 0
}

// audits counts the changes that were made.
func (s *server) audits() string { return s.value("SELECT count(*) FROM audit") }

// dev calls the control API, whatever it answers.
func (s *server) dev(method, path string, body any) *reply {
	s.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	if body == nil {
		raw = nil
	}
	return s.fetch(method, s.Origin+"/dev"+path, raw, http.Header{"Content-Type": {"application/json"}})
}

func (s *server) advance(by string) { s.control("POST", "/clock", fields{"advance": by}) }

// keyAt is the client of a new key of every scope. Locations restrict it.
func (s *server) keyAt(locations ...string) *server {
	s.t.Helper()
	body := fields{}
	if locations != nil {
		body["location_ids"] = locations
	}
	return s.with(s.control("POST", "/keys", body).str("key"))
}

// elsewhere is the client of another shop of the file; first is its location.
func (s *server) elsewhere() (other *server, first string) {
	s.t.Helper()
	r := s.control("POST", "/shops", fields{"name": "Elsewhere"})
	other = s.with(r.str("api_key"))
	ready := *s.Ready
	other.Ready = &ready
	return other, r.str("location_id")
}

// bases are the least that a program of each type is made from.
var bases = map[string]fields{
	"standard": {"type": "standard", "name": "S", "total_stamps": 10, "icon_key": "cup"},
	"private":  {"type": "private", "name": "P", "total_stamps": 10, "icon_key": "cup"},
	"discount": {"type": "discount", "name": "D", "discount_percent": 12.5},
	"access":   {"type": "access", "name": "A", "access_image_url": "https://example.com/a.png"},
	"prepaid":  {"type": "prepaid", "name": "V", "initial_balance_cents": 500},
}

var types = []string{"standard", "private", "discount", "access", "prepaid"}

// newProgram makes a program of a type, published or not, and returns its id.
func (s *server) newProgram(kind string, publish bool, more fields) string {
	s.t.Helper()
	id := s.post("/programs", plus(bases[kind], more)).want(201).str("id")
	if publish {
		s.post("/programs/"+id+"/publish", nil).want(200)
	}
	return id
}

// issue makes a card and returns its id.
func (s *server) issue(program string, body fields) string {
	s.t.Helper()
	return s.post("/programs/"+program+"/cards", plus(body, nil)).want(201).str("id")
}

// install puts a card on a device, which marks its program for good.
func (s *server) install(card string) {
	s.t.Helper()
	key, now := s.row(store.KindCard, card), s.app.Store.Now()
	s.sql("UPDATE cards SET installed_at=?1, activated_at=?1, platform='apple' WHERE id=?2", int64(now), key)
	s.sql("UPDATE programs SET has_installed_cards=1 WHERE id=(SELECT program_id FROM cards WHERE id=?)", key)
}

// activate is a first presentation.
func (s *server) activate(card string) {
	s.t.Helper()
	s.sql("UPDATE cards SET activated_at=? WHERE id=?", int64(s.app.Store.Now()), s.row(store.KindCard, card))
}

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

// all pages through a list to its end.
func (s *server) all(path string, query ...string) (ids []string, pages int) {
	s.t.Helper()
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	for ; pages < 1000; pages++ {
		r := s.get(path + "?" + q.Encode()).want(200)
		ids = append(ids, r.ids()...)
		next := r.at("next_cursor")
		if next == nil {
			return ids, pages + 1
		}
		q.Set("cursor", next.(string))
	}
	s.t.Fatalf("%s does not end", path)
	return nil, 0
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

func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func long(n int) string { return strings.Repeat("é", n) }
