package dashboard

import (
	"html/template"
	"net/url"
	"strconv"

	"punchcard/server/operation"
	"punchcard/server/templates"
	"punchcard/server/web"
	"punchcard/store"
)

// templateValues returns what a template fills into the form, in the language of p. For a key
// that no template has, they are those of an empty program of the type.
func templateValues(v *visit, p *web.Printer, key, programType string) url.Values {
	values := templates.Empty(programType, v.shopURL())
	if t, ok := templates.Find(key); ok {
		values = t.Fields(p, v.shopURL())
	}
	if cents, err := strconv.ParseInt(values.Get("initial_balance_cents"), 10, 64); err == nil {
		values.Set("initial_balance_cents", v.Amount(cents, v.shop().Currency))
	}
	values.Set("location_scope", "all_locations")
	return values
}

// templatesPage is the list of templates.
type templatesPage struct {
	web.Frame
	Steps     []web.Step // of the set-up, for the first program
	Templates []templateChoice
}

// templateChoice is a template in the list.
type templateChoice struct {
	Label, Text, Path string
	Face              web.HolderCard
}

// showTemplates shows the templates.
func showTemplates(v *visit) error {
	p := templatesPage{Frame: v.frame("New program", programsPath)}
	list, err := read[store.Page[store.Program]](v, operation.ListPrograms)
	if err != nil {
		return err
	}
	if len(list.Data) == 0 {
		p.Steps = v.steps(stepProgram)
	}
	style := ""
	for _, t := range templates.All {
		face := v.drawnCard(v.newForm(templateValues(v, v.Printer, t.Key, "")), t.Type, nil)
		face.ID = "sample-" + t.Key
		style += string(face.Style())
		p.Templates = append(
			p.Templates,
			templateChoice{v.T(t.Label), v.T(t.Text), "/dashboard/new/program?template=" + t.Key, face},
		)
	}
	p.Style = template.CSS(style)
	return v.render("program_templates", p)
}
