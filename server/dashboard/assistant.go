package dashboard

import (
	"slices"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const assistantPath = "/dashboard/assistant"

// assistantPages say how an AI assistant is set up.
var assistantPages = []binding{page(assistantPath, shows(operation.GetShop, showAssistant))}

// Client is a program with which an assistant uses the endpoint, and how it is set up.
type Client struct {
	ID   string // a word for URLs
	Name string
	File string // the file that Text belongs into; empty: none
	Doc  string // a text: where Text belongs
	Text string
}

// placeholderKey stands for a key that is not shown.
const placeholderKey = "tmk_…"

// assistantPage is the page about assistants.
type assistantPage struct {
	web.Frame
	Actions   []web.Action
	Trouble   string // why no assistant can use the shop
	Owner     bool
	Clients   []web.NavItem
	Client    Client
	Questions []string
}

func showAssistant(v *visit, sh store.Shop) error {
	p := assistantPage{Frame: v.frame("Assistant", assistantPath), Owner: v.allows(kernel.Owner)}
	switch {
	case !sh.MCPAccess:
		p.Trouble = v.T("This shop may not use assistants: its keys for them are suspended. The operator of the server decides that.")
	case store.HasEnded(sh.SubscriptionState):
		p.Trouble = v.T(
			"The subscription of this shop has ended, so no assistant gets an answer. The operator of the server renews it.",
		)
	}
	if p.Owner {
		p.Actions = []web.Action{v.link("New key", "/dashboard/new/key?class=mcp", "plus", "primary")}
	}
	clients := v.Clients(v.origin(), placeholderKey)
	current := max(0, slices.IndexFunc(clients, func(c Client) bool { return c.ID == v.r.URL.Query().Get("client") }))
	p.Client = clients[current]
	for i, c := range clients {
		p.Clients = append(p.Clients, web.NavItem{Label: c.Name, Path: assistantPath + "?client=" + c.ID, Current: i == current})
	}
	p.Questions = []string{
		v.T("Who has not come for 30 days?"),
		v.T("How does last Tuesday compare with the one before?"),
		v.T("Which prizes are due?"),
		v.T("Issue cards for these 30 people; try it without writing first."),
		v.T("Why does the n8n webhook fail?"),
	}
	return v.render("assistant", p)
}
