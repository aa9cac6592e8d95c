package dashboard

import (
	"net/url"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// setupPages lead the first operator from the set-up link to the first program. Each step
// is stored when it is sent, so the set-up can be left and continued.
var setupPages = []binding{
	publicForm("/setup/:token", showSetup, action{op: operation.SetUpOperator, fields: setupFields, then: then(setUp)}),
	page(setupPath, continueSetup),
	form(setupPath+"/location", showSetupLocation, action{op: operation.CreateLocation, to: setupPath}),
}

const setupPath = "/dashboard/setup"

// setupPage is a page of the set-up.
type setupPage struct {
	web.Frame
	Steps []web.Step
	Shops []web.Option // of a file that has shops already
	shopChoices
	NoCookie bool
}

// The steps of the set-up.
const (
	stepAccount = iota
	stepLocation
	stepProgram
)

// steps returns the steps of the set-up, with the current one.
func (v *visit) steps(current int) (list []web.Step) {
	for i, label := range []web.Text{"Shop and account", "First location", "First program"} {
		list = append(list, web.Step{Label: v.T(label), Done: i < current, Current: i == current})
	}
	return list
}

func showSetup(v *visit) error {
	link, err := v.shownLink(store.LinkSetup)
	if err != nil {
		return err
	}
	_, _, ok := v.cookie()
	p := setupPage{
		Frame:       web.Frame{Title: v.T("Set up your shop"), Width: "narrow", Form: v.shown},
		Steps:       v.steps(stepAccount),
		shopChoices: newShopChoices("", "", ""),
		NoCookie:    !ok,
	}
	values := url.Values{"shop_language": {v.Lang()}, "currency": {"EUR"}}
	for _, sh := range link.Shops {
		p.Shops = append(p.Shops, web.Option{Value: sh.ID, Label: sh.Name})
	}
	if len(p.Shops) > 0 {
		values.Set("shop_id", p.Shops[0].Value)
		p.Shops = append(p.Shops, v.option("", "A new shop"))
	}
	v.fill(values)
	return v.render("setup", p)
}

// setupFields drops the fields of a new shop where an existing one was chosen.
func setupFields(v *visit, form url.Values) url.Values {
	if form.Get("shop_id") != "" {
		for _, name := range []string{"shop_name", "timezone", "country_code", "currency", "shop_language"} {
			form.Del(name)
		}
	}
	return inPageLanguage(v, form)
}

// setUp signs the operator in and goes on with the next step.
func setUp(v *visit, s operation.CreatedSession) error {
	if !v.setSession(s.Token) {
		return v.redirect("/sign-in", "")
	}
	return v.redirect(setupPath, "")
}

// continueSetup leads to the first step that is not done.
func continueSetup(v *visit) error {
	locations, err := read[store.Page[store.Location]](v, operation.ListLocations)
	if err != nil {
		return err
	}
	if len(locations.Data) == 0 {
		return v.redirect(setupPath+"/location", "")
	}
	programs, err := read[store.Page[store.Program]](v, operation.ListPrograms)
	if err != nil {
		return err
	}
	if len(programs.Data) == 0 {
		return v.redirect("/dashboard/new/program", "")
	}
	return v.redirect("/dashboard", "")
}

func showSetupLocation(v *visit) error {
	return v.render("setup_location", setupPage{
		Frame: v.narrow("Your first location", ""),
		Steps: v.steps(stepLocation),
	})
}
