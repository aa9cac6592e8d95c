package operation

import (
	"context"

	"punchcard/server/kernel"
	"punchcard/server/qr"
	"punchcard/server/wire"
	"punchcard/store"
	"punchcard/store/password"
)

// checkNew returns the refusal of a new password that is too easy to guess.
func checkNew(given, email string) error {
	if problem := password.Weakness(given, email); problem != "" {
		return store.InvalidField("password", wire.CodeInvalidValue, problem)
	}
	return nil
}

// PasswordFields are the fields of ChangePassword.
type PasswordFields struct {
	CurrentPassword store.Opt[string] `json:"current_password" req:"true" min:"1" max:"256"`
	Password        store.Opt[string] `json:"password" req:"true" min:"10" max:"256" doc:"Neither the email nor one of the commonest passwords."`
}

// ChangePassword sets another password, ends all sessions of the caller, and begins a
// new one.
var ChangePassword = declare(kernel.Operation{
	ID:      "changePassword",
	Group:   accounts,
	Title:   "Change the password",
	Doc:     "All sessions end, and a new one begins.",
	Callers: account,
	Codes:   codes{store.InvalidCredentials, store.RateLimited},
	Prepare: kernel.Prepare(func(ctx context.Context, c *kernel.Call, f PasswordFields) (kernel.Prepared[CreatedSession], error) {
		if err := checkNew(f.Password.V, c.Session.Email); err != nil {
			return nil, err
		}
		credentials, right, err := checkOwn(ctx, c, f.CurrentPassword.V)
		hash := ""
		if err == nil && right {
			hash, err = c.HashPassword(ctx, f.Password.V)
		}
		return func(tx *store.Tx) (s CreatedSession, err error) {
			if _, err := tx.CheckPassword(credentials, right); err != nil {
				return s, err
			}
			if err := tx.SetPassword(c.Session.User, hash, "user.change_password"); err != nil {
				return s, err
			}
			return begin(tx, c, store.NewSession{User: c.Session.User, Shop: c.Session.Shop, Renews: true})
		}, err
	}),
})

// ProfileFields are the fields of UpdateProfile.
type ProfileFields struct {
	Name     store.Opt[string] `json:"name" min:"1" max:"200" format:"line"`
	Language store.Opt[string] `json:"language" enum:"en,it,es,fr,de,pt"`
}

// UpdateProfile changes the name and the language of the caller.
var UpdateProfile = declare(kernel.Operation{
	ID:      "updateProfile",
	Group:   accounts,
	Title:   "Update the profile",
	Callers: account,
	Mode:    wire.Patch,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f ProfileFields) (store.User, error) {
		return tx.UpdateUser(c.Session.User, f.Name, f.Language)
	}),
})

// Profile is the account of the caller.
type Profile struct {
	store.User
	RecoveryCodes int64 `json:"recovery_codes" doc:"How many are left."`
}

// GetProfile returns the account of the caller.
var GetProfile = declare(kernel.Operation{
	ID:      "getProfile",
	Group:   accounts,
	Title:   "Read the profile",
	Callers: kernel.Callers{Account: true, Enrolling: true},
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (p Profile, err error) {
		if p.User, err = v.User(c.Session.User); err != nil {
			return p, err
		}
		p.RecoveryCodes, err = v.CountRecoveryCodes(c.Session.User)
		return p, err
	}),
})

// OfferedTOTP is a second factor that is set up, with the picture of its QR code.
type OfferedTOTP struct {
	store.OfferedTOTP
	QRSVG string `json:"qr_svg" doc:"SVG markup of a QR code for uri."`
}

// StartTOTP makes the secret of a new second factor, which takes effect with
// ConfirmTOTP.
var StartTOTP = declare(kernel.Operation{
	ID:      "startTOTP",
	Group:   accounts,
	Title:   "Begin to set up a second factor",
	Callers: kernel.Callers{Account: true, Enrolling: true},
	Proof:   true,
	Write: kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (o OfferedTOTP, err error) {
		o.OfferedTOTP, err = tx.OfferTOTP(c.Session.User)
		return o, err
	}),
	Complete: kernel.Complete(func(o *OfferedTOTP) (err error) {
		if o.URI != "" { // else it is a replay
			o.QRSVG, err = qr.SVG(o.URI)
		}
		return err
	}),
})

// ConfirmTOTP makes the new second factor the one of the caller.
var ConfirmTOTP = declare(kernel.Operation{
	ID:      "confirmTOTP",
	Group:   accounts,
	Title:   "Confirm a second factor",
	Doc:     "Answers the recovery codes, once. All other sessions end.",
	Callers: kernel.Callers{Account: true, Enrolling: true},
	Codes:   codes{store.TOTPInvalid, store.Conflict},
	Proof:   true,
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f CodeFields) (store.RecoveryCodes, error) {
		return tx.ConfirmTOTP(c.Session.User, c.Session.Session, f.TOTP.V)
	}),
})

