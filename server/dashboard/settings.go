package dashboard

import (
	"net/http"
	"net/url"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const (
	settingsPath   = "/dashboard/settings"
	deleteShopPath = settingsPath + "/delete"
	shopsPath      = "/dashboard/shops"
)

// settingsPages are the pages of a shop's settings, and those that make a shop.
var settingsPages = append([]binding{
	openForm(settingsPath, showSettings, action{
		op:   operation.UpdateShopSettings,
		to:   settingsPath,
		done: "The settings were saved.",
	}),
	confirm(deleteShopPath, getShop, askDeleteShop, action{
		op:        operation.DeleteShop,
		check:     checkDeleteShop,
		fields:    shopName,
		asksAgain: true,
		to:        "/dashboard",
		done:      "The shop was deleted.",
	}),
}, anywhere(
	page(shopsPath, shows(operation.ListShops, showShops)),
	form("/dashboard/new/shop", showNewShop, action{op: operation.OpenShop, to: setupPath}),
)...)

// settingsPage is the page of the settings, and that of a new shop.
type settingsPage struct {
	web.Frame
	Shop    store.Shop
	Country string // its name
	shopChoices
	Suggest bool // the browser suggests the time zone and the country
	Shops   []store.Shop
	Warning string // beside the demand of a second factor
}

func showSettings(v *visit) error {
	sh, err := getShop(v)
	if err != nil {
		return err
	}
	p := settingsPage{
		Frame:       v.frame("Shop settings", settingsPath),
		Shop:        sh,
		Country:     countryName(sh.CountryCode.V),
		shopChoices: newShopChoices(sh.Timezone, sh.CountryCode.V, sh.Currency),
	}
	v.fill(formValues(&sh))
	if !v.person.TOTP && !sh.RequireTOTP {
		p.Warning = v.T("You have no second factor yet. If you switch this on, you set it up right away.")
	}
	return v.render("settings", p)
}

// getShop returns the shop that is looked at.
var getShop = reader[store.Shop](operation.GetShop)

func askDeleteShop(v *visit, sh store.Shop) web.ConfirmPage {
	c := v.danger(settingsPath, "Delete {0}?", "Use this if the shop closes for good. It cannot be undone.", "Delete the shop", sh.Name)
	c.Consequences = []string{
		v.T("All cards, links and codes end at once, and what is on them is lost: stamps, prizes and money."),
		v.T("All tills, keys and webhooks end at once. Nobody belongs to the shop any longer; the accounts of people stay."),
		v.T("The ledger, the statistics and the activity log are erased too. Download first what you must keep."),
		v.T("Backups that were made before still have the shop. Whoever runs the server can remove them."),
	}
	c.Type = sh.Name
	c.Cancel = settingsPath
	return c
}

// checkDeleteShop returns an error unless the name of the shop was typed.
func checkDeleteShop(v *visit) error {
	return v.checkTyped(v.shop().Name)
}

// shopName returns the confirmation that the operation takes.
func shopName(v *visit, form url.Values) url.Values {
	form.Set("name", v.shop().Name)
	return form
}

// showShops shows all shops of the server, for operators.
func showShops(v *visit, list operation.List[store.Shop]) error {
	return v.render("shops", settingsPage{Frame: v.frame("Shops", shopsPath), Shops: list.Data})
}

func showNewShop(v *visit) error {
	v.fill(url.Values{"currency": {"EUR"}, "language": {v.person.Language}})
	return v.render("shop_form", settingsPage{
		Frame:       v.narrow("New shop", shopsPath),
		Suggest:     true,
		shopChoices: newShopChoices("", "", ""),
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
	return v.renderAs(status, "no_shop", settingsPage{Frame: v.frame("No shop", "")})
}
