package dashboard

import (
	"cmp"
	"slices"
	"strings"

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
		done: "The member of staff was added, and can sign in at the tills.",
	}),
	edit("/dashboard/staff/:id/edit", findStaff, showEditStaff, action{
		op:   operation.UpdateStaff,
		to:   staffPath,
		done: "The member of staff was saved.",
	}),
	edit("/dashboard/staff/:id/pin", findStaff, showMemberPIN, action{
		op:   operation.SetStaffMemberPIN,
		to:   staffPath,
		done: "The PIN was saved. Sessions with the old one have ended.",
	}),
	confirm("/dashboard/staff/:id/disable", findStaff, askDisableStaff, action{
		op:   operation.DisableStaff,
		to:   staffPath,
		done: "The member of staff is disabled and signed out everywhere.",
	}),
	post("/dashboard/staff/:id/enable", action{
		op:   operation.EnableStaff,
		to:   staffPath,
		done: "The member of staff can sign in again.",
	}),
}

// staffPage is the list of staff, or a form of one of them.
type staffPage struct {
	web.Frame
	Tabs      []web.NavItem
	Members   []staffRow
	Locations []web.Option
	Member    store.StaffMember
}

// staffRow is a member of staff in the list.
type staffRow struct {
	store.StaffMember
	Where string // the names of the locations
}

func showStaff(v *visit, members operation.List[store.StaffMember]) error {
	locations, err := v.locations()
	if err != nil {
		return err
	}
	p := staffPage{
		Frame: v.frame("Staff", locationsPath),
		Tabs:  v.locationTabs(staffPath),
	}
	for _, m := range members.Data {
		var names []string
		for _, l := range slices.Backward(locations) {
			if slices.Contains(m.LocationIDs, l.ID) {
				names = append(names, v.locationName(l.Name))
			}
		}
		p.Members = append(p.Members, staffRow{m, cmp.Or(strings.Join(names, ", "), v.T("All locations"))})
	}
	return v.render("staff", p)
}

func showNewStaff(v *visit) error {
	return v.staffForm(staffPage{Frame: v.narrow("New member of staff", locationsPath)})
}

func showEditStaff(v *visit, m store.StaffMember) error {
	v.fill(formValues(&m))
	return v.staffForm(staffPage{Frame: v.narrow("Edit {0}", locationsPath, m.Name), Member: m})
}

// staffForm shows the form of a member of staff.
func (v *visit) staffForm(p staffPage) (err error) {
	if p.Locations, err = v.locationOptions(); err != nil {
		return err
	}
	return v.render("staff_form", p)
}

// findStaff returns the member of staff of the path.
func findStaff(v *visit) (store.StaffMember, error) {
	members, err := read[operation.List[store.StaffMember]](v, operation.ListStaff)
	return find(v, members.Data, err, func(m store.StaffMember) string { return m.ID }, "No such member of staff.")
}

func showMemberPIN(v *visit, m store.StaffMember) error {
	return v.render("staff_pin", staffPage{Frame: v.narrow("New PIN", locationsPath), Member: m})
}

func askDisableStaff(v *visit, m store.StaffMember) web.ConfirmPage {
	return v.danger(locationsPath, "Disable {0}?",
		"The person is signed out at all tills and cannot sign in any more. What the person did stays in the ledger.",
		"Disable the member of staff", m.Name)
}
