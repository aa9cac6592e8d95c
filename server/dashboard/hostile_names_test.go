package dashboard_test

import (
	"strings"
	"testing"
)

// hostileName is a name with markup, letters of other scripts and a long word. Pages must show it as text.
var hostileName = `<img src=x onerror=alert(1) data-evil="1"></title><b data-evil>"'&amp;{{.}}</b> ` +
	"مقهى النجمة «٪» ☕️👩‍👩‍👧‍👦🏳️‍🌈 " + strings.Repeat("W", 80)

// TestHostileNames checks that pages show such names of things, people and the shop. TestRoles opens all pages
// while things have them, and the harness checks that none becomes markup.
func TestHostileNames(t *testing.T) {
	s := start(t)
	ids := s.sample(s.Server, hostileName)
	s.as("owner").fill("/dashboard/settings", "name", hostileName).next().has(hostileName)
	for _, role := range []string{"owner", "operator"} {
		s.as(role).fill("/dashboard/account", "name", hostileName).next()
	}
	for _, path := range []string{
		"people", "users", "locations", "programs", "cards",
		"program/" + ids["program"], "card/" + ids["card"], "location/" + ids["location"],
	} {
		s.as("operator").get("/dashboard/" + path).shows(hostileName)
	}
}
