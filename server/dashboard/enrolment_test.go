package dashboard_test

import (
	"strings"
	"testing"

	"punchcard/server/qr"
)

// TestEnrolmentForm turns the form for new cards on, changes it and turns it off, and opens
// it as a customer does.
func TestEnrolmentForm(t *testing.T) {
	s := start(t)
	at := "/dashboard/program/" + s.ProgramIDs["standard"]
	manager := s.as("manager")
	manager.get(at).has("Cards that customers make")
	form := manager.get(at + "/enrolment").has("0 cards so far").form()
	s.Unchanged(func() {
		form.set("enroll_slug", "Coffee card").refused("enroll_slug")
		form.set("enroll_slug", "coffee-card", "enroll_max_cards", "0").refused("enroll_max_cards")
		form.set("enroll_max_cards", "500", "enroll_privacy_url", "javascript:alert(1)").refused("enroll_privacy_url")
		manager.get(at + "/poster").want(409).has("The form for new cards has no address yet.")
	})
	page := form.set("enroll", "true", "enroll_privacy_url", "https://example.com/privacy", "enroll_consent", "We keep your name.").
		sendTwice().
		next().
		has("The form for new cards was saved.", "/join/coffee-card", "Table tent")
	svg, err := qr.SVG(s.Origin + "/join/coffee-card")
	if err != nil || !strings.Contains(page.body, svg[strings.Index(svg, "<path stroke"):]) {
		t.Error("the page has no QR code of the form's address")
	}
	s.as("").get("/join/coffee-card").shows("Coffee card", "We keep your name.", "Privacy notice")

	// Another program cannot have the same address.
	manager.fill("/dashboard/program/"+s.ProgramIDs["prepaid"]+"/enrolment", "enroll_slug", "coffee-card").want(409).
		problem("enroll_slug", "Another form has this address")
	// A program whose cards begin with money has no form.
	gift := "/dashboard/program/" + s.NewProgram("prepaid", true, object{"initial_balance_cents": 2500})
	manager.fill(gift+"/enrolment", "enroll", "true", "enroll_slug", "gift").want(422).problem("enroll", "begin with money")
	// A viewer prints posters.
	for size, want := range map[string]string{
		"a4": "5 stamps", "a6": "Croissant", "tent": "fold in the middle", "none": "Scan and get your card",
	} {
		s.as("viewer").get(at+"/poster?size="+size).shows(want, "Coffee card", s.Origin[len("http://"):]+"/join/coffee-card")
	}
	manager.fill(at+"/enrolment", "enroll", "false", "enroll_consent", "").next()
	s.as("").get("/join/coffee-card").want(404)
	manager.get(at + "/poster").shows("The form makes no cards at the moment.")
}
