package seed

import (
	"errors"
	"testing"

	"punchcard/store"
)

// TestDemoWallets checks that the demo shop of a file from a version without wallets gets both, and that of another file keeps the one
// that it has.
func TestDemoWallets(t *testing.T) {
	st, _ := emptyStore(t, seedStart)
	wallets := func() (apple, google bool) {
		t.Helper()
		ready := must(Demo(st, "http://localhost"))
		noError(t, st.View(0, func(v *store.View) error {
			a, err1 := v.AppleWallet(ready.Shop())
			g, err2 := v.GoogleWallet(ready.Shop())
			apple, google = a.IsSet(), g.IsSet()
			return errors.Join(err1, err2)
		}))
		return apple, google
	}
	if apple, google := wallets(); !apple || !google {
		t.Errorf("a new file has Apple: %t, Google: %t", apple, google)
	}
	ready := must(readyLine(st))
	noError(t, write(st, func(tx *store.Tx) error {
		_, err := tx.RemoveAppleWallet(ready.Shop(), store.RemoveFields{})
		return err
	}))
	if apple, google := wallets(); apple || !google {
		t.Errorf("without Apple it has Apple: %t, Google: %t", apple, google)
	}
	noError(t, write(st, func(tx *store.Tx) error {
		_, err := tx.RemoveGoogleWallet(ready.Shop(), store.RemoveFields{})
		return err
	}))
	if apple, google := wallets(); !apple || !google {
		t.Errorf("an older file has Apple: %t, Google: %t", apple, google)
	}
}
