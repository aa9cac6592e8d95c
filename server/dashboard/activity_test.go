package dashboard_test

import (
	"strings"
	"testing"
)

func TestActivity(t *testing.T) {
	s := start(t)
	s.as("manager").get("/dashboard/activity?who=user&action=location.&from=2026-01-01&to=2026-12-31").want(200)
	key, id := s.NewKey(object{})
	key.Call("PATCH", "/locations/"+s.LocationIDs[0], object{"name": "Old harbour"}).Want(200)
	s.as("manager").post("/dashboard/location/"+s.LocationIDs[0]+"/disable", nil).want(303)
	manager := s.as("manager")
	for query, c := range map[string]struct{ shown, not string }{
		"":                          {"Disabled a location", "No such text"},
		"who=" + id:                 {"Changed a location", "Disabled a location"},
		"who=user&action=location.": {"Disabled a location", "Changed a location"},
		"action=location.update":    {"Changed a location", "Disabled a location"},
		"action=location.upd":       {"Nothing found", "Changed a location"},
		"from=2999-01-01":           {"Nothing found", "Changed a location"},
		"to=2001-01-01":             {"Nothing found", "Changed a location"},
		"who=usr_none":              {"Nothing found", "Changed a location"},
	} {
		p := manager.get("/dashboard/activity?" + query).want(200)
		_, list, _ := strings.Cut(p.body[strings.Index(p.body, "<main"):], "</form>")
		if !strings.Contains(list, c.shown) || strings.Contains(list, c.not) {
			t.Errorf("%s: %s", query, list)
		}
	}
	manager.get("/dashboard/activity").has("The manager", "Old harbour", "Created a key")
	manager.get("/dashboard/activity?from=tomorrow").want(400).has("Enter a date and a time.")
	manager.get("/dashboard/activity?who=robot").want(400)
}
