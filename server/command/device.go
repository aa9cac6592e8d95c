package command

import (
	"fmt"
	"strings"

	"punchcard/server/operation"
	"punchcard/server/qr"
	"punchcard/store"
)

// deviceFlags are the flags of device create.
type deviceFlags struct {
	Location      string `env:"-" required:"" help:"The location of the device: its id or name."`
	Name          string `env:"-" default:"Till" help:"Name of the device."`
	AcceptCardIDs bool   `name:"accept-card-ids" env:"-" help:"Accept the ids of cards in writes, for cash registers that know their members. Otherwise writes need the card's code."`
}

// pairFlags are the flags of device pair.
type pairFlags struct {
	linkBase
	Location      string `env:"-" required:"" help:"The location of the device: its id or name."`
	Name          string `env:"-" default:"Till" help:"Name of the device."`
	AcceptCardIDs bool   `name:"accept-card-ids" env:"-" help:"Accept the ids of cards in writes."`
}

// printDevices prints a table of devices.
func printDevices(o output, devices ...store.Device) {
	named := namesOf(o, devices, func(d store.Device) string { return d.LocationID })
	fmt.Fprintln(o, "ID\tPREFIX\tNAME\tLOCATION\tSTATE\tCARD IDS")
	for _, d := range devices {
		state := either(d.RevokedAt.Valid, "revoked", "valid")
		printf(o, "%s\t%s\t%s\t%s\t%s\t%t\n", d.ID, d.Prefix, d.Name, named(d.LocationID), state, d.AcceptsCardIDs)
	}
}

// printCreatedDevice prints a new device with its token.
func printCreatedDevice(o output, d operation.CreatedDevice) {
	printDevices(o, d.Device)
	printf(o, "\nThe token, shown this once:\n\n%s\n", d.Token)
}

// printPairing prints a pairing, with a QR code if the whole link is known and fits into one.
func printPairing(o output, p store.CreatedPairing) {
	if strings.Contains(p.URL, "://") {
		if code, err := qr.Text(p.URL); err == nil {
			fmt.Fprint(o, code)
		}
	}
	printf(o, "Open this link on the phone or tablet, or type the code into its till page. Both work once, until %s.\n\n%s\n\n%s\n",
		p.ExpiresAt, p.URL, strings.ToUpper(p.Code[:4]+" "+p.Code[4:]))
}
