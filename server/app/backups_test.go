package app_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
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
	"punchcard/server/servertest"
	"punchcard/store"
)

// backupsTest is a database with scheduled backups in a synctest bubble.
type backupsTest struct {
	t    *testing.T
	st   *store.Store
	dir  string
	log  *servertest.Log // of the services since start
	stop func()
}

// withBackups runs the test with a database shop.db in a synctest bubble, whose time starts in
// 2000.
func withBackups(t *testing.T, test func(s *backupsTest)) {
	t.Helper()
	db, dir := filepath.Join(t.TempDir(), "shop.db"), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		st, err := store.Open(db, store.Options{})
		noError(t, err)
		s := &backupsTest{t: t, st: st, dir: dir}
		test(s)
		s.stop()
		noError(t, st.Close())
	})
}

// start starts the backups as the server does.
func (s *backupsTest) start(b app.Backups) {
	s.log = new(servertest.Log)
	b.Dir = s.dir
	service := app.NewBackups(&b, s.st, slog.New(slog.NewTextHandler(s.log, nil)))
	noError(s.t, service.Start())
	s.stop = func() { service.Stop(context.Background()) }
	synctest.Wait()
}

// advance advances the bubble's time by d.
func (s *backupsTest) advance(d time.Duration) {
	time.Sleep(d) // returns at once in the bubble
	synctest.Wait()
}

// wantFiles checks which files are in the folder.
func (s *backupsTest) wantFiles(names ...string) {
	s.t.Helper()
	entries, err := os.ReadDir(s.dir)
	noError(s.t, err)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	slices.Sort(names)
	if !slices.Equal(got, names) {
		s.t.Errorf("at %s the folder has %q, want %q", time.Now().UTC(), got, names)
	}
}

func (s *backupsTest) wantLog(level string, want int) {
	s.t.Helper()
	if n := strings.Count(s.log.String(), "level="+level); n != want {
		s.t.Errorf("%d lines of %s, want %d:\n%s", n, level, want, s.log)
	}
}

const day = 24 * time.Hour

