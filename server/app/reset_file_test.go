package app_test

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"punchcard/server/app"
	"punchcard/store"
)

// TestResetBesideCommands checks that commands which write to the fixture's file during a reset always
// find a complete file, and that their earlier writes are gone after it.
func TestResetBesideCommands(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kept.db")
	a := startFixture(t, func(c *app.Config) { c.DB = file })
	ready := *a.Ready
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				st, err := store.Open(file, store.Options{})
				if err != nil {
					t.Errorf("a command cannot open the file: %v", err)
					return
				}
				err = st.Write(context.Background(), store.Write{Actor: store.Actor{Type: "system"}, Do: func(tx *store.Tx) error {
					_, _, err := tx.CreateShop(store.ShopFields{Name: store.Opt[string]{V: "Second", Set: true}})
					return err
				}})
				if err != nil {
					t.Errorf("a command cannot write: %v", err)
				}
				if err := st.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 25 {
		if err := a.Reset(); err != nil {
			t.Error(err)
		}
		if status, body := call(t, "GET", ready.BaseURL+"/me", ready.APIKey, ""); status != 200 {
			t.Errorf("after a reset: %d %s", status, body)
		}
	}
	close(stop)
	wg.Wait()
	if err := a.Reset(); err != nil {
		t.Fatal(err)
	}
	var shops []store.Shop
	if err := a.Store.View(0, func(v *store.View) (err error) {
		shops, err = v.Shops()
		return err
	}); err != nil || len(shops) != 1 {
		t.Errorf("after the last reset there are %d shops (%v)", len(shops), err)
	}
}
