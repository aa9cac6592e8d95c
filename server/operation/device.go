package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// DeviceFields are the fields of CreateDevice.
type DeviceFields struct {
	LocationID store.Opt[string] `json:"location_id" req:"true" min:"1" max:"255" doc:"The location that the device stands at."`
	Name       store.Opt[string] `json:"name" min:"1" max:"200" format:"line" doc:"Default: Till."`
}

// CreatedDevice is a new device with its token, which is shown only once.
type CreatedDevice struct {
	store.Device
	Token string `json:"token"`
}

// CreateDevice creates a device with a token.
var CreateDevice = kernel.Write(devices.only(manager, "createDevice", "Create a device", "", store.NotFound),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f DeviceFields) (d CreatedDevice, err error) {
		d.Device, d.Token, err = tx.CreateDevice(c.Access.Shop, f.LocationID.V, f.Name.Or("Till"), "")
		return d, err
	})

// ListDevices lists all devices of the shop, newest first, including the revoked
// ones.
var ListDevices = kernel.Read(devices.only(manager, "listDevices", "List the devices", ""),
	func(v *store.View, c *kernel.Call, _ struct{}) (List[store.Device], error) {
		devices, err := v.Devices(c.Access.Shop)
		return List[store.Device]{devices}, err
	})

// RevokeDevice ends a device's token.
var RevokeDevice = kernel.Write(devices.only(manager, "revokeDevice", "Revoke a device", "", store.NotFound),
	wire.Create, inShop((*store.Tx).RevokeDevice))
