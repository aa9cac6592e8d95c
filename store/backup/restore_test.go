package backup

import (
	"bytes"
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

// TestRestoreExcludesOthers checks that nobody can open the database during a restore, and that a
// killed restore excludes nobody.
func TestRestoreExcludesOthers(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.Close()
	lock := check(lockForRestore(f.Path()))
	for _, o := range []store.Options{{}, {Serve: true}} {
		s, err := store.Open(f.Path(), o)
		if err == nil {
			s.Close()
		}
		if err == nil || err.Error() != f.Path()+": is being restored" {
			t.Errorf("opening the file during the restore: %v", err)
		}
	}
	if _, err := Restore(t.Context(), f.Path(), f.Path()+"2", time.Now(), Options{}); err != nil {
		t.Errorf("a restore of another database: %v", err)
	}
	lock.Close() // as at the end of the process; the mark stays
	for _, o := range []store.Options{{}, {Serve: true}} {
		s := check(store.Open(f.Path(), o))
		s.Close()
	}
	if mark, err := os.ReadFile(f.Path() + ".lock"); err != nil || len(mark) > 0 {
		t.Errorf("a server left the mark %q, %v", mark, err)
	}
}

// TestRestoreUnderAnOpenConnection checks that a restore does not replace a file that another
// connection has open.
func TestRestoreUnderAnOpenConnection(t *testing.T) {
	t.Parallel()
	f := start(t)
	file := f.backup()
	_, err := Restore(t.Context(), file, f.Path(), time.Now(), Options{Force: true})
	if err == nil || !strings.Contains(err.Error(), "another process is using the database") {
		t.Errorf("a restore under an open connection: %v", err)
	}
	f.card(f.program("Coffee"), store.CardFields{})
	f.checkFile()
	for _, name := range folder(t, filepath.Dir(f.Path())) {
		if strings.Contains(name, "partial") || strings.Contains(name, "before") {
			t.Errorf("%s was not removed", name)
		}
	}
}

// TestRestoreReusesNoID checks that nothing created after a restore has the id of something created
// after the backup: receivers would take an event for a duplicate, and a code may still be in use.
// This also holds for a second restore and for stores opened later.
func TestRestoreReusesNoID(t *testing.T) {
	t.Parallel()
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
	tables := strings.Fields("prizes webhooks events shops keys devices locations programs cards transactions")
	last := map[string]int64{}
	everything := func(f *fixture) { // adds a row of each kind, twice
		t.Helper()
		begin := map[string]int64{}
		for _, table := range tables {
			begin[table] = f.number("SELECT ifnull(max(id), 0) FROM " + table)
		}
		for range 2 {
			p := f.program("Tea")
			f.webhook(p)
			if s := stamp(f, 13); s.OverflowCard == nil { // of ten stamps
				t.Fatal(s)
			}
			must(f, func(tx *store.Tx) (any, error) {
				_, noPrize := tx.AddPrize(f.a, p, store.PrizeFields{Threshold: set(int64(10)), Name: set("Cup")})
				_, _, noKey := tx.CreateKey(f.a.Shop, store.KeyFields{Name: set("k")})
				_, _, noShop := tx.CreateShop(store.ShopFields{})
				return nil, errors.Join(noPrize, noKey, noShop)
			})
		}
		for _, table := range tables {
			first := f.number("SELECT min(id) FROM "+table+" WHERE id>?", begin[table])
			if first <= last[table] {
				t.Errorf("%s: keys up to %d were used, and then %d", table, last[table], first)
			}
			last[table] = max(last[table], f.number("SELECT max(id) FROM "+table))
			if rows := f.number("SELECT max(id)-min(id)+1-count(*) FROM "+table+" WHERE id>?", begin[table]); rows != 0 {
				t.Errorf("%s: %d keys were skipped", table, rows)
			}
		}
		f.checkFile()
	}
	file := f.backup()
	everything(f)
	for n := range 2 {
		again := f.restore(file, time.Now())
		if n == 0 { // a store that has not written yet
			again.Close()
			again = f.on(again.Path())
		}
		everything(again)
		again.Close()
		again = f.on(again.Path())
		everything(again)
		check(Create(t.Context(), again.Path(), file, Options{Force: true}))
		everything(again)
	}
}

// TestRestoreReusesNoCode checks that a reissue after a restore gives no code that an earlier
// reissue gave.
func TestRestoreReusesNoCode(t *testing.T) {
	t.Parallel()
	f := start(t)
	card := f.card(f.program("Coffee"), store.CardFields{})
	file := f.backup()
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
		f.checkFile()
	}
	reissue(f)
	reissue(f)
	at := time.Now()
	for range 3 {
		again := f.restore(file, at)
		reissue(again)
		reissue(again)
		at = at.Add(time.Minute)
	}
}

