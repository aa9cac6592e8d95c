package dashboard_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// hostileNames are names that pages must show as text.
var hostileNames = map[string]string{
	"markup":        `<img src=x onerror=alert(1) data-evil="1"></title><b data-evil>"'&amp;{{.}}</b>`,
	"other scripts": "مقهى النجمة «٪» ☕️👩‍👩‍👧‍👦🏳️‍🌈",
	"long":          strings.Repeat("W", 200),
}

// TestHostileNames opens every page while things, people and the shop have such names, and checks
// that the names are shown and do not become markup.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	for kind, name := range hostileNames {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			ids := s.sample(s.Server, name)
			s.as("owner").fill("/dashboard/settings", "name", name).next().has(name)
			for _, role := range []string{"owner", "operator"} {
				s.as(role).fill("/dashboard/account", "name", name).next()
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
			for path, where := range map[string]string{
				"/dashboard/people": "people", "/dashboard/users": "accounts", "/dashboard/locations": "locations",
				"/dashboard/programs": "programs", "/dashboard/cards": "cards",
				"/dashboard/program/" + ids["program"]: "a program", "/dashboard/card/" + ids["card"]: "a card",
				"/dashboard/location/" + ids["location"]: "a location",
			} {
				if p := s.as("operator").get(path).want(200); !strings.Contains(p.text(), name) {
					t.Errorf("%s: the name is not shown", where)
				}
			}
		})
	}
}
