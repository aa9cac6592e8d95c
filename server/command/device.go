package command

import (
	"fmt"
	"io"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/qr"
	"punchcard/store"
)

// Device groups the commands on devices.
type Device struct {
	Create DeviceCreate `cmd:"" help:"Create a device at a location and print its token, which is shown only once."`
	Pair   DevicePair   `cmd:"" help:"Print a QR code, a link and a code by which a phone or tablet becomes a device at a location. They work once, for ten minutes."`
	List   DeviceList   `cmd:"" help:"List the shop's devices, newest first."`
	Revoke DeviceRevoke `cmd:"" help:"Revoke a device's token, from the next request on."`
}

// printDevices prints a table of devices.
func printDevices(w io.Writer, devices ...store.Device) {
	fmt.Fprintln(w, "ID\tPREFIX\tNAME\tLOCATION\tSTATE\tCARD IDS")
	for _, d := range devices {
		state := "valid"
		if d.RevokedAt.Valid {
			state = "revoked"
		}
		printf(w, "%s\t%s\t%s\t%s\t%s\t%t\n", d.ID, d.Prefix, d.Name, d.LocationID, state, d.AcceptsCardIDs)
	}
}

// DeviceCreate is the command that creates a device.
type DeviceCreate struct {
	OfShop
	Location      string `env:"-" required:"" help:"The location of the device: its id or name."`
	Name          string `env:"-" default:"Till" help:"Name of the device."`
	AcceptCardIDs bool   `name:"accept-card-ids" env:"-" help:"Accept the ids of cards in writes, for cash registers that know their members. Otherwise writes need the card's code."`
}

// Run creates the device.
func (c *DeviceCreate) Run() error {
	location, err := c.id(aLocation, c.Location)
	if err != nil {
		return err
	}
	f := operation.DeviceFields{LocationID: store.Given(location), Name: store.Given(c.Name), AcceptCardIDs: store.Given(c.AcceptCardIDs)}
	return run(c.OfShop, operation.CreateDevice, kernel.Args{Fields: f}, func(w io.Writer, d operation.CreatedDevice) {
		printDevices(w, d.Device)
		printf(w, "\nThe token, shown this once:\n\n%s\n", d.Token)
	})
}

// DevicePair is the command that makes a pairing.
type DevicePair struct {
	OfShop
	linkBase
	Location      string `env:"-" required:"" help:"The location of the device: its id or name."`
	Name          string `env:"-" default:"Till" help:"Name of the device."`
	AcceptCardIDs bool   `name:"accept-card-ids" env:"-" help:"Accept the ids of cards in writes."`
}

// Run makes the pairing and prints it, with a QR code if the whole link is known.
func (c *DevicePair) Run() error {
	location, err := c.id(aLocation, c.Location)
	if err != nil {
		return err
	}
	f := operation.DeviceFields{LocationID: store.Given(location), Name: store.Given(c.Name), AcceptCardIDs: store.Given(c.AcceptCardIDs)}
	p, err := doIn[store.CreatedPairing](c.File, c.options(), c.resolve, operation.CreatePairing, kernel.Args{Fields: f})
	if err != nil {
		return err
	}
	code := ""
	if c.PublicURL != "" {
		if code, err = qr.Text(p.URL); err != nil {
			return err
		}
	}
	return c.show(&p, func(w io.Writer) {
		fmt.Fprint(w, code)
		printf(w, "Open this link on the phone or tablet, or type the code into its till page. Both work once, until %s.\n\n%s\n\n%s\n", p.ExpiresAt, p.URL, strings.ToUpper(p.Code[:4]+" "+p.Code[4:]))
	})
}

// DeviceList is the command that lists devices.
type DeviceList struct{ OfShop }

// Run lists the devices.
func (c *DeviceList) Run() error {
	return run(c.OfShop, operation.ListDevices, kernel.Args{}, func(w io.Writer, devices operation.List[store.Device]) { printDevices(w, devices.Data...) })
}

// DeviceRevoke is the command that revokes a device.
type DeviceRevoke struct {
	OfShop
	ID string `arg:"" help:"The device: its id or name."`
}

// Run revokes the device.
func (c *DeviceRevoke) Run() error {
	return act(c.OfShop, aDevice, c.ID, operation.RevokeDevice, nil, func(w io.Writer, d store.Device) { printDevices(w, d) })
}