// RemoveTOTP removes the second factor of the caller.
var RemoveTOTP = declare(kernel.Operation{
	ID:      "removeTOTP",
	Group:   accounts,
	Title:   "Remove the second factor",
	Doc:     "All other sessions end.",
	Callers: account,
	Proof:   true,
	Write: silent(func(tx *store.Tx, c *kernel.Call, _ struct{}) error {
		return tx.RemoveTOTP(c.Session.User, c.Session.Session)
	}),
})

// NewRecoveryCodes replaces the recovery codes of the caller.
var NewRecoveryCodes = declare(kernel.Operation{
	ID:      "newRecoveryCodes",
	Group:   accounts,
	Title:   "Make new recovery codes",
	Doc:     "The old ones end.",
	Callers: account,
	Codes:   codes{store.Conflict},
	Proof:   true,
	Write: kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (store.RecoveryCodes, error) {
		return tx.NewRecoveryCodes(c.Session.User)
	}),
})

// ShowLink returns what a one-time link is for, without using it up. Its parameter token
// is the token of the link.
var ShowLink = declare(kernel.Operation{
	ID:      "showLink",
	Group:   accounts,
	Title:   "Show a one-time link",
	Callers: kernel.Callers{Visitor: true, Account: true},
	Codes:   codes{store.LinkExpired},
	Read:    byParam("token", (*store.View).ShowLink),
})

// NewPersonFields are the fields of a person's new account.
type NewPersonFields struct {
	Name     store.Opt[string] `json:"name" req:"true" min:"1" max:"200" format:"line"`
	Password store.Opt[string] `json:"password" req:"true" min:"10" max:"256" doc:"Neither the email nor one of the commonest passwords."`
	Language store.Opt[string] `json:"language" enum:"en,it,es,fr,de,pt" doc:"Default en."`
}

// user returns the account that the fields describe, with the hash of its password.
func (f NewPersonFields) user(ctx context.Context, c *kernel.Call, email string) (u store.NewUser, err error) {
	if err := checkNew(f.Password.V, email); err != nil {
		return u, err
	}
	u = store.NewUser{Email: email, Name: f.Name.V, Language: f.Language.Or("en")}
	u.Password, err = c.HashPassword(ctx, f.Password.V)
	return u, err
}

// linkEmail returns the email that the link of a call is for.
func linkEmail(c *kernel.Call, kind string) (string, error) {
	return readBefore(c, func(v *store.View) (string, error) { return v.LinkEmail(kind, c.Param("token")) })
}

// SetUpFields are the fields of SetUpOperator.
type SetUpFields struct {
	Email store.Opt[string] `json:"email" req:"true" min:"3" max:"254" format:"email"`
	NewPersonFields
	ShopID       store.Opt[string] `json:"shop_id" min:"1" max:"255" doc:"The shop of the file whose owner the person becomes too."`
	ShopName     store.Opt[string] `json:"shop_name" min:"1" max:"200" format:"line" doc:"Makes a new shop, whose owner the person becomes too."`
	Timezone     store.Opt[string] `json:"timezone" min:"1" max:"64" doc:"Of the new shop. Default UTC."`
	Currency     store.Opt[string] `json:"currency" min:"3" max:"3" doc:"Of the new shop: ISO 4217. Default EUR."`
	ShopLanguage store.Opt[string] `json:"shop_language" enum:"en,it,es,fr,de,pt" doc:"Of the new shop. Default en."`
	Country      store.Opt[string] `json:"country_code" format:"country" doc:"Of the new shop: two letters A-Z, ISO 3166-1."`
}

// Check requires one shop.
func (f SetUpFields) Check(now store.Time) []store.Detail {
	details := f.shop().Check(now)
	switch {
	case !f.ShopID.Set && !f.ShopName.Set:
		details = append(details, store.Detail{Field: "shop_name", Code: wire.CodeRequired, Message: "is required, or shop_id"})
	case f.ShopID.Set && f.ShopName.Set:
		details = append(details, store.Detail{Field: "shop_name", Code: "mutually_exclusive", Message: "must not be given beside shop_id"})
	}
	return details
}

// shop returns the fields of the new shop.
func (f SetUpFields) shop() store.ShopFields {
	return store.ShopFields{Name: f.ShopName, Timezone: f.Timezone, Currency: f.Currency, Language: f.ShopLanguage, CountryCode: f.Country}
}

