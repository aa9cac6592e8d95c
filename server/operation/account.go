package operation

import (
	"context"

	"punchcard/server/kernel"
	"punchcard/server/password"
	"punchcard/server/qr"
	"punchcard/server/wire"
	"punchcard/store"
)

// checkNew returns the refusal of a new password that is too easy to guess.
func checkNew(given, email string) error {
	if problem := password.Weakness(given, email); problem != "" {
		return store.Invalid(store.Detail{Field: "password", Code: wire.CodeInvalidValue, Message: problem})
	}
	return nil
}

// PasswordFields are the fields of ChangePassword.
type PasswordFields struct {
	CurrentPassword store.Opt[string] `json:"current_password" req:"true" min:"1" max:"256"`
	Password        store.Opt[string] `json:"password" req:"true" min:"10" max:"256" doc:"Neither the email nor one of the commonest passwords."`
}

// newPassword is a change of a password that was checked and hashed.
type newPassword struct {
	checked[PasswordFields]
	hash string
}

// ChangePassword sets another password, ends all sessions of the caller, and begins a
// new one.
var ChangePassword = kernel.WriteAfter(
	accounts.only(account, "changePassword", "Change the password", "All sessions end, and a new one begins.", store.InvalidCredentials, store.RateLimited),
	wire.Create,
	func(ctx context.Context, c *kernel.Call, f PasswordFields) (p newPassword, err error) {
		if err := checkNew(f.Password.V, c.Session.Email); err != nil {
			return p, err
		}
		if p.credentials, p.right, err = checkOwn(ctx, c, f.CurrentPassword.V); err == nil && p.right {
			p.hash, err = c.HashPassword(ctx, f.Password.V)
		}
		return p, err
	},
	func(tx *store.Tx, c *kernel.Call, p newPassword) (s CreatedSession, err error) {
		if _, err := tx.CheckPassword(p.credentials, p.right); err != nil {
			return s, err
		}
		if err := tx.SetPassword(c.Session.User, p.hash, "user.change_password"); err != nil {
			return s, err
		}
		return begin(tx, c, store.NewSession{User: c.Session.User, Shop: c.Session.Shop, Renews: true})
	})

// ProfileFields are the fields of UpdateProfile.
type ProfileFields struct {
	Name     store.Opt[string] `json:"name" min:"1" max:"200" format:"line"`
	Language store.Opt[string] `json:"language" enum:"en,it,es,fr,de,pt"`
}

// UpdateProfile changes the name and the language of the caller.
var UpdateProfile = kernel.Write(accounts.only(account, "updateProfile", "Update the profile", ""),
	wire.Patch, func(tx *store.Tx, c *kernel.Call, f ProfileFields) (store.User, error) {
		return tx.UpdateUser(c.Session.User, f.Name, f.Language)
	})

// Profile is the account of the caller.
type Profile struct {
	store.User
	RecoveryCodes int64 `json:"recovery_codes" doc:"How many are left."`
}

// GetProfile returns the account of the caller.
var GetProfile = kernel.Read(accounts.only(kernel.Callers{Account: true, Enrolling: true}, "getProfile", "Read the profile", ""),
	func(v *store.View, c *kernel.Call, _ struct{}) (p Profile, err error) {
		if p.User, err = v.User(c.Session.User); err != nil {
			return p, err
		}
		p.RecoveryCodes, err = v.CountRecoveryCodes(c.Session.User)
		return p, err
	})

// OfferedTOTP is a second factor that is set up, with the picture of its QR code.
type OfferedTOTP struct {
	store.OfferedTOTP
	QRSVG string `json:"qr_svg" doc:"SVG markup of a QR code for uri."`
}

