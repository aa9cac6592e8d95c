package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// callTill posts an action to the till API with a device's token, and ends the test unless the
// answer is 201.
func callTill(s *servertest.Server, token, path string, body fields) *servertest.Reply {
	s.T.Helper()
	raw := require.Must(json.Marshal(body))
	return s.Fetch("POST", s.Origin+"/till/v1"+path, raw, http.Header{
		"Authorization": {"Bearer " + token},
		"Content-Type":  {"application/json"},
	}).Want(201)
}

// fillFigures creates data for every figure: an installed card of each type, and stamps,
// redemptions, a top-up, a spend and uses. Some of them are made at the second location, by a new
// device whose token it returns.
func fillFigures(s *servertest.Server) (second string) {
	s.T.Helper()
	second = s.Control("POST", "/devices", fields{"location_id": s.LocationIDs[1]}).Str("token")
	for kind, program := range s.ProgramIDs {
		r := s.Post("/programs/"+program+"/cards", nil).Want(201)
		card, link := r.Str("id"), r.Str("install_url")
		switch kind {
		case "standard":
			callTill(s, s.TillToken, "/cards/"+card+"/stamps", fields{"count": 6})
			s.Advance("36h")
			callTill(s, second, "/cards/"+card+"/stamps", fields{"count": 4})
			for _, z := range s.Get("/programs/" + program + "/prizes").IDs()[:2] {
				callTill(s, second, "/cards/"+card+"/redemptions", fields{"prize_id": z})
			}
			callTill(s, second, "/cards/"+card+"/stamps", fields{"count": 3})
		case "private":
			callTill(s, s.TillToken, "/cards/"+card+"/stamps", fields{"count": 2})
		case "prepaid":
			callTill(s, s.TillToken, "/cards/"+card+"/topups", fields{"amount_cents": 700})
			callTill(s, second, "/cards/"+card+"/spends", fields{"amount_cents": 200})
		default:
			callTill(s, s.TillToken, "/cards/"+card+"/uses", fields{})
		}
		s.Fetch("POST", link+"/install", []byte(`{"platform":"apple"}`), http.Header{"Content-Type": {"application/json"}}).Want(200)
	}
	return second
}

// objectParts returns the members of a JSON object, each value as its text.
func objectParts(r *servertest.Reply, path string) map[string]string {
	r.T.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(r.Raw(path), &raw); err != nil {
		r.T.Fatalf("%v: %s", err, r.Body)
	}
	m := map[string]string{}
	for k, v := range raw {
		m[k] = string(v)
	}
	return m
}

// TestFigureFailsAlone checks that a figure whose data cannot be read is null, while
// the others are answered with status 200.
func TestFigureFailsAlone(t *testing.T) {
	s := start(t, servertest.Frozen)
	fillFigures(s)
	stats := func() (all map[string]string) {
		all = map[string]string{}
		for kind, program := range s.ProgramIDs {
			if kind == "private" {
				continue // the same as standard
			}
			for name, v := range objectParts(s.Get("/programs/"+program+"/stats").Want(200), "") {
				all[kind+" "+name] = v
			}
			r := s.Get("/analytics/card-types/" + kind).Want(200)
			for name, v := range objectParts(r, "kpis") {
				all[kind+" type "+name] = v
			}
			all[kind+" type activity_by_day"] = string(r.Raw("activity_by_day"))
		}
		return all
	}
	whole := stats()
	for name, v := range whole {
		if strings.HasPrefix(name, "standard ") && v == "null" {
			t.Errorf("%s is null though nothing failed", name)
		}
	}
	for _, c := range servertest.Sample([]struct{ table, column, figures string }{
		{"program_counts", "active", "active_cards,type active_cards"},
		{"program_counts", "stamps", "total_stamps_awarded,type stamps_awarded"},
		{"program_counts", "redemptions", "prizes_redeemed,type prizes_redeemed"},
		{"program_counts", "completed", "completion_rate,type completion_rate"},
		{"program_counts", "google", "platform_split"},
		{"program_counts", "gaps", "avg_days_between_stamps"},
		{"program_counts", "uses", "type uses"},
		{"program_counts", "entries", "type entries"},
		{"program_counts", "balance", "type balance_cents"},
		{"program_counts", "topped_up", "type topped_up_cents"},
		{"program_counts", "spent", "type spent_cents"},
		{"day_counts", "cards", "cards_by_day"},
		{"day_counts", "stamps", "stamps_by_day"},
		{"day_counts", "activity", "type activity_by_day"},
		{"place_counts", "cards", "cards_by_location"},
		{"place_counts", "stamps", "stamps_by_location"},
		{"hour_counts", "stamps", "stamps_by_hour_dow"},
		{"cards", "lapsed", "active_cards,type active_cards,platform_split"},
	}) {
		t.Run(c.table+"."+c.column, func(t *testing.T) {
			s.SQL("ALTER TABLE " + c.table + " RENAME COLUMN " + c.column + " TO elsewhere")
			broken := stats()
			s.SQL("ALTER TABLE " + c.table + " RENAME COLUMN elsewhere TO " + c.column)
			for name, v := range whole {
				_, figure, _ := strings.Cut(name, " ")
				if slices.Contains(strings.Split(c.figures, ","), figure) {
					v = "null"
				}
				if broken[name] != v {
					t.Errorf("%s is %s, want %s", name, broken[name], v)
				}
			}
		})
	}
}

