package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"punchcard/store/sqlite"
)

// ends is a context that ends when it has been asked so many times.
type ends struct {
	context.Context
	after int
}

func (e *ends) Err() error {
	if e.after--; e.after < 0 {
		return context.Canceled
	}
	return nil
}

// folder are the names of what is in a folder.
func folder(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A backup that is broken off at any look at its context leaves nothing, and
// what it was to replace.
func TestBackupBrokenOff(t *testing.T) {
	f := start(t, Options{})
	f.must(stuff("some", 900, 9000))
	dir := t.TempDir()
	file := filepath.Join(dir, "copy.db")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		_, err := Backup(&ends{context.Background(), n}, f.Path(), file, CopyOptions{Force: true})
		if got := folder(t, dir); !slices.Equal(got, []string{"copy.db"}) {
			t.Fatalf("ended after %d looks, the folder has %q", n, got)
		}
		if err == nil {
			if n < 5 {
				t.Errorf("the context was looked at only %d times", n)
			}
			break
		}
		if b, _ := os.ReadFile(file); !errors.Is(err, context.Canceled) || string(b) != "old" {
			t.Fatalf("ended after %d looks: %v, the file has %.10q", n, err, b)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	f.sound()
}

// A copy is one file, without a log, and has all that the database had: also
// what is in its log alone.
func TestBackupIsOneFile(t *testing.T) {
	f := start(t, Options{})
	program := f.program(f.a, stamps("Coffee"))
	for i := range 50 {
		f.card(f.a, program, CardFields{ExternalRef: set(fmt.Sprint("person", i))})
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "copy.db")
	size, err := Backup(context.Background(), f.Path(), file, CopyOptions{Copied: func() {
		// Whatever there is meanwhile has people's names in it.
		for _, name := range folder(t, dir) {
			if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s can be read by others: %v, %v", name, info.Mode(), err)
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil || int64(len(raw)) != size || raw[18] != 1 || raw[19] != 1 {
		t.Errorf("%d bytes of %d, %v, versions %v", len(raw), size, err, raw[18:20])
	}
	// It can be restored from where it can only be read, and is the same database
	// to the last row.
	if err := os.Chmod(file, 0o400); err != nil {
		t.Fatal(err)
	}
	restored := filepath.Join(t.TempDir(), "again.db")
	if _, err := Restore(context.Background(), file, restored, time.Now(), CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := folder(t, dir); !slices.Equal(got, []string{"copy.db"}) {
		t.Errorf("beside the backup there is %q", got)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	again := &fixture{Store: open(t, file, Options{}), t: t}
	if before, after := f.dump(), again.dump(); before != after {
		t.Errorf("the copy differs: %s", firstDifference(before, after))
	}
	again.sound()
}

// A file of an older version is copied as it is: before an upgrade a backup is
// what is wanted.
func TestBackupOfAnOlderSchema(t *testing.T) {
	f := start(t, Options{})
	f.Close()
	c, err := openConn(f.Path(), sqlite.Create)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.script("PRAGMA user_version=2"); err != nil {
		t.Fatal(err)
	}
	c.close()
	file := filepath.Join(t.TempDir(), "copy.db")
	if _, err := Backup(context.Background(), f.Path(), file, CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{f.Path(), file} {
		if c, err = openAtRest(context.Background(), path); err != nil {
			t.Fatal(err)
		}
		if v, err := c.number("PRAGMA user_version"); v != 2 || err != nil {
			t.Errorf("%s has schema %d, %v", path, v, err)
		}
		c.close()
	}
}

// While a restore is under way nobody else gets at the database, and one that
// was killed is in nobody's way.
func TestRestoreKeepsOthersOut(t *testing.T) {
	f := start(t, Options{})
	f.Close()
	lock, err := lockForRestore(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{}, {Serve: true}} {
		refuses(t, f.Path(), o, "is being restored")
	}
	if _, err := Restore(context.Background(), f.Path(), f.Path()+"2", time.Now(), CopyOptions{}); err != nil {
		t.Errorf("a restore of another database: %v", err)
	}
	lock.Close() // as the end of the process does: the mark stays
	open(t, f.Path(), Options{}).Close()
	open(t, f.Path(), Options{Serve: true}).Close()
	if mark, err := os.ReadFile(f.Path() + ".lock"); err != nil || len(mark) > 0 {
		t.Errorf("a server left the mark %q, %v", mark, err)
	}
}

// A connection that was there before the restore began keeps it from replacing
// the file.
func TestRestoreUnderAnOpenConnection(t *testing.T) {
	f := start(t, Options{})
	file := filepath.Join(t.TempDir(), "copy.db")
	if _, err := Backup(context.Background(), f.Path(), file, CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := Restore(context.Background(), file, f.Path(), time.Now(), CopyOptions{Force: true})
	if err == nil || !strings.Contains(err.Error(), "another process is using the database") {
		t.Errorf("%v", err)
	}
	f.card(f.a, f.program(f.a, stamps("Coffee")), CardFields{})
	f.sound()
	for _, name := range folder(t, filepath.Dir(f.Path())) {
		if strings.Contains(name, "partial") || strings.Contains(name, "before") {
			t.Errorf("%s is left", name)
		}
	}
}

// After a restore nothing has the id of what was made after the backup: not of
// an event, which receivers would take for a repeat, and not of a card, whose
// code somebody may still show. That goes for the second restore too, and for
// what is opened again.
func TestRestoreReusesNoID(t *testing.T) {
	f := start(t, Options{})
	program := f.program(f.a, stamps("Coffee"))
	f.hook(f.a, program, hookFields{})
	k := f.till(f.a)
	k.stamp(f.card(f.a, program, CardFields{}), 1)
	last := map[string]int64{}
	everything := func(f *fixture) { // a row of each kind, twice
		t.Helper()
		begin := map[string]int64{}
		tables := slices.Concat(sequenced, floored)
		for _, table := range tables {
			begin[table] = f.number("SELECT ifnull(max(id), 0) FROM " + table)
		}
		for range 2 {
			tea := stamps("Tea")
			tea.RepeatAfterReset = set(true)
			p := f.program(f.a, tea)
			f.must(func(tx *Tx) error {
				_, err := tx.AddPrize(f.a, p, PrizeFields{Threshold: set(int64(10)), Name: set("Cup")})
				return err
			})
			f.hook(f.a, p, hookFields{})
			k := f.till(f.a)
			card := f.card(f.a, p, CardFields{})
			if s, err := k.stamp(card, 13); err != nil || s.OverflowCard == nil { // of ten
				t.Fatal(s, err)
			}
			f.must(func(tx *Tx) error {
				_, _, err := tx.CreateKey(f.a.Shop, KeyFields{Name: set("k")})
				return err
			})
			f.must(func(tx *Tx) error {
				_, _, err := tx.CreateShop(ShopFields{})
				return err
			})
		}
		for _, table := range tables {
			first := f.number("SELECT min(id) FROM "+table+" WHERE id>?", begin[table])
			if first <= last[table] {
				t.Errorf("%s: up to %d were given, and then %d", table, last[table], first)
			}
			last[table] = max(last[table], f.number("SELECT max(id) FROM "+table))
			if rows := f.number("SELECT max(id)-min(id)+1-count(*) FROM "+table+" WHERE id>?", begin[table]); rows != 0 {
				t.Errorf("%s: %d keys were left out", table, rows)
			}
		}
		f.sound()
	}
	file := filepath.Join(t.TempDir(), "copy.db")
	if _, err := Backup(context.Background(), f.Path(), file, CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	everything(f)
	for n := range 2 {
		restored := filepath.Join(t.TempDir(), "again.db")
		if _, err := Restore(context.Background(), file, restored, time.Now(), CopyOptions{}); err != nil {
			t.Fatal(err)
		}
		again := &fixture{Store: open(t, restored, Options{}), t: t, clock: f.clock, a: f.a}
		if n == 0 { // one that wrote nothing yet
			again.Close()
			again.Store = open(t, restored, Options{})
		}
		everything(again)
		again.Close()
		again.Store = open(t, restored, Options{})
		everything(again)
		if _, err := Backup(context.Background(), restored, file, CopyOptions{Force: true}); err != nil {
			t.Fatal(err)
		}
		everything(again)
	}
}

// A reissue after a restore makes no code that a reissue before made.
func TestRestoreRevivesNoCode(t *testing.T) {
	f := start(t, Options{})
	card := f.card(f.a, f.program(f.a, stamps("Coffee")), CardFields{})
	file := filepath.Join(t.TempDir(), "copy.db")
	if _, err := Backup(context.Background(), f.Path(), file, CopyOptions{}); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	reissue := func(f *fixture) {
		t.Helper()
		must(f, func(tx *Tx) (IssuedCard, error) { return tx.ReissueCard(f.a, card, ReissueFields{}) })
		code := f.code(f.key(KindCard, card), f.number("SELECT max(code_generation) FROM cards"))
		if known[code] {
			t.Errorf("%s was the card's code before", code)
		}
		known[code] = true
		f.sound()
	}
	reissue(f)
	reissue(f)
	at := time.Now()
	for range 3 {
		restored := filepath.Join(t.TempDir(), "again.db")
		if _, err := Restore(context.Background(), file, restored, at, CopyOptions{}); err != nil {
			t.Fatal(err)
		}
		again := &fixture{Store: open(t, restored, Options{}), t: t, clock: f.clock, a: f.a}
		reissue(again)
		reissue(again)
		at = at.Add(time.Minute)
	}
}
