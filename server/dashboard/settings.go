package dashboard

import (
	"net/http"
	"net/url"
	"strconv"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const (
	settingsPath = "/dashboard/settings"
	shopsPath    = "/dashboard/shops"
)

// settingsPages are the pages of a shop's settings, and those that make a shop.
var settingsPages = append([]binding{
	page(settingsPath, func(v *visit) error { return showSettings(v, nil) }),
	post(settingsPath, action[store.Shop]{op: operation.UpdateShopSettings, again: showSettings,
		next: func(*visit, store.Shop) (string, string) { return settingsPath, settingsSaved }}),
}, anywhere(
	page(shopsPath, showShops),
	page("/dashboard/new/shop", func(v *visit) error {
		return showNewShop(v, v.newForm(url.Values{"currency": {"EUR"}, "language": {v.person.Language}}))
	}),
	post("/dashboard/new/shop", action[store.Shop]{op: operation.OpenShop, again: showNewShop,
		next: func(*visit, store.Shop) (string, string) { return setupPath, "" }}),
)...)

var settingsSaved = says("settings-saved", web.Text("The settings were saved."))

// settingsPage is the page of the settings, and that of a new shop.
type settingsPage struct {
	web.Frame
	Form       *web.Form
	Shop       store.Shop
	Facts      []web.Fact // for those who may not change them
	Zones      []web.Option
	Currencies []web.Option
	Languages  []web.Option
	Countries  []web.Option
	Suggest    bool // the browser suggests the time zone and the country
	NewShop    bool // the person may make one
	Shops      []store.Shop
	Warning    string // beside the demand of a second factor
}

func showSettings(v *visit, f *web.Form) error {
	sh, err := read[store.Shop](v, operation.GetShop, kernel.Args{})
	if err != nil {
		return err
	}
	p := settingsPage{
		Frame:      v.frame(web.Text("Shop settings"), settingsPath),
		Shop:       sh,
		Form:       f,
		Zones:      zoneOptions(sh.Timezone),
		Countries:  countryOptions(sh.CountryCode.V),
		Currencies: currencyOptions(sh.Currency),
		Languages:  languageOptions(),
	}
	if !v.allows(kernel.Owner) {
		demand := v.print.T("Everybody decides for their own account")
		if sh.RequireTOTP {
			demand = v.print.T("Owners and managers need one")
		}
		p.Facts = []web.Fact{
			{Label: v.print.T("Name"), Value: sh.Name},
			{Label: v.print.T("Time zone"), Value: sh.Timezone},
			{Label: v.print.T("Country"), Value: countryName(sh.CountryCode.V)},
			{Label: v.print.T("Currency"), Value: sh.Currency},
			{Label: v.print.T("Language of customers"), Value: languageName(sh.Language)},
			{Label: v.print.T("Second factor"), Value: demand},
		}
		return v.render(v.status(), "settings", p)
	}
	if f == nil {
		p.Form = v.newForm(
			url.Values{
				"name":         {sh.Name},
				"timezone":     {sh.Timezone},
				"country_code": {sh.CountryCode.V},
				"currency":     {sh.Currency},
				"language":     {sh.Language},
				"require_totp": {strconv.FormatBool(sh.RequireTOTP)},
			},
		)
	}
	p.Form.Order = []string{"name", "timezone", "country_code", "currency", "language", "require_totp"}
	if !v.person.TOTP && !sh.RequireTOTP {
		p.Warning = v.print.T("You have no second factor yet. If you switch this on, you set it up right away.")
	}
	return v.render(v.status(), "settings", p)
}

// languageName returns the name of a language in the language itself.
func languageName(lang string) string {
	for _, o := range languageOptions() {
		if o.Value == lang {
			return o.Label
		}
	}
	return lang
}

// showShops shows all shops of the server, for operators.
func showShops(v *visit) error {
	list, err := read[operation.List[store.Shop]](v, operation.ListShops, kernel.Args{})
	if err != nil {
		return err
	}
	return v.render(
		http.StatusOK,
		"shops",
		settingsPage{Frame: v.frame(web.Text("Shops"), shopsPath), Form: v.newForm(nil), Shops: list.Data},
	)
}

func showNewShop(v *visit, f *web.Form) error {
	if err := v.require(operation.OpenShop); err != nil {
		return err
	}
	f.Order = []string{"name", "timezone", "country_code", "currency", "language"}
	frame := v.frame(web.Text("New shop"), shopsPath)
	frame.Width = "narrow"
	return v.render(v.status(), "shop_form", settingsPage{
		Frame:      frame,
		Form:       f,
		Suggest:    true,
		Zones:      zoneOptions(),
		Countries:  countryOptions(""),
		Currencies: currencyOptions(),
		Languages:  languageOptions(),
	})
}

// withoutShop reports whether the person belongs to no shop, or runs a server without one.
func (v *visit) withoutShop() bool {
	return v.person != nil && v.person.Shop == 0 && !v.person.Pending
}

// showNoShop tells a person that they belong to no shop, and what to do.
func showNoShop(v *visit) error {
	status := http.StatusForbidden
	if v.r.URL.Path == "/dashboard" {
		status = http.StatusOK
	}
	return v.render(status, "no_shop", settingsPage{Frame: v.frame(web.Text("No shop"), ""), NewShop: v.allows(kernel.Operator)})
}
