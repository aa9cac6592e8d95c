package api_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// TestProgramDefaults checks the defaults of a program of each type that is created with the required
// fields only.
func TestProgramDefaults(t *testing.T) {
	s := start(t, servertest.Frozen)
	for _, kind := range servertest.Types {
		want := fields{"description": "", "category": "other", "active": false, "published_at": nil, "suspended_at": nil,
			"total_stamps": nil, "repeat_after_reset": false, "discount_percent": nil, "initial_balance_cents": nil,
			"default_expire_after_days": nil, "logo_url": nil, "access_image_url": nil, "icon_key": nil,
			"brand_color_hex": "#1F2937", "bg_color_hex": "#FFFFFF", "text_color_hex": "#111827",
			"location_scope": "all_locations", "scoped_location_ids": []string{}, "prizes": []any{}, "has_installed_cards": false,
			"created_at": "2026-03-01T09:00:00.000Z", "updated_at": "2026-03-01T09:00:00.000Z"}
		made := s.Post("/programs", servertest.Programs[kind]).Want(201)
		made.Shows(servertest.Merge(want, servertest.Programs[kind]))
		s.Get("/programs/" + made.Str("id")).Same(made)
		hidden := s.Value(`SELECT name_localizations||description_localizations||visible_in_catalog||border_enabled||
			ifnull(stamps_expire_after_days,'none') FROM programs WHERE id=?`, s.Row(store.KindProgram, made.Str("id")))
		if hidden != "{}{}10none" {
			t.Errorf("%s: the fields that are in no answer are %s", kind, hidden)
		}
	}
}

// typeFields are the fields that only some program types have.
var typeFields = []struct {
	field    string
	value    any
	of       string
	required bool
}{
	{"total_stamps", 7, "standard private", true},
	{"icon_key", "star", "standard private", true},
	{"repeat_after_reset", true, "standard private", false},
	{"stamps_expire_after_days", 30, "standard private", false},
	{"discount_percent", 5, "discount", true},
	{"access_image_url", "http://example.com/x.png", "access", true},
	{"initial_balance_cents", 0, "prepaid", true},
}

// TestProgramTypeFields sends each of typeFields to programs of every type, on creation and in PATCH.
// A type without the field accepts null and, for a boolean, false. A type that requires the field
// cannot be created without it or with null.
func TestProgramTypeFields(t *testing.T) {
	s := start(t)
	for _, kind := range servertest.Types {
		path := "/programs/" + s.NewProgram(kind, false, nil)
		for _, f := range typeFields {
			t.Run(kind+" "+f.field, func(t *testing.T) {
				s := s.On(t)
				create := func(v any) *servertest.Reply {
					return s.Post("/programs", servertest.Merge(servertest.Programs[kind], fields{f.field: v}))
				}
				applies := slices.Contains(strings.Fields(f.of), kind)
				switch {
				case !applies:
					create(f.value).Invalid(f.field + " not_allowed")
					create(nil).Want(201)
					s.Patch(path, fields{f.field: f.value}).Invalid(f.field + " not_allowed")
					s.Patch(path, fields{f.field: nil}).Want(200)
					if f.value == true {
						create(false).Want(201)
						s.Patch(path, fields{f.field: false}).Want(200)
					}
				case f.required:
					create(f.value).Want(201).Shows(fields{f.field: f.value})
					create(nil).Invalid(f.field + " required")
					without := servertest.Merge(servertest.Programs[kind], nil)
					delete(without, f.field)
					s.Post("/programs", without).Invalid(f.field + " required")
					s.Patch(path, fields{f.field: f.value}).WantOK(fields{f.field: f.value})
				default:
					create(f.value).Want(201)
					create(nil).Want(201)
					s.Patch(path, fields{f.field: f.value}).Want(200)
				}
			})
		}
	}
}

