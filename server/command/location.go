package command

import (
	"errors"
	"fmt"
	"net/url"

	"punchcard/store"
)

// locationFlags are the flags of location create.
type locationFlags struct {
	Name            string  `env:"-" required:"" help:"Name of the location."`
	Address         string  `env:"-" required:"" help:"Street and number."`
	City            string  `env:"-" required:"" help:"City."`
	PostalCode      string  `env:"-" required:"" help:"Postal code."`
	CountryCode     string  `env:"-" required:"" help:"Two letters A-Z."`
	Lat             float64 `env:"-" help:"Latitude."`
	Lon             float64 `env:"-" help:"Longitude."`
	RequireStaffPIN bool    `name:"require-staff-pin" env:"-" help:"Require the staff PIN at the location's tills, which cannot write until set-pin sets one."`
	RequireStaff    bool    `name:"require-staff" env:"-" help:"Require a signed-in member of staff at the location's tills, which cannot write until somebody was added with: punchcard staff add."`
	StaffPIN        *string `name:"staff-pin" env:"-" hidden:"" help:"Refused: set-pin reads the PIN from standard input."`
}

// check refuses a PIN.
func (f *locationFlags) check() error {
	if f.StaffPIN != nil {
		return fmt.Errorf("--staff-pin: %w; create the location without it, then run: punchcard location set-pin ID", errPINArgument)
	}
	return nil
}

// locationPINFlags are the flags of location set-pin.
type locationPINFlags struct {
	pinFlags
	None bool `env:"-" help:"Remove the PIN instead of reading one."`
}

// add reads the PIN unless it is to be removed.
func (f *locationPINFlags) add(form url.Values, _ flagSet) error {
	if f.None && f.Argument == "" {
		return nil
	}
	pin, err := readPIN(f.Argument)
	if errors.Is(err, errNoPIN) {
		err = fmt.Errorf("%w; --none removes the PIN", err)
	}
	if !f.None {
		form.Set("staff_pin", pin)
	}
	return err
}

// printLocations prints a table of locations.
func printLocations(o output, locations ...store.Location) {
	fmt.Fprintln(o, "ID\tNAME\tCITY\tACTIVE\tPIN REQUIRED")
	for _, l := range locations {
		printf(o, "%s\t%s\t%s\t%t\t%t\n", l.ID, l.Name, l.City, l.Active, l.RequireStaffPIN)
	}
}

// printLocationSettings prints a table of one location with its settings.
func printLocationSettings(o output, l store.LocationSettings) {
	fmt.Fprintln(o, "ID\tNAME\tCITY\tACTIVE\tPIN REQUIRED\tSIGN-IN REQUIRED")
	printf(o, "%s\t%s\t%s\t%t\t%t\t%t\n", l.ID, l.Name, l.City, l.Active, l.RequireStaffPIN, l.RequireStaff)
}
