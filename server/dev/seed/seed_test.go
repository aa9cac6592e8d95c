package seed

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
	"punchcard/store"
)

var update = flag.Bool("update", false, "write the golden files of the seeds and their schema")

var seedFolder = filepath.Join("..", "..", "..", "testdata", "seeds")

var seedNames = []string{"coffee-shop.json", "gym.json", "bakery.json"}

func readSeed(t testing.TB, name string) *File {
	t.Helper()
	return require.Must(Read(filepath.Join(seedFolder, name)))
}

// golden compares a text with a golden file, which it writes first with -update.
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, got, 0o644))
	}
	want := require.Must(os.ReadFile(path))
	if a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n"); !slices.Equal(a, b) {
		for i := range max(len(a), len(b)) {
			if i >= len(a) || i >= len(b) || a[i] != b[i] {
				t.Fatalf(
					"%s:%d differs (see -update):\n got  %.300s\n want %.300s",
					path,
					i+1,
					slices.Concat(a, []string{""})[min(i, len(a))],
					slices.Concat(b, []string{""})[min(i, len(b))],
				)
			}
		}
	}
}

// TestSeeds compares the result of each seed of testdata/seeds, card by card, with a golden file, and
// that of a second store with the same seed, object by object, with the first.
func TestSeeds(t *testing.T) {
	for _, name := range seedNames {
		t.Run(name, func(t *testing.T) {
			s := readSeed(t, name)
			st, ready := apply(t, s)
			check(t, st)
			golden(t, filepath.Join("testdata", strings.TrimSuffix(name, ".json")+".golden"), []byte(account(t, st, s, ready)))
			second, again := apply(t, s)
			if dump(t, st) != dump(t, second) || fmt.Sprint(ready) != fmt.Sprint(again) {
				t.Error("two stores with the same seed differ")
			}
		})
	}
}

// account lists the first shop of a seed by refs: programs, then cards with status,
// stamps, balance and ledger.
func account(t *testing.T, st *store.Store, s *File, ready *Ready) string {
	t.Helper()
	var b strings.Builder
	a := store.Access{Shop: ready.shop}
	names := map[string]string{}
	for ref, id := range ready.Refs {
		names[id] = ref
	}
	shop := s.shops[0]
	view(t, st, func(v *store.View) error {
		fmt.Fprintf(&b, "%d locations, %d programs, %d cards\n", len(ready.LocationIDs), len(shop.Programs.V), len(shop.Cards.V))
		for _, g := range shop.Programs.V {
			p, err := v.Program(a, ready.Refs[g.Ref.V])
			if err != nil {
				return err
			}
			hooks, err := v.Webhooks(a, p.ID)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, "program %s %s active=%t prizes=%d webhooks=%d made=%s\n", g.Ref.V, p.Type, p.Active, len(p.Prizes), len(hooks),
				p.CreatedAt)
		}
		// Oldest first; cards without a ref come from overflows.
		cards, err := all(func(q store.PageQuery) (store.Page[store.Card], error) {
			return v.Cards(a, store.CardFilter{PageQuery: q})
		})
		if err != nil {
			return err
		}
		for _, d := range slices.Backward(cards) {
			fmt.Fprintf(&b, "card %q %s %s stamps=%d balance=%s made=%s expires=%s installed=%t\n", names[d.ID], d.HolderName.V, d.Status,
				d.StampsCount, some(d.CurrentValue), d.CreatedAt, some(d.ExpiresAt), d.InstalledAt.Valid)
			ledger, err := ledgerOf(v, a, d.ID)
			if err != nil {
				return err
			}
			for _, x := range ledger {
				fmt.Fprintf(&b, "  %s %s at %s stamps=%s value=%s reversed=%t\n", x.CreatedAt, x.Type, names[x.LocationID],
					some(x.StampsDelta), some(x.ValueDelta), x.ReversedAt.Valid)
			}
		}
		return nil
	})
	return b.String()
}

func some[T any](n store.Null[T]) string {
	if !n.Valid {
		return "-"
	}
	return fmt.Sprint(n.V)
}

