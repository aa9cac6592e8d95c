package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/store"
)

// Location groups the commands on locations.
type Location struct {
	Create LocationCreate `cmd:"" help:"Create a location."`
	List   LocationList   `cmd:"" help:"List the shop's locations, newest first."`
	SetPin LocationSetPin `cmd:"" help:"Set or remove the staff PIN."`
}

// printLocations prints a table of locations.
func printLocations(w io.Writer, locations ...store.Location) {
	fmt.Fprintln(w, "ID\tNAME\tCITY\tACTIVE\tPIN REQUIRED")
	for _, l := range locations {
		printf(w, "%s\t%s\t%s\t%t\t%t\n", l.ID, l.Name, l.City, l.Active, l.RequireStaffPIN)
	}
}

// printLocation prints a table of one location.
func printLocation(w io.Writer, l store.Location) { printLocations(w, l) }

// LocationCreate is the command that creates a location.
type LocationCreate struct {
	OfShop
	Name            string  `env:"-" required:"" help:"Name of the location."`
	Address         string  `env:"-" required:"" help:"Street and number."`
	City            string  `env:"-" required:"" help:"City."`
	PostalCode      string  `env:"-" required:"" help:"Postal code."`
	CountryCode     string  `env:"-" required:"" help:"Two letters A-Z."`
	Lat             float64 `env:"-" help:"Latitude."`
	Lon             float64 `env:"-" help:"Longitude."`
	RequireStaffPIN bool    `name:"require-staff-pin" env:"-" help:"Require the staff PIN at the location's tills, which cannot write until set-pin sets one."`
	StaffPIN        *string `name:"staff-pin" env:"-" hidden:"" help:"Refused: set-pin reads the PIN from standard input."`
}

// Run creates the location.
func (c *LocationCreate) Run() error {
	if c.StaffPIN != nil {
		return fmt.Errorf("--staff-pin: %w; create the location without it, then run: punchcard location set-pin ID", errPINArgument)
	}
	f := store.LocationFields{LocationPatch: store.LocationPatch{Name: store.Given(c.Name), Address: store.Given(c.Address), City: store.Given(c.City),
		PostalCode: store.Given(c.PostalCode), CountryCode: store.Given(c.CountryCode), Lat: store.Given(c.Lat), Lon: store.Given(c.Lon)}}
	if c.RequireStaffPIN {
		f.RequireStaffPIN = store.Given(true)
	}
	return run(c.OfShop, operation.CreateLocation, kernel.Args{Fields: f}, printLocation)
}

// LocationList is the command that lists locations.
type LocationList struct{ OfShop }

// Run lists the locations.
func (c *LocationList) Run() error {
	return list(c.OfShop, operation.ListLocations, 0, printLocations)
}

// list prints the items of all pages of a list, or the first limit items if limit is
// not 0: as JSON with --json, and otherwise with human.
func list[T any](c OfShop, op *kernel.Operation, limit int, human func(io.Writer, ...T)) error {
	var all operation.List[T]
	err := c.with(existing, func(st *store.Store) error {
		shop, err := c.resolve(st)
		if err != nil {
			return err
		}
		k, q := kernel.New(st, kernel.Config{Fields: fieldLimits}), operation.PageQuery{}
		for {
			p, err := kernel.Do[store.Page[T]](context.Background(), k, person(shop), op, kernel.Args{Fields: q})
			if err != nil {
				return err
			}
			all.Data = append(all.Data, p.Data...)
			if limit > 0 && len(all.Data) >= limit {
				all.Data = all.Data[:limit]
				return nil
			}
			if !p.NextCursor.Valid {
				return nil
			}
			q.Cursor = store.Given(p.NextCursor.V)
		}
	})
	if err != nil {
		return err
	}
	return c.show(&all, func(w io.Writer) { human(w, all.Data...) })
}

// LocationSetPin is the command that sets or removes the staff PIN.
type LocationSetPin struct {
	OfShop
	ID       string `arg:"" help:"The location: its id or name."`
	Argument string `arg:"" name:"pin" optional:"" hidden:"" help:"Refused: the PIN is read from standard input."`
	None     bool   `env:"-" help:"Remove the PIN instead of reading one."`
}

// Run sets or removes the PIN.
func (c *LocationSetPin) Run() error {
	f := operation.StaffPINFields{StaffPIN: store.Opt[string]{Set: !c.None}}
	if !c.None || c.Argument != "" {
		pin, err := readPIN(c.Argument)
		if errors.Is(err, errNoPIN) {
			err = fmt.Errorf("%w; --none removes the PIN", err)
		}
		if err != nil {
			return err
		}
		f.StaffPIN.V = pin
	}
	return namePIN(act(c.OfShop, aLocation, c.ID, operation.SetStaffPIN, f, printLocation))
}
