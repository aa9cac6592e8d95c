package seed

import (
	"testing"

	"punchcard/server/servertest/require"
	"punchcard/store"
)

// TestDemoWallets checks that the demo shop of a file from a version without wallets gets both, and that of another file keeps the one
// that it has.
func TestDemoWallets(t *testing.T) {
	st, _ := emptyStore(t, seedStart)
	wallets := func() (apple, google bool) {
		t.Helper()
		ready := require.Must(Demo(st, "http://localhost"))
		view(t, st, func(v *store.View) error {
			apple, google = v.AppleWallet(ready.Shop()).IsSet(), v.GoogleWallet(ready.Shop()).IsSet()
			return nil
		})
		return apple, google
	}
	if apple, google := wallets(); !apple || !google {
		t.Errorf("a new file has Apple: %t, Google: %t", apple, google)
	}
	ready := require.Must(readyLine(st))
	require.NoError(t, write(st, func(tx *store.Tx) error {
		_, err := tx.RemoveAppleWallet(ready.Shop(), store.RemoveFields{})
		return err
	}))
	if apple, google := wallets(); apple || !google {
		t.Errorf("without Apple it has Apple: %t, Google: %t", apple, google)
	}
	require.NoError(t, write(st, func(tx *store.Tx) error {
		_, err := tx.RemoveGoogleWallet(ready.Shop(), store.RemoveFields{})
		return err
	}))
	if apple, google := wallets(); !apple || !google {
		t.Errorf("an older file has Apple: %t, Google: %t", apple, google)
	}
}
