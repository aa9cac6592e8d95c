package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"punchcard/store"
)

const prizeTable = `
	id id
	program_id id
	threshold integer
	name string
	description string
	ordinal integer
	created_at date-time
	updated_at date-time`

func TestPrizeShape(t *testing.T) {
	t.Parallel()
	s := start(t, frozen)
	program := s.newProgram("standard", false, nil)
	path := "/programs/" + program + "/prizes"
	empty := s.get(path).want(200)
	empty.shaped("", "data list", "")
	if string(empty.body) != `{"data":[]}` {
		t.Errorf("%s", empty.body)
	}
	made := s.post(path, fields{"threshold": 5, "name": "Croissant"}).want(201)
	made.shaped("", prizeTable, "")
	now := "2026-03-01T09:00:00.000Z"
	made.shows(fields{"program_id": program, "threshold": 5, "name": "Croissant", "description": "", "ordinal": 0, "created_at": now, "updated_at": now})
	s.advance("1m")
	changed := s.patch(path+"/"+made.str("id"), fields{"description": "Warm."}).want(200)
	changed.shaped("", prizeTable, "")
	changed.shows(fields{"id": made.str("id"), "description": "Warm.", "created_at": now, "updated_at": "2026-03-01T09:01:00.000Z"})
	for _, in := range []struct{ path, at string }{{path, "data.0"}, {"/programs/" + program, "prizes.0"}} {
		r := s.get(in.path).want(200)
		if r.shaped(in.at, prizeTable, ""); string(r.part(in.at)) != string(changed.body) {
			t.Errorf("%s has %s, want %s", in.path, r.part(in.at), changed.body)
		}
	}
	// A change of the ladder is one of the program.
	s.get("/programs/" + program).shows(fields{"updated_at": "2026-03-01T09:01:00.000Z"})
}

// TestPrizeFields: bounds of each field, on creation and by PATCH.
func TestPrizeFields(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []struct {
		field        string
		value        any
		made, change string // details; empty: accepted
	}{
		{"threshold", 0, "", ""}, {"threshold", 10, "", ""}, {"threshold", -1, "too_small", "too_small"}, {"threshold", 1.5, "invalid_type", "invalid_type"},
		{"threshold", "5", "invalid_type", "invalid_type"}, {"threshold", nil, "required", "invalid_type"},
		{"name", "x", "", ""}, {"name", long(200), "", ""}, {"name", "", "too_short", "too_short"}, {"name", long(201), "too_long", "too_long"}, {"name", nil, "required", "invalid_type"},
		{"description", "", "", ""}, {"description", long(2000), "", ""}, {"description", long(2001), "too_long", "too_long"}, {"description", 1, "invalid_type", "invalid_type"},
		{"ordinal", 0, "", ""}, {"ordinal", 7, "", ""}, {"ordinal", -1, "too_small", "too_small"}, {"ordinal", 0.5, "invalid_type", "invalid_type"},
		{"name_localizations", fields{"de": long(501)}, ".de too_long", ".de too_long"}, {"name_localizations", fields{"ru": "x"}, ".ru unknown_field", ".ru unknown_field"},
		{"description_localizations", fields{"pt": 1}, ".pt invalid_type", ".pt invalid_type"}, {"description_localizations", "x", "invalid_type", "invalid_type"},
		{"program_id", "x", "unknown_field", "unknown_field"}, {"id", "x", "unknown_field", "unknown_field"}, {"redemptions", 1, "unknown_field", "unknown_field"},
	} {
		t.Run(fmt.Sprintf("%s=%.12v", c.field, c.value), func(t *testing.T) {
			s := s.on(t)
			path := "/programs/" + s.newProgram("private", false, nil) + "/prizes"
			id := s.post(path, fields{"threshold": 3, "name": "Z"}).want(201).str("id")
			check := func(r *reply, detail string, status int) {
				t.Helper()
				switch {
				case strings.HasPrefix(detail, "."):
					r.invalid(c.field + detail)
				case detail != "":
					r.invalid(c.field + " " + detail)
				default:
					r.want(status).shows(fields{c.field: c.value})
				}
			}
			check(s.post(path, plus(fields{"threshold": 5, "name": "Y"}, fields{c.field: c.value})), c.made, 201)
			check(s.patch(path+"/"+id, fields{c.field: c.value}), c.change, 200)
		})
	}
	path := "/programs/" + s.newProgram("private", false, nil) + "/prizes"
	s.post(path, nil).invalid("threshold required", "name required")
	s.post(path, fields{"threshold": 5, "name": "Z", "description": nil, "ordinal": nil, "name_localizations": nil, "description_localizations": nil}).want(201)
	made := s.post(path, fields{"threshold": 5, "name": "Z", "description": "d", "ordinal": 4, "name_localizations": fields{"it": "a"}, "description_localizations": fields{"fr": "b"}}).want(201)
	id := path + "/" + made.str("id")
	stored := func() string {
		return s.value("SELECT name_localizations||description_localizations FROM prizes WHERE id=?", s.row(store.KindPrize, made.str("id")))
	}
	s.patch(id, fields{"name": "Y"}).want(200).shows(fields{"description": "d", "ordinal": 4})
	if v := stored(); v != `{"it":"a"}{"fr":"b"}` {
		t.Errorf("stored %s", v)
	}
	s.patch(id, fields{"ordinal": nil}).invalid("ordinal invalid_type")
	s.patch(id, fields{"description": nil, "name_localizations": nil, "description_localizations": nil}).want(200).shows(fields{"description": "", "name": "Y"})
	if v := stored(); v != `{}{}` {
		t.Errorf("cleared to %s", v)
	}
	was, audits := s.get(path), s.audits()
	s.patch(id, fields{}).want(200)
	if after := s.get(path); string(after.body) != string(was.body) || s.audits() != audits {
		t.Errorf("an empty patch changed %s to %s", was.body, after.body)
	}
}