func TestBackupsOnSchedule(t *testing.T) {
	t.Parallel()
	withBackups(t, func(s *backupsTest) {
		// None of these files is a backup of shop.db, though their names are similar.
		others := []string{
			"other-19990101T000000Z.db", "shop-19990101T000000Z.db.txt", "shop-19990101.db", "shop-19991301T000000Z.db", "notes.txt",
			"shop.db", "xshop-19990101T000000Z.db", "shop-19990101T000000Z.db.partial.old",
		}
		for _, name := range others {
			noError(t, os.WriteFile(filepath.Join(s.dir, name), []byte("mine"), 0o644))
		}
		noError(t, os.Mkdir(filepath.Join(s.dir, "shop-19990102T000000Z.db"), 0o755))
		others = append(others, "shop-19990102T000000Z.db")
		with := func(names ...string) []string { return append(slices.Clone(others), names...) }

		s.start(app.Backups{Every: day, Keep: 2})
		s.wantFiles(with("shop-20000101T000000Z.db")...)
		s.advance(day - time.Second)
		s.wantFiles(with("shop-20000101T000000Z.db")...)
		s.advance(time.Second)
		s.wantFiles(with("shop-20000101T000000Z.db", "shop-20000102T000000Z.db")...)
		s.advance(day)
		s.wantFiles(with("shop-20000102T000000Z.db", "shop-20000103T000000Z.db")...)
		s.wantLog("INFO", 3)
		s.wantLog("ERROR", 0)
		backup := filepath.Join(s.dir, "shop-20000103T000000Z.db")
		info, err := os.Stat(backup)
		noError(t, err)
		for _, part := range []string{fmt.Sprintf("bytes=%d ", info.Size()), "took=", "removed=1", backup} {
			if !s.log.Has(part) {
				t.Errorf("the log does not contain %s:\n%s", part, s.log)
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
	t.Parallel()
	withBackups(t, func(s *backupsTest) {
		s.start(app.Backups{Every: day, Keep: 7})
		s.advance(5 * time.Hour)
		s.stop()
		s.advance(10 * time.Hour)
		s.start(app.Backups{Every: day, Keep: 7})
		s.wantFiles("shop-20000101T000000Z.db")
		s.advance(9 * time.Hour)
		s.wantFiles("shop-20000101T000000Z.db", "shop-20000102T000000Z.db")
		s.stop()
		s.advance(3*day + 30*time.Minute) // the overdue backup is made at once
		s.start(app.Backups{Every: day, Keep: 7})
		s.wantFiles("shop-20000101T000000Z.db", "shop-20000102T000000Z.db", "shop-20000105T003000Z.db")
		s.stop()
		s.start(app.Backups{Every: time.Hour, Keep: 1}) // the new flags apply
		s.advance(time.Hour)
		s.wantFiles("shop-20000105T013000Z.db")
	})
}

// TestBackupsAfterTheClockWasSetBack checks that backups are made although the newest one is dated in the future,
// since the clock was set back.
func TestBackupsAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	withBackups(t, func(s *backupsTest) {
		future := "shop-20300101T000000Z.db"
		noError(t, os.WriteFile(filepath.Join(s.dir, future), nil, 0o600))
		s.start(app.Backups{Every: day, Keep: 1})
		s.wantFiles(future)
		s.advance(day)
		s.wantFiles(future, "shop-20000102T000000Z.db") // the newest backup is not removed
	})
}

// TestBackupsContinueAfterAFailure checks that a failure is logged and that the next attempt is an interval
// later, and that no older backup is removed before a newer one is complete.
func TestBackupsContinueAfterAFailure(t *testing.T) {
	t.Parallel()
	withBackups(t, func(s *backupsTest) {
		s.start(app.Backups{Every: day, Keep: 1})
		s.wantFiles("shop-20000101T000000Z.db")
		// The backup fails the checks because the database is inconsistent.
		corrupt := func(by string) {
			db, err := sql.Open("sqlite", s.st.Path())
			noError(t, err)
			_, err = db.Exec("UPDATE shops SET live_cards=live_cards" + by)
			noError(t, errors.Join(err, db.Close()))
		}
		servertest.Write(t, s.st, func(tx *store.Tx) error {
			_, _, err := tx.CreateShop(store.ShopFields{Name: opt("Bar Lux")})
			return err
		})
		corrupt("+1")
		s.advance(day)
		s.wantFiles("shop-20000101T000000Z.db")
		s.wantLog("ERROR", 1)
		if !s.log.Has("live_cards is not the number of live chains") {
			t.Errorf("the log does not say why:\n%s", s.log)
		}
		// The folder is missing.
		away := s.dir + "-away"
		noError(t, os.Rename(s.dir, away))
		s.advance(day)
		s.wantLog("ERROR", 2)
		noError(t, os.Rename(away, s.dir))
		corrupt("-1")
		s.advance(day - time.Second)
		s.wantFiles("shop-20000101T000000Z.db")
		s.advance(time.Second)
		s.wantFiles("shop-20000104T000000Z.db")
		s.wantLog("ERROR", 2)
	})
}

// TestBackupsRemoveLeftovers checks that the files of a killed backup are removed before the next backup,
// and that those of another process stay.
func TestBackupsRemoveLeftovers(t *testing.T) {
	t.Parallel()
	withBackups(t, func(s *backupsTest) {
		left, written := "shop-19991230T000000Z.db.partial", "shop-19991231T000000Z.db.partial"
		foreign := "other-19991230T000000Z.db.partial"
		for _, name := range []string{left, written, foreign} {
			noError(t, os.WriteFile(filepath.Join(s.dir, name), []byte("half"), 0o600))
		}
		lock := flock.New(filepath.Join(s.dir, written))
		if ok, err := lock.TryLock(); !ok || err != nil {
			t.Fatal(ok, err)
		}
		s.start(app.Backups{Every: day, Keep: 7})
		s.wantFiles(written, foreign, "shop-20000101T000000Z.db")
		lock.Close()
		s.advance(day)
		s.wantFiles(foreign, "shop-20000101T000000Z.db", "shop-20000102T000000Z.db")
	})
}
