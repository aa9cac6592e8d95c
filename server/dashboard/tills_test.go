package dashboard_test

import (
	"strings"
	"testing"
)

func TestTillPages(t *testing.T) {
	s := start(t)
	device := s.Control("POST", "/devices", object{"location_id": s.LocationIDs[0], "name": "Counter 2"}).Str("id")
	revoke := "/dashboard/till/" + device + "/revoke"
	manager := s.as("manager")
	form := manager.get("/dashboard/new/till").form("/dashboard/new/till/pair")
	form.action = "/dashboard/new/till" // of the button "Create a token"
	form.set("location_id", "").refused("location_id")
	page := form.set("location_id", s.LocationIDs[0], "name", "Kiosk", "accept_card_ids", "true").
		send().
		want(200).
		has("tdk_", "shown only now")
	token := page.setting("token")
	s.Till(token).Get("/me").Want(200)
	s.Unchanged(func() { form.send().shows("was shown once").lacks(token) })
	manager.get("/dashboard/tills").has("Counter 2", "Kiosk", "Point-of-sale system").lacks(token)
	manager.get("/dashboard/location/" + s.LocationIDs[0]).has("Kiosk")

	manager.get(revoke).has("Revoke Counter 2?").form().sendTwice().next().has("The till was revoked.")
	if s.as("viewer").get("/dashboard/tills").has("Revoked tills").link("/dashboard/new/till") {
		t.Error("a viewer is offered a new till")
	}
	if !strings.HasPrefix(token, "tdk_") {
		t.Errorf("the token is %q", token)
	}
}
