package operation

import (
	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// People are the members of a shop, and those who are invited.
type People struct {
	Members     []store.Member     `json:"members"`
	Invitations []store.Invitation `json:"invitations"`
}

// ListPeople lists the members of the shop and the open invitations to it.
var ListPeople = declare(kernel.Operation{
	ID:      "listPeople",
	Group:   people,
	Title:   "List the people of the shop",
	Callers: owner,
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (p People, err error) {
		if p.Members, err = v.Members(c.Access.Shop); err != nil {
			return p, err
		}
		p.Invitations, err = v.Invitations(c.Access.Shop)
		return p, err
	}),
})

// InviteFields are the fields of InvitePerson.
type InviteFields struct {
	Email store.Opt[string] `json:"email" req:"true" min:"3" max:"254" format:"email"`
	Role  store.Opt[string] `json:"role" req:"true" enum:"owner,manager,viewer,operator" doc:"Operators alone invite operators."`
}

// InvitePerson makes an invitation to the shop, or to be an operator.
var InvitePerson = declare(kernel.Operation{
	ID:    "invitePerson",
	Group: people,
	Title: "Invite a person",
	Doc: "The link is valid for seven days, and replaces an earlier one for the email. A server with mail mails it and shows it " +
		"to nobody.",
	Callers: owner,
	Codes:   codes{store.NotFound, store.Conflict, store.RateLimited},
	Proof:   true,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f InviteFields) (store.CreatedLink, error) {
		role := f.Role.V
		if role == "operator" {
			if c.Role != kernel.Operator {
				return store.CreatedLink{}, kernel.Refuse(store.Unauthorized, "Operators alone invite operators.")
			}
			role = ""
		}
		return tx.Invite(c.Access.Shop, f.Email.V, role)
	}),
})

// CancelInvitation ends an invitation.
var CancelInvitation = declare(kernel.Operation{
	ID:      "cancelInvitation",
	Group:   people,
	Title:   "Cancel an invitation",
	Callers: owner,
	Codes:   notFound,
	Proof:   true,
	Write:   removal((*store.Tx).CancelInvitation),
})

// RoleFields are the fields of SetRole.
type RoleFields struct {
	Role store.Opt[string] `json:"role" req:"true" enum:"owner,manager,viewer"`
}

// SetRole changes the role of a member of the shop.
var SetRole = declare(kernel.Operation{
	ID:      "setRole",
	Group:   people,
	Title:   "Change a person's role",
	Doc:     "The person's other sessions end. The last owner keeps the role.",
	Callers: owner,
	Codes:   notFoundOrConflict,
	Proof:   true,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f RoleFields) (store.Member, error) {
		return tx.SetRole(c.Access.Shop, c.Param("id"), f.Role.V, c.SessionKey())
	}),
})

// RemovePerson takes a member out of the shop.
var RemovePerson = declare(kernel.Operation{
	ID:      "removePerson",
	Group:   people,
	Title:   "Remove a person from the shop",
	Doc:     "The account stays, and the person's sessions end. The last owner stays.",
	Callers: owner,
	Codes:   notFoundOrConflict,
	Proof:   true,
	Write:   removal((*store.Tx).RemoveMember),
})

// Users are the accounts of the file, and the open invitations to all its shops.
type Users struct {
	Data        []store.User       `json:"data"`
	Invitations []store.Invitation `json:"invitations"`
}

// ListUsers lists all accounts and open invitations of the file, oldest first.
var ListUsers = declare(kernel.Operation{
	ID:      "listUsers",
	Group:   people,
	Title:   "List the accounts",
	Callers: operator,
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (u Users, err error) {
		if u.Data, err = v.Users(); err != nil {
			return u, err
		}
		u.Invitations, err = v.Invitations(0)
		return u, err
	}),
})

// DisableUser disables an account and ends its sessions.
var DisableUser = userSwitch(true, kernel.Operation{
	ID:    "disableUser",
	Title: "Disable an account",
	Doc:   "Its sessions and links end. The last operator cannot be disabled.",
	Codes: notFoundOrConflict,
})

// EnableUser enables a disabled account.
var EnableUser = userSwitch(false, kernel.Operation{
	ID:    "enableUser",
	Title: "Enable an account",
	Codes: notFound,
})

// userSwitch returns the operation that disables or enables an account. op says what is special about it.
func userSwitch(disabled bool, op kernel.Operation) *kernel.Operation {
	op.Group, op.Callers, op.Proof = people, operator, true
	op.Write = kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (store.User, error) {
		return tx.SetUserDisabled(c.Param("id"), disabled)
	})
	return declare(op)
}

// ResetLinkFields are the fields of CreateResetLink.
type ResetLinkFields struct {
	RemoveTOTP store.Opt[bool] `json:"remove_totp" doc:"Also remove the second factor, of somebody who has lost it with the recovery codes. Default false."`
}

// CreateResetLink makes a link by which a person sets a new password.
var CreateResetLink = declare(kernel.Operation{
	ID:      "createResetLink",
	Group:   people,
	Title:   "Make a reset link",
	Doc:     "It is valid for an hour, and replaces earlier ones.",
	Callers: operator,
	Codes:   notFoundOrConflict,
	Proof:   true,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f ResetLinkFields) (l store.CreatedLink, err error) {
		user, err := tx.UserKey(c.Param("id"))
		if err != nil {
			return l, err
		}
		if f.RemoveTOTP.V {
			if err := tx.RemoveTOTP(user, 0); err != nil {
				return l, err
			}
		}
		return tx.NewResetLink(user)
	}),
})

// SignOutUser ends all sessions of a person.
var SignOutUser = declare(kernel.Operation{
	ID:      "signOutUser",
	Group:   people,
	Title:   "End a person's sessions",
	Callers: operator,
	Codes:   notFound,
	Proof:   true,
	Write: kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (EndedSessions, error) {
		user, err := tx.UserKey(c.Param("id"))
		if err != nil {
			return EndedSessions{}, err
		}
		n, err := tx.SignOutEverywhere(user)
		return EndedSessions{n}, err
	}),
})

// ShopSettings are the settings of a shop that its owners change.
type ShopSettings struct {
	store.ShopFields `omit:"mode,subscription_state,api_addon,mcp_access,grant_expires_at,included_locations,max_locations,max_cards,public_url"`
}

// GetShop returns the shop of the caller.
var GetShop = declare(kernel.Operation{
	ID:      "getShop",
	Group:   shops,
	Title:   "Read the shop",
	Callers: viewer,
	Codes:   notFound,
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (store.Shop, error) {
		sh, _, err := v.OwnShop(c.Access)
		return sh, err
	}),
})

// UpdateShopSettings changes the settings of the shop.
var UpdateShopSettings = declare(kernel.Operation{
	ID:      "updateShopSettings",
	Group:   shops,
	Title:   "Update the shop's settings",
	Callers: owner,
	Codes:   notFound,
	Mode:    wire.Patch,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f ShopSettings) (store.Shop, error) {
		return tx.UpdateShop(c.Access.Shop, f.ShopFields, "")
	}),
})