// TestProgramHiddenFields checks that fields which are in no answer are stored.
func TestProgramHiddenFields(t *testing.T) {
	s := start(t)
	id := s.NewProgram("standard", false, nil)
	for _, c := range []struct {
		field string
		value any
		want  string // as stored
	}{
		{"stamps_expire_after_days", 1, "1"}, {"stamps_expire_after_days", 3650, "3650"},
		{"visible_in_catalog", true, "1"}, {"visible_in_catalog", false, "0"},
		{"border_enabled", false, "0"}, {"border_enabled", true, "1"},
		{"name_localizations", fields{}, "{}"},
		{"name_localizations", fields{"it": "a", "en": "b", "es": "c", "fr": "d", "de": "e", "pt": "f"},
			`{"de":"e","en":"b","es":"c","fr":"d","it":"a","pt":"f"}`},
		{"name_localizations", fields{"it": "uno"}, `{"it":"uno"}`}, // replaces the whole object
		{"description_localizations", fields{"pt": long(500)}, `{"pt":"` + long(500) + `"}`},
	} {
		stored := func(id string) string {
			return s.Value("SELECT "+c.field+" FROM programs WHERE id=?", s.Row(store.KindProgram, id))
		}
		made := s.Post("/programs", servertest.Merge(servertest.Programs["standard"], fields{c.field: c.value}))
		changed := s.Patch("/programs/"+id, fields{c.field: c.value})
		changed.Want(200)
		if a, b := stored(made.NewID()), stored(id); a != c.want || b != c.want {
			t.Errorf("%s: created as %.100s, changed to %.100s, want %.100s", c.field, a, b, c.want)
		}
	}
	// Changes of other fields keep the hidden ones; null restores the defaults.
	all := func() string {
		return s.Value(`SELECT ifnull(stamps_expire_after_days,'none')||visible_in_catalog||border_enabled||
			length(name_localizations)||' '||length(description_localizations) FROM programs WHERE id=?`, s.Row(store.KindProgram, id))
	}
	was := all()
	s.Patch("/programs/"+id, fields{"name": "Other"}).Want(200)
	if now := all(); now != was {
		t.Errorf("a PATCH of the name changed %s to %s", was, now)
	}
	s.Patch("/programs/"+id, fields{"stamps_expire_after_days": nil, "name_localizations": nil, "description_localizations": nil}).Want(200)
	if now := all(); now != "none012 2" {
		t.Errorf("null changed the fields to %s", now)
	}
}

// TestProgramScope checks location_scope and scoped_location_ids, on creation and in a later PATCH.
func TestProgramScope(t *testing.T) {
	s := start(t)
	ids := strings.NewReplacer("ONE", s.LocationIDs[0], "TWO", s.LocationIDs[1])
	const one = `{"location_scope":"selected_locations","scoped_location_ids":["ONE"]}`
	for i, c := range []struct {
		first, then string // bodies of the POST and of a later PATCH
		want        string // the detail, or the scope
		ids         string // the locations
	}{
		{`{"location_scope":"all_locations"}`, "", "all_locations", ""},
		{`{"location_scope":null,"scoped_location_ids":null}`, "", "all_locations", ""},
		{`{"scoped_location_ids":[]}`, "", "all_locations", ""},
		{`{"scoped_location_ids":["ONE"]}`, "", "scoped_location_ids not_allowed", ""},
		{`{"location_scope":"all_locations","scoped_location_ids":["ONE"]}`, "", "scoped_location_ids not_allowed", ""},
		{`{"location_scope":"selected_locations"}`, "", "scoped_location_ids required", ""},
		{`{"location_scope":"selected_locations","scoped_location_ids":null}`, "", "scoped_location_ids required", ""},
		{`{"location_scope":"selected_locations","scoped_location_ids":[]}`, "", "scoped_location_ids required", ""},
		{`{"location_scope":"selected_locations","scoped_location_ids":["TWO","ONE"]}`, "", "selected_locations", "TWO ONE"},
		{`{"location_scope":"selected_locations","scoped_location_ids":["ONE","TWO","ONE"]}`, "", "selected_locations", "ONE TWO"},
		{`{"location_scope":"selected_locations","scoped_location_ids":["x"]}`, "", "scoped_location_ids.0 invalid_value", ""},
		{"{}", `{"location_scope":"selected_locations"}`, "scoped_location_ids required", ""},
		{"{}", `{"scoped_location_ids":["ONE"]}`, "scoped_location_ids not_allowed", ""},
		{"{}", one, "selected_locations", "ONE"},
		{one, `{"scoped_location_ids":["TWO"]}`, "selected_locations", "TWO"},
		{one, `{"name":"N"}`, "selected_locations", "ONE"},
		{one, `{"location_scope":"selected_locations"}`, "selected_locations", "ONE"},
		{one, `{"scoped_location_ids":[]}`, "scoped_location_ids required", ""},
		{one, `{"location_scope":"all_locations"}`, "all_locations", ""},
		{one, `{"location_scope":"all_locations","scoped_location_ids":[]}`, "all_locations", ""},
		{one, `{"location_scope":"all_locations","scoped_location_ids":["ONE"]}`, "scoped_location_ids not_allowed", ""},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := s.On(t)
			r := s.Post("/programs", servertest.Merge(servertest.Programs["discount"], parseObject(t, ids.Replace(c.first))))
			if c.then != "" {
				r = s.Patch("/programs/"+r.NewID(), ids.Replace(c.then))
			}
			if strings.Contains(c.want, " ") {
				r.Invalid(c.want)
				return
			}
			if r.Status >= 300 {
				t.Fatalf("status %d: %s", r.Status, r.Body)
			}
			r.Shows(fields{"location_scope": c.want, "scoped_location_ids": strings.Fields(ids.Replace(c.ids))})
			s.Get("/programs/" + r.Str("id")).Same(r)
			s.Get("/programs?limit=1").Shows(fields{
				"data.0.location_scope": c.want, "data.0.scoped_location_ids": r.At("scoped_location_ids"),
			})
		})
	}
}
