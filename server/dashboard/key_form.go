package dashboard

import (
	"net/http"
	"slices"
	"strings"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// choiceText is the label of a choice and what it means.
type choiceText struct{ label, hint string }

// scopeWords say what each scope opens.
var scopeWords = map[string]choiceText{
	"locations:read":    {web.Text("See locations"), web.Text("Names, addresses, and whether they are open.")},
	"locations:write":   {web.Text("Change locations"), web.Text("Edit, disable and enable them. A key creates none.")},
	"programs:read":     {web.Text("See programs"), web.Text("Programs and their prizes.")},
	"programs:write":    {web.Text("Change programs"), web.Text("Create, edit, publish and suspend programs, and change their prizes.")},
	"cards:read":        {web.Text("See cards"), web.Text("With the names and emails of their holders.")},
	"cards:write":       {web.Text("Issue and change cards"), web.Text("Issue, edit and reissue cards, and make links to install them.")},
	"transactions:read": {web.Text("See transactions"), web.Text("Every stamp, prize, top-up and payment. Only tills write them.")},
	"analytics:read":    {web.Text("See statistics"), web.Text("Figures of the shop and of each program.")},
	"webhooks:read":     {web.Text("See webhooks"), web.Text("With their delivery logs, which contain data of cards.")},
	"webhooks:write":    {web.Text("Manage webhooks"), web.Text("Create, change, test and delete them.")},
}

// readScopes are the scopes that change nothing.
func readScopes() []string {
	return slices.DeleteFunc(slices.Clone(store.Scopes), func(sc string) bool { return !strings.HasSuffix(sc, ":read") })
}

// scopeOption returns a scope as a choice.
func (v *visit) scopeOption(scope string) web.Option {
	w, ok := scopeWords[scope]
	if !ok {
		return web.Option{Value: scope, Label: scope}
	}
	return web.Option{Value: scope, Label: v.print.T(w.label), Hint: v.print.T(w.hint)}
}

// chosenClass returns the class of keys that the query of the form asks for.
func chosenClass(v *visit) string {
	if v.r.URL.Query().Get("class") == "mcp" {
		return "mcp"
	}
	return "api"
}

func showNewKey(v *visit, f *web.Form) error {
	if err := v.require(operation.CreateChosenKey); err != nil {
		return err
	}
	locations, err := v.locations()
	if err != nil {
		return err
	}
	p := keyPage{Frame: v.frame(web.Text("New key"), keysPath), Form: f}
	p.Width = "narrow"
	f.Order = []string{"class", "name", "scopes", "locations", "location_ids", "expires"}
	p.Classes = []web.Option{
		{Value: "api", Label: v.print.T("REST"), Hint: v.print.T("For your own programs, such as a cash register or a newsletter tool.")},
		{Value: "mcp", Label: v.print.T("MCP"), Hint: v.print.T("For AI assistants.")},
	}
	for _, sc := range store.Scopes {
		o := v.scopeOption(sc)
		o.Hint = v.print.T("{0} Scope: {1}", o.Hint, sc)
		p.Scopes = append(p.Scopes, o)
	}
	for _, l := range slices.Backward(locations) {
		p.Locations = append(p.Locations, web.Option{Value: l.ID, Label: l.Name})
	}
	p.Where = []web.Option{
		{Value: "all", Label: v.print.T("At all locations"), Hint: v.print.T("Also those that are created later.")},
		{
			Value:    "some",
			Label:    v.print.T("Only at these locations"),
			Hint:     v.print.T("It sees their transactions and the cards that can be used there."),
			Disabled: len(locations) == 0,
		},
	}
	p.Expires = []web.Option{
		{Value: "30", Label: v.print.T("In {0} days", 30)},
		{Value: "90", Label: v.print.T("In {0} days", 90)},
		{Value: "365", Label: v.print.T("In {0} days", 365)},
		{Value: "never", Label: v.print.T("Never")},
	}
	return v.render(v.status(), "key_form", p)
}

// showNewSecret shows the secret of a new key. A form that is sent again has none to show.
func showNewSecret(v *visit, k operation.CreatedKey) error {
	return v.keySecret(keyPage{Frame: v.frame(web.Text("The key was created"), keysPath), Created: k})
}

// showRotatedSecret shows the secret of a successor, and until when the old key works.
func showRotatedSecret(v *visit, k operation.CreatedKey) error {
	p := keyPage{Frame: v.frame(web.Text("The key was rotated"), keysPath), Created: k}
	old, err := v.findKey()
	if err != nil {
		return err
	}
	p.Key = old
	p.Note = v.print.T("The old key {0} no longer works.", old.Prefix+"…")
	if !old.Ended {
		p.Note = v.print.T(
			"The old key {0} works until {1}. Put the new one in its place before.",
			old.Prefix+"…",
			v.print.DateTime(old.RetiresAt.V.Std()),
		)
	}
	return v.keySecret(p)
}

func (v *visit) keySecret(p keyPage) error {
	p.Width = "narrow"
	if p.Created.Class == "mcp" {
		p.Clients = v.clients(p.Created.Secret)
	} else {
		p.Check = "curl -H 'Authorization: Bearer " + p.Created.Secret + "' " + v.origin() + "/api/public/v1/me"
	}
	return v.render(http.StatusOK, "key_secret", p)
}
