package operation

import (
	"crypto/subtle"
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

// certificateEnd returns a refusal if the certificate of a pass has ended.
func certificateEnd(p store.Pass, c *kernel.Call) error {
	if p.Wallet.Ended(c.Now()) {
		return errCertificateEnded
	}
	return nil
}

// DownloadPass returns the pass of a card for Apple Wallet.
var DownloadPass = declare(kernel.Operation{
	ID:      "downloadPass",
	Group:   holderPage,
	Title:   "Add a card to Apple Wallet",
	Callers: holder,
	Codes:   codes{store.NotFound, store.Gone, store.Unavailable},
	Read:    kernel.Read(func(v *store.View, c *kernel.Call, _ struct{}) (store.Pass, error) { return downloaded(v, c) }),
	WriteBefore: kernel.WriteBefore(func(c *kernel.Call, _ struct{}) (func(*store.Tx) error, error) {
		p, err := viewPass(c, downloaded)
		if err != nil {
			return nil, err
		}
		hash := wallet.AppleHash(&p)
		if p.Downloaded && !p.NeedsRefresh(hash) {
			return nil, nil
		}
		return func(tx *store.Tx) error { return tx.DownloadedPass(p, hash) }, nil
	}),
})

// downloaded reads the pass of a card's page.
func downloaded(v *store.View, c *kernel.Call) (store.Pass, error) {
	p, err := v.PassOfPage(c.Param("token"))
	switch {
	case err != nil:
		return p, err
	case p.Wallet.Certificate == nil:
		return p, errNoWallet
	}
	return p, certificateEnd(p, c)
}

// ReadPass returns a pass as it is now to a phone that has it.
var ReadPass = declare(kernel.Operation{
	ID:      "readPass",
	Group:   holderPage,
	Title:   "Read a pass again",
	Callers: holder,
	Codes:   codes{store.InvalidCredentials, store.Unavailable},
	Read:    kernel.Read(func(v *store.View, c *kernel.Call, _ struct{}) (store.Pass, error) { return heldPass(v, c) }),
	WriteBefore: kernel.WriteBefore(func(c *kernel.Call, _ struct{}) (func(*store.Tx) error, error) {
		p, err := viewPass(c, heldPass)
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
	}),
})

// heldPass reads the pass that a phone presents.
func heldPass(v *store.View, c *kernel.Call) (store.Pass, error) {
	p, err := v.PassBySerial(c.Param("serial"), c.Param("token"))
	if err == nil && subtle.ConstantTimeCompare([]byte(p.Wallet.PassType), []byte(c.Param("type"))) == 0 {
		err = store.ErrNoPass
	}
	if err == nil {
		err = certificateEnd(p, c)
	}
	return p, err
}

// viewPass reads a pass before a write.
func viewPass(c *kernel.Call, read func(*store.View, *kernel.Call) (store.Pass, error)) (p store.Pass, err error) {
	err = c.View(func(v *store.View) (err error) {
		p, err = read(v, c)
		return err
	})
	return p, err
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
	Read: kernel.Read(func(v *store.View, c *kernel.Call, _ struct{}) (store.ChangedPasses, error) {
		return v.PassesOfDevice(c.Param("device"), c.Param("type"), c.Param("since"))
	}),
	WriteBefore: kernel.WriteBefore(func(c *kernel.Call, _ struct{}) (write func(*store.Tx) error, err error) {
		err = c.View(func(v *store.View) error {
			ended, err := v.HasEndedPasses(c.Param("device"))
			if ended {
				write = func(tx *store.Tx) error { return tx.ListedPasses(c.Param("device")) }
			}
			return err
		})
		return write, err
	}),
})
