package kernel

import (
	"context"
	"slices"
	"time"

	"punchcard/store"
)

// Admit returns an error if the caller may not invoke the operation. A page asks it before it
// shows the operation's form. It also checks the staff PIN or session of a device that has to
// send one with every write.
func (k *Kernel) Admit(ctx context.Context, c Caller, op *Operation) error {
	return k.authorize(ctx, &c, op, k.st.Now())
}

// requireOpen refuses what a caller does with a shop that has moved away, and writes while it moves.
// A person's own account and the pages of operators are of no shop. The store refuses these writes too,
// and reads of holders, whose links lead to a shop.
func (op *Operation) requireOpen(c *Caller) error {
	switch {
	case c.Key != nil:
		return c.Key.Closing.Refuse(op.Writes())
	case c.Device != nil:
		return c.Device.Closing.Refuse(op.Writes())
	case c.Session != nil && !op.Callers.Account && op.Callers.Person < Operator:
		return c.Session.Closing.Refuse(op.Writes())
	}
	return nil
}

// authorize returns an error if the caller may not invoke the operation. Before it
// refuses, it confirms that the identity is up to date.
func (k *Kernel) authorize(ctx context.Context, c *Caller, op *Operation, now store.Time) error {
	if err := op.admit(c, now); err != nil {
		return k.confirm(c, err)
	}
	if c.Kind != Device || op.WithoutStaff || !op.Writes() && !op.StaffSession {
		return nil
	}
	session := op.StaffSession || len(c.StaffSession) > 0
	if !session && !c.Device.PINRequired && !c.Device.StaffRequired {
		return nil
	}
	// Check the PIN or session only with an identity that is up to date, since an attempt must
	// not be counted against a PIN that was replaced. If the identity changes after
	// this, the call is repeated, and so is this check.
	if err := k.confirm(c, nil); err != nil {
		return err
	}
	switch {
	case session:
	case c.Device.StaffRequired:
		return refuseUnsigned(c.Device)
	default:
		return k.checkPIN(ctx, c, now)
	}
	member, err := k.staff.check(c.Device, c.StaffSession, now, op.Writes())
	c.Staff, c.Actor.Staff = member, member.Key
	return err
}

// refuseUnsigned refuses a write without a session where one is demanded. A PIN in the request
// is not looked at, so it does not count as an attempt.
func refuseUnsigned(id *store.TillIdentity) error {
	if len(id.Staff) == 0 {
		return Refuse(
			store.InvalidCredentials,
			"The location demands a signed-in member of staff but nobody can sign in there; add a person with: punchcard staff add.",
		)
	}
	return Refuse(
		store.InvalidCredentials,
		"The location demands a signed-in member of staff: sign in with POST /session and send the token as X-Staff-Session.",
	)
}

// checkPIN checks the location's staff PIN of a device's write.
func (k *Kernel) checkPIN(ctx context.Context, c *Caller, now store.Time) error {
	locks, err := k.pins.check(c.Device, c.StaffPIN, now)
	k.auditPINLocks(ctx, c, locks)
	return err
}

// confirm returns the refusal, which may be nil, if the caller's identity is up to
// date, and store.ErrEpoch otherwise.
func (k *Kernel) confirm(c *Caller, refusal error) error {
	if err := k.st.View(c.Epoch, func(*store.View) error { return nil }); err != nil {
		return err
	}
	return refusal
}

// Confirm returns store.ErrEpoch if the caller's identity is out of date.
func (k *Kernel) Confirm(c *Caller) error { return k.confirm(c, nil) }

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
		return op.admitPerson(c, now)
	case Holder:
		admitted = op.Callers.Holder
	case System:
		admitted = op.Callers.System
	case Visitor:
		admitted = op.Callers.Visitor
	}
	if !admitted {
		return refuseCaller()
	}
	return nil
}

func refuseCaller() *Error { return Refuse(store.Unauthorized, "The caller may not do this.") }

// proofPeriod is how long the password or a code of the second factor counts as a
// recent proof.
const proofPeriod = 15 * time.Minute

// admitPerson checks the role of a person, and what the session lacks: the second
// factor, or a recent proof.
func (op *Operation) admitPerson(c *Caller, now store.Time) error {
	id := c.Session
	byRole := op.Callers.Person != NoRole && c.Role >= op.Callers.Person
	switch {
	case id == nil && byRole: // at the command line
		return nil
	case id != nil && id.Pending:
		if op.Callers.Pending {
			return nil
		}
		return Refuse(store.TOTPRequired, "Give the code of your second factor first.")
	case id == nil, !byRole && !op.Callers.Account:
		return refuseCaller()
	case id.MustEnrol && !op.Callers.Enrolling:
		return Refuse(store.TOTPRequired, "The shop demands a second factor. Set it up first.")
	case op.Proof:
		return c.requireProof(now)
	}
	return nil
}

// RequireProof refuses a person who is signed in and has not given the password or a
// code within the last 15 minutes. It is for operations of which only some calls demand
// that; see Operation.Proof.
func (c *Call) RequireProof() error { return c.requireProof(c.now) }

func (c *Caller) requireProof(now store.Time) error {
	if c.Session == nil || c.Session.ProvedAt.Add(proofPeriod) > now {
		return nil
	}
	return Refuse(store.ProofRequired, "Give your password or a code of your second factor again.")
}

// admitKey checks the add-on, the subscription, the key's locations and its scope,
// in this order.
func (op *Operation) admitKey(id *store.Identity, scope string, now store.Time) error {
	if scope == "" {
		return Refuse(store.Unauthorized, "Keys may not do this.")
	}
	if err := Entitled(id, now); err != nil {
		return err
	}
	switch {
	case id.AllLocationsDisabled && !op.WithoutLocations:
		return Refuse(store.LocationDisabled, "Every location of this key is disabled.")
	case scope != AnyKey && !slices.Contains(id.Scopes, scope):
		return Refuse(store.Unauthorized, "The key lacks the scope "+scope+".")
	}
	return nil
}

// Entitled returns an error unless the shop of a key has what keys of its class need.
func Entitled(id *store.Identity, now store.Time) error {
	switch {
	case id.Class == "mcp" && !id.MCPAccess:
		return Refuse(store.MCPAccessRequired, "The shop may not use the MCP connector. The key is intact.")
	case id.Class == "api" && !id.APIAccess(now).Valid:
		return Refuse(
			store.BusinessAPIRequired, "The shop has no active Business API add-on. The key is intact and works again once it has.",
		)
	case store.HasEnded(id.Subscription):
		return Refuse(store.SubscriptionSuspended, "The shop's subscription is "+id.Subscription+". The key is intact.")
	}
	return nil
}

// admitDevice checks the subscription and the location before a write. The staff
// PIN is checked afterwards.
func (op *Operation) admitDevice(id *store.TillIdentity) error {
	switch {
	case !op.Writes():
	case store.HasEnded(id.Subscription):
		return Refuse(store.SubscriptionSuspended, "The shop's subscription is "+id.Subscription+".")
	case id.LocationDisabled:
		return Refuse(store.LocationDisabled, "This location is disabled.")
	}
	return nil
}
