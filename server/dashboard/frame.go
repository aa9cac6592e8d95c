package dashboard

import (
	"cmp"
	"crypto/rand"
	"net/url"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/web"
	"punchcard/store"
)

// entry is an entry of the navigation.
type entry struct {
	group, label web.Text // group is the heading that the entry stands under; empty: none
	path, icon   string
	role         kernel.Role // that the page needs
}

// navigation is the navigation of all pages.
var navigation = []entry{
	{"", "Today", "/dashboard", "today", kernel.Viewer},
	{"", "Cards", "/dashboard/cards", "card", kernel.Viewer},
	{"", "Programs", "/dashboard/programs", "program", kernel.Viewer},
	{"", "Locations", "/dashboard/locations", "location", kernel.Viewer},
	{"", "Statistics", "/dashboard/statistics", "chart", kernel.Viewer},
	{"Integrations", "Webhooks", "/dashboard/webhooks", "webhook", kernel.Viewer},
	{"Integrations", "Keys", "/dashboard/keys", "key", kernel.Owner},
	{"Integrations", "Assistant", assistantPath, "chat", kernel.Viewer},
	{"Settings", "Shop", settingsPath, "settings", kernel.Viewer},
	{"Settings", "People", peoplePath, "people", kernel.Owner},
	{"Settings", "Wallet", walletPath, "card", kernel.Owner},
	{"Settings", "Activity", "/dashboard/activity", "activity", kernel.Manager},
	{"Server", "Health", "/dashboard/health", "health", kernel.Operator},
	{"Server", "Shops", shopsPath, "shop", kernel.Operator},
	{"Server", "Accounts", usersPath, "people", kernel.Operator},
}

// frame returns what surrounds a page: its title, the navigation with the section that
// is marked as current, and the sentence about what was just done.
func (v *visit) frame(title web.Text, section string, args ...any) web.Frame {
	f := web.Frame{Title: v.T(title, args...), Flash: v.flash(), Form: v.shown}
	if v.person == nil || v.person.Pending {
		return f
	}
	enrolled := !v.person.MustEnrol
	app := &web.App{
		Person:   v.person.Name,
		Email:    v.person.Email,
		UserID:   v.person.UserID,
		Role:     v.T(v.roleName()),
		Manager:  v.allows(kernel.Manager),
		Owner:    v.allows(kernel.Owner),
		Operator: v.allows(kernel.Operator),
		Shop:     v.T("No shop"),
		Home:     "/dashboard",
		SignOut:  "/sign-out",
	}
	if enrolled {
		app.Account = []web.NavItem{{Label: v.T("Your account"), Path: accountPath, Icon: "user", Current: section == accountPath}}
	}
	for _, sr := range v.person.Shops {
		if sr.Shop == v.person.Shop {
			app.Shop, app.Currency = sr.Name, sr.Currency
			if sr.Mode == "test" {
				app.Mode = v.T("Test mode")
			}
			continue
		}
		app.Shops = append(app.Shops, web.NavItem{Label: sr.Name, Path: "/dashboard/shop/" + sr.ID})
	}
	group := ""
	for _, e := range navigation {
		if v.allows(e.role) && enrolled && (v.person.Shop != 0 || e.role == kernel.Operator) {
			item := web.NavItem{Label: v.T(e.label), Path: e.path, Icon: e.icon, Current: e.path == section}
			if e.group != group {
				item.Group = v.T(e.group)
			}
			group = e.group
			app.Nav = append(app.Nav, item)
		}
	}
	f.App = app
	return f
}

// narrow returns the frame of a form or a question.
func (v *visit) narrow(title web.Text, section string, args ...any) web.Frame {
	f := v.frame(title, section, args...)
	f.Width = "narrow"
	return f
}

// named returns the frame of a page whose title is a name.
func (v *visit) named(name, section string) web.Frame {
	f := v.frame("", section)
	f.Title = name
	return f
}

// roleName returns the name of the person's role, "" without one. An operator acts as owner
// of the shop that is looked at, and is called so.
func (v *visit) roleName() string {
	switch {
	case v.caller.Role == kernel.Operator && v.person.Shop == 0:
		return "Operator"
	case v.caller.Role == kernel.Operator, v.caller.Role == kernel.Owner:
		return "Owner"
	case v.caller.Role == kernel.Manager:
		return "Manager"
	case v.caller.Role == kernel.Viewer:
		return "Viewer"
	}
	return ""
}

// done are the sentences about what was done, by the word in the query.
var done = map[string]web.Text{}

// says adds a sentence about what was done, and returns its word.
func says(word string, sentence web.Text) string {
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
	return v.T(sentence)
}

// newForm returns a form with values and a fresh idempotency key.
func (v *visit) newForm(values url.Values) *web.Form {
	if values == nil {
		values = url.Values{}
	}
	return &web.Form{Key: strings.ToLower(rand.Text()), Values: values, Errors: map[string]string{}}
}

// sent returns the fields of the form that was sent or, of a page, those of its query.
func (v *visit) sent() url.Values {
	if v.form != nil {
		return v.form
	}
	return v.r.URL.Query()
}

// fill sets what the form of the page contains at first. One that was sent keeps what it has.
func (v *visit) fill(values url.Values) {
	if v.form == nil {
		v.shown.Values = values
	}
}

// filter returns the form of a filter.
func (v *visit) filter(values url.Values) *web.Form {
	f := v.newForm(values)
	f.ID = "filter"
	return f
}

// require returns an error unless the person may invoke an operation, for the page of its
// form: what would be refused when it is sent is not shown.
func (v *visit) require(op *kernel.Operation) error {
	return v.Kernel.Admit(v.r.Context(), v.caller, op)
}

// confirm shows a page that asks before a change. Its form is sent to c.Path or, if that is empty, to
// the path of the page.
func (v *visit) confirm(c web.ConfirmPage) error {
	c.Path = cmp.Or(c.Path, v.r.URL.Path)
	return v.render("confirm", c)
}

// ask returns the page that asks before a change: its title and the sentences about what happens,
// which have the same arguments, and the label of its button.
func (v *visit) ask(section string, title, text, button web.Text, args ...any) web.ConfirmPage {
	return web.ConfirmPage{Frame: v.narrow(title, section, args...), Text: v.T(text, args...), Button: v.T(button)}
}

// danger returns such a page for a change that cannot be taken back, or that stops something.
func (v *visit) danger(section string, title, text, button web.Text, args ...any) web.ConfirmPage {
	c := v.ask(section, title, text, button, args...)
	c.Danger = true
	return c
}

// badge returns a short state.
func (v *visit) badge(label web.Text, tone string) web.Badge {
	return web.Badge{Label: v.T(label), Tone: tone}
}

// link returns a link that looks like a button.
func (v *visit) link(label web.Text, path string) web.Action {
	return web.Action{Label: v.T(label), Path: path}
}

// option returns a choice, with what it means if the label does not say it.
func (v *visit) option(value string, label web.Text, hint ...web.Text) web.Option {
	o := web.Option{Value: value, Label: v.T(label)}
	for _, text := range hint {
		o.Hint = v.T(text)
	}
	return o
}

// each returns what show makes of each item of a list, in the same order.
func each[T, U any](list []T, show func(T) U) (shown []U) {
	for _, item := range list {
		shown = append(shown, show(item))
	}
	return shown
}

// tab returns a tab.
func (v *visit) tab(label web.Text, path string, current bool) web.NavItem {
	return web.NavItem{Label: v.T(label), Path: path, Current: current}
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
