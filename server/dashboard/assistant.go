package dashboard

import (
	"slices"

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
	Trouble string // why no assistant can use the shop
	Clients []web.NavItem
	Client  Client
}

func showAssistant(v *visit, sh store.Shop) error {
	p := assistantPage{Frame: v.frame("Assistant", assistantPath)}
	switch {
	case !sh.MCPAccess:
		p.Trouble = v.T("This shop may not use assistants: its keys for them are suspended. The operator of the server decides that.")
	case store.HasEnded(sh.SubscriptionState):
		p.Trouble = v.T(
			"The subscription of this shop has ended, so no assistant gets an answer. The operator of the server renews it.",
		)
	}
	clients := v.Clients(v.origin(), placeholderKey)
	current := max(0, slices.IndexFunc(clients, func(c Client) bool { return c.ID == v.r.URL.Query().Get("client") }))
	p.Client = clients[current]
	for i, c := range clients {
		p.Clients = append(p.Clients, web.NavItem{Label: c.Name, Path: assistantPath + "?client=" + c.ID, Current: i == current})
	}
	return v.render("assistant", p)
}
