package kernel

import "punchcard/store"

// CallerKind is the kind of a caller.
type CallerKind uint8

// The kinds of callers. The zero value is no caller at all.
const (
	NoCaller CallerKind = iota
	APIKey              // a shop's system, by a key of the REST API
	MCPKey              // an assistant, by a key of the MCP endpoint
	Device              // a till, by its device token
	Person              // somebody signed in, or at the command line
	Holder              // whoever has a card's link
	System              // the server itself
)

// Role is what a person may do. Each role may do all that the ones before it
// may.
type Role uint8

// The roles. The zero value may do nothing.
const (
	NoRole   Role = iota
	Viewer        // reads the shop
	Manager       // runs the shop
	Owner         // manages keys, people and secrets of the shop
	Operator      // runs the server, with all its shops
)

// Caller is who invokes an operation, as its guard found out.
type Caller struct {
	Kind   CallerKind
	ID     string // public id of the key, the device or the person; empty: none
	Actor  store.Actor
	Access store.Access
	// Epoch is the store's at the time when the caller was identified. Invoke
	// answers store.ErrEpoch when the store has moved on. 0: not checked.
	Epoch int64

	Key      *store.Identity     // of APIKey and MCPKey
	Device   *store.TillIdentity // of Device
	StaffPIN []string            // what a Device sent as the location's staff PIN
	Role     Role                // of Person
}

// KeyCaller returns the caller that a key identifies.
func KeyCaller(id *store.Identity) Caller {
	c := Caller{Kind: APIKey, ID: id.KeyID, Actor: store.Actor{Type: "api_key", Key: id.Key}, Access: id.Access, Epoch: id.Epoch, Key: id}
	if id.Class == "mcp" {
		c.Kind = MCPKey
	}
	return c
}

// DeviceCaller returns the caller that a device token identifies, with the
// staff PINs that came along.
func DeviceCaller(id *store.TillIdentity, pins []string) Caller {
	return Caller{Kind: Device, ID: id.DeviceID, Actor: store.Actor{Type: "device", Key: id.Device}, Access: store.Access{Shop: id.Shop}, Epoch: id.Epoch, Device: id, StaffPIN: pins}
}

// OperatorCaller returns a person who runs the server, known by an account
// name, acting in a shop.
func OperatorCaller(name string, shop int64) Caller {
	return Caller{Kind: Person, Actor: store.Actor{Type: "user", Name: name}, Access: store.Access{Shop: shop}, Role: Operator}
}

// HolderCaller returns whoever has a card's link.
func HolderCaller() Caller { return Caller{Kind: Holder, Actor: store.Actor{Type: "holder"}} }

// idempotencyScope is the namespace of the caller's idempotency keys; ok is
// false for callers that have none.
func (c *Caller) idempotencyScope() (scope int64, ok bool) {
	switch c.Kind {
	case APIKey, MCPKey:
		return store.KeyScope(c.Key.Family), true
	case Device:
		return store.DeviceScope(c.Device.Device), true
	}
	return 0, false
}

// Callers says who may invoke an operation. The zero value admits nobody.
type Callers struct {
	APIKey string // the scope that a key needs, or AnyKey; empty admits no key
	MCPKey string // the same for keys of the MCP endpoint
	Device bool
	Person Role // the least role; NoRole admits no person
	Holder bool
	System bool
}

// AnyKey stands for the scope of an operation that any valid key may invoke.
const AnyKey = "*"
