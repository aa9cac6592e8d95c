package operation

import (
	"context"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// ListStaff lists the staff of the shop's locations.
var ListStaff = kernel.Read(staff.only(viewer, "listStaff", "List the staff", ""),
	func(v *store.View, c *kernel.Call, _ struct{}) (List[store.StaffMember], error) {
		members, err := v.Staff(c.Access.Shop)
		return List[store.StaffMember]{members}, err
	})

// StaffFields are the fields of CreateStaff.
type StaffFields struct {
	LocationID store.Opt[string] `json:"location_id" req:"true" min:"1" max:"255" doc:"The location at whose tills the person works."`
	Name       store.Opt[string] `json:"name" req:"true" min:"1" max:"200" format:"line"`
	PIN        store.Opt[string] `json:"pin" req:"true" min:"4" max:"8" pattern:"^[0-9]*$" words:"must be 4 to 8 digits from 0 to 9" doc:"4 to 8 digits. Two people may have the same."`
}

// CreateStaff adds a member of staff to a location.
var CreateStaff = kernel.WritePrepared(proved(staff.only(manager, "createStaff", "Add a member of staff", "", store.NotFound, store.Unprocessable)),
	wire.Create,
	func(f StaffFields) hashed[StaffFields] { return hashPIN(f, f.PIN) },
	func(tx *store.Tx, c *kernel.Call, f hashed[StaffFields]) (store.StaffMember, error) {
		return tx.CreateStaff(c.Access.Shop, f.fields.LocationID.V, f.fields.Name.V, f.pin)
	})

// MemberPINFields are the fields of SetStaffMemberPIN.
type MemberPINFields struct {
	PIN store.Opt[string] `json:"pin" req:"true" min:"4" max:"8" pattern:"^[0-9]*$" words:"must be 4 to 8 digits from 0 to 9" doc:"4 to 8 digits."`
}

// SetStaffMemberPIN sets the PIN of a member of staff.
var SetStaffMemberPIN = kernel.WritePrepared(proved(staff.only(manager, "setStaffMemberPIN", "Set the PIN of a member of staff", "The person's sessions at tills end.", store.NotFound)),
	wire.Create,
	func(f MemberPINFields) hashed[MemberPINFields] { return hashPIN(f, f.PIN) },
	func(tx *store.Tx, c *kernel.Call, f hashed[MemberPINFields]) (store.StaffMember, error) {
		return tx.SetStaffMemberPIN(c.Access.Shop, c.Param("id"), f.pin)
	})

// DisableStaff disables a member of staff.
var DisableStaff = kernel.Write(staff.only(manager, "disableStaff", "Disable a member of staff", "The person's sessions at tills end. What the person did stays in the ledger.", store.NotFound),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.StaffMember, error) {
		return tx.SetStaffDisabled(c.Access.Shop, c.Param("id"), true)
	})

// EnableStaff enables a disabled member of staff.
var EnableStaff = kernel.Write(staff.only(manager, "enableStaff", "Enable a member of staff", "", store.NotFound, store.Unprocessable),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.StaffMember, error) {
		return tx.SetStaffDisabled(c.Access.Shop, c.Param("id"), false)
	})

// SessionFields are the fields of OpenStaffSession.
type SessionFields struct {
	StaffID store.Opt[string] `json:"staff_id" req:"true" min:"1" max:"255" format:"line"`
	PIN     store.Opt[string] `json:"pin" req:"true" min:"4" max:"8" pattern:"^[0-9]*$" words:"must be 4 to 8 digits from 0 to 9"`
}

// StaffSession is a new session of a member of staff. Its token is shown only once.
type StaffSession struct {
	Staff     store.NamedStaff `json:"staff"`
	Token     string           `json:"token" doc:"To be sent as X-Staff-Session. Empty where the answer is replayed."`
	ExpiresAt store.Time       `json:"expires_at" doc:"It ends earlier after 15 minutes without a write."`
}

// WithoutSecret returns the session as it may be stored.
func (s StaffSession) WithoutSecret() any {
	return &StaffSession{Staff: s.Staff, ExpiresAt: s.ExpiresAt}
}

// withoutStaff returns the operation without the demand of a staff PIN or session.
func withoutStaff(op kernel.Operation) kernel.Operation {
	op.WithoutStaff = true
	return op
}

// OpenStaffSession begins a session of a member of staff at the device.
var OpenStaffSession = kernel.WriteAfter(
	withoutStaff(ownDevice.only(device, "openStaffSession", "Sign a member of staff in",
		"Writes that carry the token as `X-Staff-Session` need no staff PIN, and their rows name the person. The session ends after 15 minutes without a write, after 12 hours, when the server restarts, and when the person is disabled or gets another PIN; a write with it is then 401 `invalid_credentials`. Wrong PINs count like those of the location.",
		store.NotFound)),
	wire.Create,
	func(ctx context.Context, c *kernel.Call, f SessionFields) (store.TillStaff, error) {
		return c.CheckStaffPIN(ctx, f.StaffID.V, f.PIN.V)
	},
	func(tx *store.Tx, c *kernel.Call, m store.TillStaff) (s StaffSession, err error) {
		s.Staff = store.NamedStaff{ID: c.StaffID(m.Staff), Name: m.Name}
		s.Token, s.ExpiresAt, err = c.BeginStaffSession(tx, m)
		return s, err
	})

// CloseStaffSession ends the session that the request names.
var CloseStaffSession = kernel.Write(
	withoutStaff(ownDevice.only(device, "closeStaffSession", "Sign the member of staff out", "A session that has ended already stays so.")),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (kernel.None, error) {
		return kernel.None{}, c.EndStaffSession(tx)
	})
