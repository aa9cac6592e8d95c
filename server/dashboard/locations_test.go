package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"punchcard/server/dashboard"
)

func TestTemplates(t *testing.T) {
	if err := dashboard.CheckTemplates(); err != nil {
		t.Error(err)
	}
}

func TestLocationPages(t *testing.T) {
	s := start(t)
	at := "/dashboard/location/" + s.LocationIDs[0]
	s.onlyFrom("viewer", "/dashboard/locations", at)
	s.onlyFrom("manager", at+"/edit", at+"/disable", at+"/pin")
	s.onlyFrom("owner", "/dashboard/new/location")
	s.refusedBelow("owner", "/dashboard/new/location", url.Values{"name": {"Harbour"}})
	s.refusedBelow("manager", at+"/edit", url.Values{"name": {"Harbour"}})
	for _, action := range []string{"/disable", "/enable", "/pin"} {
		s.refusedBelow("manager", at+action, nil)
	}
}

func TestLocationForms(t *testing.T) {
	s := start(t)
	owner, manager := s.as("owner"), s.as("manager")

	form := owner.get("/dashboard/new/location").form("")
	form.send().want(400).problem("name")
	form.set("name", "Harbour", "country_code", "Italy").send().want(400).problem("country_code")
	created := form.set("country_code", "IT").sendTwice(s).next().has("Harbour", "The location was created.")
	at := created.path

	manager.get(at+"/edit").form("").set("name", "Old harbour").send().next().has("Old harbour", "The location was saved.")
	if p := manager.get(at+"/pin").form("").set("staff_pin", "12").send().want(400); !strings.Contains(
		p.problem("staff_pin"),
		"4 to 8 digits",
	) {
		t.Error(p.problem("staff_pin"))
	}
	manager.get(at+"/pin").form("").set("staff_pin", "1234").send().next().has("Asked for before every action")
	manager.get(at + "/disable").has("Disable Old harbour?").form(at + "/disable").send().next().has("Disabled")
	manager.get(at).form(at + "/enable").send().next().has("Open")
}

// TestForeignLocation checks that a location of another shop is answered like an unknown one.
func TestForeignLocation(t *testing.T) {
	s := start(t)
	s.likeUnknown(s.NewShop(nil).LocationIDs[0], "loc_none",
		[]string{"/dashboard/location/{}", "/dashboard/location/{}/edit", "/dashboard/location/{}/disable", "/dashboard/location/{}/pin"},
		map[string]url.Values{
			"/dashboard/location/{}/edit":    {"name": {"x"}},
			"/dashboard/location/{}/disable": nil,
			"/dashboard/location/{}/enable":  nil,
			"/dashboard/location/{}/pin":     {"staff_pin": {"1234"}},
		})
}
