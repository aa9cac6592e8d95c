package store

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCopyShop checks that a copy has exactly the rows of the shop, nothing of another one, a clean check,
// and keys of its own.
func TestCopyShop(t *testing.T) {
	f := start(t, Options{QueueMail: true})
	l := f.withLedger()
	f.cardOf(l.program, "Otherholder")
	foreign := must(f, func(tx *Tx) (int64, error) { return tx.AddUser(NewUser{Email: "foreign@example.com"}) })
	before := f.rowsOf()
	g := f.in(f.shop(ShopFields{Name: set("Leaving")}))
	runOperations(g)
	g.cardWith(g.program(stamps("More")), CardFields{HolderName: set("Ada"), HolderEmail: set("ada@example.com"), SendEmail: set(true)})
	g.must(func(tx *Tx) error {
		tx.Actor = Actor{Type: "user", Key: foreign}
		return errorOf(tx.Invite(g.a.Shop, "new@example.com", RoleViewer))
	})
	const url = "https://new.example.com"
	c := g.copyShop(url)
	after, copied := g.rowsOf(), c.rowsOf()
	for name, rows := range after {
		want := slices.DeleteFunc(slices.Clone(rows), func(row string) bool { return slices.Contains(before[name], row) })
		got := copied[name]
		if name == "shops" { // closed and moved_to
			want, got = []string{want[0][:20]}, []string{got[0][:20]}
		}
		for i := range want { // who invited is no member, so not in the copy
			if name == "links" {
				want[i] = strings.Replace(want[i], fmt.Sprintf(",%d,", foreign), ",NULL,", 1)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	c.checkPages()
	if c.PublicURL() != url || !bytes.Equal(c.seal(nil, KindCard, 0, 1), f.seal(nil, KindCard, 0, 1)) {
		t.Error("another public URL, or other ids")
	}
	content := check(os.ReadFile(c.path))
	for _, text := range []string{"Otherholder", "foreign@example.com"} {
		if bytes.Contains(content, []byte(text)) {
			t.Errorf("the copy has %q of others", text)
		}
	}
}

// copyShop begins to move the shop and returns its copy.
func (f *fixture) copyShop(url string) *fixture {
	f.t.Helper()
	move := must(f, func(tx *Tx) (Move, error) { return tx.BeginMove(f.a.Shop, url) })
	path := filepath.Join(f.t.TempDir(), "copy.db")
	succeed(os.WriteFile(path, nil, 0o600))
	rows, err := CopyShop(f.t.Context(), f.path, path, f.a.Shop, url, nil)
	if err == nil {
		err = CompareCopy(path, rows)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	if began := CopiedAt(f.t.Context(), path, f.a.Shop); began != move.Began {
		f.t.Errorf("the copy is of a move at %d, not %d", began, move.Began)
	}
	rows["cards"]++
	if err := CompareCopy(path, rows); err == nil {
		f.t.Error("a row that is missing is not noticed")
	}
	c := reopen(f.t, path, Options{Ephemeral: true, Readers: 1, Now: f.clock.now})
	c.clock, c.a = f.clock, f.a
	return c
}

// TestKeysOfCopies checks that no two files give out the same keys: a file, its copies, copies of those, the copies of two shops that
// move at once, and what is restored of them.
func TestKeysOfCopies(t *testing.T) {
	const url = "https://new.example.com"
	f := start(t)
	f.program(stamps("Coffee"))
	g := f.in(f.shop(ShopFields{Name: set("Other")}))
	first := f.copyShop(url)
	refused(t, first.do(func(tx *Tx) error { return errorOf(tx.BeginMove(first.a.Shop, url)) }), ValidationFailed) // its own URL
	ofFirst := first.copyShop(url + "/2")
	first.writes(func(tx *Tx) { check(tx.AbortMove(first.a.Shop)) })
	f.writes(func(tx *Tx) { check(tx.AbortMove(f.a.Shop)) })
	must(g, func(tx *Tx) (Move, error) { return tx.BeginMove(g.a.Shop, url) })
	second := f.copyShop(url)
	files := []*fixture{f, first, ofFirst, ofFirst.copyShop(url + "/3"), first.copyShop(url + "/2"), second, second.copyShop(url + "/2"),
		g.copyShop(url)}
	given := map[int64]string{}
	for i, file := range files {
		for _, restored := range []string{"", "restored", "restored later"} {
			if restored != "" {
				f.clock.move(time.Hour)
				file.writes(func(tx *Tx) { tx.skipKeys(tx.Now.Std()) })
			}
			for _, table := range slices.Concat(sequenced, floored) {
				key := must(file, func(tx *Tx) (int64, error) { return tx.lastKey(table), nil })
				if name := fmt.Sprint(i, " ", restored); table == "cards" {
					for other, of := range given {
						if max(key-other, other-key) < keysPerSecond*60*60 {
							t.Errorf("file %s has the key %#x, file %s %#x", name, key, of, other)
						}
					}
					given[key] = name
				}
				if key > math.MaxInt64/2 { // idempotency.caller has twice the key
					t.Errorf("%s has the key %#x", table, key)
				}
			}
		}
	}
}

// TestCopyNumber checks that copies of a file, and copies of those, have numbers that no other file has, greater than its own, until
// none is left.
func TestCopyNumber(t *testing.T) {
	seen := map[int64]bool{}
	var copies func(of int64) (all int)
	copies = func(of int64) (all int) {
		if seen[of] || of < 0 || of >= 1<<fileBits {
			t.Fatalf("%#o is given out twice, or too great", of)
		}
		seen[of] = true
		for k := int64(1); ; k++ {
			n, ok := copyNumber(of, k)
			if !ok {
				return int(k - 1)
			}
			if n <= of {
				t.Fatalf("copy %d of %#o is %#o", k, of, n)
			}
			copies(n)
		}
	}
	if all := copies(0); all != 1364 {
		t.Errorf("a file can have %d copies", all)
	}
	if n, ok := copyNumber(0o10000, 1365); ok {
		t.Errorf("copy 1365 is %#o", n)
	}
}

// TestIDsOfLateCopies checks ids and cursors of rows in a copy with the greatest number.
func TestIDsOfLateCopies(t *testing.T) {
	g := idsOf(t, "0123456789abcdef")
	const late = 1<<(keyBits+fileBits) - 7
	if event, ok := g.DeliveryKey(late, g.DeliveryID(late, late)); !ok || event != late {
		t.Errorf("a delivery opens as %#x, %t", event, ok)
	}
	if place, key, err := g.openCursor(listCards, late, g.cursor(listCards, late, 7, late)); err != nil || place != 7 || key != late {
		t.Errorf("a cursor opens as %d, %#x, %v", place, key, err)
	}
}
