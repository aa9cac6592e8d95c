package dashboard

import (
	"net/http"
	"net/url"
	"slices"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const staffPath = "/dashboard/staff"

// staffPages are the pages of the people who work at tills.
var staffPages = []binding{
	page(staffPath, showStaff),
	page("/dashboard/new/staff", func(v *visit) error {
		return showNewStaff(v, v.newForm(url.Values{"location_id": {v.r.URL.Query().Get("location_id")}}))
	}),
	post("/dashboard/new/staff", action[store.StaffMember]{op: operation.CreateStaff, again: showNewStaff, next: toStaff(staffCreated)}),
	page("/dashboard/staff/:id/pin", func(v *visit) error { return showMemberPIN(v, v.newForm(nil)) }),
	post(
		"/dashboard/staff/:id/pin",
		action[store.StaffMember]{op: operation.SetStaffMemberPIN, again: showMemberPIN, next: toStaff(memberPINSaved)},
	),
	page("/dashboard/staff/:id/disable", confirmDisableStaff),
	post("/dashboard/staff/:id/disable", action[store.StaffMember]{op: operation.DisableStaff, next: toStaff(staffDisabled)}),
	post("/dashboard/staff/:id/enable", action[store.StaffMember]{op: operation.EnableStaff, next: toStaff(staffEnabled)}),
}

var (
	staffCreated   = says("staff-created", web.Text("The member of staff was added, and can sign in at the tills of the location."))
	memberPINSaved = says("member-pin-saved", web.Text("The PIN was saved. Sessions with the old one have ended."))
	staffDisabled  = says("staff-disabled", web.Text("The member of staff is disabled and signed out everywhere."))
	staffEnabled   = says("staff-enabled", web.Text("The member of staff can sign in again."))
)

// toStaff returns a function that returns the path of the list of staff, and the word for what
// was done.
func toStaff(done string) func(*visit, store.StaffMember) (string, string) {
	return func(*visit, store.StaffMember) (string, string) { return staffPath, done }
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

func showStaff(v *visit) error {
	members, err := read[operation.List[store.StaffMember]](v, operation.ListStaff, kernel.Args{})
	if err != nil {
		return err
	}
	locations, err := v.locations()
	if err != nil {
		return err
	}
	p := staffPage{
		Frame: v.frame(web.Text("Staff"), locationsPath),
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
		p.Create = web.Action{Label: v.print.T("Add a person"), Path: "/dashboard/new/staff", Icon: "plus", Kind: "primary"}
		p.Actions = []web.Action{p.Create}
	}
	return v.render(http.StatusOK, "staff", p)
}

func showNewStaff(v *visit, f *web.Form) error {
	if err := v.require(operation.CreateStaff); err != nil {
		return err
	}
	p := staffPage{Frame: v.frame(web.Text("New member of staff"), locationsPath), Form: f}
	p.Width = "narrow"
	f.Order = []string{"location_id", "name", "pin"}
	var err error
	p.Locations, err = v.locationChoice()
	if err != nil {
		return err
	}
	return v.render(v.status(), "staff_form", p)
}

// findStaff returns the member of staff of the path.
func findStaff(v *visit) (m store.StaffMember, err error) {
	members, err := read[operation.List[store.StaffMember]](v, operation.ListStaff, kernel.Args{})
	if err != nil {
		return m, err
	}
	return find(v, members.Data, func(m store.StaffMember) string { return m.ID }, "No such member of staff.")
}

func showMemberPIN(v *visit, f *web.Form) error {
	if err := v.require(operation.SetStaffMemberPIN); err != nil {
		return err
	}
	m, err := findStaff(v)
	if err != nil {
		return err
	}
	p := staffPage{Frame: v.frame(web.Text("New PIN"), locationsPath), Form: f, Member: m}
	p.Width = "narrow"
	return v.render(v.status(), "staff_pin", p)
}

func confirmDisableStaff(v *visit) error {
	if err := v.require(operation.DisableStaff); err != nil {
		return err
	}
	m, err := findStaff(v)
	if err != nil {
		return err
	}
	return v.confirm(locationsPath, web.ConfirmPage{
		Frame:  web.Frame{Title: v.print.T("Disable {0}?", m.Name)},
		Path:   "/dashboard/staff/" + m.ID + "/disable",
		Text:   v.print.T("The person is signed out at all tills and cannot sign in any more. What the person did stays in the ledger."),
		Button: v.print.T("Disable the member of staff"),
		Cancel: staffPath,
		Danger: true,
	})
}
