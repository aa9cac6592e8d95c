package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const locationsPath = "/dashboard/locations"

// locationPages are the pages of locations.
var locationPages = []binding{
	page(locationsPath, showLocations),
	page("/dashboard/new/location", func(v *visit) error { return showNewLocation(v, v.newForm(nil)) }),
	post(
		"/dashboard/new/location",
		action[store.Location]{op: operation.CreateLocation, again: showNewLocation, next: toLocation(locationCreated)},
	),
	page("/dashboard/location/:id", showLocation),
	page("/dashboard/location/:id/edit", func(v *visit) error { return showEditLocation(v, nil) }),
	post(
		"/dashboard/location/:id/edit",
		action[store.LocationSettings]{
			op:     operation.UpdateLocationSettings,
			fields: keepEmpty,
			again:  showEditLocation,
			next:   toSettings(locationSaved),
		},
	),
	page("/dashboard/location/:id/disable", confirmDisable),
	post("/dashboard/location/:id/disable", action[store.Location]{op: operation.DisableLocation, next: toLocation(locationDisabled)}),
	post("/dashboard/location/:id/enable", action[store.Location]{op: operation.EnableLocation, next: toLocation(locationEnabled)}),
	page("/dashboard/location/:id/pin", func(v *visit) error { return showPIN(v, v.newForm(nil)) }),
	post("/dashboard/location/:id/pin", action[store.Location]{op: operation.SetStaffPIN, again: showPIN, next: toLocation(pinSaved)}),
}

var (
	locationCreated  = says("location-created", web.Text("The location was created."))
	locationSaved    = says("location-saved", web.Text("The location was saved."))
	locationDisabled = says("location-disabled", web.Text("The location is disabled. Cards cannot be used there."))
	locationEnabled  = says("location-enabled", web.Text("The location is open again. Cards can be used there."))
	pinSaved         = says("pin-saved", web.Text("The staff PIN was saved."))
)

// toLocation returns a function that returns the path of the location's page, and the word for
// what was done.
func toLocation(done string) func(*visit, store.Location) (string, string) {
	return func(_ *visit, l store.Location) (string, string) { return locationPath(l.ID), done }
}

// toSettings is toLocation for an operation that returns the settings too.
func toSettings(done string) func(*visit, store.LocationSettings) (string, string) {
	return func(_ *visit, l store.LocationSettings) (string, string) { return locationPath(l.ID), done }
}

func locationPath(id string) string { return "/dashboard/location/" + id }

// locationsPage is the list of locations.
type locationsPage struct {
	web.Frame
	Tabs      []web.NavItem
	Locations []store.Location
	Pager     web.Pager
	MayCreate bool
}

func showLocations(v *visit) error {
	list, err := read[store.Page[store.Location]](v, operation.ListLocations, v.query())
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "locations", locationsPage{
		Frame:     v.frame(web.Text("Locations"), locationsPath),
		Tabs:      v.locationTabs(locationsPath),
		Locations: list.Data,
		Pager:     v.pager(len(list.Data), list.NextCursor),
		MayCreate: v.allows(kernel.Owner),
	})
}

// locationPage is the page of a location, also with its forms.
type locationPage struct {
	web.Frame
	Location store.LocationSettings
	Form     *web.Form
	State    web.Badge
	Facts    []web.Fact
	Actions  []web.Action
	Tills    []till // that work
	NewTill  web.Action
}

// findLocation returns the location of the path.
func findLocation(v *visit) (store.LocationSettings, error) {
	return read[store.LocationSettings](v, operation.GetLocation, v.args(nil))
}

