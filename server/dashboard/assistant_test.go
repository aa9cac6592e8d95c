package dashboard_test

import (
	"strings"
	"testing"

	"golang.org/x/net/html"

	"punchcard/server/mcp"
)

// setting returns the text of the code element with an id.
func (p *page) setting(id string) string {
	p.T.Helper()
	n := p.find(func(n *html.Node) bool { return n.Data == "code" && attribute(n, "id") == id })
	if n == nil || n.FirstChild == nil {
		p.T.Fatalf("%s has no %s", p.what, id)
	}
	return n.FirstChild.Data
}

// TestAssistantPage checks that the page shows how each client is set up for this server and
// what is wrong with the shop, and that only owners get a link to keys.
func TestAssistantPage(t *testing.T) {
	s := start(t)
	at := "/dashboard/assistant"
	clients := mcp.Clients(s.Origin+"/mcp", "tmk_…")
	for i, c := range clients {
		p := s.as("viewer").get(at + "?client=" + c.ID).want(200)
		if got := p.setting("setting"); got != c.Text {
			t.Errorf("%s: %s\nwant %s", c.Name, got, c.Text)
		}
		tab := p.find(func(n *html.Node) bool {
			return strings.HasPrefix(attribute(n, "href"), at+"?client=") && attribute(n, "aria-current") == "page"
		})
		if tab == nil || textOf(tab) != c.Name {
			t.Errorf("%d: the tab of %s is not the current one", i, c.Name)
		}
	}
	page := s.as("owner").get(at + "?client=nothing")
	if got := page.setting("setting"); got != clients[0].Text {
		t.Errorf("an unknown client is shown as %s", got)
	}
	if !page.link("/dashboard/new/key?class=mcp") || s.as("manager").get(at).link("/dashboard/new/key?class=mcp") {
		t.Error("the link to a new key is not shown to owners only")
	}
	for _, from := range []string{"/dashboard/keys", "/dashboard/settings", "/dashboard/people"} {
		if !s.as("owner").get(from).link(at) {
			t.Errorf("%s does not lead to the page", from)
		}
	}
	s.Control("PATCH", "/shops/"+s.ShopID, object{"subscription_state": "suspended"}).Want(200)
	s.as("viewer").get(at).has("The subscription of this shop has ended")
	s.Control("PATCH", "/shops/"+s.ShopID, object{"mcp_access": false}).Want(200)
	s.as("viewer").get(at).has("This shop may not use assistants").lacks("subscription")
}

// TestAssistantKey checks that the key of an assistant is shown once, in the settings of each
// client, and that a form that is sent again shows none.
func TestAssistantKey(t *testing.T) {
	s := start(t)
	owner := s.as("owner")
	form := owner.open("/dashboard/new/key?class=mcp", "name", "Assistant", "scopes", "cards:read", "locations", "all", "expires", "90")
	made := form.send().want(200)
	secret := made.setting("secret")
	if !strings.HasPrefix(secret, "tmk_test_") {
		t.Fatalf("the key is %s", secret)
	}
	for _, c := range mcp.Clients(s.Origin+"/mcp", secret) {
		if got := made.setting(c.ID); got != c.Text {
			t.Errorf("%s: %s\nwant %s", c.Name, got, c.Text)
		}
	}
	form.send().want(200).lacks(secret, "mcpServers").has("was shown once")
	owner.get("/dashboard/assistant").lacks(secret)
	if class := owner.open("/dashboard/new/key?class=other").fields.Get("class"); class != "api" {
		t.Errorf("an unknown class chooses %s", class)
	}
}
