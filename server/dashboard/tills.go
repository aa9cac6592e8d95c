package dashboard

import (
	"cmp"
	"html/template"
	"slices"

	"punchcard/server/operation"
	"punchcard/server/qr"
	"punchcard/server/web"
	"punchcard/store"
)

const tillsPath = "/dashboard/tills"

// tillPages are the pages of tills.
var tillPages = []binding{
	page(tillsPath, about(allTills, showTills)),
	form("/dashboard/new/till", showNewTill, action{op: operation.CreateDevice, then: then(showTillToken)}),
	post("/dashboard/new/till/pair", action{op: operation.CreatePairing, again: showNewTill, then: then(showPairing)}),
	confirm("/dashboard/till/:id/revoke", findTill, askRevokeTill, action{
		op:   operation.RevokeDevice,
		to:   tillsPath,
		done: "The till was revoked. Its token no longer works.",
	}),
}

// till is a device as its pages show it.
type till struct {
	store.Device
	Location string // name
}

// tillsPage is the list of tills.
type tillsPage struct {
	web.Frame
	Tabs    []web.NavItem
	Tills   []till
	Revoked []till
}

// locationTabs are the views of locations, their tills and their staff.
func (v *visit) locationTabs(current string) []web.NavItem {
	return []web.NavItem{
		v.tab("Locations", locationsPath, current == locationsPath),
		v.tab("Tills", tillsPath, current == tillsPath),
		v.tab("Staff", staffPath, current == staffPath),
	}
}

// allTills returns the devices of the shop, newest first.
func allTills(v *visit) (list []till, err error) {
	devices, err := read[operation.List[store.Device]](v, operation.ListDevices)
	if err != nil || len(devices.Data) == 0 {
		return nil, err
	}
	locations, err := v.locations()
	if err != nil {
		return nil, err
	}
	return each(devices.Data, func(d store.Device) till { return till{d, locationName(locations, d.LocationID)} }), nil
}

// locations returns all locations of the shop, newest first.
func (v *visit) locations() ([]store.Location, error) {
	return readAll[store.Location](v, operation.ListLocations)
}

// locationOptions returns the locations of the shop as choices, oldest first.
func (v *visit) locationOptions() (options []web.Option, err error) {
	locations, err := v.locations()
	slices.Reverse(locations)
	return each(locations, v.locationOption), err
}

// locationOption returns a location as a choice.
func (v *visit) locationOption(l store.Location) web.Option {
	return web.Option{Value: l.ID, Label: v.locationName(l.Name)}
}

func showTills(v *visit, all []till) error {
	p := tillsPage{Frame: v.frame("Tills", locationsPath), Tabs: v.locationTabs(tillsPath)}
	for _, t := range all {
		if t.RevokedAt.Valid {
			p.Revoked = append(p.Revoked, t)
		} else {
			p.Tills = append(p.Tills, t)
		}
	}
	return v.render("tills", p)
}

// tillPage is the form of a new till, its token, or a pairing.
type tillPage struct {
	web.Frame
	Locations   []web.Option
	Till        operation.CreatedDevice
	Location    string
	Check       string // the command that checks the token
	Pairing     store.CreatedPairing
	QR          template.HTML // of the pairing's link
	Code        string        // of the pairing, in groups
	Unreachable *attention    // nil: phones can open the links
}

func showNewTill(v *visit) (err error) {
	v.fill(nonEmpty(v.r.URL.Query(), "location_id"))
	p := tillPage{Frame: v.narrow("New till", locationsPath)}
	if p.Locations, err = v.locationChoice(); err != nil {
		return err
	}
	return v.render("till_form", p)
}

// locationChoice returns the locations of the shop, oldest first, for a form in which one has
// to be chosen.
func (v *visit) locationChoice() (options []web.Option, err error) {
	options, err = v.locationOptions()
	if len(options) != 1 {
		options = append([]web.Option{v.option("", "Choose a location")}, options...)
	}
	return options, err
}

// showPairing shows the link and the code of a pairing. A form that is sent again has none to
// show.
func showPairing(v *visit, created store.CreatedPairing) error {
	p := tillPage{
		Frame:       v.narrow("Pair a phone or tablet", locationsPath),
		Pairing:     created,
		Code:        web.GroupCode(created.Code),
		Unreachable: v.unreachable(),
	}
	if created.URL != "" {
		p.Pairing.URL = v.absolute(created.URL)
		svg, err := qr.SVG(p.Pairing.URL)
		if err != nil {
			return err
		}
		p.QR = template.HTML(svg)
	}
	return v.renderTill("till_pair", p, created.LocationID)
}

// renderTill shows a page about a new till of a location.
func (v *visit) renderTill(name string, p tillPage, location string) error {
	l, err := read[store.LocationSettings](v, operation.GetLocation, withID(location))
	if err != nil {
		return err
	}
	p.Location = l.Name
	return v.render(name, p)
}

// showTillToken shows the token of a new till. A form that is sent again has none to show.
func showTillToken(v *visit, d operation.CreatedDevice) error {
	p := tillPage{Frame: v.narrow("The till was created", locationsPath), Till: d}
	p.Check = "curl -H 'Authorization: Bearer " + d.Token + "' " + v.shopURL() + "/till/v1/me"
	return v.renderTill("till_token", p, d.LocationID)
}

// shopURL returns what links of the shop's cards and tills begin with.
func (v *visit) shopURL() string { return cmp.Or(v.shop().PublicURL, v.origin()) }

// origin returns the address of the server for people who are to call it.
func (v *visit) origin() string { return v.Kernel.Store().PublicURL() }

// findTill returns the device of the path.
func findTill(v *visit) (till, error) {
	all, err := allTills(v)
	return find(v, all, err, func(t till) string { return t.ID }, "No such device.")
}

func askRevokeTill(v *visit, t till) web.ConfirmPage {
	return v.danger(locationsPath, "Revoke {0}?",
		"The till at {1} can do nothing from now on, and its token never works again. What it did stays in the ledger.",
		"Revoke the till", t.Name, t.Location)
}