// TestRestoreSkipsSequences checks that the sequences of events after a restore are above all that
// were given before, also those of a shop that had no event when the backup was made.
func TestRestoreSkipsSequences(t *testing.T) {
	t.Parallel()
	for _, before := range []int64{0, 2} {
		t.Run(fmt.Sprintf("%d events in the backup", before), func(t *testing.T) { restoreSkipsSequences(t, before) })
	}
}

// restoreSkipsSequences makes a backup after so many events, and restores it twice.
func restoreSkipsSequences(t *testing.T, before int64) {
	f := start(t)
	program := f.program("Coffee")
	event := func(f *fixture) (sequence int64) {
		t.Helper()
		last := f.number("SELECT event_sequence FROM shops WHERE id=?", f.a.Shop)
		f.card(program, store.CardFields{})
		if sequence = f.number("SELECT max(sequence) FROM events"); sequence <= last {
			t.Errorf("%d after %d", sequence, last)
		}
		f.checkFile()
		return sequence
	}
	if before > 0 {
		f.webhook(program)
	}
	for range before {
		event(f)
	}
	file := f.backup()
	f.webhook(program)
	last := event(f)
	if last != before+1 {
		t.Errorf("the first event after the backup has %d", last)
	}
	at := time.Now()
	for range 2 {
		again := f.restore(file, at)
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
		again = f.on(again.Path())
		if next := event(again); next != last+1 {
			t.Errorf("%d after %d and a restart", next, last)
		}
		last++
		at = at.Add(time.Second)
	}
}

// TestRestoreIsSeenByTills checks that a till sees each restore, and that pairings end with it.
func TestRestoreIsSeenByTills(t *testing.T) {
	t.Parallel()
	f := start(t)
	at := f.till()
	must(f, func(tx *store.Tx) (store.CreatedPairing, error) {
		return tx.CreatePairing(f.a.Shop, store.NewDevice{LocationID: f.ID(store.KindLocation, at.Location), Name: "Phone"})
	})
	seen := func(f *fixture) (id string) {
		succeed(f.View(0, func(v *store.View) error {
			me, err := v.TillMe(at)
			id = me.RestoreID
			return err
		}))
		return id
	}
	ids := map[string]bool{seen(f): true}
	file := f.backup()
	now := time.Now()
	for n := range 3 {
		again := f.restore(file, now.Add(time.Duration(n)*time.Minute))
		id := seen(again)
		if ids[id] || id == "" {
			t.Errorf("restore %d has the id %q again", n, id)
		}
		ids[id] = true
		if n := again.number("SELECT count(*) FROM pairings"); n != 0 {
			t.Errorf("%d pairings are left after a restore", n)
		}
		again.till() // a write, after which the id stays
		again.Close()
		if again = f.on(again.Path()); seen(again) != id {
			t.Error("the id changes when the file is opened again")
		}
	}
}

