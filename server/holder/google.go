package holder

import (
	"io"
	"net/http"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/wallet"
	"punchcard/store"
)

// maxCallback is the maximum size of a callback of Google Wallet, in bytes.
const maxCallback = 64 << 10

// addToGoogle makes the card at Google Wallet, and answers with the link that adds it to the phone.
func addToGoogle(v *visit) error {
	a, err := do[store.GoogleAddition](v, operation.AddToGoogleWallet, nil)
	if err == nil && !a.Made && v.Pushes != nil {
		v.Pushes.SendNow(a.Push)
		a, err = do[store.GoogleAddition](v, operation.AddToGoogleWallet, nil)
	}
	switch {
	case err != nil:
		return err
	case !a.Made:
		return kernel.Refuse(store.Unavailable, "Google Wallet cannot be reached now. Try again in a few minutes.")
	}
	link, err := wallet.GoogleLink(a)
	if err != nil {
		return err
	}
	v.w.Header().Set("Cache-Control", "no-store")
	return v.redirect(link)
}

// googleCallback notes what a holder did with a card at Google Wallet.
func googleCallback(v *visit) error {
	body, err := io.ReadAll(http.MaxBytesReader(v.w, v.r.Body, maxCallback))
	if err != nil {
		return store.InvalidField("body", "too_long", "must have at most 65536 bytes")
	}
	in := kernel.Args{Fields: operation.GoogleCallback{Body: store.Opt[[]byte]{V: body, Set: len(body) > 0}}}
	if _, err := run[kernel.None](v, operation.NoteGoogleCallback, in); err != nil {
		return err
	}
	v.w.WriteHeader(http.StatusOK)
	return nil
}