// StartTOTP makes the secret of a new second factor, which takes effect with
// ConfirmTOTP.
var StartTOTP = kernel.Complete(
	kernel.Write(proved(accounts.only(kernel.Callers{Account: true, Enrolling: true}, "startTOTP", "Begin to set up a second factor", "")),
		wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.OfferedTOTP, error) {
			return tx.OfferTOTP(c.Session.User)
		}),
	func(o store.OfferedTOTP) (out OfferedTOTP, err error) {
		out.OfferedTOTP = o
		if o.URI != "" { // else it is a replay
			out.QRSVG, err = qr.SVG(o.URI)
		}
		return out, err
	})

// ConfirmTOTP makes the new second factor the one of the caller.
var ConfirmTOTP = kernel.Write(
	proved(accounts.only(kernel.Callers{Account: true, Enrolling: true}, "confirmTOTP", "Confirm a second factor", "Answers the recovery codes, once.", store.TOTPInvalid, store.Conflict)),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f CodeFields) (store.RecoveryCodes, error) {
		return tx.ConfirmTOTP(c.Session.User, f.TOTP.V)
	})

// RemoveTOTP removes the second factor of the caller.
var RemoveTOTP = kernel.Write(proved(accounts.only(account, "removeTOTP", "Remove the second factor", "")),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (kernel.None, error) {
		return kernel.None{}, tx.RemoveTOTP(c.Session.User)
	})

// NewRecoveryCodes replaces the recovery codes of the caller.
var NewRecoveryCodes = kernel.Write(proved(accounts.only(account, "newRecoveryCodes", "Make new recovery codes", "The old ones end.", store.Conflict)),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (store.RecoveryCodes, error) {
		return tx.NewRecoveryCodes(c.Session.User)
	})

// ShowLink returns what a one-time link is for, without using it up. Its parameter token
// is the token of the link.
var ShowLink = kernel.Read(accounts.only(visitor, "showLink", "Show a one-time link", "", store.LinkExpired),
	func(v *store.View, c *kernel.Call, _ struct{}) (store.ShownLink, error) {
		return v.ShowLink(c.Param("token"))
	})

// NewPersonFields are the fields of a person's new account.
type NewPersonFields struct {
	Name     store.Opt[string] `json:"name" min:"1" max:"200" format:"line"`
	Password store.Opt[string] `json:"password" min:"10" max:"256" doc:"Neither the email nor one of the commonest passwords."`
	Language store.Opt[string] `json:"language" enum:"en,it,es,fr,de,pt" doc:"Default en."`
}

// missing returns details for the fields that a new account needs.
func (f NewPersonFields) missing() (details []store.Detail) {
	for _, field := range []struct {
		name  string
		given bool
	}{{"name", f.Name.Set}, {"password", f.Password.Set}} {
		if !field.given {
			details = append(details, store.Detail{Field: field.name, Code: wire.CodeRequired, Message: "is required"})
		}
	}
	return details
}

// newPerson is a person whose password is hashed, with the other fields of an operation.
type newPerson[F any] struct {
	fields F
	user   store.NewUser
}

// user returns the account that the fields describe, with the hash of its password.
func (f NewPersonFields) user(ctx context.Context, c *kernel.Call, email string) (u store.NewUser, err error) {
	if details := f.missing(); details != nil {
		return u, store.Invalid(details...)
	}
	if err := checkNew(f.Password.V, email); err != nil {
		return u, err
	}
	u = store.NewUser{Email: email, Name: f.Name.V, Language: f.Language.Or("en")}
	u.Password, err = c.HashPassword(ctx, f.Password.V)
	return u, err
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
}

// Check requires a name, a password and one shop.
func (f SetUpFields) Check(now store.Time) []store.Detail {
	details := append(f.missing(), f.shop().Check(now)...)
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
	return store.ShopFields{Name: f.ShopName, Timezone: f.Timezone, Currency: f.Currency, Language: f.ShopLanguage}
}

