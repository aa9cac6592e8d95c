package seed

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"punchcard/server/servertest/require"
	"punchcard/store"
)

// fixedClock is a clock that stands still where it is set.
type fixedClock struct{ now time.Time }

func (c *fixedClock) Now() time.Time  { return c.now }
func (c *fixedClock) Set(t time.Time) { c.now = t }

// seedStart is the start for seeds that have none.
var seedStart = time.Date(2026, 5, 18, 17, 30, 0, 0, time.UTC)

// emptyStore returns an empty store whose time and secrets are the same in each run.
func emptyStore(t testing.TB, start time.Time) (*store.Store, *fixedClock) {
	t.Helper()
	clock := &fixedClock{start}
	st := require.Must(store.Open(filepath.Join(t.TempDir(), "seed.db"), store.Options{
		Now: clock.Now, Rand: rand.NewChaCha8([32]byte{1}), IDSecret: IDSecret, Ephemeral: true, Limits: store.DefaultLimits(),
		PublicURL: "http://localhost"}))
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
	})
	return st, clock
}

// startOf returns the start for a seed.
func startOf(s *File) time.Time {
	if s.Now.IsZero() {
		return seedStart
	}
	return s.Now
}

// apply applies a seed to an empty store.
func apply(t testing.TB, s *File) (*store.Store, *Ready) {
	t.Helper()
	st, clock := emptyStore(t, startOf(s))
	ready := require.Must(s.Apply(st, clock))
	if !clock.now.Equal(startOf(s)) {
		t.Errorf("the clock stands at %s after the seed, which starts at %s", clock.now, startOf(s))
	}
	return st, ready
}

// check checks that the store finds nothing wrong in itself.
func check(t *testing.T, st *store.Store) {
	t.Helper()
	if findings, err := st.Check(); err != nil || len(findings) > 0 {
		t.Errorf("check: %q, %v", findings, err)
	}
}

// view reads from a store.
func view(t testing.TB, st *store.Store, do func(*store.View) error) {
	t.Helper()
	require.NoError(t, st.View(0, do))
}

// replaced returns the valid seed with a text replaced by another.
func replaced(t *testing.T, before, after string) string {
	t.Helper()
	text := strings.Replace(validSeed, before, after, 1)
	if text == validSeed {
		t.Errorf("%s is not in the valid seed", before)
	}
	return text
}

// dump returns the content of a store, one line for each object: shops, their locations, programs,
// webhooks, cards with their ledgers, keys, devices and the audit log.
func dump(t testing.TB, st *store.Store) string {
	t.Helper()
	var b strings.Builder
	view(t, st, func(v *store.View) error {
		shops, err := v.Shops()
		for _, shop := range shops {
			fmt.Fprintf(&b, "shop %+v\n", shop)
			err = errors.Join(err, dumpShop(&b, st, v, shop))
		}
		return err
	})
	return b.String()
}

func dumpShop(b *strings.Builder, st *store.Store, v *store.View, shop store.Shop) error {
	key, _ := st.Key(store.KindShop, shop.ID)
	a := store.Access{Shop: key}
	line := func(what string, x any) { fmt.Fprintf(b, "%s %+v\n", what, x) }
	locations, err := all(func(q store.PageQuery) (store.Page[store.Location], error) { return v.Locations(a, q) })
	if err != nil {
		return err
	}
	for _, l := range slices.Backward(locations) {
		line("location", l)
	}
	programs, err := all(func(q store.PageQuery) (store.Page[store.Program], error) {
		return v.Programs(a, store.ProgramFilter{PageQuery: q})
	})
	if err != nil {
		return err
	}
	for _, p := range slices.Backward(programs) {
		d, err := v.Program(a, p.ID)
		if err != nil {
			return err
		}
		line("program", d)
		hooks, err := v.Webhooks(a, p.ID)
		if err != nil {
			return err
		}
		for _, h := range hooks {
			line("webhook", h)
		}
	}
	cards, err := all(func(q store.PageQuery) (store.Page[store.Card], error) {
		return v.Cards(a, store.CardFilter{PageQuery: q})
	})
	if err != nil {
		return err
	}
	for _, c := range slices.Backward(cards) {
		line("card", c)
		ledger, err := ledgerOf(v, a, c.ID)
		if err != nil {
			return err
		}
		for _, x := range ledger {
			line("  transaction", x)
		}
	}
	keys, err := v.KeyInfos(key)
	if err != nil {
		return err
	}
	for _, k := range keys {
		line("key", k)
	}
	devices, err := v.Devices(key)
	if err != nil {
		return err
	}
	for _, d := range devices {
		line("device", d)
	}
	audit, err := all(func(q store.PageQuery) (store.Page[store.AuditRow], error) { return v.AuditLog(key, q) })
	for _, r := range audit {
		line("audit", r)
	}
	return err
}

// ledgerOf returns a card's transactions, oldest first.
func ledgerOf(v *store.View, a store.Access, card string) ([]store.Transaction, error) {
	list, err := all(func(q store.PageQuery) (store.Page[store.Transaction], error) {
		return v.Transactions(a, store.TransactionFilter{PageQuery: q, CardID: store.Given(card)})
	})
	slices.Reverse(list)
	return list, err
}
