package kernel

import (
	"net/netip"
	"slices"

	"punchcard/store"
)

// CallerKind is the kind of a caller.
type CallerKind uint8

// The kinds of callers. The zero value may do nothing.
const (
	NoCaller CallerKind = iota
	APIKey              // a shop's system, by a key of the REST API
	MCPKey              // an assistant, by a key of the MCP endpoint
	Device              // a till, by its device token
	Person              // a person who is signed in, or at the command line
	Holder              // the holder of a card, by its link, or somebody who wants one
	System              // the server itself
	Visitor             // somebody at a page who is not signed in
)

// Role says what a person may do. Each role includes the ones before it.
type Role uint8

// The roles. The zero value may do nothing.
const (
	NoRole   Role = iota
	Viewer        // reads the shop
	Manager       // runs the shop
	Owner         // manages keys, people and secrets of the shop
	Operator      // runs the server, with all its shops
)

// Caller is the caller of an operation, as a guard identified it.
type Caller struct {
	Kind   CallerKind
	ID     string // public id of the key or device; empty: none
	Actor  store.Actor
	Access store.Access
	// Epoch is the epoch of the store when the caller was identified. Invoke
	// returns store.ErrEpoch if it has changed since. 0 is not checked.
	Epoch int64

	Key      *store.Identity     // of APIKey and MCPKey
	Device   *store.TillIdentity // of Device
	StaffPIN []string            // values that a Device sent as staff PIN
	// StaffSession are the values that a Device sent as token of a staff session, and Staff
	// is who it is of; authorize sets it.
	StaffSession []string
	Staff        store.Staff
	Role         Role // of Person
	// Session is that of a Person who is signed in; nil at the command line.
	Session *store.SessionIdentity
	// Address is where the request of a Person, Visitor or Holder comes from. The zero value
	// means that it is not known, as behind a proxy that is not trusted.
	Address netip.Addr
	Agent   string // User-Agent of the browser
	// BrowserCookie is the cookie by which the browser of a Person or Visitor is known; see
	// [store.Tx.KnowBrowser].
	BrowserCookie string
}

// Browser returns the browser in which the caller tries to sign in.
func (c *Caller) Browser() store.Browser {
	return store.Browser{Address: c.Address, Cookie: c.BrowserCookie}
}

// KeyCaller returns the caller that a key identifies.
func KeyCaller(id *store.Identity) Caller {
	c := Caller{
		Kind:   APIKey,
		ID:     id.KeyID,
		Actor:  store.Actor{Type: "api_key", Key: id.Key},
		Access: id.Access,
		Epoch:  id.Epoch,
		Key:    id,
	}
	if id.Class == "mcp" {
		c.Kind = MCPKey
	}
	return c
}

// DeviceCaller returns the caller that a device token identifies. pins are the
// values of the request's staff PIN header.
func DeviceCaller(id *store.TillIdentity, pins []string) Caller {
	return Caller{
		Kind:     Device,
		ID:       id.DeviceID,
		Actor:    store.Actor{Type: "device", Key: id.Device},
		Access:   store.Access{Shop: id.Shop},
		Epoch:    id.Epoch,
		Device:   id,
		StaffPIN: pins,
	}
}

// OperatorCaller returns a person who runs the server, with the name of the system
// account, for an operation on a shop.
func OperatorCaller(name string, shop int64) Caller {
	return Caller{
		Kind:   Person,
		Actor:  store.Actor{Type: "user", Name: name},
		Access: store.Access{Shop: shop},
		Role:   Operator,
	}
}

// Till returns the till of a device, with the member of staff who is signed in.
func (c *Caller) Till() store.Till {
	till := c.Device.Till
	till.Staff = c.Staff
	return till
}

// SessionKey returns the key of the caller's session, 0 without one.
func (c *Caller) SessionKey() int64 {
	if c.Session == nil {
		return 0
	}
	return c.Session.Session
}

// HolderCaller returns the holder of a card, or somebody who wants one.
func HolderCaller() Caller { return Caller{Kind: Holder, Actor: store.Actor{Type: "holder"}} }

// SessionCaller returns the person of a session, in the shop that the session looks at.
func SessionCaller(id *store.SessionIdentity) Caller {
	c := Caller{
		Kind:    Person,
		ID:      id.UserID,
		Actor:   store.Actor{Type: "user", Key: id.User},
		Access:  store.Access{Shop: id.Shop},
		Epoch:   id.Epoch,
		Session: id,
		Role:    roles[id.Role],
	}
	if id.Operator {
		c.Role = Operator
	}
	return c
}

// roles are the roles in a shop by their names in the store.
var roles = map[string]Role{store.RoleViewer: Viewer, store.RoleManager: Manager, store.RoleOwner: Owner}

// Manages reports whether a person may change what is in a shop of the file, which need not be the
// one that the session looks at. At the command line that is every shop.
func (c *Caller) Manages(shop int64) bool {
	if c.Session == nil {
		return c.Role >= Manager
	}
	return slices.ContainsFunc(c.Session.Shops, func(r store.ShopRole) bool {
		return r.Shop == shop && roles[r.Role] >= Manager
	})
}

// VisitorCaller returns somebody who is not signed in, with the address of the request.
func VisitorCaller(address netip.Addr) Caller {
	return Caller{Kind: Visitor, Actor: store.Actor{Type: "system"}, Address: address}
}

// idempotencyScope returns the namespace of the caller's idempotency keys; ok is
// false if the caller cannot use any.
func (c *Caller) idempotencyScope() (scope int64, ok bool) {
	switch c.Kind {
	case APIKey, MCPKey:
		return store.KeyScope(c.Key.Family), true
	case Device:
		return store.DeviceScope(c.Device.Device), true
	case Person:
		if c.Session != nil {
			return store.PersonScope(c.Session.User), true
		}
	}
	return 0, false
}

// Callers lists who may invoke an operation. The zero value admits nobody.
type Callers struct {
	APIKey string // the scope that a key needs, or AnyKey; empty admits no key
	MCPKey string // the same for MCP keys
	Device bool
	Person Role // the least role; NoRole admits no person
	Holder bool
	System bool
	// Visitor admits those who are not signed in.
	Visitor bool
	// Account admits every person who is signed in, whatever the role: the operation
	// concerns the person's own account.
	Account bool
	// Enrolling and Pending also admit persons with such a session: see MustEnrol and
	// Pending of [store.SessionIdentity]. Other operations refuse them.
	Enrolling bool
	Pending   bool
}

// AnyKey is the scope of an operation that any valid key may invoke.
const AnyKey = "*"
