package dashboard

import (
	"slices"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const staffPath = "/dashboard/staff"

// staffPages are the pages of the people who work at tills.
var staffPages = []binding{
	page(staffPath, shows(operation.ListStaff, showStaff)),
	form("/dashboard/new/staff", showNewStaff, action{
		op:   operation.CreateStaff,
		to:   staffPath,
		done: says("staff-created", "The member of staff was added, and can sign in at the tills of the location."),
	}),
	edit("/dashboard/staff/:id/pin", findStaff, showMemberPIN, action{
		op:   operation.SetStaffMemberPIN,
		to:   staffPath,
		done: says("member-pin-saved", "The PIN was saved. Sessions with the old one have ended."),
	}),
	confirm("/dashboard/staff/:id/disable", findStaff, askDisableStaff, action{
		op:   operation.DisableStaff,
		to:   staffPath,
		done: says("staff-disabled", "The member of staff is disabled and signed out everywhere."),
	}),
	post("/dashboard/staff/:id/enable", action{
		op:   operation.EnableStaff,
		to:   staffPath,
		done: says("staff-enabled", "The member of staff can sign in again."),
	}),
}

// staffPage is the list of staff, or a form of one of them.
type staffPage struct {
	web.Frame
	Tabs      []web.NavItem
	Actions   []web.Action
	Groups    []staffGroup
	May       bool // change them
	Create    web.Action
	Form      *web.Form
	Locations []web.Option
	Member    store.StaffMember
}

// staffGroup is the staff of a location.
type staffGroup struct {
	ID, Name string
	Members  []store.StaffMember
}

func showStaff(v *visit, members operation.List[store.StaffMember]) error {
	locations, err := v.locations()
	if err != nil {
		return err
	}
	p := staffPage{
		Frame: v.frame("Staff", locationsPath),
		Tabs:  v.locationTabs(staffPath),
		May:   v.allows(kernel.Manager),
		Form:  v.newForm(nil),
	}
	for _, l := range slices.Backward(locations) {
		g := staffGroup{ID: l.ID, Name: v.locationName(l.Name)}
		for _, m := range members.Data {
			if m.LocationID == l.ID {
				g.Members = append(g.Members, m)
			}
		}
		if len(g.Members) > 0 {
			p.Groups = append(p.Groups, g)
		}
	}
	if p.May {
		p.Create = v.link("Add a person", "/dashboard/new/staff", "plus", "primary")
		p.Actions = []web.Action{p.Create}
	}
	return v.render("staff", p)
}

func showNewStaff(v *visit, f *web.Form) (err error) {
	v.fill(f, nonEmpty(v.r.URL.Query(), "location_id"))
	p := staffPage{Frame: v.narrow("New member of staff", locationsPath), Form: f}
	if p.Locations, err = v.locationChoice(); err != nil {
		return err
	}
	return v.render("staff_form", p)
}

// findStaff returns the member of staff of the path.
func findStaff(v *visit) (m store.StaffMember, err error) {
	members, err := read[operation.List[store.StaffMember]](v, operation.ListStaff)
	if err != nil {
		return m, err
	}
	return find(v, members.Data, func(m store.StaffMember) string { return m.ID }, "No such member of staff.")
}

func showMemberPIN(v *visit, m store.StaffMember, f *web.Form) error {
	return v.render("staff_pin", staffPage{Frame: v.narrow("New PIN", locationsPath), Form: f, Member: m})
}

func askDisableStaff(v *visit, m store.StaffMember) web.ConfirmPage {
	c := v.ask(locationsPath, "Disable {0}?",
		"The person is signed out at all tills and cannot sign in any more. What the person did stays in the ledger.",
		"Disable the member of staff", m.Name)
	c.Danger = true
	return c
}
