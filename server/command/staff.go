package command

import (
	"fmt"

	"punchcard/store"
)

// staffFlags are the flags of staff add.
type staffFlags struct {
	Location string `env:"-" required:"" help:"The location at whose tills the person works, by id or name."`
	Name     string `env:"-" required:"" help:"Name of the person, which tills show."`
	pinFlags
}

// printStaff prints a table of members of staff.
func printStaff(o output, members ...store.StaffMember) {
	named := namesOf(o, members, func(m store.StaffMember) string { return m.LocationID })
	fmt.Fprintln(o, "ID\tNAME\tLOCATION\tSTATE")
	for _, m := range members {
		printf(o, "%s\t%s\t%s\t%s\n", m.ID, m.Name, named(m.LocationID), either(m.DisabledAt.Valid, "disabled", "enabled"))
	}
}
