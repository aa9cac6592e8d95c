package dashboard

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/qr"
	"punchcard/server/web"
	"punchcard/store"
)

const tillsPath = "/dashboard/tills"

// tillPages are the pages of tills.
var tillPages = []binding{
	page(tillsPath, showTills),
	page("/dashboard/new/till", func(v *visit) error {
		return showNewTill(v, v.newForm(url.Values{"location_id": {v.r.URL.Query().Get("location_id")}}))
	}),
	post("/dashboard/new/till", action[operation.CreatedDevice]{op: operation.CreateDevice, again: showNewTill, show: showTillToken}),
	post("/dashboard/new/till/pair", action[store.CreatedPairing]{op: operation.CreatePairing, again: showNewTill, show: showPairing}),
	page("/dashboard/till/:id/revoke", confirmRevokeTill),
	post(
		"/dashboard/till/:id/revoke",
		action[store.Device]{
			op:   operation.RevokeDevice,
			next: func(*visit, store.Device) (string, string) { return tillsPath, tillRevoked },
		},
	),
}

var tillRevoked = says("till-revoked", web.Text("The till was revoked. Its token no longer works."))

// till is a device as its pages show it.
type till struct {
	store.Device
	Location string // name
}

// tillsPage is the list of tills.
type tillsPage struct {
	web.Frame
	Actions []web.Action
	Tabs    []web.NavItem
	Tills   []till
	Revoked []till
	May     bool // revoke
	Create  web.Action
}

// locationTabs are the views of locations, their tills and their staff.
func (v *visit) locationTabs(current string) []web.NavItem {
	return []web.NavItem{
		{Label: v.print.T("Locations"), Path: locationsPath, Current: current == locationsPath},
		{Label: v.print.T("Tills"), Path: tillsPath, Current: current == tillsPath},
		{Label: v.print.T("Staff"), Path: staffPath, Current: current == staffPath},
	}
}

// tills returns the devices of the shop, newest first.
func (v *visit) tills() (list []till, err error) {
	devices, err := read[operation.List[store.Device]](v, operation.ListDevices, kernel.Args{})
	if err != nil || len(devices.Data) == 0 {
		return nil, err
	}
	locations, err := v.locations()
	if err != nil {
		return nil, err
	}
	for _, d := range devices.Data {
		t := till{Device: d, Location: d.LocationID}
		if i := slices.IndexFunc(locations, func(l store.Location) bool { return l.ID == d.LocationID }); i >= 0 {
			t.Location = locations[i].Name
		}
		list = append(list, t)
	}
	return list, nil
}

// locations returns all locations of the shop, newest first.
func (v *visit) locations() (all []store.Location, err error) {
	fields := url.Values{"limit": {"100"}}
	for {
		list, err := read[store.Page[store.Location]](v, operation.ListLocations, filterInput{v, fields})
		if err != nil {
			return nil, err
		}
		all = append(all, list.Data...)
		if !list.NextCursor.Valid {
			return all, nil
		}
		fields.Set("cursor", list.NextCursor.V)
	}
}

func showTills(v *visit) error {
	all, err := v.tills()
	if err != nil {
		return err
	}
	p := tillsPage{Frame: v.frame(web.Text("Tills"), locationsPath), Tabs: v.locationTabs(tillsPath), May: v.allows(kernel.Manager)}
	for _, t := range all {
		if t.RevokedAt.Valid {
			p.Revoked = append(p.Revoked, t)
		} else {
			p.Tills = append(p.Tills, t)
		}
	}
	p.Actions = []web.Action{{Label: v.print.T("Open the till"), Path: "/till/", Icon: "till"}}
	if p.May {
		p.Create = web.Action{Label: v.print.T("New till"), Path: "/dashboard/new/till", Icon: "plus", Kind: "primary"}
		p.Actions = append(p.Actions, p.Create)
	}
	return v.render(http.StatusOK, "tills", p)
}