// TestLadder: thresholds × options. Each row adds to a ladder and is refused
// or not; the program has ten stamps.
func TestLadder(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []struct {
		have []int
		add  int
		ok   bool
	}{
		{nil, 0, true}, {nil, 10, true}, {nil, 11, false}, {nil, 1 << 40, false},
		{[]int{1}, 2, true}, {[]int{1, 2}, 3, true}, {[]int{1, 2, 3}, 4, false}, {[]int{1, 2, 3}, 0, false}, {[]int{1, 2, 3}, 2, true},
		{[]int{5, 5}, 5, true}, {[]int{5, 5, 5}, 5, false}, {[]int{5, 5, 5}, 6, true},
		{[]int{1, 1, 1, 2, 2, 2, 3, 3}, 3, true}, {[]int{1, 1, 1, 2, 2, 2, 3, 3, 3}, 3, false}, {[]int{1, 1, 1, 2, 2, 2, 3, 3, 3}, 4, false},
	} {
		t.Run(fmt.Sprint(c.have, "+", c.add), func(t *testing.T) {
			s := s.on(t)
			path := "/programs/" + s.newProgram("standard", false, nil) + "/prizes"
			for _, n := range c.have {
				s.post(path, fields{"threshold": n, "name": "Z"}).want(201)
			}
			r, n := s.post(path, fields{"threshold": c.add, "name": "Z"}), len(c.have)
			if c.ok {
				r.refused("201")
				n++
			} else {
				r.refused("422 unprocessable_entity")
			}
			if have := len(s.get(path).ids()); have != n {
				t.Errorf("%d prizes, want %d", have, n)
			}
		})
	}
	for _, kind := range []string{"discount", "access", "prepaid"} {
		path := "/programs/" + s.ProgramIDs[kind] + "/prizes"
		s.post(path, fields{"threshold": 0, "name": "Z"}).want(422, "unprocessable_entity")
		s.get(path).want(200).shows(fields{"data": []any{}})
		s.patch(path+"/"+s.app.Store.ID(store.KindPrize, 1), fields{"name": "Z"}).want(404, "not_found")
	}
}

// TestLadderMoves: PATCH takes an option from one threshold to another.
func TestLadderMoves(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, c := range []struct {
		have     []int
		move, to int // which one, and where to
		ok       bool
	}{
		{[]int{1}, 0, 10, true}, {[]int{1}, 0, 11, false}, {[]int{1}, 0, 1, true},
		{[]int{1, 2, 3}, 0, 4, true},     // its own threshold goes with it
		{[]int{1, 1, 2, 3}, 0, 4, false}, // here it stays, so four would be
		{[]int{1, 1, 2, 3}, 0, 2, true}, {[]int{1, 2, 2, 2}, 0, 2, false}, {[]int{2, 2, 2}, 1, 2, true}, {[]int{2, 2, 2}, 1, 3, true},
	} {
		t.Run(fmt.Sprint(c.have, " ", c.move, " to ", c.to), func(t *testing.T) {
			s := s.on(t)
			path := "/programs/" + s.newProgram("standard", false, nil) + "/prizes"
			var ids []string
			for _, n := range c.have {
				ids = append(ids, s.post(path, fields{"threshold": n, "name": "Z"}).want(201).str("id"))
			}
			r, at := s.patch(path+"/"+ids[c.move], fields{"threshold": c.to, "name": "Moved"}), "data."+fmt.Sprint(c.move)
			if c.ok {
				r.want(200).shows(fields{"threshold": c.to, "name": "Moved", "ordinal": c.move})
				s.get(path).shows(fields{at + ".threshold": c.to, at + ".name": "Moved"})
				return
			}
			r.want(422, "unprocessable_entity")
			s.get(path).shows(fields{at + ".threshold": c.have[c.move], at + ".name": "Z"})
		})
	}
}

