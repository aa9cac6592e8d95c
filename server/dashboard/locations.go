package dashboard

import (
	"net/url"
	"slices"
	"strings"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const locationsPath = "/dashboard/locations"

// locationPages are the pages of locations.
var locationPages = []binding{
	page(locationsPath, showLocations),
	form("/dashboard/new/location", showNewLocation, action{
		op: operation.CreateLocation,
		then: then(func(v *visit, l store.Location) error {
			return v.redirect(locationPath(l.ID), locationCreated)
		}),
	}),
	page(locationAt, about(findLocation, showLocation)),
	edit(locationAt+"/edit", findLocation, showEditLocation, action{
		op:     operation.UpdateLocationSettings,
		fields: keepEmpty,
		to:     locationAt,
		done:   "The location was saved.",
	}),
	confirm(locationAt+"/disable", findLocation, askDisable, action{
		op:   operation.DisableLocation,
		to:   locationAt,
		done: "The location is disabled. Cards cannot be used there.",
	}),
	post(locationAt+"/enable", action{
		op:   operation.EnableLocation,
		to:   locationAt,
		done: "The location is open again. Cards can be used there.",
	}),
	edit(locationAt+"/pin", findLocation, showPIN, action{
		op:   operation.SetStaffPIN,
		to:   locationAt,
		done: "The staff PIN was saved.",
	}),
}

var locationCreated = says("location-created", "The location was created.")

// locationAt is the pattern of the page of a location.
const locationAt = "/dashboard/location/:id"

func locationPath(id string) string { return "/dashboard/location/" + id }

// locationsPage is the list of locations.
type locationsPage struct {
	web.Frame
	Tabs      []web.NavItem
	Locations []store.Location
	Pager     web.Pager
}

func showLocations(v *visit) error {
	locations, pager, err := list[store.Location](v, operation.ListLocations, nonEmpty(v.r.URL.Query()), nil)
	if err != nil {
		return err
	}
	return v.render("locations", locationsPage{
		Frame:     v.frame("Locations", locationsPath),
		Tabs:      v.locationTabs(locationsPath),
		Locations: locations,
		Pager:     pager,
	})
}

// locationPage is the page of a location, also with its forms.
type locationPage struct {
	web.Frame
	Location store.LocationSettings
	Address  string // on one line
	Tills    []till // that work
}

// findLocation returns the location of the path.
var findLocation = reader[store.LocationSettings](operation.GetLocation)

func showLocation(v *visit, l store.LocationSettings) error {
	p := locationPage{
		Frame:    v.named(v.locationName(l.Name), locationsPath),
		Location: l,
		Address:  address(l.Location),
	}
	tills, err := allTills(v)
	if err != nil {
		return err
	}
	p.Tills = slices.DeleteFunc(tills, func(t till) bool { return t.LocationID != l.ID || t.RevokedAt.Valid })
	return v.render("location", p)
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

func showNewLocation(v *visit) error {
	return v.render("location_form", locationPage{Frame: v.narrow("New location", locationsPath)})
}

func showEditLocation(v *visit, l store.LocationSettings) error {
	v.fill(formValues(&l))
	return v.render("location_form", locationPage{Frame: v.narrow("Edit location", locationsPath), Location: l})
}

// keepEmpty leaves out the parts of the address that are empty and stay so: an update may
// not set them to nothing.
func keepEmpty(v *visit, form url.Values) url.Values {
	l, err := findLocation(v)
	if err != nil {
		return form // the operation refuses it too
	}
	parts := map[string]string{"address": l.Address, "city": l.City, "postal_code": l.PostalCode, "country_code": l.CountryCode}
	for name, old := range parts {
		if old == "" && strings.TrimSpace(form.Get(name)) == "" {
			delete(form, name)
		}
	}
	return form
}

func askDisable(v *visit, l store.LocationSettings) web.ConfirmPage {
	return v.danger(locationsPath, "Disable {0}?",
		"From now on cards cannot be used at this location, and its tills refuse every action. Customers keep their "+
			"cards. You can enable the location again at any time.",
		"Disable the location", l.Name)
}

func showPIN(v *visit, l store.LocationSettings) error {
	return v.render("location_pin", locationPage{Frame: v.narrow("Staff PIN", locationsPath), Location: l})
}
