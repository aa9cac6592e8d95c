package dashboard_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"punchcard/server/app"
)

// checkFilter checks that the filter of a page answers to the id of another shop as to one that is unknown,
// and that a refusal of any other field is shown beside it, as that of a day must be.
func (p *page) checkFilter(foreign samples) {
	p.T.Helper()
	with := func(name, value string) *page { return p.get(p.path + "?" + name + "=" + value) }
	filter := p.find(func(n *html.Node) bool { return has(n, "data-filters") })
	for n := range filter.Descendants() {
		name := attribute(n, "name")
		if kind, isID := strings.CutSuffix(name, "_id"); isID {
			got, want := with(name, foreign[kind]), with(name, foreign[kind][:4]+"none")
			if got.status != want.status || anID.ReplaceAllString(got.body, "ID") != anID.ReplaceAllString(want.body, "ID") {
				p.T.Errorf("%s: status %d; of an unknown id %d: %s", got.what, got.status, want.status, got.text())
			}
		} else if name != "" {
			if p := with(name, "soon"); p.status == 400 || attribute(n, "type") == "date" {
				p.want(400).problem(name)
			}
		}
	}
}

// TestChoicesAreComplete checks that pages offer all programs of a shop, also if a page of a list has fewer.
func TestChoicesAreComplete(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Limits.PublicAPIMaxPageSize = 1 })
	if len(s.ProgramIDs) < 3 {
		t.Fatalf("the shop has %d programs", len(s.ProgramIDs))
	}
	webhooks := "webhooks?program_id=" + s.ProgramIDs["standard"]
	for _, path := range []string{"cards?q=ada", "print/cards", "statistics", webhooks, "new/webhook"} {
		p := s.as("owner").get("/dashboard/" + path).want(200)
		for _, id := range s.ProgramIDs {
			if p.find(func(n *html.Node) bool { return attribute(n, "value") == id }) == nil {
				t.Errorf("%s does not offer %s", path, id)
			}
		}
	}
}
