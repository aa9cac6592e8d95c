package dashboard_test

import (
	"testing"
)

func TestLocationForms(t *testing.T) {
	s := start(t)
	owner, manager := s.as("owner"), s.as("manager")

	form := owner.open("/dashboard/new/location")
	form.refused("name")
	form.set("name", "Harbour", "country_code", "Italy").refused("country_code")
	created := form.set("country_code", "IT").sendTwice().next().has("Harbour", "The location was created.")
	at := created.path

	manager.fill(at+"/edit", "name", "Old harbour").next().has("Old harbour", "The location was saved.")
	manager.fill(at+"/pin", "staff_pin", "12").want(400).problem("staff_pin", "4 to 8 digits")
	manager.fill(at+"/pin", "staff_pin", "1234").next().has("Asked for before every action")
	manager.get(at + "/disable").has("Disable Old harbour?").form().send().next().has("Disabled")
	manager.get(at).press(at + "/enable").next().has("Open")
}
