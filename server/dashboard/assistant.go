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

// Assistant is what the pages say about the endpoint for AI assistants.
type Assistant struct {
	Path      string // of the endpoint
	PerMinute int    // calls of a key per minute; 0: no limit
	PerDay    int    // calls of a key on a day in UTC; 0: no limit
	Tools     func() []Tool
	// Clients returns how each client is set up with the URL of the endpoint and a key.
	Clients func(url, key string) []Client
}

// Tool is something that an assistant can do.
type Tool struct {
	Name  string
	Title string // a text
	Scope string // that the key needs; empty: none
	// Writes says that the tool changes something, and Asks that it shows the impact first.
	Writes, Asks bool
}

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

// clients returns how each client is set up on this server.
func (v *visit) clients(key string) []Client {
	return v.Assistant.Clients(v.origin()+v.Assistant.Path, key)
}

// assistantPage is the page about assistants.
type assistantPage struct {
	web.Frame
	Actions   []web.Action
	Trouble   string // why no assistant can use the shop
	Owner     bool
	Clients   []web.NavItem
	Client    Client
	Questions []string
	Tools     []toolRow
	Limits    []web.Fact
}

// toolRow is a tool as the page shows it.
type toolRow struct {
	Tool
	Needs  string // the scope in words
	Effect web.Badge
}

func showAssistant(v *visit, sh store.Shop) error {
	p := assistantPage{Frame: v.frame("Assistant", assistantPath), Owner: v.allows(kernel.Owner), Limits: v.assistantLimits()}
	switch {
	case !sh.MCPAccess:
		p.Trouble = v.T("This shop may not use assistants: its keys for them are suspended. The operator of the server decides that.")
	case sh.SubscriptionState == "suspended" || sh.SubscriptionState == "cancelled":
		p.Trouble = v.T(
			"The subscription of this shop has ended, so no assistant gets an answer. The operator of the server renews it.",
		)
	}
	if p.Owner {
		p.Actions = []web.Action{v.link("New key", "/dashboard/new/key?class=mcp", "plus", "primary")}
	}
	clients := v.clients(placeholderKey)
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
	for _, t := range v.Assistant.Tools() {
		p.Tools = append(p.Tools, v.toolRow(t))
	}
	return v.render("assistant", p)
}

func (v *visit) toolRow(t Tool) toolRow {
	row := toolRow{Tool: t, Needs: v.T("Nothing"), Effect: v.badge("Reads", "info")}
	if t.Scope != "" {
		row.Needs = v.scopeOption(t.Scope).Label
	}
	switch {
	case t.Asks:
		row.Effect = v.badge("Asks first", "warn")
	case t.Writes:
		row.Effect = v.badge("Changes", "good")
	}
	return row
}

// assistantLimits returns how often a key may call tools.
func (v *visit) assistantLimits() []web.Fact {
	limit := func(label web.Text, n int, hint string) web.Fact {
		if n == 0 {
			return v.fact(label, v.T("No limit"))
		}
		return v.fact(label, v.T("{0} call|{0} calls", n), hint)
	}
	return []web.Fact{
		limit("A minute, for each key", v.Assistant.PerMinute, v.T("The next one is refused, and the assistant is told how long to wait.")),
		limit("A day, for each key", v.Assistant.PerDay, v.T("The day begins at midnight in UTC.")),
	}
}
