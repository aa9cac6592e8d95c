package app_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"

	"punchcard/server/app"
	"punchcard/store"
)

// scheduled is a database with scheduled backups, in a synctest bubble.
type scheduled struct {
	t    *testing.T
	st   *store.Store
	dir  string
	log  *lines // of the present run
	stop func()
}

// bubble runs the test with a database shop.db; its time begins in 2000.
func bubble(t *testing.T, test func(s *scheduled)) {
	t.Helper()
	db, dir := filepath.Join(t.TempDir(), "shop.db"), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		st, err := store.Open(db, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := &scheduled{t: t, st: st, dir: dir}
		test(s)
		s.stop()
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// run starts the backups, as the server does.
func (s *scheduled) run(b app.Backups) {
	s.log = new(lines)
	b.Dir = s.dir
	service := app.NewBackups(&b, s.st, slog.New(slog.NewTextHandler(s.log, nil)))
	if err := service.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.stop = func() { service.Stop(context.Background()) }
	synctest.Wait()
}

// pass lets time go by.
func (s *scheduled) pass(d time.Duration) {
	time.Sleep(d) // of the bubble: no one waits
	synctest.Wait()
}

// has checks which files are in the folder.
func (s *scheduled) has(names ...string) {
	s.t.Helper()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(names)
	if !slices.Equal(got, names) {
		s.t.Errorf("at %s the folder has %q, want %q", time.Now().UTC(), got, names)
	}
}

func (s *scheduled) logged(level string, want int) {
	s.t.Helper()
	if n := strings.Count(s.log.String(), "level="+level); n != want {
		s.t.Errorf("%d lines of %s, want %d:\n%s", n, level, want, s.log)
	}
}

const day = 24 * time.Hour

func TestBackupsOnSchedule(t *testing.T) {
	bubble(t, func(s *scheduled) {
		// Nothing of this is a backup of shop.db, whatever it looks like.
		others := []string{"other-19990101T000000Z.db", "shop-19990101T000000Z.db.txt", "shop-19990101.db", "shop-19991301T000000Z.db", "notes.txt", "shop.db", "xshop-19990101T000000Z.db", "shop-19990101T000000Z.db.partial.old"}
		for _, name := range others {
			if err := os.WriteFile(filepath.Join(s.dir, name), []byte("mine"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(filepath.Join(s.dir, "shop-19990102T000000Z.db"), 0o755); err != nil {
			t.Fatal(err)
		}
		others = append(others, "shop-19990102T000000Z.db")
		with := func(names ...string) []string { return append(slices.Clone(others), names...) }

		s.run(app.Backups{Every: day, Keep: 2})
		s.has(with("shop-20000101T000000Z.db")...)
		s.pass(day - time.Second)
		s.has(with("shop-20000101T000000Z.db")...)
		s.pass(time.Second)
		s.has(with("shop-20000101T000000Z.db", "shop-20000102T000000Z.db")...)
		s.pass(day)
		s.has(with("shop-20000102T000000Z.db", "shop-20000103T000000Z.db")...)
		s.logged("INFO", 3)
		s.logged("ERROR", 0)
		for _, part := range []string{"bytes=2", "took=", "removed=1", filepath.Join(s.dir, "shop-20000103T000000Z.db")} {
			if !strings.Contains(s.log.String(), part) {
				t.Errorf("the log does not tell of %s:\n%s", part, s.log)
			}
		}
		for _, name := range others[:len(others)-1] {
			if b, err := os.ReadFile(filepath.Join(s.dir, name)); err != nil || string(b) != "mine" {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}
	})
}

// TestBackupsAfterARestart checks that a restart neither adds a backup nor delays the next.
func TestBackupsAfterARestart(t *testing.T) {
	bubble(t, func(s *scheduled) {
		s.run(app.Backups{Every: day, Keep: 7})
		s.pass(5 * time.Hour)
		s.stop()
		s.pass(10 * time.Hour)
		s.run(app.Backups{Every: day, Keep: 7})
		s.has("shop-20000101T000000Z.db")
		s.pass(9 * time.Hour)
		s.has("shop-20000101T000000Z.db", "shop-20000102T000000Z.db")
		s.stop()
		s.pass(3*day + 30*time.Minute) // one is overdue: it is made at once
		s.run(app.Backups{Every: day, Keep: 7})
		s.has("shop-20000101T000000Z.db", "shop-20000102T000000Z.db", "shop-20000105T003000Z.db")
		s.stop()
		s.run(app.Backups{Every: time.Hour, Keep: 1}) // other flags take effect
		s.pass(time.Hour)
		s.has("shop-20000105T013000Z.db")
	})
}

// TestBackupsAfterTheClockWasSetBack checks that backups are made although the newest one is dated in the future,
// since the clock was set back.
func TestBackupsAfterTheClockWasSetBack(t *testing.T) {
	bubble(t, func(s *scheduled) {
		future := "shop-20300101T000000Z.db"
		if err := os.WriteFile(filepath.Join(s.dir, future), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		s.run(app.Backups{Every: day, Keep: 1})
		s.has(future)
		s.pass(day)
		s.has(future, "shop-20000102T000000Z.db") // the new one is never the one that goes
	})
}

// TestBackupsGoOnAfterAFailure checks that a failure is logged and that the next attempt is an interval
// later, and that no older backup is removed before a newer one is complete.
func TestBackupsGoOnAfterAFailure(t *testing.T) {
	bubble(t, func(s *scheduled) {
		s.run(app.Backups{Every: day, Keep: 1})
		s.has("shop-20000101T000000Z.db")
		// An unsound database: the copy does not pass.
		spoil := func(by string) {
			db, err := sql.Open("sqlite", s.st.Path())
			if err != nil {
				t.Fatal(err)
			}
			_, err = db.Exec("UPDATE shops SET live_cards=live_cards" + by)
			if err = errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.st.Write(context.Background(), store.Write{Actor: store.Actor{Type: "system"}, Do: func(tx *store.Tx) error {
			_, _, err := tx.CreateShop(store.ShopFields{Name: store.Opt[string]{V: "Bar Lux", Set: true}})
			return err
		}}); err != nil {
			t.Fatal(err)
		}
		spoil("+1")
		s.pass(day)
		s.has("shop-20000101T000000Z.db")
		s.logged("ERROR", 1)
		if !strings.Contains(s.log.String(), "live_cards is not the number of live chains") {
			t.Errorf("the log does not say why:\n%s", s.log)
		}
		// The folder is away.
		away := s.dir + "-away"
		if err := os.Rename(s.dir, away); err != nil {
			t.Fatal(err)
		}
		s.pass(day)
		s.logged("ERROR", 2)
		if err := os.Rename(away, s.dir); err != nil {
			t.Fatal(err)
		}
		spoil("-1")
		s.pass(day - time.Second)
		s.has("shop-20000101T000000Z.db")
		s.pass(time.Second)
		s.has("shop-20000104T000000Z.db")
		s.logged("ERROR", 2)
	})
}

// TestBackupsRemoveLeftovers checks that the files of a killed backup are removed before the next backup,
// and that those of another process stay.
func TestBackupsRemoveLeftovers(t *testing.T) {
	bubble(t, func(s *scheduled) {
		left, written := "shop-19991230T000000Z.db.partial", "shop-19991231T000000Z.db.partial"
		foreign := "other-19991230T000000Z.db.partial"
		for _, name := range []string{left, written, foreign} {
			if err := os.WriteFile(filepath.Join(s.dir, name), []byte("half"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		lock := flock.New(filepath.Join(s.dir, written))
		if ok, err := lock.TryLock(); !ok || err != nil {
			t.Fatal(ok, err)
		}
		s.run(app.Backups{Every: day, Keep: 7})
		s.has(written, foreign, "shop-20000101T000000Z.db")
		lock.Close()
		s.pass(day)
		s.has(foreign, "shop-20000101T000000Z.db", "shop-20000102T000000Z.db")
	})
}