// TestLadderOrder: by (ordinal, id), new ones at the end by default.
func TestLadderOrder(t *testing.T) {
	t.Parallel()
	s := start(t)
	path := "/programs/" + s.newProgram("standard", false, nil) + "/prizes"
	add := func(name string, ordinal any) {
		t.Helper()
		body := fields{"threshold": 5, "name": name}
		if name > "c" {
			body["threshold"] = 6
		}
		s.post(path, plus(body, fields{"ordinal": ordinal})).want(201)
	}
	order := func(want string) {
		t.Helper()
		r := s.get(path)
		var have strings.Builder
		for i := range r.ids() {
			fmt.Fprintf(&have, "%s%v ", r.str(fmt.Sprintf("data.%d.name", i)), r.at(fmt.Sprintf("data.%d.ordinal", i)))
		}
		if have.String() != want {
			t.Errorf("order %q, want %q", have.String(), want)
		}
	}
	add("a", nil)
	add("b", nil)
	order("a0 b1 ")
	add("c", 7)
	add("d", nil)
	order("a0 b1 c7 d8 ")
	add("e", 1)
	add("f", 0)
	order("a0 f0 b1 e1 c7 d8 ")
	b := s.get(path).ids()[2]
	s.patch(path+"/"+b, fields{"ordinal": 8}).want(200)
	order("a0 f0 e1 c7 b8 d8 ")
	s.call("DELETE", path+"/"+b, nil).want(204)
	order("a0 f0 e1 c7 d8 ")
}

func TestPrizeDelete(t *testing.T) {
	t.Parallel()
	s := start(t)
	program := s.newProgram("standard", true, nil)
	path := "/programs/" + program + "/prizes"
	var ids []string
	for i := range 3 {
		ids = append(ids, s.post(path, fields{"threshold": i, "name": "Z"}).want(201).str("id"))
	}
	r := s.call("DELETE", path+"/"+ids[0], nil).want(204)
	if len(r.body) > 0 {
		t.Errorf("a body: %s", r.body)
	}
	s.call("DELETE", path+"/"+ids[0], nil).want(404, "not_found")
	s.patch(path+"/"+ids[0], fields{"name": "x"}).want(404, "not_found")
	s.patch(path+"/"+ids[0], fields{}).want(404, "not_found")
	s.call("DELETE", path+"/x", nil).want(404, "not_found")
	s.call("DELETE", "/programs/"+s.ProgramIDs["private"]+"/prizes/"+ids[1], nil).want(404, "not_found")
	s.patch("/programs/"+s.ProgramIDs["private"]+"/prizes/"+ids[1], fields{"name": "x"}).want(404, "not_found")

	// Redeemed once, it stays; that does not freeze it.
	s.sql("UPDATE prizes SET redemptions=1 WHERE id=?", s.row(store.KindPrize, ids[1]))
	s.call("DELETE", path+"/"+ids[1], nil).want(409, "conflict")
	s.patch(path+"/"+ids[1], fields{"name": "Y"}).want(200)
	// A freed id is not given out again.
	s.call("DELETE", path+"/"+ids[2], nil).want(204)
	if again := s.post(path, fields{"threshold": 9, "name": "Z"}).want(201).str("id"); slices.Contains(ids, again) {
		t.Errorf("%s is a new prize", again)
	}

	// The lock.
	s.install(s.issue(program, nil))
	was := s.get(path)
	for _, id := range []string{ids[1], was.ids()[1]} {
		s.call("DELETE", path+"/"+id, nil).want(409, "program_has_installed_cards")
		s.patch(path+"/"+id, fields{"name": "W"}).want(409, "program_has_installed_cards")
		s.patch(path+"/"+id, fields{}).want(200)
	}
	s.post(path, fields{"threshold": 1, "name": "Z"}).want(409, "program_has_installed_cards")
	s.call("DELETE", path+"/"+ids[0], nil).want(404, "not_found")
	if after := s.get(path); string(after.body) != string(was.body) {
		t.Errorf("%s, was %s", after.body, was.body)
	}
}
