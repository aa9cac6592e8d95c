package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

func TestPrizeShape(t *testing.T) {
	s := start(t, servertest.Frozen)
	program := s.NewProgram("standard", false, nil)
	path := "/programs/" + program + "/prizes"
	empty := s.Get(path).Want(200)
	if string(empty.Body) != `{"data":[]}` {
		t.Errorf("the empty list is %s", empty.Body)
	}
	made := s.Post(path, fields{"threshold": 5, "name": "Croissant"}).Want(201)
	made.Shaped("", "Prize", "")
	now := "2026-03-01T09:00:00.000Z"
	made.Shows(fields{
		"program_id":  program,
		"threshold":   5,
		"name":        "Croissant",
		"description": "",
		"ordinal":     0,
		"created_at":  now,
		"updated_at":  now,
	})
	s.Advance("1m")
	changed := s.Patch(path+"/"+made.Str("id"), fields{"description": "Warm."}).Want(200)
	changed.Shows(fields{"id": made.Str("id"), "description": "Warm.", "created_at": now, "updated_at": "2026-03-01T09:01:00.000Z"})
	for _, in := range []struct{ path, at string }{{path, "data.0"}, {"/programs/" + program, "prizes.0"}} {
		r := s.Get(in.path).Want(200)
		if string(r.Raw(in.at)) != string(changed.Body) {
			t.Errorf("%s has %s, want %s", in.path, r.Raw(in.at), changed.Body)
		}
	}
	// A change of the ladder also changes the program.
	s.Get("/programs/" + program).Shows(fields{"updated_at": "2026-03-01T09:01:00.000Z"})
}

// TestPrizeFields checks which fields are kept and cleared. For their values see TestBadFieldsAreNamed
// and TestNull.
func TestPrizeFields(t *testing.T) {
	s := start(t)
	path := "/programs/" + s.NewProgram("private", false, nil) + "/prizes"
	s.Post(path, nil).Invalid("threshold required", "name required")
	s.Post(path, fields{
		"threshold":                 5,
		"name":                      "Z",
		"description":               nil,
		"ordinal":                   nil,
		"name_localizations":        nil,
		"description_localizations": nil,
	}).Want(201)
	made := s.Post(path, fields{
		"threshold":                 5,
		"name":                      "Z",
		"description":               "d",
		"ordinal":                   4,
		"name_localizations":        fields{"it": "a"},
		"description_localizations": fields{"fr": "b"},
	}).Want(201)
	id := path + "/" + made.Str("id")
	stored := func() string {
		return s.Value("SELECT name_localizations||description_localizations FROM prizes WHERE id=?",
			s.Row(store.KindPrize, made.Str("id")))
	}
	s.Patch(id, fields{"name": "Y"}).WantOK(fields{"description": "d", "ordinal": 4})
	if v := stored(); v != `{"it":"a"}{"fr":"b"}` {
		t.Errorf("stored %s", v)
	}
	s.Patch(id, fields{
		"description":               nil,
		"name_localizations":        nil,
		"description_localizations": nil,
	}).WantOK(fields{"description": "", "name": "Y"})
	if v := stored(); v != `{}{}` {
		t.Errorf("cleared to %s", v)
	}
}

// TestLadder checks that a threshold is at most total_stamps, that a program has at most three
// thresholds with three prizes each, and that types without stamps have none. Each case adds a prize
// to a program of ten stamps.
func TestLadder(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		have []int
		add  int
		ok   bool
	}{
		{nil, 0, true}, {nil, 10, true}, {nil, 11, false}, {nil, 1 << 40, false},
		{[]int{1}, 2, true}, {[]int{1, 2}, 3, true}, {[]int{1, 2, 3}, 4, false}, {[]int{1, 2, 3}, 0, false}, {[]int{1, 2, 3}, 2, true},
		{[]int{5, 5}, 5, true}, {[]int{5, 5, 5}, 5, false}, {[]int{5, 5, 5}, 6, true},
		{[]int{1, 1, 1, 2, 2, 2, 3, 3}, 3, true}, {[]int{1, 1, 1, 2, 2, 2, 3, 3, 3}, 3, false},
		{[]int{1, 1, 1, 2, 2, 2, 3, 3, 3}, 4, false},
	} {
		t.Run(fmt.Sprint(c.have, "+", c.add), func(t *testing.T) {
			s := s.On(t)
			path := "/programs/" + s.NewProgram("standard", false, nil) + "/prizes"
			for _, n := range c.have {
				s.Post(path, fields{"threshold": n, "name": "Z"}).Want(201)
			}
			r, n := s.Post(path, fields{"threshold": c.add, "name": "Z"}), len(c.have)
			if c.ok {
				r.WantOutcome("201")
				n++
			} else {
				r.WantOutcome("422 unprocessable_entity")
			}
			if have := len(s.Get(path).IDs()); have != n {
				t.Errorf("%d prizes, want %d", have, n)
			}
		})
	}
	for _, kind := range []string{"discount", "access", "prepaid"} {
		path := "/programs/" + s.ProgramIDs[kind] + "/prizes"
		s.Post(path, fields{"threshold": 0, "name": "Z"}).Want(422, "unprocessable_entity")
		s.Get(path).WantOK(fields{"data": []any{}})
		s.Patch(path+"/"+s.App.Store.ID(store.KindPrize, 1), fields{"name": "Z"}).Want(404, "not_found")
	}
}