// tillPage is the form of a new till, its token, or a pairing.
type tillPage struct {
	web.Frame
	Form        *web.Form
	Locations   []web.Option
	Till        operation.CreatedDevice
	Location    string
	Check       string // the command that checks the token
	Pairing     store.CreatedPairing
	QR          template.HTML // of the pairing's link
	Code        string        // of the pairing, in groups
	Unreachable *attention    // nil: phones can open the links
}

func showNewTill(v *visit, f *web.Form) error {
	if err := v.require(operation.CreateDevice); err != nil {
		return err
	}
	p := tillPage{Frame: v.frame(web.Text("New till"), locationsPath), Form: f}
	p.Width = "narrow"
	f.Order = []string{"location_id", "name"}
	var err error
	if p.Locations, err = v.locationChoice(); err != nil {
		return err
	}
	return v.render(v.status(), "till_form", p)
}

// locationChoice returns the locations of the shop, oldest first, for a form in which one has
// to be chosen.
func (v *visit) locationChoice() (options []web.Option, err error) {
	locations, err := v.locations()
	for _, l := range slices.Backward(locations) {
		options = append(options, web.Option{Value: l.ID, Label: l.Name})
	}
	if len(options) != 1 {
		options = append([]web.Option{{Value: "", Label: v.print.T("Choose a location")}}, options...)
	}
	return options, err
}

// showPairing shows the link and the code of a pairing. A form that is sent again has none to
// show.
func showPairing(v *visit, created store.CreatedPairing) error {
	p := tillPage{
		Frame:       v.frame(web.Text("Pair a phone or tablet"), locationsPath),
		Pairing:     created,
		Code:        groupCode(created.Code),
		Unreachable: v.unreachable(),
	}
	p.Width = "narrow"
	if created.URL != "" {
		if strings.HasPrefix(created.URL, "/") {
			p.Pairing.URL = v.origin() + created.URL
		}
		svg, err := qr.SVG(p.Pairing.URL)
		if err != nil {
			return err
		}
		p.QR = template.HTML(svg)
	}
	l, err := read[store.LocationSettings](v, operation.GetLocation, kernel.Args{Params: map[string]string{"id": created.LocationID}})
	if err != nil {
		return err
	}
	p.Location = l.Name
	return v.render(http.StatusOK, "till_pair", p)
}

// showTillToken shows the token of a new till. A form that is sent again has none to show.
func showTillToken(v *visit, d operation.CreatedDevice) error {
	p := tillPage{Frame: v.frame(web.Text("The till was created"), locationsPath), Till: d}
	p.Width = "narrow"
	p.Check = "curl -H 'Authorization: Bearer " + d.Token + "' " + v.origin() + "/till/v1/me"
	l, err := read[store.LocationSettings](v, operation.GetLocation, kernel.Args{Params: map[string]string{"id": d.LocationID}})
	if err != nil {
		return err
	}
	p.Location = l.Name
	return v.render(http.StatusOK, "till_token", p)
}

// origin returns the address of the server for people who are to call it.
func (v *visit) origin() string {
	scheme := "http://"
	if v.r.TLS != nil {
		scheme = "https://"
	}
	return cmp.Or(v.PublicURL, scheme+v.r.Host)
}

func confirmRevokeTill(v *visit) error {
	if err := v.require(operation.RevokeDevice); err != nil {
		return err
	}
	all, err := v.tills()
	if err != nil {
		return err
	}
	t, err := find(v, all, func(t till) string { return t.ID }, "No such device.")
	if err != nil {
		return err
	}
	return v.confirm(locationsPath, web.ConfirmPage{
		Frame: web.Frame{Title: v.print.T("Revoke {0}?", t.Name)},
		Path:  "/dashboard/till/" + v.id() + "/revoke",
		Text: v.print.T(
			"The till at {0} can do nothing from now on, and its token never works again. What it did stays in the ledger.",
			t.Location,
		),
		Button: v.print.T("Revoke the till"),
		Cancel: tillsPath,
		Danger: true,
	})
}
