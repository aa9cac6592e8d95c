package api_test

import (
	"punchcard/server/servertest"
)

var contractOfFields = []contractCase{
	{"descriptions may be empty and have several lines", func(s *servertest.Server, th things) {
		for _, text := range []string{"", "a\nb", "a\r\n\tb"} {
			s.Patch("/programs/"+th.program, fields{
				"description":               text,
				"description_localizations": fields{"it": text},
			}).WantOK(fields{"description": text})
			s.Patch("/programs/"+th.program+"/prizes/"+th.prize, fields{"description": text}).WantOK(fields{"description": text})
		}
	}},
	{"all offending fields are reported at once, also those that need the database", func(s *servertest.Server, th things) {
		hooks := "/programs/" + th.program + "/webhooks"
		s.Post(hooks, `{"description":7,"events":["card.used"],"program_ids":["x","`+th.program+`"],"location_ids":["y"]}`).
			Invalid("description invalid_type", "url required", "program_ids.0 invalid_value", "location_ids.0 invalid_value")
		s.Patch(hooks+"/"+th.webhook, `{"active":7,"location_ids":["`+th.location+`","y"],"program_ids":["z",5]}`).
			Invalid("active invalid_type", "program_ids.1 invalid_type", "program_ids.0 invalid_value", "location_ids.1 invalid_value")
		s.Post("/programs", `{"name":"","type":"access","location_scope":"selected_locations","scoped_location_ids":["x"]}`).
			Invalid("name too_short", "access_image_url required", "scoped_location_ids.0 invalid_value")
		s.Post("/programs", `{"name":"N","location_scope":"selected_locations"}`).Invalid("type required", "scoped_location_ids required")
		s.Post("/programs", `{"name":"N","type":"bogus","scoped_location_ids":["x"]}`).
			Invalid("type invalid_value", "scoped_location_ids not_allowed")
		s.Post("/programs", `{"name":"N","type":"prepaid","initial_balance_cents":1,"location_scope":"bogus","scoped_location_ids":["x"]}`).
			Invalid("location_scope invalid_value", "scoped_location_ids.0 invalid_value")
		scope := `"location_scope":"selected_locations","scoped_location_ids":["x"]`
		s.Patch("/programs/"+th.program, `{"name":"","discount_percent":5,`+scope+`}`).
			Invalid("name too_short", "discount_percent not_allowed", "scoped_location_ids.0 invalid_value")
		card := s.Issue(th.program, nil)
		s.Post("/cards/"+card+"/reissue", `{"holder_name":"","send_email":true}`).Invalid("holder_name too_short", "holder_email required")
		s.Post("/cards/"+card+"/install-link", `{"x":1,"send_email":true}`).Invalid("x unknown_field", "holder_email required")
		s.Patch("/cards/"+card, `{"holder_email":"ada@example.com"}`).Want(200)
		s.Post("/cards/"+card+"/reissue", `{"holder_name":"","send_email":true}`).Invalid("holder_name too_short")
	}},
	{"a fault of the body as a whole is reported alone", func(s *servertest.Server, th things) {
		s.Post("/programs/"+th.program+"/webhooks", `{"program_ids":["x"],`).Invalid(" invalid_format")
	}},
	{"the faults of a body tell a restricted key nothing about cards of other locations", func(s *servertest.Server, th things) {
		program := s.NewProgram("standard", true, fields{
			"location_scope":      "selected_locations",
			"scoped_location_ids": []string{s.LocationIDs[1]},
		})
		card := s.Issue(program, nil)
		k, _ := s.NewKey(fields{"location_ids": []string{s.LocationIDs[0]}})
		k.Post("/cards/"+card+"/reissue", `{"holder_name":"","send_email":true}`).Invalid("holder_name too_short")
		k.Post("/cards/"+card+"/reissue", `{"send_email":true}`).Want(404)
	}},
}

var contractOfLists = []contractCase{
	{"limit is 50 by default, clamped above the maximum and refused below 1", func(s *servertest.Server, _ things) {
		s.Get("/cards").WantOK(fields{"limit": 50})
		s.Get("/cards?limit=101").WantOK(fields{"limit": 100})
		s.Get("/cards?limit=0").Invalid("limit too_small")
		s.Get("/cards?limit=x").Invalid("limit invalid_type")
	}},
	{"a cursor that was not made for this list and shop is invalid_format, also beside other faults",
		func(s *servertest.Server, th things) {
			s.Issue(th.program, nil)
			cursor := s.Get("/cards?limit=1&program_id=" + th.program).Want(200).Str("next_cursor")
			for _, path := range []string{"/cards", "/programs", "/locations", "/transactions"} {
				s.Get(path + "?cursor=x").Invalid("cursor invalid_format")
				s.Get(path+"?limit=0&cursor=x").Invalid("limit too_small", "cursor invalid_format")
				if path != "/cards" {
					s.Get(path+"?limit=0&cursor="+cursor).Invalid("limit too_small", "cursor invalid_format")
				}
			}
			s.Get("/cards?limit=0&status=x&cursor="+cursor).Invalid("limit too_small", "status invalid_value")
			other, _ := newOtherShop(s)
			other.Get("/cards?limit=0&cursor="+cursor).Invalid("limit too_small", "cursor invalid_format")
			s.Control("POST", "/cards/"+s.Get("/cards?limit=1&program_id=" + th.program).IDs()[0]+"/delete", nil)
			s.Get("/cards?program_id=" + th.program + "&cursor=" + cursor).WantOK(fields{"data.0.id": th.card, "data.1": nil})
		}},
	{"from after to is invalid_value, also beside other faults", func(s *servertest.Server, _ things) {
		s.Get("/transactions?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z").Invalid("from invalid_value")
		s.Get("/transactions?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z&type=x&cursor=x").
			Invalid("type invalid_value", "from invalid_value", "cursor invalid_format")
		s.Get("/analytics/heatmap?from=2026-01-02&to=2026-01-01").Invalid("from invalid_value")
		s.Get("/analytics/heatmap?from=2026-01-02&to=2026-01-01&program_id=").Invalid("program_id invalid_value", "from invalid_value")
		s.Get("/analytics/heatmap?from=x&to=y").Invalid("from invalid_format", "to invalid_format")
	}},
}