// TestLadderMoves checks that PATCH moves a prize from one threshold to another.
func TestLadderMoves(t *testing.T) {
	s := start(t)
	for _, c := range []struct {
		have     []int
		move, to int // the index of the prize and its new threshold
		ok       bool
	}{
		{[]int{1}, 0, 10, true}, {[]int{1}, 0, 11, false}, {[]int{1}, 0, 1, true},
		{[]int{1, 2, 3}, 0, 4, true},     // its old threshold is no longer used
		{[]int{1, 1, 2, 3}, 0, 4, false}, // its old threshold remains, so there would be four
		{[]int{1, 1, 2, 3}, 0, 2, true}, {[]int{1, 2, 2, 2}, 0, 2, false}, {[]int{2, 2, 2}, 1, 2, true}, {[]int{2, 2, 2}, 1, 3, true},
	} {
		t.Run(fmt.Sprint(c.have, " ", c.move, " to ", c.to), func(t *testing.T) {
			s := s.On(t)
			path := "/programs/" + s.NewProgram("standard", false, nil) + "/prizes"
			var ids []string
			for _, n := range c.have {
				ids = append(ids, s.Post(path, fields{"threshold": n, "name": "Z"}).NewID())
			}
			r, at := s.Patch(path+"/"+ids[c.move], fields{"threshold": c.to, "name": "Moved"}), "data."+fmt.Sprint(c.move)
			if c.ok {
				r.WantOK(fields{"threshold": c.to, "name": "Moved", "ordinal": c.move})
				s.Get(path).Shows(fields{at + ".threshold": c.to, at + ".name": "Moved"})
				return
			}
			r.Want(422, "unprocessable_entity")
			s.Get(path).Shows(fields{at + ".threshold": c.have[c.move], at + ".name": "Z"})
		})
	}
}

// TestLadderOrder checks the order by (ordinal, id), with new prizes at the end
// by default.
func TestLadderOrder(t *testing.T) {
	s := start(t)
	path := "/programs/" + s.NewProgram("standard", false, nil) + "/prizes"
	add := func(name string, ordinal any) {
		t.Helper()
		body := fields{"threshold": 5, "name": name}
		if name > "c" {
			body["threshold"] = 6
		}
		s.Post(path, servertest.Merge(body, fields{"ordinal": ordinal})).Want(201)
	}
	order := func(want string) {
		t.Helper()
		r := s.Get(path)
		var have strings.Builder
		for i := range r.IDs() {
			fmt.Fprintf(&have, "%s%v ", r.Str(fmt.Sprintf("data.%d.name", i)), r.At(fmt.Sprintf("data.%d.ordinal", i)))
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
	b := s.Get(path).IDs()[2]
	s.Patch(path+"/"+b, fields{"ordinal": 8}).Want(200)
	order("a0 f0 e1 c7 b8 d8 ")
	s.Call("DELETE", path+"/"+b, nil).Want(204)
	order("a0 f0 e1 c7 d8 ")
	const large int64 = 1767225600000 // such as a time
	s.Patch(path+"/"+s.Get(path).IDs()[4], fields{"ordinal": large}).WantOK(fields{"ordinal": large})
	add("b", nil)
	s.Patch(path+"/"+s.Get(path).IDs()[5], fields{"name": "b", "ordinal": large + 1}).WantOK(fields{"ordinal": large + 1})
}

func TestPrizeDelete(t *testing.T) {
	s := start(t)
	program := s.NewProgram("standard", true, nil)
	path := "/programs/" + program + "/prizes"
	var ids []string
	for i := range 3 {
		ids = append(ids, s.Post(path, fields{"threshold": i, "name": "Z"}).NewID())
	}
	r := s.Call("DELETE", path+"/"+ids[0], nil).Want(204)
	if len(r.Body) > 0 {
		t.Errorf("204 with a body: %s", r.Body)
	}
	s.Call("DELETE", path+"/"+ids[0], nil).Want(404, "not_found")
	s.Patch(path+"/"+ids[0], fields{}).Want(404, "not_found")

	// After a redemption a prize cannot be deleted, but can be changed.
	s.SQL("UPDATE prizes SET redemptions=1 WHERE id=?", s.Row(store.KindPrize, ids[1]))
	s.Call("DELETE", path+"/"+ids[1], nil).Want(409, "conflict")
	s.Patch(path+"/"+ids[1], fields{"name": "Y"}).Want(200)
	// A deleted prize's id is not used again.
	s.Call("DELETE", path+"/"+ids[2], nil).Want(204)
	if again := s.Post(path, fields{"threshold": 9, "name": "Z"}).NewID(); slices.Contains(ids, again) {
		t.Errorf("the id %s is used again", again)
	}

	// While the program is locked, prizes cannot be added, changed or deleted.
	s.Install(s.Issue(program, nil))
	was := s.Get(path)
	for _, id := range []string{ids[1], was.IDs()[1]} {
		s.Call("DELETE", path+"/"+id, nil).Want(409, "program_has_installed_cards")
		s.Patch(path+"/"+id, fields{"name": "W"}).Want(409, "program_has_installed_cards")
		s.Patch(path+"/"+id, fields{}).Want(200)
	}
	s.Post(path, fields{"threshold": 1, "name": "Z"}).Want(409, "program_has_installed_cards")
	s.Call("DELETE", path+"/"+ids[0], nil).Want(404, "not_found")
	s.Get(path).Same(was)
}
