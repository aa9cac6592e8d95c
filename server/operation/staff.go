package operation

import (
	"context"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// ListStaff lists the staff of the shop.
var ListStaff = declare(kernel.Operation{
	ID:      "listStaff",
	Group:   staff,
	Title:   "List the staff",
	Callers: viewer,
	Read:    listOf((*store.View).Staff),
})

// StaffFields are the fields of CreateStaff.
type StaffFields struct {
	LocationIDs store.Opt[[]string] `json:"location_ids" max:"1000" doc:"The locations at whose tills the person works. None: all."`
	Name        store.Opt[string]   `json:"name" req:"true" min:"1" max:"200" format:"line"`
	PIN         store.Opt[string]   `json:"pin" req:"true" min:"4" max:"8" pattern:"^[0-9]*$" words:"must be 4 to 8 digits from 0 to 9" doc:"4 to 8 digits. Two people may have the same."`
}

// CreateStaff adds a member of staff.
var CreateStaff = declare(kernel.Operation{
	ID:      "createStaff",
	Group:   staff,
	Title:   "Add a member of staff",
	Callers: manager,
	Codes:   unprocessable,
	Proof:   true,
	Prepare: kernel.Prepare(func(_ context.Context, c *kernel.Call, f StaffFields) (kernel.Prepared[store.StaffMember], error) {
		pin := store.HashStaffPIN(f.PIN.Value())
		return func(tx *store.Tx) (store.StaffMember, error) {
			return tx.CreateStaff(c.Access.Shop, store.StaffPatch{Name: f.Name, LocationIDs: f.LocationIDs}, pin)
		}, nil
	}),
})

// UpdateStaff changes the name of a member of staff and the locations where the person works.
var UpdateStaff = declare(kernel.Operation{
	ID:      "updateStaff",
	Group:   staff,
	Title:   "Update a member of staff",
	Doc:     "The person's sessions at tills of other locations end.",
	Callers: manager,
	Codes:   notFoundOrUnprocessable,
	Mode:    wire.Patch,
	Write:   withID((*store.Tx).UpdateStaff),
})

// MemberPINFields are the fields of SetStaffMemberPIN.
type MemberPINFields struct {
	PIN store.Opt[string] `json:"pin" req:"true" min:"4" max:"8" pattern:"^[0-9]*$" words:"must be 4 to 8 digits from 0 to 9" doc:"4 to 8 digits."`
}

// SetStaffMemberPIN sets the PIN of a member of staff.
var SetStaffMemberPIN = declare(kernel.Operation{
	ID:      "setStaffMemberPIN",
	Group:   staff,
	Title:   "Set the PIN of a member of staff",
	Doc:     "The person's sessions at tills end.",
	Callers: manager,
	Codes:   notFound,
	Proof:   true,
	Prepare: kernel.Prepare(func(_ context.Context, c *kernel.Call, f MemberPINFields) (kernel.Prepared[store.StaffMember], error) {
		pin := store.HashStaffPIN(f.PIN.Value())
		return func(tx *store.Tx) (store.StaffMember, error) {
			return tx.SetStaffMemberPIN(c.Access.Shop, c.Param("id"), pin)
		}, nil
	}),
})

// DisableStaff disables a member of staff.
var DisableStaff = staffSwitch(true, kernel.Operation{
	ID:    "disableStaff",
	Title: "Disable a member of staff",
	Doc:   "The person's sessions at tills end. What the person did stays in the ledger.",
	Codes: notFound,
})

// EnableStaff enables a disabled member of staff.
var EnableStaff = staffSwitch(false, kernel.Operation{
	ID:    "enableStaff",
	Title: "Enable a member of staff",
	Codes: notFoundOrUnprocessable,
})

// staffSwitch returns the operation that disables or enables a member of staff. op says what is
// special about it.
func staffSwitch(disabled bool, op kernel.Operation) *kernel.Operation {
	op.Group, op.Callers = staff, manager
	op.Write = kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (store.StaffMember, error) {
		return tx.SetStaffDisabled(c.Access.Shop, c.Param("id"), disabled)
	})
	return declare(op)
}

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

// OpenStaffSession begins a session of a member of staff at the device.
var OpenStaffSession = declare(kernel.Operation{
	ID:    "openStaffSession",
	Group: ownDevice,
	Title: "Sign a member of staff in",
	Doc: "Writes that carry the token as `X-Staff-Session` need no staff PIN, and their rows name the person. The session ends " +
		"after 15 minutes without a write, after 12 hours, when the server restarts, and when the person is disabled, gets " +
		"another PIN or no longer works at the location; a write with it is then 401 `invalid_credentials`. " +
		"Wrong PINs count like those of the location.",
	Callers:      device,
	Codes:        notFound,
	WithoutStaff: true,
	Prepare: kernel.Prepare(func(ctx context.Context, c *kernel.Call, f SessionFields) (kernel.Prepared[StaffSession], error) {
		member, err := c.CheckStaffPIN(ctx, f.StaffID.V, f.PIN.V)
		return func(tx *store.Tx) (s StaffSession, err error) {
			s.Staff = store.NamedStaff{ID: c.StaffID(member.Staff), Name: member.Name}
			s.Token, s.ExpiresAt, err = c.BeginStaffSession(tx, member)
			return s, err
		}, err
	}),
})

// CloseStaffSession ends the session that the request names.
var CloseStaffSession = declare(kernel.Operation{
	ID:           "closeStaffSession",
	Group:        ownDevice,
	Title:        "Sign the member of staff out",
	Doc:          "A session that has ended already stays so.",
	Callers:      device,
	WithoutStaff: true,
	Write: silent(func(tx *store.Tx, c *kernel.Call, _ struct{}) error {
		return c.EndStaffSession(tx)
	}),
})
