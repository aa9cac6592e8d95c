// Package templates has what a new program starts with: templates, which the dashboard
// fills into its form and the command line into its flags. The texts are translated by the
// tables of package web (text/LANG/templates.json).
package templates

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"punchcard/server/web"
	"punchcard/store"
)

// Template is a template of a program. Its texts are English, and translated by a printer.
type Template struct {
	Key     string
	Label   web.Text // in a list
	Text    web.Text // in a list
	Type    string   // of the program
	name    web.Text
	about   web.Text // description
	colours web.CardColours
	values  map[string]string // further fields
	prizes  []prize           // in their order
}

type prize struct {
	threshold int
	name      web.Text
}

// All are the templates in the order of a list. The first one is the default.
var All = []Template{
	{
		Key: "coffee", Label: "Coffee card", Type: store.ProgramStandard,
		Text: "Ten stamps, with a small treat half-way.",
		name: "Coffee card", about: "A stamp for each coffee. Ten stamps, and the next one is on us.",
		colours: web.CardColours{Brand: "#6F4E37", Background: "#FFF8F0", Text: "#3B2A1E"},
		values:  map[string]string{"total_stamps": "10", "icon_key": "cup", "repeat_after_reset": "true", "category": "cafe"},
		prizes:  []prize{{5, "Croissant"}, {10, "Free coffee"}},
	},
	{
		Key: "pizza", Label: "Pizza card", Type: store.ProgramStandard,
		Text: "Eight stamps for regular guests.",
		name: "Pizza card", about: "A stamp for each pizza. The ninth is free.",
		colours: web.CardColours{Brand: "#B3261E", Background: "#FFF7ED", Text: "#3A1410"},
		values:  map[string]string{"total_stamps": "8", "icon_key": "pizza", "repeat_after_reset": "true", "category": "restaurant"},
		prizes:  []prize{{4, "Soft drink"}, {8, "Pizza of your choice"}},
	},
	{
		Key: "gym", Label: "Gym pass", Type: store.ProgramAccess,
		Text: "Lets members in for a month. Tills count each visit.",
		name: "Gym pass", about: "Show it at the desk when you come in.",
		colours: web.CardColours{Brand: "#0F766E", Background: "#F0FDFA", Text: "#134E4A"},
		values:  map[string]string{"default_expire_after_days": "30", "category": "fitness"},
	},
	{
		Key: "gift", Label: "Gift card", Type: store.ProgramPrepaid,
		Text: "Money on a card, spent at the till bit by bit.",
		name: "Gift card", about: "Pay with it in our shop until it is used up.",
		colours: web.CardColours{Brand: "#6D28D9", Background: "#FAF5FF", Text: "#3B0764"},
		values:  map[string]string{"initial_balance_cents": "0", "default_expire_after_days": "730", "category": "retail"},
	},
	{
		Key: "discount", Label: "10 % discount", Type: store.ProgramDiscount,
		Text: "The same discount at every visit.",
		name: "Friends of the shop", about: "10 % off everything. Show the card before you pay.",
		colours: web.CardColours{Brand: "#1D4ED8", Background: "#EFF6FF", Text: "#172554"},
		values:  map[string]string{"discount_percent": "10", "category": "retail"},
	},
}

// Keys returns the keys of the templates in the order of All.
func Keys() (keys []string) {
	for _, t := range All {
		keys = append(keys, t.Key)
	}
	return keys
}

// Find returns the template with a key.
func Find(key string) (Template, bool) {
	i := slices.IndexFunc(All, func(t Template) bool { return t.Key == key })
	if i < 0 {
		return Template{}, false
	}
	return All[i], true
}

// Fields returns what a template fills in, as the form of the operation that creates a
// program with its prizes. The texts are in the language of p, which is that of the shop's
// customers. A program of type access has the icon of the server at publicURL as its picture.
func (t Template) Fields(p *web.Printer, publicURL string) url.Values {
	form := url.Values{"type": {t.Type}, "name": {p.T(t.name)}, "description": {p.T(t.about)}}
	addColours(form, t.colours)
	for name, value := range t.values {
		form.Set(name, value)
	}
	for i, z := range t.prizes {
		form.Set(fmt.Sprintf("prizes.%d.threshold", i), strconv.Itoa(z.threshold))
		form.Set(fmt.Sprintf("prizes.%d.name", i), p.T(z.name))
	}
	addPicture(form, publicURL)
	return form
}

// Colours are those of a program without a template.
var Colours = web.CardColours{Brand: "#1F2937", Background: "#FFFFFF", Text: "#111827"}

// Empty returns what a program of a type starts with without a template.
func Empty(programType, publicURL string) url.Values {
	form := url.Values{"type": {programType}, "category": {"other"}}
	addColours(form, Colours)
	if store.CollectsStamps(programType) {
		form.Set("icon_key", "star")
	}
	addPicture(form, publicURL)
	return form
}

func addColours(form url.Values, c web.CardColours) {
	form.Set("brand_color_hex", c.Brand)
	form.Set("bg_color_hex", c.Background)
	form.Set("text_color_hex", c.Text)
}

// addPicture adds the picture that a program of type access needs: the icon that the server
// at publicURL serves.
func addPicture(form url.Values, publicURL string) {
	if form.Get("type") == store.ProgramAccess {
		form.Set("access_image_url", publicURL+web.Asset("icon.svg"))
	}
}
