package kernel

import (
	"slices"

	"punchcard/store"
)

// authorize refuses a caller that may not do the operation. A refusal rests on
// a confirmed identity.
func (k *Kernel) authorize(c *Caller, op *Operation, now store.Time) error {
	if err := op.admit(c, now); err != nil {
		return k.confirm(c, err)
	}
	if c.Kind != Device || !op.Writes() || !c.Device.PINRequired {
		return nil
	}
	// A try is counted against the PIN that is set now. If the identity changes
	// after that, the call is repeated, and a PIN that was right is asked again.
	if err := k.confirm(c, nil); err != nil {
		return err
	}
	return k.pins.check(c.Device, c.StaffPIN, now)
}

// confirm returns the refusal if the caller's identity is up to date, and
// store.ErrEpoch otherwise.
func (k *Kernel) confirm(c *Caller, refusal error) error {
	if err := k.st.View(c.Epoch, func(*store.View) error { return nil }); err != nil {
		return err
	}
	return refusal
}

// Scope returns the scope that a key of the REST API needs; empty: none.
func (op *Operation) Scope() string {
	if op.Callers.APIKey == AnyKey {
		return ""
	}
	return op.Callers.APIKey
}

// admit refuses a caller that may not invoke the operation at this time.
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

// admitKey checks entitlement, subscription, the key's locations and its scope,
// in this order.
func (op *Operation) admitKey(id *store.Identity, scope string, now store.Time) error {
	switch {
	case scope == "":
		return Refuse(store.Unauthorized, "Keys may not do this.")
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

// admitDevice checks what comes before every write at a till; the staff PIN is
// checked after it.
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