// TestReadyLine checks that the demo credentials work in the seed's first shop, that
// refs map to public ids, and that the second location has its PIN, which no list shows.
func TestReadyLine(t *testing.T) {
	s := readSeed(t, "bakery.json")
	st, ready := apply(t, s)
	id, err := st.Identify(store.Hash(APIKey))
	if err != nil || id == nil || id.ShopID != ready.ShopID || ready.Refs["hearth-and-rye"] != ready.ShopID {
		t.Fatalf("%+v %v", id, err)
	}
	if restricted, err := st.Identify(store.Hash(RestrictedAPIKey)); err != nil ||
		!slices.Equal(restricted.LocationIDs, ready.LocationIDs[:1]) {
		t.Errorf("%+v %v", restricted, err)
	}
	till, err := st.IdentifyTill(store.Hash(TillToken))
	if err != nil || st.ID(store.KindLocation, till.Location) != ready.LocationIDs[0] || till.PINRequired {
		t.Errorf("%+v %v", till, err)
	}
	if mcp, err := st.Identify(store.Hash(MCPKey)); err != nil || mcp == nil || mcp.Class != "mcp" {
		t.Errorf("%+v %v", mcp, err)
	}
	if want := []string{ready.Refs["market"], ready.Refs["station"]}; !slices.Equal(ready.LocationIDs, want) {
		t.Errorf("locations %v, want %v", ready.LocationIDs, want)
	}
	if len(ready.ProgramIDs) != 2 || ready.ProgramIDs["prepaid"] != ready.Refs["bread-account"] ||
		ready.ProgramIDs["standard"] != ready.Refs["loaf-card"] {
		t.Errorf("programs %v", ready.ProgramIDs)
	}
	for ref, id := range ready.Refs {
		if len(id) != 30 {
			t.Errorf("%s is %q", ref, id)
		}
	}
	// The id from the ready line works at the till.
	// The token of the second till is random, so check its location with a new till.
	token := ""
	require.NoError(t, write(st, func(tx *store.Tx) (err error) {
		if _, err = tx.TopUp(till.Till, ready.Refs["bread-01"], store.AmountFields{AmountCents: store.Given[int64](100)}); err != nil {
			return err
		}
		_, token, err = tx.CreateDevice(ready.shop, store.NewDevice{LocationID: ready.LocationIDs[1], Name: "Ours", AcceptsCardIDs: true})
		return err
	}))
	till, err = st.IdentifyTill(store.Hash(token))
	if err != nil || !till.PINRequired || !store.CheckPIN("4711", till.PIN) {
		t.Errorf("%+v %v", till, err)
	}
}

// TestKeys checks the key of a seed.
func TestKeys(t *testing.T) {
	s := readSeed(t, "gym.json")
	st, ready := apply(t, s)
	k, err := st.Identify(store.Hash(s.shops[0].Keys.V[0].Secret.V))
	if err != nil || k == nil || k.KeyID != ready.Refs["turnstile"] || !slices.Equal(k.Scopes, []string{"cards:read"}) ||
		!slices.Equal(k.LocationIDs, ready.LocationIDs) {
		t.Errorf("%+v %v", k, err)
	}
}

// TestNothingIsQueued checks that no webhook gets the events of a seed.
func TestNothingIsQueued(t *testing.T) {
	s := readSeed(t, "coffee-shop.json")
	st, ready := apply(t, s)
	view(t, st, func(v *store.View) error {
		log, err := v.Deliveries(
			store.Access{Shop: ready.shop},
			ready.Refs["coffee-card"],
			ready.Refs["till-feed"],
			store.DeliveriesQuery{},
		)
		if len(log) > 0 {
			t.Errorf("%d deliveries", len(log))
		}
		return err
	})
}

// TestSeedNeedsAFreshStore checks that a seed is refused by a store with other content
// and by one with a later write.
func TestSeedNeedsAFreshStore(t *testing.T) {
	s := readSeed(t, "gym.json")
	st, clock := emptyStore(t, s.Now)
	require.Must(Demo(st, "http://localhost"))
	if _, err := s.Apply(st, clock); err == nil ||
		!strings.HasSuffix(err.Error(), ": has shops already; a seed fills an empty database only") {
		t.Error(err)
	}
	st, clock = emptyStore(t, s.Now)
	require.NoError(t, write(st, (*store.Tx).Probe))
	if _, err := s.Apply(st, clock); !errors.Is(err, errLate) || !clock.now.Equal(s.Now) {
		t.Error(err)
	}
}

// TestReadFaults reads a file that does not exist and one that is too large.
func TestReadFaults(t *testing.T) {
	if _, err := Read(filepath.Join(t.TempDir(), "none.json")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "large.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"shops": []}`+strings.Repeat(" ", maxSize)), 0o600))
	if _, err := Read(path); err == nil || err.Error() != path+":1: $: must be at most 16 MiB" {
		t.Error(err)
	}
}
