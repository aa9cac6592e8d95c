package dashboard

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// programTemplate fills the form of a new program. Its texts are in the language of the
// shop's customers.
type programTemplate struct {
	key     string
	label   string // in the list
	text    string // in the list
	name    string
	about   string // description
	colours web.CardColours
	values  map[string]string
	cents   map[string]int64 // amounts
	prizes  []templatePrize
}

type templatePrize struct {
	threshold int
	name      string
}

// programTemplates are the templates in the order of the list.
var programTemplates = []programTemplate{
	{
		key: "coffee", label: web.Text("Coffee card"), text: web.Text("Ten stamps, with a small treat half-way."),
		name: web.Text("Coffee card"), about: web.Text("A stamp for each coffee. Ten stamps, and the next one is on us."),
		colours: web.CardColours{Brand: "#6F4E37", Background: "#FFF8F0", Text: "#3B2A1E"},
		values:  map[string]string{"type": store.ProgramStandard, "total_stamps": "10", "icon_key": "cup", "repeat_after_reset": "true", "category": "cafe"},
		prizes:  []templatePrize{{5, web.Text("Croissant")}, {10, web.Text("Free coffee")}},
	},
	{
		key: "pizza", label: web.Text("Pizza card"), text: web.Text("Eight stamps for regular guests."),
		name: web.Text("Pizza card"), about: web.Text("A stamp for each pizza. The ninth is free."),
		colours: web.CardColours{Brand: "#B3261E", Background: "#FFF7ED", Text: "#3A1410"},
		values:  map[string]string{"type": store.ProgramStandard, "total_stamps": "8", "icon_key": "pizza", "repeat_after_reset": "true", "category": "restaurant"},
		prizes:  []templatePrize{{4, web.Text("Soft drink")}, {8, web.Text("Pizza of your choice")}},
	},
	{
		key: "gym", label: web.Text("Gym pass"), text: web.Text("Lets members in for a month. Tills count each visit."),
		name: web.Text("Gym pass"), about: web.Text("Show it at the desk when you come in."),
		colours: web.CardColours{Brand: "#0F766E", Background: "#F0FDFA", Text: "#134E4A"},
		values:  map[string]string{"type": store.ProgramAccess, "default_expire_after_days": "30", "category": "fitness"},
	},
	{
		key: "gift", label: web.Text("Gift card"), text: web.Text("Money on a card, spent at the till bit by bit."),
		name: web.Text("Gift card"), about: web.Text("Pay with it in our shop until it is used up."),
		colours: web.CardColours{Brand: "#6D28D9", Background: "#FAF5FF", Text: "#3B0764"},
		values:  map[string]string{"type": store.ProgramPrepaid, "default_expire_after_days": "730", "category": "retail"},
		cents:   map[string]int64{"initial_balance_cents": 2500},
	},
	{
		key: "discount", label: web.Text("10 % discount"), text: web.Text("The same discount at every visit."),
		name: web.Text("Friends of the shop"), about: web.Text("10 % off everything. Show the card before you pay."),
		colours: web.CardColours{Brand: "#1D4ED8", Background: "#EFF6FF", Text: "#172554"},
		values:  map[string]string{"type": store.ProgramDiscount, "discount_percent": "10", "category": "retail"},
	},
}

// emptyProgram has what a program starts with that no template fills.
var emptyProgram = programTemplate{colours: web.CardColours{Brand: "#1F2937", Background: "#FFFFFF", Text: "#111827"}, values: map[string]string{"category": "other"}}

// templateValues returns what a template fills into the form, in the language of p. A key
// that is none of a template gives an empty form of a type.
func templateValues(v *visit, p *web.Printer, key, programType string) url.Values {
	t := emptyProgram
	values := url.Values{"type": {programType}, "location_scope": {"all_locations"}}
	for _, known := range programTemplates {
		if known.key == key {
			t = known
			values.Set("name", p.T(t.name))
			values.Set("description", p.T(t.about))
		}
	}
	for name, value := range t.values {
		values.Set(name, value)
	}
	for name, cents := range t.cents {
		values.Set(name, v.print.Amount(cents, v.shop().Currency))
	}
	for i, z := range t.prizes {
		values.Set(fmt.Sprintf("prizes.%d.threshold", i), strconv.Itoa(z.threshold))
		values.Set(fmt.Sprintf("prizes.%d.name", i), p.T(z.name))
	}
	values.Set("brand_color_hex", t.colours.Brand)
	values.Set("bg_color_hex", t.colours.Background)
	values.Set("text_color_hex", t.colours.Text)
	switch programType = values.Get("type"); {
	case store.CollectsStamps(programType) && values.Get("icon_key") == "":
		values.Set("icon_key", "star")
	case programType == store.ProgramAccess:
		values.Set("access_image_url", v.PublicURL+web.Asset("icon.svg"))
	}
	return values
}

// templatesPage is the list of templates.
type templatesPage struct {
	web.Frame
	Steps     []web.Step // of the set-up, for the first program
	Templates []templateChoice
	Types     []typeChoice
}

// templateChoice is a template in the list.
type templateChoice struct {
	Label, Text, Path string
	Face              web.HolderCard
}

// typeChoice is a type of an empty program.
type typeChoice struct{ Label, Text, Path string }

// showTemplates shows the templates.
func showTemplates(v *visit) error {
	if err := v.require(operation.CreateProgramWithPrizes); err != nil {
		return err
	}
	p := templatesPage{Frame: v.frame(web.Text("New program"), programsPath)}
	list, err := read[store.Page[store.Program]](v, operation.ListPrograms, v.args(nil))
	if err != nil {
		return err
	}
	if len(list.Data) == 0 {
		p.Steps = v.steps(stepProgram)
	}
	style := ""
	for _, t := range programTemplates {
		face := v.drawnCard(v.newForm(templateValues(v, v.print, t.key, "")), t.values["type"], nil)
		face.ID = "sample-" + t.key
		style += string(face.Style())
		p.Templates = append(p.Templates, templateChoice{v.print.T(t.label), v.print.T(t.text), "/dashboard/new/program?template=" + t.key, face})
	}
	p.Style = template.CSS(style)
	for _, c := range []struct{ name, text string }{
		{store.ProgramStandard, web.Text("Customers collect stamps for prizes.")},
		{store.ProgramDiscount, web.Text("A percentage off at every visit.")},
		{store.ProgramAccess, web.Text("Lets its holder in, and counts the visits.")},
		{store.ProgramPrepaid, web.Text("Money that is topped up and spent at the till.")},
		{store.ProgramPrivate, web.Text("A stamp card that apps may keep out of public lists.")},
	} {
		p.Types = append(p.Types, typeChoice{v.print.T(programTypes[c.name]), v.print.T(c.text), "/dashboard/new/program?type=" + c.name})
	}
	return v.render(http.StatusOK, "program_templates", p)
}
