package operation

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"punchcard/server/kernel"
	"punchcard/server/wallet/google"
	"punchcard/server/wire"
	"punchcard/store"
)

// GoogleFields are the fields of SetGoogleWallet.
type GoogleFields struct {
	Account    store.Opt[[]byte] `json:"account" max:"16384" doc:"The JSON file of a key of the service account. Default: the one in use."`
	IssuerID   store.Opt[string] `json:"issuer_id" req:"true" max:"20" pattern:"^[0-9]{10,20}$" words:"must be the number of the issuer, such as 3388000000012345678" doc:"The number of the issuer in the Google Pay & Wallet Console."`
	Publishing store.Opt[bool]   `json:"publishing" doc:"Google has granted publishing access to the issuer. Until then only its testers can add cards."`
}

// SetGoogleWallet sets the account that makes cards at Google Wallet.
var SetGoogleWallet = declare(kernel.Operation{
	ID:      "setGoogleWallet",
	Group:   wallets,
	Title:   "Set the account for Google Wallet",
	Doc:     "Is checked by making the class of a published program at Google. Cards that Google knows are brought up to date.",
	Callers: owner,
	Codes:   unprocessable,
	Proof:   true,
	Prepare: kernel.Prepare(func(ctx context.Context, c *kernel.Call, f GoogleFields) (func(*store.Tx) (store.GoogleStatus, error), error) {
		w, err := checkGoogle(ctx, c, f)
		return func(tx *store.Tx) (store.GoogleStatus, error) { return tx.SetGoogleWallet(c.Access.Shop, w) }, err
	}),
})

// checkGoogle returns what a shop sets up, after a trial at Google.
func checkGoogle(ctx context.Context, c *kernel.Call, f GoogleFields) (w store.GoogleWallet, err error) {
	if w, err = setUp(c, (*store.View).GoogleWallet); err != nil {
		return w, err
	}
	w.Issuer, w.Publishing = f.IssuerID.V, f.Publishing.V
	if f.Account.Set {
		w.Account = f.Account.V
	}
	if !w.IsSet() {
		return w, store.InvalidField("account", wire.CodeRequired, "is required")
	}
	account, err := google.ParseAccount(w.Account)
	switch {
	case err != nil:
		return w, store.InvalidField("account", wire.CodeInvalidValue, err.Error())
	case c.Google() == nil:
		return w, kernel.Refuse(store.Unprocessable, "This server sends nothing (--webhook-hold), so it cannot ask Google.")
	}
	w.Email = account.Email
	sample, err := readBefore(c, func(v *store.View) (store.Pass, error) { return v.GoogleSample(c.Access.Shop) })
	if err != nil {
		return w, err
	}
	return w, googleFault(c.Google().Check(ctx, w, &sample))
}

// googleFault returns the refusal of what Google has answered to a trial.
func googleFault(err error) error {
	e, answered := errors.AsType[*google.Error](err)
	switch {
	case err == nil:
		return nil
	case !answered, e.Status >= http.StatusInternalServerError, e.Status == http.StatusTooManyRequests:
		return kernel.Refuse(store.Unprocessable, "Google cannot be reached or does not answer now. Try again in a few minutes.")
	case e.Token, e.Status == http.StatusUnauthorized:
		return store.InvalidField("account", wire.CodeInvalidValue,
			"is refused by Google: make a new key of the service account, and give its file")
	case e.Reason == "accessNotConfigured", e.Reason == "SERVICE_DISABLED":
		return kernel.Refuse(store.Unprocessable, "The Google Wallet API is not enabled in the project of the service account. Enable it "+
			"in the Google Cloud Console first.")
	case e.Status == http.StatusForbidden, e.Status == http.StatusNotFound:
		return store.InvalidField("issuer_id", wire.CodeInvalidValue,
			"is no issuer that this service account may use: add its email address to the users in the Google Pay & Wallet Console")
	}
	return kernel.Refuse(store.Unprocessable, "Google refuses the program: "+cmp.Or(e.Message, e.Reason)+".")
}

// GetGoogleWallet returns how far the shop has set up Google Wallet.
var GetGoogleWallet = declare(kernel.Operation{
	ID:      "getGoogleWallet",
	Group:   wallets,
	Title:   "Read the state of Google Wallet",
	Callers: owner,
	Read:    ofCaller((*store.View).GoogleStatus),
})

// RemoveGoogleWallet removes the account with its key.
var RemoveGoogleWallet = declare(kernel.Operation{
	ID:      "removeGoogleWallet",
	Group:   wallets,
	Title:   "Switch Google Wallet off",
	Doc:     "Removes the account with its key. Cards on phones stay as they are, with the names on them, until it is set up again.",
	Callers: owner,
	Proof:   true,
	Write:   withFields((*store.Tx).RemoveGoogleWallet),
})

// AddToGoogleWallet makes the card of a page at Google Wallet, unless Google knows it.
var AddToGoogleWallet = declare(kernel.Operation{
	ID:          "addToGoogleWallet",
	Group:       holderPage,
	Title:       "Add a card to Google Wallet",
	Callers:     holder,
	Codes:       notFoundOrGone,
	Read:        byParam("token", (*store.View).GoogleAddition),
	WriteBefore: writingByParam("token", (*store.View).MissingGoogleObject),
})

// GoogleCallback is the body of a callback of Google Wallet.
type GoogleCallback struct {
	Body store.Opt[[]byte] `json:"body" req:"true" max:"65536"`
}

// NoteGoogleCallback counts the phones that have a card.
var NoteGoogleCallback = declare(kernel.Operation{
	ID:      "noteGoogleCallback",
	Group:   holderPage,
	Title:   "Note what a holder did with a card at Google Wallet",
	Callers: holder,
	Codes:   codes{store.InvalidCredentials, store.Unavailable},
	Prepare: kernel.Prepare(func(ctx context.Context, c *kernel.Call, f GoogleCallback) (func(*store.Tx) (kernel.None, error), error) {
		if c.Google() == nil {
			return nil, errNoKeys
		}
		event, err := c.Google().Verify(ctx, f.Body.V)
		switch {
		case errors.Is(err, google.ErrKeys):
			return nil, errNoKeys
		case err != nil:
			return nil, kernel.Refuse(store.InvalidCredentials, "This is no callback that Google has signed for an issuer of this server.")
		}
		return func(tx *store.Tx) (kernel.None, error) { return kernel.None{}, tx.NoteGoogleEvent(event) }, nil
	}),
})

// errNoKeys refuses a callback that cannot be verified now. Google sends it again.
var errNoKeys = kernel.Refuse(store.Unavailable, "The keys of Google cannot be fetched, so the callback cannot be verified now.")
