package backup

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

	"punchcard/store"
)

// A backup that is broken off at any look at its context leaves nothing, and
// what it was to replace.
func TestBackupBrokenOff(t *testing.T) {
	f := start(t)
	must(f, func(tx *store.Tx) (any, error) {
		for i := range 900 { // some pages of the file
			key := store.NewIdempotencyKey(1, fmt.Sprint(i), "POST", "/", nil)
			if err := tx.Remember(key, store.Remembered{Status: 200, Body: []byte(strings.Repeat("x", 9000))}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	dir := t.TempDir()
	file := filepath.Join(dir, "copy.db")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		_, err := Create(&ends{context.Background(), n}, f.Path(), file, Options{Force: true})
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
	f := start(t)
	program := f.program("Coffee")
	for i := range 50 {
		f.card(program, store.CardFields{ExternalRef: set(fmt.Sprint("person", i))})
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "copy.db")
	size, err := Create(context.Background(), f.Path(), file, Options{Copied: func() {
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
	if _, err := Restore(context.Background(), file, restored, time.Now(), Options{}); err != nil {
		t.Fatal(err)
	}
	if got := folder(t, dir); !slices.Equal(got, []string{"copy.db"}) {
		t.Errorf("beside the backup there is %q", got)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	again := f.on(file)
	if before, after := f.dump(), again.dump(); before != after {
		t.Errorf("the copy differs:\n%.2000s\n%.2000s", before, after)
	}
	again.sound()
}

// A file of an older version is copied as it is: before an upgrade a backup is
// what is wanted.
func TestBackupOfAnOlderSchema(t *testing.T) {
	f := start(t)
	f.Close()
	c := connect(t, f.Path())
	if err := c.Script("PRAGMA user_version=2"); err != nil {
		t.Fatal(err)
	}
	c.Close()
	file := filepath.Join(t.TempDir(), "copy.db")
	if _, err := Create(context.Background(), f.Path(), file, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{f.Path(), file} {
		c := connect(t, path)
		if v, err := c.Number("PRAGMA user_version"); v != 2 || err != nil {
			t.Errorf("%s has schema %d, %v", path, v, err)
		}
		c.Close()
	}
}

// While a restore is under way nobody else gets at the database, and one that
// was killed is in nobody's way.
func TestRestoreKeepsOthersOut(t *testing.T) {
	f := start(t)
	f.Close()
	lock, err := lockForRestore(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []store.Options{{}, {Serve: true}} {
		s, err := store.Open(f.Path(), o)
		if err == nil {
			s.Close()
		}
		if err == nil || err.Error() != f.Path()+": is being restored" {
			t.Errorf("while it is restored the file is opened: %v", err)
		}
	}
	if _, err := Restore(context.Background(), f.Path(), f.Path()+"2", time.Now(), Options{}); err != nil {
		t.Errorf("a restore of another database: %v", err)
	}
	lock.Close() // as the end of the process does: the mark stays
	for _, o := range []store.Options{{}, {Serve: true}} {
		s, err := store.Open(f.Path(), o)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	if mark, err := os.ReadFile(f.Path() + ".lock"); err != nil || len(mark) > 0 {
		t.Errorf("a server left the mark %q, %v", mark, err)
	}
}

// A connection that was there before the restore began keeps it from replacing
// the file.
func TestRestoreUnderAnOpenConnection(t *testing.T) {
	f := start(t)
	file := filepath.Join(t.TempDir(), "copy.db")
	if _, err := Create(context.Background(), f.Path(), file, Options{}); err != nil {
		t.Fatal(err)
	}
	_, err := Restore(context.Background(), file, f.Path(), time.Now(), Options{Force: true})
	if err == nil || !strings.Contains(err.Error(), "another process is using the database") {
		t.Errorf("%v", err)
	}
	f.card(f.program("Coffee"), store.CardFields{})
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
	f := start(t)
	program := f.program("Coffee")
	f.webhook(program)
	stamp := func(f *fixture, n int64) store.Stamped {
		t.Helper()
		card := f.card(program, store.CardFields{})
		at := f.till()
		return must(f, func(tx *store.Tx) (store.Stamped, error) {
			return tx.Stamp(at, card.ID, store.StampFields{Count: set(n)})
		})
	}
	stamp(f, 1)
	tables := []string{"prizes", "webhooks", "events", "shops", "keys", "devices", "locations", "programs", "cards", "transactions"}
	last := map[string]int64{}
	everything := func(f *fixture) { // a row of each kind, twice
		t.Helper()
		begin := map[string]int64{}
		for _, table := range tables {
			begin[table] = f.number("SELECT ifnull(max(id), 0) FROM " + table)
		}
		for range 2 {
			p := f.program("Tea")
			must(f, func(tx *store.Tx) (store.Prize, error) {
				return tx.AddPrize(f.a, p, store.PrizeFields{Threshold: set(int64(10)), Name: set("Cup")})
			})
			f.webhook(p)
			if s := stamp(f, 13); s.OverflowCard == nil { // of ten
				t.Fatal(s)
			}
			must(f, func(tx *store.Tx) (store.Key, error) {
				k, _, err := tx.CreateKey(f.a.Shop, store.KeyFields{Name: set("k")})
				return k, err
			})
			must(f, func(tx *store.Tx) (store.Shop, error) {
				_, sh, err := tx.CreateShop(store.ShopFields{})
				return sh, err
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
	if _, err := Create(context.Background(), f.Path(), file, Options{}); err != nil {
		t.Fatal(err)
	}
	everything(f)
	for n := range 2 {
		restored := filepath.Join(t.TempDir(), "again.db")
		if _, err := Restore(context.Background(), file, restored, time.Now(), Options{}); err != nil {
			t.Fatal(err)
		}
		again := f.on(restored)
		if n == 0 { // one that wrote nothing yet
			again.Close()
			again = f.on(restored)
		}
		everything(again)
		again.Close()
		again = f.on(restored)
		everything(again)
		if _, err := Create(context.Background(), restored, file, Options{Force: true}); err != nil {
			t.Fatal(err)
		}
		everything(again)
	}
}

// A reissue after a restore makes no code that a reissue before made.
func TestRestoreRevivesNoCode(t *testing.T) {
	f := start(t)
	card := f.card(f.program("Coffee"), store.CardFields{})
	file := filepath.Join(t.TempDir(), "copy.db")
	if _, err := Create(context.Background(), f.Path(), file, Options{}); err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	reissue := func(f *fixture) {
		t.Helper()
		again := must(f, func(tx *store.Tx) (store.IssuedCard, error) {
			return tx.ReissueCard(f.a, card.ID, store.ReissueFields{})
		})
		code := f.code(again.InstallURL)
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
		if _, err := Restore(context.Background(), file, restored, at, Options{}); err != nil {
			t.Fatal(err)
		}
		again := f.on(restored)
		reissue(again)
		reissue(again)
		at = at.Add(time.Minute)
	}
}

// The sequences of events after a restore are above all that were given before,
// also those of a shop that had no event then.
func TestRestoreSkipsSequences(t *testing.T) {
	f := start(t)
	program := f.program("Coffee")
	event := func(f *fixture) (sequence int64) {
		t.Helper()
		last := f.number("SELECT event_sequence FROM shops WHERE id=?", f.a.Shop)
		f.card(program, store.CardFields{})
		if sequence = f.number("SELECT max(sequence) FROM events"); sequence <= last {
			t.Errorf("%d after %d", sequence, last)
		}
		f.sound()
		return sequence
	}
	file := filepath.Join(t.TempDir(), "copy.db")
	if _, err := Create(context.Background(), f.Path(), file, Options{}); err != nil {
		t.Fatal(err)
	}
	f.webhook(program)
	last := event(f)
	if last != 1 {
		t.Errorf("the first event has %d", last)
	}
	at := time.Now()
	for range 3 {
		restored := filepath.Join(t.TempDir(), "again.db")
		if _, err := Restore(context.Background(), file, restored, at, Options{}); err != nil {
			t.Fatal(err)
		}
		again := f.on(restored)
		again.webhook(program)
		first := event(again)
		if first <= last {
			t.Errorf("%d was given before the restore, and then %d", last, first)
		}
		if last = event(again); last != first+1 {
			t.Errorf("%d after %d", last, first)
		}
		if last >= 1<<53 {
			t.Errorf("%d is no exact number in JavaScript", last)
		}
		again.Close()
		again = f.on(restored)
		if next := event(again); next != last+1 {
			t.Errorf("%d after %d and a restart", next, last)
		}
		last++
		at = at.Add(time.Second)
	}
}
