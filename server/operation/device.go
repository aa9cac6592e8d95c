package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// DeviceFields are the fields of CreateDevice.
type DeviceFields struct {
	LocationID    store.Opt[string] `json:"location_id" req:"true" min:"1" max:"255" doc:"The location that the device stands at."`
	Name          store.Opt[string] `json:"name" min:"1" max:"200" format:"line" doc:"Default: Till."`
	AcceptCardIDs store.Opt[bool]   `json:"accept_card_ids" doc:"Whether its writes may name a card by its id. Default false."`
}

// device returns the device that the fields describe.
func (f DeviceFields) device() store.NewDevice {
	return store.NewDevice{LocationID: f.LocationID.V, Name: f.Name.Or("Till"), AcceptsCardIDs: f.AcceptCardIDs.V}
}

// CreatedDevice is a new device with its token, which is shown only once.
type CreatedDevice struct {
	store.Device
	Token string `json:"token"`
}

// WithoutSecret returns the device as it may be stored.
func (d CreatedDevice) WithoutSecret() any { return &CreatedDevice{Device: d.Device} }

// CreateDevice creates a device with a token.
var CreateDevice = declare(kernel.Operation{
	ID:      "createDevice",
	Group:   devices,
	Title:   "Create a device",
	Callers: manager,
	Codes:   notFound,
	Proof:   true,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f DeviceFields) (d CreatedDevice, err error) {
		d.Device, d.Token, err = tx.CreateDevice(c.Access.Shop, f.device())
		return d, err
	}),
})

// ListDevices lists all devices of the shop, newest first, including the revoked
// ones.
var ListDevices = declare(kernel.Operation{
	ID:      "listDevices",
	Group:   devices,
	Title:   "List the devices",
	Callers: viewer,
	Read:    listOf((*store.View).Devices),
})

// RevokeDevice ends a device's token.
var RevokeDevice = declare(kernel.Operation{
	ID:      "revokeDevice",
	Group:   devices,
	Title:   "Revoke a device",
	Callers: manager,
	Codes:   notFound,
	Write:   change((*store.Tx).RevokeDevice),
})

// CreatePairing makes a link and a code by which a phone or tablet becomes a device.
var CreatePairing = declare(kernel.Operation{
	ID:      "createPairing",
	Group:   devices,
	Title:   "Pair a phone or tablet",
	Doc:     "The link and the code work once, for ten minutes.",
	Callers: manager,
	Codes:   notFound,
	Proof:   true,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f DeviceFields) (store.CreatedPairing, error) {
		return tx.CreatePairing(c.Access.Shop, f.device())
	}),
})

// PairingCodeFields are the fields of AcceptPairing, of which one is given.
type PairingCodeFields struct {
	Token store.Opt[string] `json:"token" min:"1" max:"255" doc:"The end of the link."`
	Code  store.Opt[string] `json:"code" min:"1" max:"32" doc:"The code, however it is typed."`
}

// Check demands one of the two.
func (f PairingCodeFields) Check(store.Time) []store.Detail {
	switch {
	case f.Token.Set && f.Code.Set:
		return []store.Detail{{Field: "code", Code: "mutually_exclusive", Message: "must not be given with token"}}
	case !f.Token.Set && !f.Code.Set:
		return []store.Detail{{Field: "code", Code: wire.CodeRequired, Message: "is required"}}
	}
	return nil
}

// CheckPairing refuses the link of a pairing if its shop has moved to another server.
var CheckPairing = declare(kernel.Operation{
	ID:      "checkPairing",
	Group:   devices,
	Title:   "Look whether a pairing is to be accepted here",
	Callers: visitor,
	Codes:   codes{store.Gone},
	Read: kernel.Read(func(v *store.View, _ *kernel.Call, f PairingCodeFields) (kernel.None, error) {
		return kernel.None{}, v.CheckPairing(f.Token.V)
	}),
})

// AcceptPairing creates the device of a pairing.
var AcceptPairing = declare(kernel.Operation{
	ID:      "acceptPairing",
	Group:   devices,
	Title:   "Become a device",
	Callers: visitor,
	Codes:   codes{store.LinkExpired, store.RateLimited},
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f PairingCodeFields) (d CreatedDevice, err error) {
		d.Device, d.Token, err = tx.AcceptPairing(f.Token.V, f.Code.V, c.Address)
		return d, err
	}),
})
