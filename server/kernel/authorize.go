package kernel

import (
	"slices"

	"punchcard/store"
)

// authorize returns an error if the caller may not invoke the operation. Before it
// refuses, it confirms that the identity is up to date.
func (k *Kernel) authorize(c *Caller, op *Operation, now store.Time) error {
	if err := op.admit(c, now); err != nil {
		return k.confirm(c, err)
	}
	if c.Kind != Device || !op.Writes() || !c.Device.PINRequired {
		return nil
	}
	// Check the PIN only with an identity that is up to date, since an attempt must
	// not be counted against a PIN that was replaced. If the identity changes after
	// this, the call is repeated, and so is this check.
	if err := k.confirm(c, nil); err != nil {
		return err
	}
	return k.pins.check(c.Device, c.StaffPIN, now)
}

// confirm returns the refusal, which may be nil, if the caller's identity is up to
// date, and store.ErrEpoch otherwise.
func (k *Kernel) confirm(c *Caller, refusal error) error {
	if err := k.st.View(c.Epoch, func(*store.View) error { return nil }); err != nil {
		return err
	}
	return refusal
}

// Scope returns the scope that a key of the REST API needs. It is "" if every key may
// invoke the operation, and if no key may.
func (op *Operation) Scope() string {
	if op.Callers.APIKey == AnyKey {
		return ""
	}
	return op.Callers.APIKey
}

// admit returns an error if the caller may not invoke the operation now.
func (op *Operation) admit(c *Caller, now store.Time) error {
	admitted := false
	switch c.Kind {
	case APIKey:
		return op.admitKey(c.Key, op.Callers.APIKey, now)
	case MCPKey:
		return op.admitKey(c.Key, op.Callers.MCPKey, now)
	case Device:
		if op.Callers.Device {
			return op.admitDevice(c.Device)
		}
	case Person:
		admitted = op.Callers.Person != NoRole && c.Role >= op.Callers.Person
	case Holder:
		admitted = op.Callers.Holder
	case System:
		admitted = op.Callers.System
	}
	if !admitted {
		return Refuse(store.Unauthorized, "The caller may not do this.")
	}
	return nil
}

// admitKey checks the add-on, the subscription, the key's locations and its scope,
// in this order.
func (op *Operation) admitKey(id *store.Identity, scope string, now store.Time) error {
	switch {
	case scope == "":
		return Refuse(store.Unauthorized, "Keys may not do this.")
	case id.Class == "mcp" && !id.MCPAccess:
		return Refuse(store.MCPAccessRequired, "The shop may not use the MCP connector. The key is intact.")
	case id.Class == "api" && !id.APIAccess(now).Valid:
		return Refuse(store.BusinessAPIRequired, "The shop has no active Business API add-on. The key is intact and works again once it has.")
	case id.Subscription == "suspended" || id.Subscription == "cancelled":
		return Refuse(store.SubscriptionSuspended, "The shop's subscription is "+id.Subscription+". The key is intact.")
	case id.AllLocationsDisabled && !op.WithoutLocations:
		return Refuse(store.LocationDisabled, "Every location of this key is disabled.")
	case scope != AnyKey && !slices.Contains(id.Scopes, scope):
		return Refuse(store.Unauthorized, "The key lacks the scope "+scope+".")
	}
	return nil
}

// admitDevice checks the subscription and the location before a write. The staff
// PIN is checked afterwards.
func (op *Operation) admitDevice(id *store.TillIdentity) error {
	switch {
	case !op.Writes():
	case id.Subscription == "suspended" || id.Subscription == "cancelled":
		return Refuse(store.SubscriptionSuspended, "The shop's subscription is "+id.Subscription+".")
	case id.LocationDisabled:
		return Refuse(store.LocationDisabled, "This location is disabled.")
	}
	return nil
}
