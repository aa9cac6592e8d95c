// Command year writes a file with a year of one shop's business, for
// benchmarks and for trying what a big file is like:
//
//	go run ./server/bench/year -db year.db -seed 1 -cards 1000000 -transactions 10000000
//
// The shop is that of "punchcard dev", so its demo keys open the file. Equal
// flags give equal rows. The ledger keeps every rule that "punchcard check"
// knows, and the sums that statistics read are filled.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"time"

	"punchcard/server/dev/seed"
	"punchcard/store"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("year: ")
	path := flag.String("db", "", "file to write; there must be none yet")
	seed := flag.Uint64("seed", 1, "seed of all that is random")
	cards := flag.Int("cards", 10_000, "cards, overflow cards not counted")
	rows := flag.Int("transactions", 100_000, "rows of the ledger")
	places := flag.Int("locations", 4, "locations, two to five")
	last := flag.String("end", "2026-07-01", "first day after the year")
	flag.Parse()
	end, err := time.ParseInLocation(time.DateOnly, *last, zone())
	if err != nil || *path == "" || *cards < 1 || *rows < *cards || *places < 2 || *places > 5 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if _, err := os.Stat(*path); !errors.Is(err, os.ErrNotExist) {
		log.Fatalf("%s: is there already", *path)
	}
	start := time.Now()
	step := func(what string, f func() error) {
		began := time.Now()
		if err := f(); err != nil {
			log.Fatalf("%s: %v", what, err)
		}
		log.Printf("%-12s %8.1f s", what, time.Since(began).Seconds())
	}
	y := &year{rng: rand.New(rand.NewPCG(*seed, 0)), end: end, want: *rows, roots: make([]int, 0, *cards), instances: make([]card, 1, *cards+*cards/8+1)}
	step("shop", func() error { return makeShop(*path, *seed, *places, end.AddDate(-1, 0, 0)) })
	l, err := newLoader(*path)
	if err != nil {
		log.Fatal(err)
	}
	step("ledger", func() error { return l.ledger(y) })
	step("cards", func() error { return l.cards(y) })
	step("claims", func() error { return l.claims(y) })
	step("indexes", l.indexes)
	step("rest", func() error { return l.rest(y) })
	step("counts", func() error { return recount(*path, end) })
	log.Printf("%d cards and %d transactions in %.1f s", len(y.instances)-1, y.rows, time.Since(start).Seconds())
}

// zone is the demo shop's.
func zone() *time.Location {
	z, err := time.LoadLocation("Europe/Rome")
	if err != nil {
		log.Fatal(err)
	}
	return z
}

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

var system = store.Actor{Type: "system"}

// makeShop makes the demo shop, with further locations and a till at each.
func makeShop(path string, random uint64, places int, opened time.Time) error {
	var key [32]byte
	for i := range 8 {
		key[i] = byte(random >> (8 * i))
	}
	st, err := store.Open(path, store.Options{Now: at(opened), IDSecret: seed.IDSecret, Rand: rand.NewChaCha8(key), Ephemeral: true})
	if err != nil {
		return err
	}
	ready, err := seed.Demo(st, "http://localhost")
	if err == nil {
		err = st.Write(context.Background(), store.Write{Actor: system, Do: func(tx *store.Tx) error {
			all := ready.LocationIDs
			for _, name := range []string{"Mercato", "Fiume", "Collina"}[:places-len(all)] {
				loc, err := tx.CreateLocation(ready.Shop(), store.LocationFields{LocationPatch: store.LocationPatch{Name: store.Opt[string]{V: name, Set: true}}})
				if err != nil {
					return err
				}
				all = append(all, loc.ID)
			}
			for _, id := range all[1:] { // the first one has its till
				if _, _, err := tx.CreateDevice(ready.Shop(), id, "Till", ""); err != nil {
					return err
				}
			}
			return nil
		}})
	}
	return errors.Join(err, st.Close())
}

// recount fills the sums, and fails where the ledger is not what they need.
func recount(path string, end time.Time) error {
	st, err := store.Open(path, store.Options{Now: at(end), Ephemeral: true, MustExist: true})
	if err != nil {
		return err
	}
	err = st.Write(context.Background(), store.Write{Actor: system, Do: (*store.Tx).RecountStats})
	if err != nil {
		err = fmt.Errorf("recount: %w", err)
	}
	return errors.Join(err, st.Close())
}
