package store

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// eraseChild erases the shops that have ended, and prints a line after each batch.
func eraseChild(path string) {
	s, err := Open(path, Options{Serve: true})
	if err == nil {
		var shops []int64
		err = s.View(0, func(v *View) (err error) {
			shops, err = v.EndedShops()
			return err
		})
		for _, shop := range shops {
			if err == nil {
				err = s.EraseShop(context.Background(), shop, 5, func(time.Duration) { fmt.Println("batch") })
			}
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// TestKilledErasureContinues kills a process that erases a shop at random moments. The check is clean
// after each kill, and in the end no row is left.
func TestKilledErasureContinues(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	reopen := func() *fixture {
		return &fixture{Store: open(t, path, Options{Serve: true, QueueMail: true}), t: t, a: Access{Shop: 1}, clock: newClock()}
	}
	f := reopen()
	f.a = f.shop(ShopFields{})
	f.withLedger()
	before := f.rowsOf()
	g := f.in(f.shop(ShopFields{}))
	k := g.till()
	program := g.program(stamps("Coffee"))
	g.hook(program, hookFields{})
	for range 20 {
		k.stamped(g.card(program), 1)
	}
	g.writes(func(tx *Tx) { check(tx.DeleteShop(g.a.Shop, "My shop")) })
	f.Close()
	rng, kills := chance(t), 0
	for {
		cmd, out, _ := childProcess(t, "erase", path)
		lines, kill := 0, 1+rng.IntN(30)
		for out.Scan() {
			if out.Text() != "batch" {
				t.Fatalf("the child printed %q", out.Text())
			}
			if lines++; lines == kill {
				cmd.Process.Kill()
			}
		}
		err := cmd.Wait()
		f := reopen()
		f.checkPages()
		if err != nil {
			kills++
			f.Close()
			continue
		}
		for name, rows := range f.rowsOf() {
			if want := before[name]; !slices.Equal(rows, want) {
				t.Errorf("%s has\n%s\nwant\n%s", name, strings.Join(rows, "\n"), strings.Join(want, "\n"))
			}
		}
		break
	}
	if kills == 0 {
		t.Error("no kill met the erasure")
	}
}

// TestLastRowOfShop checks that the file is to be searched for remains of a shop from the moment on in which its last
// row is erased: after a kill then nobody erases the shop again.
func TestLastRowOfShop(t *testing.T) {
	f := start(t)
	f.card(f.program(stamps("Coffee")))
	f.writes(func(tx *Tx) { check(tx.DeleteShop(f.a.Shop, "My shop")) })
	after := int64(0)
	if err := f.EraseShop(t.Context(), f.a.Shop, 100, func(time.Duration) {
		if f.number("SELECT count(*) FROM shops WHERE id=?", f.a.Shop) == 0 {
			after = f.number("SELECT wipe_page FROM meta")
		}
	}); err != nil {
		t.Fatal(err)
	}
	if after != 1 {
		t.Errorf("after the last row the search begins at the page %d, want 1", after)
	}
}