// TestStatisticsWithoutData checks that sums of no rows are 0, lists are empty or
// all zeros, and ratios are null.
func TestStatisticsWithoutData(t *testing.T) {
	s := start(t, servertest.Frozen)
	r := s.Get("/programs/" + s.NewProgram("standard", true, nil) + "/stats").Want(200)
	r.Shaped("", "ProgramStats", "completion_rate avg_days_between_stamps")
	r.Shows(fields{
		"active_cards":         0,
		"total_stamps_awarded": 0,
		"prizes_redeemed":      0,
		"cards_by_location":    []any{},
		"stamps_by_location":   []any{},
		"stamps_by_hour_dow":   []any{},
		"platform_split":       fields{"apple": 0, "google": 0},
		"cards_by_day.0":       fields{"date": "2025-12-02", "count": 0},
		"stamps_by_day.89":     fields{"date": "2026-03-01", "count": 0},
	})
	if days := r.At("cards_by_day").([]any); len(days) != 90 {
		t.Errorf("%d days, want 90", len(days))
	}
	o := s.NewShop(nil)
	o.Get("/analytics/summary").WantOK(fields{"active_locations": 1, "active_programs": 0, "activity_30d": 0, "new_cards_30d": 0})
	h := o.Get("/analytics/heatmap").Want(200)
	h.Shows(fields{
		"from":     "2025-03-02",
		"to":       "2026-03-01",
		"days.0":   fields{"date": "2025-03-02", "count": 0},
		"days.364": fields{"date": "2026-03-01", "count": 0},
		"days.365": nil,
	})
	d := o.Get("/analytics/card-types").Want(200)
	for i, kind := range servertest.Types {
		row := "distribution." + string(rune('0'+i)) + "."
		d.Shows(fields{row + "type": kind, row + "count": 0, row + "label_key": "card_type." + kind})
		kpis := map[string]fields{
			"discount": {"active_cards": 0, "uses": 0},
			"access":   {"active_cards": 0, "entries": 0},
			"prepaid":  {"active_cards": 0, "balance_cents": 0, "spent_cents": 0, "topped_up_cents": 0},
		}[kind]
		if kpis == nil {
			kpis = fields{"active_cards": 0, "completion_rate": nil, "prizes_redeemed": 0, "stamps_awarded": 0}
		}
		o.Get("/analytics/card-types/" + kind).WantOK(fields{
			"card_type":          kind,
			"timezone":           "UTC",
			"kpis":               kpis,
			"activity_by_day.89": fields{"date": "2026-03-01", "value": 0},
			"activity_by_day.90": nil,
		})
	}
}

