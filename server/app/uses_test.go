package app_test

import (
	"context"
	"path/filepath"
	"testing"

	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/servertest"
	"punchcard/store"
)

// TestLastUses checks that a server which is stopped has written when its keys and tills
// made their last requests.
func TestLastUses(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "test.db")
	s := servertest.Start(t, servertest.Frozen, func(c *app.Config) { c.DB = db })
	s.NewKey(servertest.Fields{"name": "unused"})
	device := s.NewDevice(s.LocationIDs[0])
	s.Get("/me").Want(200)
	s.Advance("1h")
	s.Get("/me").Want(200)
	device.Get("/me").Want(200)
	now := s.App.Store.Now()
	s.Stop()

	st, err := store.Open(db, store.Options{MustExist: true})
	noError(t, err)
	defer st.Close()
	k := kernel.New(st, kernel.Config{})
	shop := kernel.OperatorCaller("test", s.Row(store.KindShop, s.ShopID))
	keys, err := kernel.Do[operation.List[store.KeyInfo]](context.Background(), k, shop, operation.ListKeyInfos, kernel.Args{})
	noError(t, err)
	for _, key := range keys.Data {
		if want := key.Name == "Demo key"; key.LastUsedAt.Valid != want || want && key.LastUsedAt.V != now {
			t.Errorf("the key %q was last used at %v", key.Name, key.LastUsedAt)
		}
	}
	devices, err := kernel.Do[operation.List[store.Device]](context.Background(), k, shop, operation.ListDevices, kernel.Args{})
	noError(t, err)
	for i, d := range devices.Data {
		if want := i == 0; d.LastUsedAt.Valid != want || want && d.LastUsedAt.V != now { // the newest is first
			t.Errorf("the till %q was last used at %v", d.Name, d.LastUsedAt)
		}
	}
}

// TestLastUsesSettled checks that a fixture that has settled has written them too.
func TestLastUsesSettled(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Frozen)
	s.NewDevice(s.LocationIDs[0]).Get("/me").Want(200)
	s.Control("POST", "/settle", nil)
	if n := s.Value("SELECT count(*) FROM devices WHERE last_used_at IS NOT NULL"); n != "1" {
		t.Errorf("%s tills were used", n)
	}
}