func showLocation(v *visit) error {
	l, err := findLocation(v)
	if err != nil {
		return err
	}
	frame := v.frame(web.Text("Location"), locationsPath)
	frame.Title = cmp.Or(l.Name, v.print.T("Location without a name"))
	p := locationPage{Frame: frame, Location: l, Form: v.newForm(nil), State: web.Badge{Label: v.print.T("Open"), Tone: "good"}}
	if !l.Active {
		p.State = web.Badge{Label: v.print.T("Disabled")}
	}
	tills, err := v.tills()
	if err != nil {
		return err
	}
	p.Tills = slices.DeleteFunc(tills, func(t till) bool { return t.LocationID != l.ID || t.RevokedAt.Valid })
	pin := v.print.T("Not asked for")
	if l.RequireStaffPIN {
		pin = v.print.T("Asked for before every action")
	}
	signIn := v.print.T("Not asked for")
	if l.RequireStaff {
		signIn = v.print.T("Needed for every action")
	}
	p.Facts = []web.Fact{
		{Label: v.print.T("Address"), Value: cmp.Or(address(l.Location), "–")},
		{Label: v.print.T("Staff PIN"), Value: pin},
		{Label: v.print.T("Sign-in of staff"), Value: signIn},
		{Label: v.print.T("Created"), Value: v.print.Date(l.CreatedAt.Std())},
		{Label: v.print.T("Id"), Value: codeOf(l.ID)},
	}
	if v.allows(kernel.Manager) {
		p.NewTill = web.Action{Label: v.print.T("New till"), Path: "/dashboard/new/till?location_id=" + l.ID, Icon: "plus"}
		p.Actions = []web.Action{
			{Label: v.print.T("Edit"), Path: locationPath(l.ID) + "/edit", Icon: "edit"},
			{Label: v.print.T("Staff PIN"), Path: locationPath(l.ID) + "/pin", Icon: "lock"},
		}
		if l.Active {
			p.Actions = append(p.Actions, web.Action{Label: v.print.T("Disable"), Path: locationPath(l.ID) + "/disable"})
		} else {
			p.Actions = append(p.Actions, web.Action{Label: v.print.T("Enable"), Path: locationPath(l.ID) + "/enable", Post: true, Key: p.Form.Key, Kind: "primary"})
		}
	}
	return v.render(http.StatusOK, "location", p)
}

// address returns the address of a location on one line.
func address(l store.Location) string {
	var parts []string
	for _, part := range []string{l.Address, strings.TrimSpace(l.PostalCode + " " + l.City), l.CountryCode} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}

func showNewLocation(v *visit, f *web.Form) error {
	if err := v.require(operation.CreateLocation); err != nil {
		return err
	}
	frame := v.frame(web.Text("New location"), locationsPath)
	frame.Width = "narrow"
	return v.render(v.status(), "location_form", locationPage{Frame: frame, Form: f})
}

func showEditLocation(v *visit, f *web.Form) error {
	if err := v.require(operation.UpdateLocationSettings); err != nil {
		return err
	}
	l, err := findLocation(v)
	if err != nil {
		return err
	}
	if f == nil {
		f = v.newForm(url.Values{
			"name": {l.Name}, "address": {l.Address}, "city": {l.City}, "postal_code": {l.PostalCode}, "country_code": {l.CountryCode},
			"lat": {strconv.FormatFloat(l.Lat, 'f', -1, 64)}, "lon": {strconv.FormatFloat(l.Lon, 'f', -1, 64)},
			"require_staff": {strconv.FormatBool(l.RequireStaff)},
		})
	}
	frame := v.frame(web.Text("Edit location"), locationsPath)
	frame.Width = "narrow"
	return v.render(v.status(), "location_form", locationPage{Frame: frame, Location: l, Form: f})
}

// keepEmpty leaves out the parts of the address that are empty and stay so: an update may
// not set them to nothing.
func keepEmpty(v *visit, form url.Values) url.Values {
	l, err := findLocation(v)
	if err != nil {
		return form // the operation refuses it too
	}
	for name, old := range map[string]string{"address": l.Address, "city": l.City, "postal_code": l.PostalCode, "country_code": l.CountryCode} {
		if old == "" && strings.TrimSpace(form.Get(name)) == "" {
			delete(form, name)
		}
	}
	return form
}

func confirmDisable(v *visit) error {
	if err := v.require(operation.DisableLocation); err != nil {
		return err
	}
	l, err := findLocation(v)
	if err != nil {
		return err
	}
	return v.confirm(locationsPath, web.ConfirmPage{
		Frame: web.Frame{Title: v.print.T("Disable {0}?", l.Name)},
		Path:  locationPath(l.ID) + "/disable",
		Text: v.print.T(
			"From now on cards cannot be used at this location, and its tills refuse every action. Customers keep their cards. You can enable the location again at any time.",
		),
		Button: v.print.T("Disable the location"),
		Cancel: locationPath(l.ID),
		Danger: true,
	})
}

func showPIN(v *visit, f *web.Form) error {
	if err := v.require(operation.SetStaffPIN); err != nil {
		return err
	}
	l, err := findLocation(v)
	if err != nil {
		return err
	}
	frame := v.frame(web.Text("Staff PIN"), locationsPath)
	frame.Width = "narrow"
	return v.render(v.status(), "location_pin", locationPage{Frame: frame, Location: l, Form: f})
}