// SetUpOperator makes the account of the first operator with the set-up link, and begins
// a session. Its parameter token is the token of the link.
var SetUpOperator = kernel.WriteAfter(
	accounts.only(visitor, "setUpOperator", "Set up the first operator", "The person also becomes the owner of a shop of the file, or of a new one.", store.LinkExpired, store.Conflict),
	wire.Create,
	func(ctx context.Context, c *kernel.Call, f SetUpFields) (p newPerson[SetUpFields], err error) {
		if err := c.View(func(v *store.View) error {
			_, err := v.LinkEmail(store.LinkSetup, c.Param("token"))
			return err
		}); err != nil {
			return p, err
		}
		p.fields = f
		p.user, err = f.user(ctx, c, f.Email.V)
		return p, err
	},
	func(tx *store.Tx, c *kernel.Call, p newPerson[SetUpFields]) (s CreatedSession, err error) {
		user, err := tx.SetUp(c.Param("token"), p.user, p.fields.ShopID, p.fields.shop())
		if err != nil {
			return s, err
		}
		return begin(tx, c, store.NewSession{User: user})
	})

// AcceptInvitation accepts an invitation. Where there is no account with its email, it
// makes one from the fields and begins a session; else it needs no fields, and the person
// signs in as usual. Its parameter token is the token of the link.
var AcceptInvitation = kernel.WriteAfter(
	accounts.only(visitor, "acceptInvitation", "Accept an invitation", "A new account needs a name and a password, and a session begins. An account that exists needs neither, and no session begins.", store.LinkExpired, store.Conflict),
	wire.Create,
	func(ctx context.Context, c *kernel.Call, f NewPersonFields) (p newPerson[NewPersonFields], err error) {
		var shown store.ShownLink
		if err := c.View(func(v *store.View) (err error) {
			if _, err = v.LinkEmail(store.LinkInvitation, c.Param("token")); err == nil {
				shown, err = v.ShowLink(c.Param("token"))
			}
			return err
		}); err != nil || shown.Account {
			return p, err
		}
		p.user, err = f.user(ctx, c, shown.Email)
		return p, err
	},
	func(tx *store.Tx, c *kernel.Call, p newPerson[NewPersonFields]) (s CreatedSession, err error) {
		a, err := tx.AcceptInvitation(c.Param("token"), p.user)
		if err != nil || !a.Created {
			return s, err
		}
		return begin(tx, c, store.NewSession{User: a.User, Shop: a.Shop})
	})

// ResetFields are the fields of ResetPassword.
type ResetFields struct {
	Password store.Opt[string] `json:"password" req:"true" min:"10" max:"256" doc:"Neither the email nor one of the commonest passwords."`
}

// ResetPassword sets a new password with a reset link, and ends the person's sessions.
// No session begins, since a second factor is asked for as usual. Its parameter token is
// the token of the link.
var ResetPassword = kernel.WriteAfter(
	accounts.only(visitor, "resetPassword", "Set a new password", "All sessions of the person end.", store.LinkExpired),
	wire.Create,
	func(ctx context.Context, c *kernel.Call, f ResetFields) (hash string, err error) {
		var email string
		if err := c.View(func(v *store.View) (err error) {
			email, err = v.LinkEmail(store.LinkReset, c.Param("token"))
			return err
		}); err != nil {
			return "", err
		}
		if err := checkNew(f.Password.V, email); err != nil {
			return "", err
		}
		return c.HashPassword(ctx, f.Password.V)
	},
	func(tx *store.Tx, c *kernel.Call, hash string) (kernel.None, error) {
		return kernel.None{}, tx.ResetPassword(c.Param("token"), hash)
	})

// RequestFields are the fields of RequestReset.
type RequestFields struct {
	Email store.Opt[string] `json:"email" req:"true" min:"1" max:"254"`
}

// RequestReset mails a reset link to a person. Its answer does not show whether there is
// an account with the email.
var RequestReset = kernel.Write(accounts.only(visitor, "requestReset", "Ask for a reset link", "The answer is the same whether there is an account or not.", store.RateLimited),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f RequestFields) (kernel.None, error) {
		return kernel.None{}, tx.RequestReset(f.Email.V, c.Address)
	})
