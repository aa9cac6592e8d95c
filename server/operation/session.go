package operation

import (
	"context"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// CreatedSession is a new session with its token, which is shown only once.
type CreatedSession struct {
	store.Session
	Token string `json:"token" doc:"Of the cookie. Empty where no session was begun."`
}

// WithoutSecret returns the session as it may be stored.
func (s CreatedSession) WithoutSecret() any { return &CreatedSession{Session: s.Session} }

// begin begins a session for the caller of an operation.
func begin(tx *store.Tx, c *kernel.Call, n store.NewSession) (s CreatedSession, err error) {
	n.Address, n.Agent = c.Address, c.Agent
	s.Session, s.Token, err = tx.BeginSession(n)
	return s, err
}

// checked are the fields of an operation, and whether the password among them is right.
type checked[F any] struct {
	fields      F
	credentials store.Credentials
	right       bool
}

// SignInFields are the fields of SignIn.
type SignInFields struct {
	Email    store.Opt[string] `json:"email" req:"true" min:"1" max:"254"`
	Password store.Opt[string] `json:"password" req:"true" min:"1" max:"256"`
}

// SignIn begins a session of a person. An unknown email is refused like a wrong
// password, and takes as long.
var SignIn = kernel.WriteAfter(
	sessions.only(visitor, "signIn", "Sign in",
		"Where the account has a second factor, the session is `pending` and admits to `confirmSignIn` alone.",
		store.InvalidCredentials, store.RateLimited),
	wire.Create,
	func(ctx context.Context, c *kernel.Call, f SignInFields) (p checked[SignInFields], err error) {
		p.fields = f
		if err := c.View(func(v *store.View) (err error) {
			p.credentials, err = v.SignInCredentials(f.Email.V, c.Address)
			return err
		}); err != nil {
			return p, err
		}
		p.right, err = c.CheckPassword(ctx, f.Password.V, p.credentials.Password)
		return p, err
	},
	func(tx *store.Tx, c *kernel.Call, p checked[SignInFields]) (s CreatedSession, err error) {
		pending, err := tx.CheckPassword(p.credentials, p.right)
		if err != nil {
			return s, err
		}
		if !pending {
			if err := tx.SignedIn(p.credentials.User, c.Address); err != nil {
				return s, err
			}
		}
		return begin(tx, c, store.NewSession{User: p.credentials.User, Pending: pending})
	})

// CodeFields are the fields of operations that take a code of the second factor.
type CodeFields struct {
	TOTP store.Opt[string] `json:"totp" req:"true" min:"1" max:"40" doc:"Six digits, or a recovery code."`
}

// ConfirmSignIn replaces a pending session by one that admits to everything.
var ConfirmSignIn = kernel.Write(
	sessions.only(kernel.Callers{Pending: true}, "confirmSignIn", "Give the second factor", "The pending session ends.", store.TOTPInvalid, store.RateLimited),
	wire.Create, func(tx *store.Tx, c *kernel.Call, f CodeFields) (s CreatedSession, err error) {
		if err := tx.CheckCode(c.Session.User, c.Address, f.TOTP.V); err != nil {
			return s, err
		}
		if err := tx.SignedIn(c.Session.User, c.Address); err != nil {
			return s, err
		}
		if err := tx.DropSession(c.Session.Session); err != nil {
			return s, err
		}
		return begin(tx, c, store.NewSession{User: c.Session.User})
	})

// SignOut ends the session of the caller.
var SignOut = kernel.Write(sessions.only(kernel.Callers{Account: true, Enrolling: true, Pending: true}, "signOut", "Sign out", ""),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (kernel.None, error) {
		return kernel.None{}, tx.EndSession(c.Session.User, c.Session.SessionID)
	})

// EndedSessions is the answer of operations that end several sessions.
type EndedSessions struct {
	Ended int64 `json:"ended"`
}

// SignOutEverywhere ends all sessions of the caller.
var SignOutEverywhere = kernel.Write(sessions.only(account, "signOutEverywhere", "Sign out everywhere", ""),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (EndedSessions, error) {
		n, err := tx.SignOutEverywhere(c.Session.User)
		return EndedSessions{n}, err
	})

// ListSessions lists the sessions of the caller, newest first.
var ListSessions = kernel.Read(sessions.only(account, "listSessions", "List the sessions", ""),
	func(v *store.View, c *kernel.Call, _ struct{}) (List[store.Session], error) {
		list, err := v.Sessions(c.Session.User)
		return List[store.Session]{list}, err
	})

// EndSession ends a session of the caller.
var EndSession = kernel.Write(sessions.only(account, "endSession", "End a session", "", store.NotFound),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (kernel.None, error) {
		return kernel.None{}, tx.EndSession(c.Session.User, c.Param("id"))
	})

// ProofFields are the fields of Prove.
type ProofFields struct {
	Password store.Opt[string] `json:"password" min:"1" max:"256"`
	TOTP     store.Opt[string] `json:"totp" min:"1" max:"40" doc:"Six digits, or a recovery code."`
}

// Check requires exactly one of the fields.
func (f ProofFields) Check(store.Time) []store.Detail {
	switch {
	case f.Password.Set && f.TOTP.Set:
		return []store.Detail{{Field: "totp", Code: "mutually_exclusive", Message: "must not be given beside password"}}
	case !f.Password.Set && !f.TOTP.Set:
		return []store.Detail{{Field: "password", Code: wire.CodeRequired, Message: "is required, or totp"}}
	}
	return nil
}

// Prove records that the caller has just given the password or a code, which operations
// with Proof demand.
var Prove = kernel.WriteAfter(
	sessions.only(kernel.Callers{Account: true, Enrolling: true}, "prove", "Give the password or a code again", "It counts for 15 minutes.",
		store.InvalidCredentials, store.TOTPInvalid, store.RateLimited),
	wire.Create,
	func(ctx context.Context, c *kernel.Call, f ProofFields) (p checked[ProofFields], err error) {
		p.fields = f
		if f.Password.Set {
			p.credentials, p.right, err = checkOwn(ctx, c, f.Password.V)
		}
		return p, err
	},
	func(tx *store.Tx, c *kernel.Call, p checked[ProofFields]) (none kernel.None, err error) {
		if p.fields.Password.Set {
			_, err = tx.CheckPassword(p.credentials, p.right)
		} else {
			err = tx.CheckCode(c.Session.User, c.Address, p.fields.TOTP.V)
		}
		if err != nil {
			return none, err
		}
		if err := tx.SignedIn(c.Session.User, c.Address); err != nil {
			return none, err
		}
		return none, tx.ProveSession(c.Session.Session)
	})

// checkOwn checks the password of the caller.
func checkOwn(ctx context.Context, c *kernel.Call, given string) (cr store.Credentials, right bool, err error) {
	if err := c.View(func(v *store.View) (err error) {
		cr, err = v.UserCredentials(c.Session.User, c.Address)
		return err
	}); err != nil {
		return cr, false, err
	}
	right, err = c.CheckPassword(ctx, given, cr.Password)
	return cr, right, err
}

// SelectShop sets the shop that the session of the caller looks at.
var SelectShop = kernel.Write(sessions.only(kernel.Callers{Account: true, Enrolling: true}, "selectShop", "Select a shop", "", store.NotFound),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (kernel.None, error) {
		return kernel.None{}, tx.SelectShop(c.Session, c.Param("id"))
	})

// SignInAs begins a session of a person without a password. A fixture offers it.
var SignInAs = kernel.Write(sessions.only(kernel.Callers{System: true}, "signInAs", "Begin a session of a person", "", store.NotFound),
	wire.Create, func(tx *store.Tx, c *kernel.Call, _ struct{}) (CreatedSession, error) {
		user, err := tx.UserKey(c.Param("id"))
		if err != nil {
			return CreatedSession{}, err
		}
		return begin(tx, c, store.NewSession{User: user})
	})
