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
	KnownBrowser
}

// KnownBrowser makes the browser of the caller one that is known; see
// [store.Tx.KnowBrowser].
type KnownBrowser struct {
	BrowserCookie string `json:"browser_cookie" doc:"Of the browser. Empty where the session is pending, or none was begun."`
}

// NewBrowserCookie returns the cookie that the browser is to have, empty for none.
func (k KnownBrowser) NewBrowserCookie() string { return k.BrowserCookie }

// know makes the browser of the caller one that is known.
func know(tx *store.Tx, c *kernel.Call, user int64) (k KnownBrowser, err error) {
	k.BrowserCookie, err = tx.KnowBrowser(user, c.BrowserCookie)
	return k, err
}

// WithoutSecret returns the session as it may be stored.
func (s CreatedSession) WithoutSecret() any { return &CreatedSession{Session: s.Session} }

// begin begins a session for the caller of an operation. Unless it is pending, the caller's
// browser is then known.
func begin(tx *store.Tx, c *kernel.Call, n store.NewSession) (s CreatedSession, err error) {
	n.Address, n.Agent = c.Address, c.Agent
	if s.Session, s.Token, err = tx.BeginSession(n); err == nil && !n.Pending {
		s.KnownBrowser, err = know(tx, c, n.User)
	}
	return s, err
}

// SignInFields are the fields of SignIn.
type SignInFields struct {
	Email    store.Opt[string] `json:"email" req:"true" min:"1" max:"254"`
	Password store.Opt[string] `json:"password" req:"true" min:"1" max:"256"`
}

// SignIn begins a session of a person. An unknown email is refused like a wrong
// password, and takes as long.
var SignIn = declare(kernel.Operation{
	ID:      "signIn",
	Group:   sessions,
	Title:   "Sign in",
	Doc:     "Where the account has a second factor, the session is `pending` and admits to `confirmSignIn` alone.",
	Callers: visitor,
	Codes:   codes{store.InvalidCredentials, store.RateLimited},
	Prepare: kernel.Prepare(func(ctx context.Context, c *kernel.Call, f SignInFields) (kernel.Prepared[CreatedSession], error) {
		credentials, right, err := checkPassword(ctx, c, f.Password.V, func(v *store.View) (store.Credentials, error) {
			return v.SignInCredentials(f.Email.V, c.Browser())
		})
		return func(tx *store.Tx) (s CreatedSession, err error) {
			pending, err := tx.CheckPassword(credentials, right)
			if err != nil {
				return s, err
			}
			if !pending {
				if err := tx.SignedIn(credentials.User, c.Browser()); err != nil {
					return s, err
				}
			}
			return begin(tx, c, store.NewSession{User: credentials.User, Pending: pending})
		}, err
	}),
})

// CodeFields are the fields of operations that take a code of the second factor.
type CodeFields struct {
	TOTP store.Opt[string] `json:"totp" req:"true" min:"1" max:"40" doc:"Six digits, or a recovery code."`
}

// ConfirmSignIn replaces a pending session by one that admits to everything.
var ConfirmSignIn = declare(kernel.Operation{
	ID:      "confirmSignIn",
	Group:   sessions,
	Title:   "Give the second factor",
	Doc:     "The pending session ends.",
	Callers: kernel.Callers{Pending: true},
	Codes:   codes{store.TOTPInvalid, store.RateLimited},
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f CodeFields) (s CreatedSession, err error) {
		if err := tx.CheckCode(c.Session.User, c.Browser(), f.TOTP.V); err != nil {
			return s, err
		}
		if err := tx.SignedIn(c.Session.User, c.Browser()); err != nil {
			return s, err
		}
		if err := tx.DropSession(c.Session.Session); err != nil {
			return s, err
		}
		return begin(tx, c, store.NewSession{User: c.Session.User})
	}),
})

// SignOut ends the session of the caller.
var SignOut = declare(kernel.Operation{
	ID:      "signOut",
	Group:   sessions,
	Title:   "Sign out",
	Callers: kernel.Callers{Account: true, Enrolling: true, Pending: true},
	Write: silent(func(tx *store.Tx, c *kernel.Call, _ struct{}) error {
		return tx.EndSession(c.Session.User, c.Session.SessionID)
	}),
})

