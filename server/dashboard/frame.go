package dashboard

import (
	"crypto/rand"
	"net/url"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/web"
	"punchcard/store"
)

// entry is an entry of the navigation.
type entry struct {
	group             string // the heading that the entry stands under; empty: none
	label, path, icon string
	role              kernel.Role // that the page needs
}

// navigation is the navigation of all pages.
var navigation = []entry{
	{"", web.Text("Today"), "/dashboard", "today", kernel.Viewer},
	{"", web.Text("Cards"), "/dashboard/cards", "card", kernel.Viewer},
	{"", web.Text("Programs"), "/dashboard/programs", "program", kernel.Viewer},
	{"", web.Text("Locations"), "/dashboard/locations", "location", kernel.Viewer},
	{"", web.Text("Statistics"), "/dashboard/statistics", "chart", kernel.Viewer},
	{web.Text("Integrations"), web.Text("Webhooks"), "/dashboard/webhooks", "webhook", kernel.Viewer},
	{web.Text("Integrations"), web.Text("Keys"), "/dashboard/keys", "key", kernel.Owner},
	{web.Text("Integrations"), web.Text("Assistant"), assistantPath, "chat", kernel.Viewer},
	{web.Text("Settings"), web.Text("Shop"), settingsPath, "settings", kernel.Viewer},
	{web.Text("Settings"), web.Text("People"), peoplePath, "people", kernel.Owner},
	{web.Text("Settings"), web.Text("Activity"), "/dashboard/activity", "activity", kernel.Manager},
	{web.Text("Server"), web.Text("Health"), "/dashboard/health", "health", kernel.Operator},
	{web.Text("Server"), web.Text("Shops"), shopsPath, "shop", kernel.Operator},
	{web.Text("Server"), web.Text("Accounts"), usersPath, "people", kernel.Operator},
}

// frame returns what surrounds a page: its title, the navigation with the section that
// is marked as current, and the sentence about what was just done.
func (v *visit) frame(title, section string) web.Frame {
	f := web.Frame{Title: v.print.T(title), Flash: v.flash()}
	if v.person == nil || v.person.Pending {
		return f
	}
	enrolled := !v.person.MustEnrol
	app := &web.App{
		Person:  v.person.Name,
		Email:   v.person.Email,
		Role:    v.print.T(v.roleName()),
		Shop:    v.print.T("No shop"),
		Home:    "/dashboard",
		SignOut: "/sign-out",
	}
	if enrolled {
		app.Account = []web.NavItem{{Label: v.print.T("Your account"), Path: accountPath, Icon: "user", Current: section == accountPath}}
	}
	for _, sr := range v.person.Shops {
		if sr.Shop == v.person.Shop {
			app.Shop = sr.Name
			if sr.Mode == "test" {
				app.Mode = v.print.T("Test mode")
			}
			continue
		}
		app.Shops = append(app.Shops, web.NavItem{Label: sr.Name, Path: "/dashboard/shop/" + sr.ID})
	}
	group := ""
	for _, e := range navigation {
		if v.allows(e.role) && enrolled && (v.person.Shop != 0 || e.role == kernel.Operator) {
			item := web.NavItem{Label: v.print.T(e.label), Path: e.path, Icon: e.icon, Current: e.path == section}
			if e.group != group {
				item.Group = v.print.T(e.group)
			}
			group = e.group
			app.Nav = append(app.Nav, item)
		}
	}
	f.App = app
	return f
}

// roleName returns the name of the person's role, "" without one. An operator acts as owner
// of the shop that is looked at, and is called so.
func (v *visit) roleName() string {
	switch {
	case v.caller.Role == kernel.Operator && v.person.Shop == 0:
		return web.Text("Operator")
	case v.caller.Role == kernel.Operator, v.caller.Role == kernel.Owner:
		return web.Text("Owner")
	case v.caller.Role == kernel.Manager:
		return web.Text("Manager")
	case v.caller.Role == kernel.Viewer:
		return web.Text("Viewer")
	}
	return ""
}

// done are the sentences about what was done, by the word in the query.
var done = map[string]string{}

// says adds a sentence about what was done, and returns its word.
func says(word, sentence string) string {
	if done[word] != "" {
		panic("dashboard: two sentences for " + word)
	}
	done[word] = sentence
	return word
}

// flash returns the sentence for the word in the query, if there is one.
func (v *visit) flash() string {
	sentence, ok := done[v.r.URL.Query().Get("done")]
	if !ok || v.form != nil { // a form that is shown again
		return ""
	}
	return v.print.T(sentence)
}

// newForm returns a form with values and a fresh idempotency key.
func (v *visit) newForm(values url.Values) *web.Form {
	if values == nil {
		values = url.Values{}
	}
	return &web.Form{Key: strings.ToLower(rand.Text()), Values: values, Errors: map[string]string{}}
}

// require returns an error unless the person may invoke an operation, for the page of its
// form: what would be refused when it is sent is not shown.
func (v *visit) require(op *kernel.Operation) error {
	return v.Kernel.Admit(v.r.Context(), v.caller, op)
}

// confirm shows a page that asks before a change. The title is in the page's frame.
func (v *visit) confirm(section string, c web.ConfirmPage) error {
	title := c.Title
	c.Frame = v.frame("", section)
	c.Title, c.Width = title, "narrow"
	if c.Form == nil {
		c.Form = v.newForm(nil)
	}
	return v.render(v.status(), "confirm", c)
}

// pager returns the links to the other pages of a list.
func (v *visit) pager(shown int, next store.Null[string]) web.Pager {
	q := v.r.URL.Query()
	q.Del("done")
	at := func(cursor string) string {
		q.Del("cursor")
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		if len(q) == 0 {
			return v.r.URL.Path
		}
		return v.r.URL.Path + "?" + q.Encode()
	}
	p := web.Pager{Shown: shown}
	if v.r.URL.Query().Get("cursor") != "" {
		p.First = at("")
	}
	if next.Valid {
		p.Next = at(next.V)
	}
	return p
}
