package dashboard

import (
	"net/url"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// setupPages lead the first operator from the set-up link to the first program. Each step
// is stored when it is sent, so the set-up can be left and continued.
var setupPages = []binding{
	publicly(page("/setup/:token", func(v *visit) error { return showSetup(v, nil) })),
	publicly(
		post(
			"/setup/:token",
			action[operation.CreatedSession]{op: operation.SetUpOperator, fields: setupFields, again: showSetup, show: setUp},
		),
	),
	page(setupPath, continueSetup),
	page(setupPath+"/location", func(v *visit) error { return showSetupLocation(v, v.newForm(nil)) }),
	post(setupPath+"/location", action[store.Location]{op: operation.CreateLocation, again: showSetupLocation,
		next: func(*visit, store.Location) (string, string) { return setupPath, "" }}),
}

const setupPath = "/dashboard/setup"

// setupPage is a page of the set-up.
type setupPage struct {
	web.Frame
	Form       *web.Form
	Steps      []web.Step
	Shops      []web.Option // of a file that has shops already
	Zones      []web.Option
	Countries  []web.Option
	Currencies []web.Option
	Languages  []web.Option
	NoCookie   bool
}

// The steps of the set-up.
const (
	stepAccount = iota
	stepLocation
	stepProgram
)

// steps returns the steps of the set-up, with the current one.
func (v *visit) steps(current int) (list []web.Step) {
	for i, label := range []string{web.Text("Shop and account"), web.Text("First location"), web.Text("First program")} {
		list = append(list, web.Step{Label: v.print.T(label), Done: i < current, Current: i == current})
	}
	return list
}

func showSetup(v *visit, f *web.Form) error {
	link, err := read[store.ShownLink](v, operation.ShowLink, v.linkArgs())
	if err != nil {
		return err
	}
	if link.Kind != store.LinkSetup {
		return kernel.Refuse(store.LinkExpired, "This link is for something else.")
	}
	_, _, ok := v.cookie()
	lang := v.print.Lang()
	p := setupPage{Frame: web.Frame{Title: v.print.T("Set up your shop"), Width: "narrow"}, Form: f, Steps: v.steps(stepAccount),
		Zones: zoneOptions(), Countries: countryOptions(""), Currencies: currencyOptions(), Languages: languageOptions(), NoCookie: !ok}
	for _, sh := range link.Shops {
		p.Shops = append(p.Shops, web.Option{Value: sh.ID, Label: sh.Name})
	}
	if len(p.Shops) > 0 {
		p.Shops = append(p.Shops, web.Option{Value: "", Label: v.print.T("A new shop")})
	}
	if f == nil {
		p.Form = v.newForm(url.Values{"shop_language": {lang}, "currency": {"EUR"}})
		if len(link.Shops) > 0 {
			p.Form.Values.Set("shop_id", link.Shops[0].ID)
		}
	}
	p.Form.Order = []string{"shop_id", "shop_name", "timezone", "country_code", "currency", "shop_language", "name", "email", "password"}
	return v.render(v.status(), "setup", p)
}

// setupFields adds the language of the account, which is that of the page, and drops the
// fields of a new shop where an existing one was chosen.
func setupFields(v *visit, form url.Values) url.Values {
	form.Set("language", v.print.Lang())
	if form.Get("shop_id") != "" {
		for _, name := range []string{"shop_name", "timezone", "country_code", "currency", "shop_language"} {
			form.Del(name)
		}
	}
	return form
}

// setUp signs the operator in and goes on with the next step.
func setUp(v *visit, s operation.CreatedSession) error {
	if !v.setSession(s.Token) {
		v.redirect("/sign-in", "")
		return nil
	}
	v.redirect(setupPath, "")
	return nil
}

// continueSetup leads to the first step that is not done.
func continueSetup(v *visit) error {
	locations, err := read[store.Page[store.Location]](v, operation.ListLocations, kernel.Args{})
	if err != nil {
		return err
	}
	if len(locations.Data) == 0 {
		v.redirect(setupPath+"/location", "")
		return nil
	}
	programs, err := read[store.Page[store.Program]](v, operation.ListPrograms, kernel.Args{})
	if err != nil {
		return err
	}
	if len(programs.Data) == 0 {
		v.redirect("/dashboard/new/program", "")
		return nil
	}
	v.redirect("/dashboard", "")
	return nil
}

func showSetupLocation(v *visit, f *web.Form) error {
	if err := v.require(operation.CreateLocation); err != nil {
		return err
	}
	frame := v.frame(web.Text("Your first location"), "")
	frame.Width = "narrow"
	return v.render(v.status(), "setup_location", setupPage{Frame: frame, Form: f, Steps: v.steps(stepLocation)})
}
