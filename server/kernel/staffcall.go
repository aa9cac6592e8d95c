package kernel

import (
	"context"
	"slices"

	"punchcard/store"
)

// CheckStaffPIN checks the PIN of a member of staff of the device's location. A wrong one
// counts like a wrong PIN of the location.
func (c *Call) CheckStaffPIN(ctx context.Context, staffID, pin string) (member store.TillStaff, err error) {
	key, _ := c.kernel.st.Key(store.KindStaff, staffID)
	i := slices.IndexFunc(c.Device.Staff, func(m store.TillStaff) bool { return m.Key == key })
	if i < 0 {
		return member, Refuse(store.NotFound, "No such member of staff at this location.")
	}
	member = c.Device.Staff[i]
	// An attempt must not be counted against a PIN that was replaced.
	if err := c.View(func(*store.View) error { return nil }); err != nil {
		return member, err
	}
	locks, err := c.kernel.pins.checkMember(c.Device, member, pin, c.now)
	c.kernel.auditPINLocks(ctx, &c.Caller, locks)
	return member, err
}

// auditPINLocks audits each lock after wrong PINs in a transaction of its own, since that of
// the write is not made. A lock that cannot be audited holds nevertheless.
func (k *Kernel) auditPINLocks(ctx context.Context, c *Caller, locks []pinLock) {
	for _, l := range locks {
		if err := k.st.Write(context.WithoutCancel(ctx), store.Write{Actor: c.Actor, Do: func(tx *store.Tx) error {
			return tx.AuditPINLock(c.Device.Shop, l.kind, l.key)
		}}); err != nil {
			k.conf.Log.Error("a lock after wrong staff PINs was not audited", "device", c.ID, "error", err)
		}
	}
}

// BeginStaffSession begins a session of a member of staff at the device once the write is on
// disk, and returns its token and its end, unless 15 minutes without a write come before.
func (c *Call) BeginStaffSession(tx *store.Tx, member store.TillStaff) (token string, ends store.Time, err error) {
	if token, err = tx.NewStaffToken(c.Device.Till, member.Key); err != nil {
		return "", 0, err
	}
	session := &staffSession{
		device:  c.Device.Device,
		member:  member.Key,
		pin:     member.PIN,
		begun:   tx.Now,
		used:    tx.Now,
		handles: map[string]heldCard{},
	}
	tx.AfterCommit(func() { c.kernel.staff.begin(token, session) })
	return token, tx.Now.Add(staffLifetime), nil
}

// EndStaffSession ends the session that the request names, if it has not ended.
func (c *Call) EndStaffSession(tx *store.Tx) error {
	member := c.kernel.staff.end(c.Device.Device, c.StaffSession)
	if member == 0 {
		return nil
	}
	return tx.EndStaffSession(c.Device.Till, member)
}

// StaffID returns the id of a member of staff.
func (c *Call) StaffID(m store.Staff) string { return c.kernel.st.ID(store.KindStaff, m.Key) }

// HoldCard returns a handle that stands for a card for the device and the staff session of the
// call. code is what the card's QR code holds.
func (c *Call) HoldCard(code string) string {
	return c.kernel.staff.hold(c.Device, c.StaffSession, code, c.now)
}

// CountSearch counts a search at a till, and refuses one over the rates.
func (c *Call) CountSearch() error { return c.kernel.searches.take(c.Device.Device, c.now) }
