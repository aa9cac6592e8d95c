package operation

import (
	"time"

	"punchcard/server/kernel"
	"punchcard/server/wallet"
	"punchcard/store"
)

// The operations below are those of phones with Apple Wallet. They take the parameters type, serial, token and
// device, but for DownloadPass, whose token is that of a card's page.

// errNoWallet refuses the passes of a shop that has not set up Apple Wallet.
var errNoWallet = kernel.Refuse(store.NotFound, "The shop has no passes for Apple Wallet.")

// errCertificateEnded refuses passes that no phone would accept. A phone asks again later.
var errCertificateEnded = &store.Error{
	Code:       store.Unavailable,
	Message:    "The shop cannot make passes for Apple Wallet at present: its certificate has ended.",
	RetryAfter: time.Hour,
}

// DownloadPass returns the pass of a card for Apple Wallet.
var DownloadPass = declare(passReader(kernel.Operation{
	ID:    "downloadPass",
	Title: "Add a card to Apple Wallet",
	Codes: codes{store.NotFound, store.Gone, store.Unavailable},
}, func(v *store.View, c *kernel.Call) (store.Pass, error) {
	p, err := v.PassOfPage(c.Param("token"))
	if err == nil && !p.Wallet.IsSet() {
		err = errNoWallet
	}
	return p, err
}))

// ReadPass returns a pass as it is now to a phone that has it.
var ReadPass = declare(passReader(kernel.Operation{
	ID:    "readPass",
	Title: "Read a pass again",
	Codes: codes{store.InvalidCredentials, store.Unavailable},
}, func(v *store.View, c *kernel.Call) (store.Pass, error) {
	return v.PassBySerial(c.Param("type"), c.Param("serial"), c.Param("token"))
}))

// passReader returns an operation that reads a pass, and notes before what it shows now.
func passReader(op kernel.Operation, find func(*store.View, *kernel.Call) (store.Pass, error)) kernel.Operation {
	read := func(v *store.View, c *kernel.Call) (store.Pass, error) {
		p, err := find(v, c)
		if err == nil && p.Wallet.Ended(c.Now()) {
			err = errCertificateEnded
		}
		return p, err
	}
	op.Group, op.Callers, op.Read = holderPage, holder, kernel.ReadPlain(read)
	op.WriteBefore = writingBefore(func(v *store.View, c *kernel.Call) (func(*store.Tx) error, error) {
		p, err := read(v, c)
		if err != nil {
			return nil, err
		}
		hash := wallet.AppleHash(&p)
		if !p.NeedsRefresh(hash) {
			return nil, nil
		}
		return func(tx *store.Tx) error {
			_, err := tx.RefreshPass(p, hash)
			return err
		}, nil
	})
	return op
}

// Registered says whether a phone was not registered before.
type Registered struct {
	Created bool `json:"created"`
}

// RegisterDevice registers a phone for a pass: it is woken when the pass changes.
var RegisterDevice = declare(kernel.Operation{
	ID:      "registerDevice",
	Group:   holderPage,
	Title:   "Register a phone for a pass",
	Callers: holder,
	Codes:   codes{store.InvalidCredentials},
	Write: kernel.Write(func(tx *store.Tx, c *kernel.Call, f store.DeviceFields) (Registered, error) {
		created, err := tx.RegisterDevice(c.Param("device"), c.Param("type"), c.Param("serial"), c.Param("token"), f)
		return Registered{created}, err
	}),
})

// UnregisterDevice ends the registration of a phone for a pass.
var UnregisterDevice = declare(kernel.Operation{
	ID:      "unregisterDevice",
	Group:   holderPage,
	Title:   "End the registration of a phone for a pass",
	Callers: holder,
	Codes:   codes{store.InvalidCredentials},
	Write: silent(func(tx *store.Tx, c *kernel.Call, _ struct{}) error {
		return tx.UnregisterDevice(c.Param("device"), c.Param("type"), c.Param("serial"), c.Param("token"))
	}),
})

// ListChangedPasses returns the passes of a phone that have changed since an answer with LastUpdated, the parameter since.
var ListChangedPasses = declare(kernel.Operation{
	ID:      "listChangedPasses",
	Group:   holderPage,
	Title:   "List the passes of a phone that have changed",
	Callers: holder,
	Read: kernel.ReadPlain(func(v *store.View, c *kernel.Call) (store.ChangedPasses, error) {
		return v.PassesOfDevice(c.Param("device"), c.Param("type"), c.Param("since"))
	}),
	WriteBefore: writingByParam("device", (*store.View).EndedPassesOfDevice),
})
