// Command year writes a file with a year of one shop's business, for benchmarks and
// for trying a large file:
//
//	go run ./server/bench/year -db year.db -cards 1000000 -transactions 10000000
//
// The shop is the demo shop of "punchcard dev", so the demo keys work. Equal flags
// give equal rows. "punchcard check" finds nothing wrong in the file, and the sums
// that statistics read are filled.
package main

import (
	"context"
	"errors"
	"flag"
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
	cards := flag.Int("cards", 10_000, "cards, overflow cards not counted")
	rows := flag.Int("transactions", 100_000, "rows of the ledger")
	last := flag.String("end", "2026-07-01", "first day after the year")
	flag.Parse()
	zone, err := time.LoadLocation("Europe/Rome") // the demo shop's
	if err != nil {
		log.Fatal(err)
	}
	end, err := time.ParseInLocation(time.DateOnly, *last, zone)
	if err != nil || *path == "" || *cards < 1 || *rows < *cards || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if _, err := os.Stat(*path); !errors.Is(err, os.ErrNotExist) {
		log.Fatalf("%s: is there already", *path)
	}
	start := time.Now()
	y := &year{
		rng:       rand.New(rand.NewPCG(1, 0)),
		end:       end,
		want:      *rows,
		roots:     make([]int, 0, *cards),
		instances: make([]card, 1, *cards+*cards/8+1),
	}
	var l *loader
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"shop", func() error { return open(*path, end.AddDate(-1, 0, 0), makeShop) }},
		{"open", func() (err error) { l, err = newLoader(*path); return err }},
		{"ledger", func() error { return l.ledger(y) }},
		{"cards", func() error { return l.cards(y) }},
		{"rest", func() error { return l.rest(y) }},
		{"counts", func() error { return open(*path, end, recount) }},
	} {
		began := time.Now()
		if err := step.do(); err != nil {
			log.Fatalf("%s: %v", step.name, err)
		}
		log.Printf("%-12s %8.1f s", step.name, time.Since(began).Seconds())
	}
	log.Printf("%d cards and %d transactions in %.1f s", len(y.instances)-1, y.rows, time.Since(start).Seconds())
}

// open calls do with the file as a store whose clock stands still at now.
func open(path string, now time.Time, do func(*store.Store) error) error {
	st, err := store.Open(
		path,
		store.Options{Now: func() time.Time { return now }, IDSecret: seed.IDSecret, Rand: rand.NewChaCha8([32]byte{1}), Ephemeral: true},
	)
	if err != nil {
		return err
	}
	return errors.Join(do(st), st.Close())
}

// makeShop creates the demo shop, with two further locations and a till at each.
func makeShop(st *store.Store) error {
	ready, err := seed.Demo(st, "http://localhost")
	if err != nil {
		return err
	}
	return write(st, func(tx *store.Tx) error {
		all := ready.LocationIDs
		for _, name := range []string{"Mercato", "Fiume"} {
			loc, err := tx.CreateLocation(
				ready.Shop(),
				store.LocationFields{LocationPatch: store.LocationPatch{Name: store.Given(name)}},
				store.StaffPIN{},
			)
			if err != nil {
				return err
			}
			all = append(all, loc.ID)
		}
		for _, id := range all[1:] { // the first location has its till
			if _, _, err := tx.CreateDevice(ready.Shop(), store.NewDevice{LocationID: id, Name: "Till"}); err != nil {
				return err
			}
		}
		return nil
	})
}

// recount fills the sums of statistics. It fails if the ledger is inconsistent.
func recount(st *store.Store) error { return write(st, (*store.Tx).RecountStats) }

func write(st *store.Store, do func(*store.Tx) error) error {
	return st.Write(context.Background(), store.Write{Actor: store.Actor{Type: "system"}, Do: do})
}
