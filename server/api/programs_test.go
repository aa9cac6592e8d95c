package api_test

import (
	"slices"
	"testing"

	"punchcard/server/servertest"
)

// TestProgramShape checks the fields of the detail and of the list. For programs of each type see TestProgramDefaults.
func TestProgramShape(t *testing.T) {
	s := start(t)
	page := s.Get("/programs?limit=2").Want(200)
	page.Shaped("", "ProgramPage", "")
	page.Shows(fields{"limit": 2})
	page.Shaped("data.0", "Program",
		"suspended_at total_stamps discount_percent default_expire_after_days logo_url access_image_url icon_key")
	// The detail includes the prizes. In a suspended program with all fields of its type, only fields of
	// other types are null.
	full := s.Get("/programs/" + s.ProgramIDs["standard"]).Want(200)
	full.Shaped("prizes.2", "Prize", "")
	id := s.NewProgram("standard", true, fields{"default_expire_after_days": 30, "logo_url": "https://example.com/l.png"})
	s.Post("/programs/"+id+"/suspend", nil).Want(200).Shaped("", "ProgramDetail", "discount_percent initial_balance_cents access_image_url")
}

// TestProgramLifecycle checks every action in every state of a program.
func TestProgramLifecycle(t *testing.T) {
	s := start(t, servertest.Frozen)
	paths := map[string][]string{"unpublished": nil, "published": {"publish"}, "suspended": {"publish", "suspend"}}
	const noop = "no-op"
	for _, c := range []struct{ from, action, want string }{
		{"unpublished", "publish", "published"},
		{"unpublished", "unpublish", noop},
		{"unpublished", "suspend", conflict},
		{"unpublished", "unsuspend", conflict},
		{"published", "publish", noop},
		{"published", "unpublish", "unpublished"},
		{"published", "suspend", "suspended"},
		{"published", "unsuspend", noop},
		{"suspended", "publish", conflict},
		{"suspended", "unpublish", conflict},
		{"suspended", "suspend", noop},
		{"suspended", "unsuspend", "published"},
	} {
		t.Run(c.from+" "+c.action, func(t *testing.T) {
			s := s.On(t)
			path := "/programs/" + s.NewProgram("standard", false, nil)
			for _, a := range paths[c.from] {
				s.Advance("1m")
				s.Post(path+"/"+a, nil).Want(200)
			}
			was, audits := s.Get(path), countAudits(s)
			s.Advance("1m")
			r := s.Post(path+"/"+c.action, nil)
			if c.want == conflict || c.want == noop {
				if r.WantOutcome(map[string]string{conflict: conflict, noop: "200"}[c.want]); c.want == noop {
					r.Same(was)
				}
				s.Get(path).Same(was)
				if countAudits(s) != audits {
					t.Error("it is audited")
				}
				return
			}
			now := s.App.Store.Now().String()
			want := fields{
				"active":       c.want == "published",
				"published_at": was.At("published_at"),
				"suspended_at": nil,
				"updated_at":   now,
				"created_at":   was.At("created_at"),
			}
			switch c.action {
			case "publish":
				want["published_at"] = now
			case "unpublish":
				want["published_at"] = nil
			case "suspend":
				want["suspended_at"] = now
			}
			r.WantOK(want)
			s.Get(path).Same(r)
			issue := map[string]string{
				"published":   "201",
				"unpublished": "422 unprocessable_entity",
				"suspended":   "422 unprocessable_entity",
			}
			s.Post(path+"/cards", nil).WantOutcome(issue[c.want])
		})
	}
	s.Post("/programs/"+s.ProgramIDs["access"]+"/publish", fields{"at": "now"}).Invalid("at unknown_field")
}

// TestDeletedProgram checks that the cards of a deleted program are archived and can be read, and that
// the program is not listed. No operation finds it: see TestStrangeIDs.
func TestDeletedProgram(t *testing.T) {
	s := start(t)
	deleted := s.NewProgram("standard", true, nil)
	card := s.Issue(deleted, fields{"external_ref": "r"})
	s.Control("DELETE", "/programs/"+deleted, nil)
	s.Get("/cards/" + card).WantOK(fields{"status": "archived", "program_id": deleted, "program_name": "S", "external_ref": "r"})
	if ids := s.Get("/programs?limit=100").Want(200).IDs(); slices.Contains(ids, deleted) || len(ids) != 5 {
		t.Errorf("listed %q", ids)
	}
}

// TestProgramList checks the filter by type, with and without paging.
func TestProgramList(t *testing.T) {
	s := start(t, servertest.Frozen)
	want := map[string][]string{}
	for kind, id := range s.ProgramIDs {
		want[kind] = []string{id}
	}
	for i := range 10 {
		kind := servertest.Types[i*2%5]
		want[kind] = append([]string{s.NewProgram(kind, i%2 == 0, nil)}, want[kind]...)
	}
	for _, kind := range servertest.Types {
		for _, limit := range []string{"1", "2", "100"} {
			if ids, _ := s.All("/programs", "type", kind, "limit", limit); !slices.Equal(ids, want[kind]) {
				t.Errorf("type %s, limit %s: %q, want %q", kind, limit, ids, want[kind])
			}
		}
	}
	s.Get("/programs?type=stamps").Invalid("type invalid_value")
	s.Get("/programs?type=Access&limit=0").Invalid("limit too_small", "type invalid_value")
}