// TestRestrictedAnalytics checks that a restricted key sees the activity of its locations only. Other
// statistics are refused to it: see TestEveryOperationRefuses.
func TestRestrictedAnalytics(t *testing.T) {
	s := start(t, servertest.Frozen, manyKeys)
	fillFigures(s)
	first, second, both := s.With(s.RestrictedAPIKey), newKeyAt(s, s.LocationIDs[1]), newKeyAt(s, s.LocationIDs...)
	total := func(r *servertest.Reply) (n float64) {
		t.Helper()
		for _, d := range r.Want(200).At("days").([]any) {
			n += d.(map[string]any)["count"].(float64)
		}
		return n
	}
	for _, c := range []struct {
		query              string
		all, first, second float64
	}{
		{"", 10, 5, 5},
		{"?program_id=" + s.ProgramIDs["standard"], 5, 1, 4},
		{"?program_id=" + s.ProgramIDs["private"], 1, 1, 0},
		{"?program_id=" + s.ProgramIDs["prepaid"], 2, 1, 1},
		{"?program_id=prg_00000000000000000000000000", 0, 0, 0},
		{"?program_id=x", 0, 0, 0},
		{"?to=2026-02-28", 0, 0, 0},
	} {
		path := "/analytics/heatmap" + c.query
		a, b, d, e := total(s.Get(path)), total(first.Get(path)), total(second.Get(path)), total(both.Get(path))
		if a != c.all || b != c.first || d != c.second || e != c.all {
			t.Errorf("%s: %v in all, %v and %v at the locations, %v at both; want %v, %v, %v", c.query, a, b, d, e, c.all, c.first,
				c.second)
		}
	}
	o := s.NewShop(nil)
	if n := total(o.Get("/analytics/heatmap?program_id=" + s.ProgramIDs["standard"])); n != 0 {
		t.Errorf("another shop sees %v", n)
	}
	// The scope is checked before the locations.
	unscoped, _ := s.NewKey(fields{"scopes": []string{"programs:read"}, "location_ids": s.LocationIDs[:1]})
	unscoped.Get("/analytics/summary").Want(403, "unauthorized")
	s.Get("/programs/x/stats").Want(404, "not_found")
	s.Get("/analytics/card-types/x").Want(404, "not_found")
}

// TestHeatmapQuery checks that each invalid parameter is reported, and that valid parameters give the
// days that they name.
func TestHeatmapQuery(t *testing.T) {
	s := start(t, servertest.Frozen)
	for query, detail := range map[string]string{
		"from=2026-02-02&to=2026-02-01":   "from invalid_value",
		"from=2026-03-02":                 "from invalid_value", // after today
		"from=2025-03-01&to=2026-03-02":   "from too_large",
		"from=2025-02-28":                 "from too_large",
		"from=0001-01-01&to=9999-12-31":   "from too_large",
		"from=2026-02-29":                 "from invalid_format",
		"from=0000-01-01":                 "from invalid_format",
		"from=2026-1-1":                   "from invalid_format",
		"from=2026-01-01T00:00:00Z":       "from invalid_format",
		"to=2026-01-32":                   "to invalid_format",
		"from":                            "from invalid_value",
		"from=2026-01-01&from=2026-01-01": "from invalid_value",
	} {
		s.Get("/analytics/heatmap?" + query).Invalid(detail)
	}
	got := s.Get("/analytics/heatmap?from=2026-02-30&to=&program_id=").Want(400).Details()
	if slices.Sort(got); !slices.Equal(got, []string{"from invalid_format", "program_id invalid_value", "to invalid_value"}) {
		t.Errorf("details %q, want all three parameters", got)
	}
	for query, want := range map[string]struct {
		from, to string
		days     int
	}{
		"":                              {"2025-03-02", "2026-03-01", 365},
		"from=2025-03-01":               {"2025-03-01", "2026-03-01", 366},
		"from=2025-03-01&to=2026-03-01": {"2025-03-01", "2026-03-01", 366},
		"from=2026-03-01&to=2026-03-01": {"2026-03-01", "2026-03-01", 1},
		"to=2024-12-31":                 {"2024-01-02", "2024-12-31", 365},
		"from=2024-01-01&to=2024-12-31": {"2024-01-01", "2024-12-31", 366}, // a leap year
		"from=9999-12-30&to=9999-12-31": {"9999-12-30", "9999-12-31", 2},
		"from=1969-12-30&to=1970-01-02": {"1969-12-30", "1970-01-02", 4},
		"from=2026-02-28&x=1&x=":        {"2026-02-28", "2026-03-01", 2},
	} {
		r := s.Get("/analytics/heatmap?" + query).Want(200)
		days := r.At("days").([]any)
		if r.Str("from") != want.from || r.Str("to") != want.to || len(days) != want.days || r.Str("days.0.date") != want.from ||
			days[len(days)-1].(map[string]any)["date"] != want.to {
			t.Errorf("%q: %s to %s, %d days", query, r.Str("from"), r.Str("to"), len(days))
		}
		for i, d := range days {
			date := d.(map[string]any)["date"].(string)
			if i > 0 && date <= days[i-1].(map[string]any)["date"].(string) {
				t.Errorf("%q: %s is out of order", query, date)
			}
		}
	}
}
