package command

import (
	"fmt"
	"io"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// Staff groups the commands on the people who work at tills.
type Staff struct {
	Add     StaffAdd     `cmd:"" help:"Add a member of staff to a location. The PIN is read from standard input."`
	List    StaffList    `cmd:"" help:"List the staff by location."`
	Disable StaffDisable `cmd:"" help:"Disable a member of staff, and end the sessions at tills."`
	Enable  StaffEnable  `cmd:"" help:"Enable a disabled member of staff."`
	SetPin  StaffSetPin  `cmd:"" help:"Set the PIN of a member of staff, which is read from standard input."`
}

// printStaff prints a table of members of staff.
func printStaff(w io.Writer, members ...store.StaffMember) {
	fmt.Fprintln(w, "ID\tNAME\tLOCATION\tSTATE")
	for _, m := range members {
		state := "enabled"
		if m.DisabledAt.Valid {
			state = "disabled"
		}
		printf(w, "%s\t%s\t%s\t%s\n", m.ID, m.Name, m.LocationID, state)
	}
}

// printMember prints a table of one member of staff.
func printMember(w io.Writer, m store.StaffMember) { printStaff(w, m) }

// StaffAdd is the command that adds a member of staff.
type StaffAdd struct {
	OfShop
	Location string `env:"-" required:"" help:"The location at whose tills the person works, by id or name."`
	Name     string `env:"-" required:"" help:"Name of the person, which tills show."`
	Argument string `arg:"" name:"pin" optional:"" hidden:"" help:"Refused: the PIN is read from standard input."`
}

// Run adds the member of staff.
func (c *StaffAdd) Run() error {
	pin, err := readPIN(c.Argument)
	if err != nil {
		return err
	}
	location, err := c.id(aLocation, c.Location)
	if err != nil {
		return err
	}
	f := operation.StaffFields{LocationID: store.Given(location), Name: store.Given(c.Name), PIN: store.Given(pin)}
	return namePIN(run(c.OfShop, operation.CreateStaff, kernel.Args{Fields: f}, printMember))
}

// StaffList is the command that lists the staff.
type StaffList struct{ OfShop }

// Run lists the staff.
func (c *StaffList) Run() error {
	return run(c.OfShop, operation.ListStaff, kernel.Args{}, func(w io.Writer, l operation.List[store.StaffMember]) { printStaff(w, l.Data...) })
}

// StaffDisable is the command that disables a member of staff.
type StaffDisable struct {
	OfShop
	ID string `arg:"" help:"The person: the id or name."`
}

// Run disables the member of staff.
func (c *StaffDisable) Run() error {
	return act(c.OfShop, aMember, c.ID, operation.DisableStaff, nil, printMember)
}

// StaffEnable is the command that enables a member of staff.
type StaffEnable struct {
	OfShop
	ID string `arg:"" help:"The person: the id or name."`
}

// Run enables the member of staff.
func (c *StaffEnable) Run() error {
	return act(c.OfShop, aMember, c.ID, operation.EnableStaff, nil, printMember)
}

// StaffSetPin is the command that sets the PIN of a member of staff.
type StaffSetPin struct {
	OfShop
	ID       string `arg:"" help:"The person: the id or name."`
	Argument string `arg:"" name:"pin" optional:"" hidden:"" help:"Refused: the PIN is read from standard input."`
}

// Run sets the PIN.
func (c *StaffSetPin) Run() error {
	pin, err := readPIN(c.Argument)
	if err != nil {
		return err
	}
	f := operation.MemberPINFields{PIN: store.Given(pin)}
	return namePIN(act(c.OfShop, aMember, c.ID, operation.SetStaffMemberPIN, f, printMember))
}
