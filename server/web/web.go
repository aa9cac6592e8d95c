// Package web is what all HTML pages share: the base template and the components,
// the stylesheet and the scripts, icons, charts, languages, and the headers that
// confine a page. It imports no other package of punchcard.
//
// A face parses its pages with [Parse] and answers with [Templates.Render]. README.md
// shows how to add a page, a text, an icon and a chart.
package web

import "html/template"

// Frame is what the base template reads. The data of every page embeds it.
type Frame struct {
	Title   string       // of the page, without the name of the shop
	Lang    string       // of the page; empty: the language of the printer
	App     *App         // nil: a page without navigation, such as the one to sign in
	Flash   string       // a sentence about what was just done
	Problem string       // a sentence about what went wrong
	Form    *Form        // of the page; nil: it has none
	Style   template.CSS // rules of this page only; pass them to SetHeaders too
	Script  string       // path of the page's script; empty: that of all pages
	Width   string       // of the content: "narrow" (a form), "wide" (a board), "till", or empty
}

// Styles returns the texts of the page's style elements, for SetHeaders.
func (f Frame) Styles() []string { return []string{string(f.Style)} }

// App is the frame of navigation around the pages of a signed-in person.
type App struct {
	Shop   string // name of the shop
	Person string // name of the person
	Email  string // of the person
	UserID string // of the person
	Role   string // in the shop, translated
	// The person may do what this role may.
	Manager, Owner, Operator bool
	Home                     string    // path that the shop's name leads to
	Nav                      []NavItem // the first four are in the bar at the bottom of a phone
	Account                  []NavItem // the menu of the person
	Shops                    []NavItem // others to switch to; each Path gets a POST
	SignOut                  string    // path that gets a POST; empty: no button
	Currency                 string    // of the shop
	Mode                     string    // shown as a label, such as "Test mode"; empty: none
}

// NavItem is a link of the navigation or of tabs.
type NavItem struct {
	Label   string // translated
	Path    string
	Icon    string // see [Icons]
	Group   string // translated heading above this item and those after it
	Current bool   // the page that is shown is this one or below it
	Badge   string // a count beside the label
}
