package operation

import (
	"cmp"
	"context"
	"encoding/pem"
	"errors"

	"punchcard/server/kernel"
	"punchcard/server/wallet/apple"
	"punchcard/server/wire"
	"punchcard/store"
)

// AppleRequest is the answer of RequestAppleCertificate.
type AppleRequest struct {
	Request     string     `json:"request" doc:"A certificate request (PKCS #10) in PEM, which Apple makes a certificate of."`
	RequestedAt store.Time `json:"requested_at"`
}

// RequestAppleCertificate makes a key and a certificate request for Apple Wallet.
var RequestAppleCertificate = declare(kernel.Operation{
	ID:      "requestAppleCertificate",
	Group:   wallets,
	Title:   "Request a certificate for Apple Wallet",
	Doc:     "Answers the request that waits for its certificate, if there is one. A certificate in use stays in use.",
	Callers: owner,
	Codes:   unprocessable,
	Proof:   true,
	Prepare: kernel.Prepare(func(ctx context.Context, c *kernel.Call, _ struct{}) (func(*store.Tx) (AppleRequest, error), error) {
		w, err := setUp(c, (*store.View).AppleWallet)
		if err == nil && w.Request.At == 0 {
			w.Request.Key, w.Request.DER, err = apple.NewRequest()
		}
		return func(tx *store.Tx) (AppleRequest, error) {
			r, err := tx.RequestAppleCertificate(c.Access.Shop, w.Request)
			return AppleRequest{string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: r.DER})), r.At}, err
		}, err
	}),
})

// AppleCertificateFields are the fields of SetAppleCertificate.
type AppleCertificateFields struct {
	File     store.Opt[[]byte] `json:"file" req:"true" max:"1048576" doc:"The .cer file that Apple has made, or a .p12 file that has the key too."`
	Password store.Opt[string] `json:"password" max:"256" doc:"Of a .p12 file."`
}

// SetAppleCertificate sets the certificate by which passes for Apple Wallet are signed.
var SetAppleCertificate = declare(kernel.Operation{
	ID:      "setAppleCertificate",
	Group:   wallets,
	Title:   "Set the certificate for Apple Wallet",
	Doc:     "Replaces the one in use, which must be for the same pass type. The request that it was made of ends.",
	Callers: owner,
	Codes:   unprocessable,
	Proof:   true,
	Prepare: kernel.Prepare(
		func(ctx context.Context, c *kernel.Call, f AppleCertificateFields) (func(*store.Tx) (store.AppleStatus, error), error) {
			w, err := checkApple(ctx, c, f)
			return func(tx *store.Tx) (store.AppleStatus, error) { return tx.SetAppleCertificate(c.Access.Shop, w) }, err
		},
	),
})

// setUp returns what read returns for the caller's shop, whose set-up is to be changed. It refuses a shop whose public URL phones
// cannot open, since a phone keeps the URL of its pass for ever.
func setUp[W any](c *kernel.Call, read func(*store.View, int64) W) (W, error) {
	return readBefore(c, func(v *store.View) (w W, err error) {
		if !c.PhonesOpen(v.PublicURLOf(c.Access.Shop)) {
			return w, kernel.Refuse(store.Unprocessable, "Phones keep the public URL for ever, and they cannot open that of this shop: it "+
				"needs https and a name on the internet. Set --public-url of the server or of the shop first.")
		}
		return read(v, c.Access.Shop), nil
	})
}

// checkApple returns the certificate in a file with its key: that of a .p12 file, or that of the request that waits or of the
// certificate in use.
func checkApple(ctx context.Context, c *kernel.Call, f AppleCertificateFields) (w store.AppleWallet, err error) {
	old, err := setUp(c, (*store.View).AppleWallet)
	if err != nil {
		return w, err
	}
	refused := func(field string, reason error) error {
		return store.InvalidField(field, wire.CodeInvalidValue, reason.Error())
	}
	file, keys := f.File.V, [][]byte{old.Request.Key, old.Key}
	switch {
	case apple.IsP12(file):
		keys = make([][]byte, 1)
		keys[0], file, err = apple.OpenP12(ctx, file, f.Password.V)
		switch {
		case errors.Is(err, apple.ErrPassword):
			return w, refused("password", err)
		case err != nil && ctx.Err() != nil:
			return w, err
		case err != nil:
			return w, refused("file", err)
		}
	case old.Request.At == 0 && !old.IsSet():
		return w, kernel.Refuse(store.Unprocessable,
			"There is no certificate request. Make one first, and give the certificate that Apple makes of it.")
	}
	made, err := apple.Check(file, c.Now().Std(), cmp.Or(c.PassIssuer(), apple.WWDR()), keys...)
	if err != nil {
		return w, refused("file", err)
	}
	return store.AppleWallet{
		PassType:     made.PassType,
		Team:         made.Team,
		Organization: made.Organization,
		Certificate:  made.Raw,
		Key:          made.Key,
		NotAfter:     store.TimeOf(made.NotAfter),
	}, nil
}

// GetAppleWallet returns how far the shop has set up Apple Wallet.
var GetAppleWallet = declare(kernel.Operation{
	ID:      "getAppleWallet",
	Group:   wallets,
	Title:   "Read the state of Apple Wallet",
	Callers: owner,
	Read:    ofCaller((*store.View).AppleStatus),
})

// RemoveAppleWallet removes the certificate and the request that waits, with their keys.
var RemoveAppleWallet = declare(kernel.Operation{
	ID:      "removeAppleWallet",
	Group:   wallets,
	Title:   "Switch Apple Wallet off",
	Doc:     "Removes the certificate and the request that waits, with their keys. Passes on phones stay as they are.",
	Callers: owner,
	Proof:   true,
	Write:   withFields((*store.Tx).RemoveAppleWallet),
})
