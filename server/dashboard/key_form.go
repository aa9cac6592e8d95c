package dashboard

import (
	"net/url"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// choiceText is the label of a choice and what it means.
type choiceText struct{ label, hint web.Text }

// scopeWords say what each scope opens.
var scopeWords = map[string]choiceText{
	"locations:read":    {"See locations", "Names, addresses, and whether they are open."},
	"locations:write":   {"Change locations", "Edit, disable and enable them. A key creates none."},
	"programs:read":     {"See programs", "Programs and their prizes."},
	"programs:write":    {"Change programs", "Create, edit, publish and suspend programs, and change their prizes."},
	"cards:read":        {"See cards", "With the names and emails of their holders."},
	"cards:write":       {"Issue and change cards", "Issue, edit and reissue cards, and make links to install them."},
	"transactions:read": {"See transactions", "Every stamp, prize, top-up and payment. Only tills write them."},
	"analytics:read":    {"See statistics", "Figures of the shop and of each program."},
	"webhooks:read":     {"See webhooks", "With their delivery logs, which contain data of cards."},
	"webhooks:write":    {"Manage webhooks", "Create, change, test and delete them."},
}

// scopeOption returns a scope as a choice.
func (v *visit) scopeOption(scope string) web.Option {
	w, ok := scopeWords[scope]
	if !ok {
		return itself(scope)
	}
	return v.option(scope, w.label, w.hint)
}

// chosenClass returns the class of keys that the query of the form asks for.
func chosenClass(v *visit) string {
	if v.r.URL.Query().Get("class") == "mcp" {
		return "mcp"
	}
	return "api"
}

func showNewKey(v *visit) error {
	v.fill(url.Values{"class": {chosenClass(v)}})
	locations, err := v.locationOptions()
	if err != nil {
		return err
	}
	p := keyPage{Frame: v.narrow("New key", keysPath), Locations: locations}
	p.Classes = []web.Option{
		v.option("api", "REST", "For your own programs, such as a cash register or a newsletter tool."),
		v.option("mcp", "MCP", "For AI assistants."),
	}
	for _, sc := range store.Scopes {
		o := v.scopeOption(sc)
		o.Hint = v.T("{0} Scope: {1}", o.Hint, sc)
		p.Scopes = append(p.Scopes, o)
	}
	p.Where = []web.Option{
		v.option("all", "At all locations", "Also those that are created later."),
		{
			Value:    "some",
			Label:    v.T("Only at these locations"),
			Hint:     v.T("It sees their transactions and the cards that can be used there."),
			Disabled: len(locations) == 0,
		},
	}
	return v.render("key_form", p)
}

// showNewSecret shows the secret of a new key. A form that is sent again has none to show.
func showNewSecret(v *visit, k operation.CreatedKey) error {
	return v.keySecret(keyPage{Frame: v.narrow("The key was created", keysPath), Created: k})
}

// showRotatedSecret shows the secret of a successor, and until when the old key works.
func showRotatedSecret(v *visit, k operation.CreatedKey) error {
	p := keyPage{Frame: v.narrow("The key was rotated", keysPath), Created: k}
	old, err := findKey(v)
	if err != nil {
		return err
	}
	p.Key = old
	return v.keySecret(p)
}

func (v *visit) keySecret(p keyPage) error {
	if p.Created.Class == "mcp" {
		p.Clients = v.Clients(v.origin(), p.Created.Secret)
	} else {
		p.Check = "curl -H 'Authorization: Bearer " + p.Created.Secret + "' " + v.origin() + "/api/public/v1/me"
	}
	return v.render("key_secret", p)
}