// EndedSessions is the answer of operations that end several sessions.
type EndedSessions struct {
	Ended int64 `json:"ended"`
}

// SignOutEverywhere ends all sessions of the caller.
var SignOutEverywhere = declare(kernel.Operation{
	ID:      "signOutEverywhere",
	Group:   sessions,
	Title:   "Sign out everywhere",
	Callers: account,
	Write: kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (EndedSessions, error) {
		n, err := tx.SignOutEverywhere(c.Session.User)
		return EndedSessions{n}, err
	}),
})

// ListSessions lists the sessions of the caller, newest first.
var ListSessions = declare(kernel.Operation{
	ID:      "listSessions",
	Group:   sessions,
	Title:   "List the sessions",
	Callers: account,
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (List[store.Session], error) {
		return list(v.Sessions(c.Session.User))
	}),
})

// EndSession ends a session of the caller.
var EndSession = declare(kernel.Operation{
	ID:      "endSession",
	Group:   sessions,
	Title:   "End a session",
	Callers: account,
	Codes:   notFound,
	Write: silent(func(tx *store.Tx, c *kernel.Call, _ struct{}) error {
		return tx.EndSession(c.Session.User, c.Param("id"))
	}),
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
var Prove = declare(kernel.Operation{
	ID:      "prove",
	Group:   sessions,
	Title:   "Give the password or a code again",
	Doc:     "It counts for 15 minutes.",
	Callers: kernel.Callers{Account: true, Enrolling: true},
	Codes:   codes{store.InvalidCredentials, store.TOTPInvalid, store.RateLimited},
	Prepare: kernel.Prepare(func(ctx context.Context, c *kernel.Call, f ProofFields) (kernel.Prepared[kernel.None], error) {
		var credentials store.Credentials
		var right bool
		var err error
		if f.Password.Set {
			credentials, right, err = checkOwn(ctx, c, f.Password.V)
		}
		return func(tx *store.Tx) (none kernel.None, err error) {
			if f.Password.Set {
				_, err = tx.CheckPassword(credentials, right)
			} else {
				err = tx.CheckCode(c.Session.User, c.Browser(), f.TOTP.V)
			}
			if err != nil {
				return none, err
			}
			if err := tx.SignedIn(c.Session.User, c.Browser()); err != nil {
				return none, err
			}
			return none, tx.ProveSession(c.Session.Session)
		}, err
	}),
})

// checkOwn checks the password of the caller.
func checkOwn(ctx context.Context, c *kernel.Call, given string) (cr store.Credentials, right bool, err error) {
	return checkPassword(ctx, c, given, func(v *store.View) (store.Credentials, error) {
		return v.UserCredentials(c.Session.User, c.Browser())
	})
}

// checkPassword checks a password by the credentials that read returns.
func checkPassword(
	ctx context.Context, c *kernel.Call, given string, read func(*store.View) (store.Credentials, error),
) (cr store.Credentials, right bool, err error) {
	if cr, err = readBefore(c, read); err == nil {
		right, err = c.CheckPassword(ctx, given, cr.Password)
	}
	return cr, right, err
}

// SelectShop sets the shop that the session of the caller looks at.
var SelectShop = declare(kernel.Operation{
	ID:      "selectShop",
	Group:   sessions,
	Title:   "Select a shop",
	Callers: kernel.Callers{Account: true, Enrolling: true},
	Codes:   notFound,
	Write: silent(func(tx *store.Tx, c *kernel.Call, _ struct{}) error {
		return tx.SelectShop(c.Session, c.Param("id"))
	}),
})

// SignInAs begins a session of a person without a password. A fixture offers it.
var SignInAs = declare(kernel.Operation{
	ID:      "signInAs",
	Group:   sessions,
	Title:   "Begin a session of a person",
	Callers: kernel.Callers{System: true},
	Codes:   notFound,
	Write: kernel.WritePlain(func(tx *store.Tx, c *kernel.Call) (CreatedSession, error) {
		user, err := tx.UserKey(c.Param("id"))
		if err != nil {
			return CreatedSession{}, err
		}
		return begin(tx, c, store.NewSession{User: user})
	}),
})
