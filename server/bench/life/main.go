// Command life runs the server through a simulated year of a coffee shop and writes what its clients
// were answered, for a count that shares nothing with the server (see server/bench/count):
//
//	go run ./server/bench/life -out year            # about 200,000 visits; -months 1 for the first month
//	go run ./server/bench/life -out year -kills 1000
//	go run ./server/bench/life -out year -kills 1000 -cut-power
//
// The server is the binary's "punchcard dev" as a process, on a file, with a clock that stands still
// and that this program moves by half hours. Everything goes through its faces: REST, tills, pages,
// webhooks, wallets. The exit status is 1 if an answer was not one that the contract allows.
//
// The folder of -out must not exist. The comment of each recorder says what is in its file.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"
)

// options are the flags.
type options struct {
	months  int
	seed    uint64
	members int
	kills   int
	cut     bool
	out     string
	binary  string
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("life: ")
	var o options
	flag.IntVar(&o.months, "months", 12, "how many months to simulate, 1 to 24")
	flag.Uint64Var(&o.seed, "seed", 1, "equal seeds plan equal years")
	flag.IntVar(&o.members, "members", 20_000, "members in twelve months, a third of whom come back")
	flag.IntVar(&o.kills, "kills", 0, "how often the server is killed, spread over the year")
	flag.BoolVar(&o.cut, "cut-power", false, "each kill also discards what was not synced: needs Linux, mkfs.ext4 and the right to mount")
	flag.StringVar(&o.out, "out", "", "folder to create")
	flag.StringVar(&o.binary, "binary", "", "the server; default: built by the go command")
	flag.Parse()
	if o.out == "" || o.months < 1 || o.months > 24 || o.members < 100 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		log.Fatal(err)
	}
}

// run lives the year.
func run(ctx context.Context, o options) (err error) {
	if err := makeFolders(o.out); err != nil {
		return err
	}
	begin := time.Now()
	y, err := newYear(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.close()) }()
	if err := y.live(); err != nil {
		return err
	}
	return y.finish(time.Since(begin))
}

// live opens the shop and goes through all half hours of the year.
func (y *year) live() error {
	if err := y.liveOlder(); err != nil {
		return fmt.Errorf("before the upgrade: %w", err)
	}
	if err := y.advance(y.from); err != nil {
		return err
	}
	if err := y.openShop(); err != nil {
		return fmt.Errorf("opening the shop: %w", err)
	}
	for day := y.from; day.Before(y.until); day = day.AddDate(0, 0, 1) {
		if err := y.day(day); err != nil {
			return fmt.Errorf("%s: %w", day.Format(time.DateOnly), err)
		}
		if n := len(y.faults); n > maxFaults {
			return y.faulty()
		}
	}
	return nil
}
