package command

import (
	"fmt"
	"io"

	"punchcard/store"
)

// Device groups what is done to tills' tokens.
type Device struct {
	Create DeviceCreate `cmd:"" help:"Make a device at a location and print its token, once."`
	List   DeviceList   `cmd:"" help:"List the shop's devices, newest first."`
	Revoke DeviceRevoke `cmd:"" help:"End a device's token from the very next request on."`
}

func printDevices(w io.Writer, devices ...store.Device) {
	fmt.Fprintln(w, "ID\tPREFIX\tNAME\tLOCATION\tSTATE")
	for _, d := range devices {
		state := "valid"
		if d.RevokedAt.Valid {
			state = "revoked"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", d.ID, d.Prefix, d.Name, d.LocationID, state)
	}
}

// DeviceCreate makes a device.
type DeviceCreate struct {
	OfShop
	Location string `env:"-" required:"" help:"The location it stands at."`
	Name     string `env:"-" default:"Till" help:"What the device is called."`
}

// Run makes it.
func (c *DeviceCreate) Run() error {
	if err := text("name", &c.Name, 200); err != nil {
		return err
	}
	var m struct {
		store.Device
		Token string `json:"token"`
	}
	err := c.change(store.Limits{}, func(tx *store.Tx, shop int64) (err error) {
		m.Device, m.Token, err = tx.CreateDevice(shop, c.Location, c.Name, "")
		return err
	})
	if err != nil {
		return err
	}
	return c.show(&m, func(w io.Writer) {
		printDevices(w, m.Device)
		fmt.Fprintf(w, "\nThe token, shown this once:\n\n%s\n", m.Token)
	})
}

// DeviceList lists devices.
type DeviceList struct{ OfShop }

// Run lists.
func (c *DeviceList) Run() error {
	var devices []store.Device
	err := c.read(func(v *store.View, shop int64) (err error) {
		devices, err = v.Devices(shop)
		return err
	})
	if err != nil {
		return err
	}
	return c.show(&list[store.Device]{devices}, func(w io.Writer) { printDevices(w, devices...) })
}

// DeviceRevoke ends a device.
type DeviceRevoke struct {
	OfShop
	ID string `arg:"" help:"The device's id."`
}

// Run ends it.
func (c *DeviceRevoke) Run() error {
	var d store.Device
	err := c.change(store.Limits{}, func(tx *store.Tx, shop int64) (err error) {
		d, err = tx.RevokeDevice(shop, c.ID)
		return err
	})
	if err != nil {
		return err
	}
	return c.show(&d, func(w io.Writer) { printDevices(w, d) })
}