// SetUpOperator makes the account of the first operator with the set-up link, and begins
// a session. Its parameter token is the token of the link.
var SetUpOperator = declare(kernel.Operation{
	ID:      "setUpOperator",
	Group:   accounts,
	Title:   "Set up the first operator",
	Doc:     "The person also becomes the owner of a shop of the file, or of a new one.",
	Callers: visitor,
	Codes:   codes{store.LinkExpired, store.Conflict},
	Prepare: kernel.Prepare(func(ctx context.Context, c *kernel.Call, f SetUpFields) (kernel.Prepared[CreatedSession], error) {
		if _, err := linkEmail(c, store.LinkSetup); err != nil {
			return nil, err
		}
		person, err := f.user(ctx, c, f.Email.V)
		return func(tx *store.Tx) (s CreatedSession, err error) {
			user, err := tx.SetUp(c.Param("token"), person, f.ShopID, f.shop())
			if err != nil {
				return s, err
			}
			return begin(tx, c, store.NewSession{User: user})
		}, err
	}),
})

// CreateInvited makes the account of a person who is invited, who then signs in and accepts.
// Its answer does not show whether there was an account with the email already. Its parameter
// token is the token of the link.
var CreateInvited = declare(kernel.Operation{
	ID:      "createInvited",
	Group:   accounts,
	Title:   "Create the account of an invited person",
	Doc:     "The answer is the same if there is an account already, which stays as it is. The invitation is still to be accepted.",
	Callers: visitor,
	Codes:   codes{store.LinkExpired},
	Prepare: kernel.Prepare(func(ctx context.Context, c *kernel.Call, f NewPersonFields) (kernel.Prepared[kernel.None], error) {
		email, err := linkEmail(c, store.LinkInvitation)
		if err != nil {
			return nil, err
		}
		person, err := f.user(ctx, c, email)
		return func(tx *store.Tx) (kernel.None, error) {
			return kernel.None{}, tx.CreateInvited(c.Param("token"), person)
		}, err
	}),
})

// AcceptInvitation accepts an invitation to the email of the caller. Its parameter token is
// the token of the link.
var AcceptInvitation = declare(kernel.Operation{
	ID:      "acceptInvitation",
	Group:   accounts,
	Title:   "Accept an invitation",
	Doc:     "All other sessions of the person end.",
	Callers: account,
	Codes:   codes{store.LinkExpired, store.Conflict},
	Proof:   true,
	Write: silent(func(tx *store.Tx, c *kernel.Call, _ struct{}) error {
		return tx.AcceptInvitation(c.Param("token"), c.Session)
	}),
})

// ResetFields are the fields of ResetPassword.
type ResetFields struct {
	Password store.Opt[string] `json:"password" req:"true" min:"10" max:"256" doc:"Neither the email nor one of the commonest passwords."`
}

// ResetPassword sets a new password with a reset link, and ends the person's sessions.
// No session begins, since a second factor is asked for as usual. The browser is known from
// then on, so that no attack on the account delays the sign-in that follows. Its parameter token is
// the token of the link.
var ResetPassword = declare(kernel.Operation{
	ID:      "resetPassword",
	Group:   accounts,
	Title:   "Set a new password",
	Doc:     "All sessions of the person end.",
	Callers: visitor,
	Codes:   codes{store.LinkExpired},
	Prepare: kernel.Prepare(func(ctx context.Context, c *kernel.Call, f ResetFields) (kernel.Prepared[KnownBrowser], error) {
		email, err := linkEmail(c, store.LinkReset)
		if err != nil {
			return nil, err
		}
		if err := checkNew(f.Password.V, email); err != nil {
			return nil, err
		}
		hash, err := c.HashPassword(ctx, f.Password.V)
		return func(tx *store.Tx) (k KnownBrowser, err error) {
			user, err := tx.ResetPassword(c.Param("token"), hash)
			if err != nil {
				return k, err
			}
			return know(tx, c, user)
		}, err
	}),
})

// RequestFields are the fields of RequestReset.
type RequestFields struct {
	Email store.Opt[string] `json:"email" req:"true" min:"1" max:"254"`
}

// RequestReset mails a reset link to a person. Its answer does not show whether there is
// an account with the email.
var RequestReset = declare(kernel.Operation{
	ID:      "requestReset",
	Group:   accounts,
	Title:   "Ask for a reset link",
	Doc:     "The answer is the same whether there is an account or not.",
	Callers: visitor,
	Codes:   codes{store.RateLimited},
	Write: silent(func(tx *store.Tx, c *kernel.Call, f RequestFields) error {
		return tx.RequestReset(f.Email.V, c.Browser())
	}),
})
