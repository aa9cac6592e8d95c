package dashboard_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// hostileName has markup, letters of other scripts and a long word, which pages must show as text.
var hostileName = `<img src=x onerror=alert(1) data-evil="1"></title><b data-evil>"'&amp;{{.}}</b> ` +
	"مقهى النجمة «٪» ☕️👩‍👩‍👧‍👦🏳️‍🌈 " + strings.Repeat("W", 80)

// TestHostileNames opens every page while things, people and the shop have such a name, and checks
// that the name is shown and does not become markup.
func TestHostileNames(t *testing.T) {
	s := start(t)
	ids := s.sample(s.Server, hostileName)
	s.as("owner").fill("/dashboard/settings", "name", hostileName).next().has(hostileName)
	for _, role := range []string{"owner", "operator"} {
		s.as(role).fill("/dashboard/account", "name", hostileName).next()
	}
	for what := range minRole() {
		method, pattern, _ := strings.Cut(what, " ")
		if method != http.MethodGet || strings.Contains(pattern, ":token") || slices.Contains(streams, pattern) {
			continue
		}
		p := s.as("operator").get(ids.path(t, pattern))
		if p.status >= 500 {
			t.Errorf("%s: %d", what, p.status)
		}
		if !strings.HasPrefix(p.header.Get("Content-Type"), "text/html") {
			continue // a download
		}
		if n := p.find(func(n *html.Node) bool { return has(n, "data-evil") || attribute(n, "src") == "x" }); n != nil {
			t.Errorf("%s: the name became markup: %s", what, n.Data)
		}
	}
	for _, path := range []string{
		"people", "users", "locations", "programs", "cards",
		"program/" + ids["program"], "card/" + ids["card"], "location/" + ids["location"],
	} {
		s.as("operator").get("/dashboard/" + path).shows(hostileName)
	}
}