// TestRestoreReplacesNothingElse restores over what is no punchcard database. Nothing changes.
func TestRestoreReplacesNothingElse(t *testing.T) {
	t.Parallel()
	f := start(t)
	copied := f.backup()
	sound := check(os.ReadFile(copied))
	for says, create := range map[string]func(db, victim string) error{
		"is not a regular file, but a symbolic link":  func(db, victim string) error { return os.Symlink(victim, db) },
		"is not a regular file, but a symbolic link ": func(db, victim string) error { return os.Symlink("none", db) },
		"is neither empty nor a punchcard database":   func(db, victim string) error { return os.WriteFile(db, []byte("mine"), 0o600) },
		"is neither empty nor a punchcard database ": func(db, victim string) error {
			return os.WriteFile(db, []byte(strings.Repeat("mine\n", 999)), 0o600)
		},
		"is neither empty nor a punchcard database, so a re": func(db, victim string) error {
			if err := os.WriteFile(db, nil, 0o600); err != nil {
				return err
			}
			c := connect(t, db)
			defer c.Close()
			return c.Script("CREATE TABLE notes (text TEXT)")
		},
	} {
		dir := t.TempDir()
		db, victim := filepath.Join(dir, "shop.db"), filepath.Join(dir, "victim.db")
		succeed(os.WriteFile(victim, sound, 0o644), create(db, victim))
		before, _ := os.ReadFile(db)
		_, err := Restore(t.Context(), copied, db, time.Now(), Options{Force: true})
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(says)) {
			t.Errorf("%s: %v", says, err)
		}
		after, _ := os.ReadFile(db)
		if got := check(os.ReadFile(victim)); !bytes.Equal(got, sound) || !bytes.Equal(after, before) {
			t.Errorf("%s: a file was changed", says)
		}
	}
	// A damaged database is replaced.
	damaged := filepath.Join(t.TempDir(), "shop.db")
	succeed(os.WriteFile(damaged, append(bytes.Clone(sound[:100]), make([]byte, 9000)...), 0o600))
	if _, err := Restore(t.Context(), copied, damaged, time.Now(), Options{Force: true}); err != nil {
		t.Error(err)
	}
}

// TestRestoreInReplacedFolder replaces the folder of the database by a link to another folder at
// each step of a restore. Nothing in the other folder is replaced, and the database stays.
func TestRestoreInReplacedFolder(t *testing.T) {
	t.Parallel()
	f := start(t)
	copied := f.backup()
	sound := check(os.ReadFile(copied))
	var names []string
	Restore(t.Context(), copied, filepath.Join(t.TempDir(), "shop.db"), time.Now(), Options{Progress: func(s store.Step, _, _ int64) {
		if s.Name != "" && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}})
	if !slices.Contains(names, "replacing the database") {
		t.Fatalf("the steps of a restore are %q", names)
	}
	for _, name := range names {
		root := t.TempDir()
		dir, aside, other := filepath.Join(root, "data"), filepath.Join(root, "aside"), filepath.Join(root, "other")
		victim := filepath.Join(other, "shop.db")
		succeed(
			os.Mkdir(dir, 0o700),
			os.Mkdir(other, 0o700),
			os.WriteFile(victim, sound, 0o644),
			os.WriteFile(filepath.Join(dir, "shop.db"), sound, 0o600),
		)
		replaced := false
		_, err := Restore(
			t.Context(), copied, filepath.Join(dir, "shop.db"), time.Now(),
			Options{Force: true, Progress: func(s store.Step, _, _ int64) {
				if s.Name == name && !replaced {
					replaced = true
					if err := errors.Join(os.Rename(dir, aside), os.Symlink(other, dir)); err != nil {
						t.Error(err)
					}
				}
			}},
		)
		if err == nil {
			t.Errorf("%s: restored", name)
		}
		info := check(os.Stat(victim))
		if got := check(os.ReadFile(victim)); !bytes.Equal(got, sound) || info.Mode() != 0o644 {
			t.Errorf("%s: the file in the other folder was changed", name)
		}
		if got := check(os.ReadFile(filepath.Join(aside, "shop.db"))); !bytes.Equal(got, sound) {
			t.Errorf("%s: the database was changed", name)
		}
	}
}
