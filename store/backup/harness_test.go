package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"punchcard/store"
	"punchcard/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is an open store with one shop.
type fixture struct {
	*store.Store
	t    testing.TB
	a    store.Access // to the shop
	conn *sqlite.Conn // of number; nil before its first call
}

// start opens a store on a new file.
func start(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{t: t, Store: open(t, filepath.Join(t.TempDir(), "cards.db"))}
	f.a.Shop = must(f, func(tx *store.Tx) (int64, error) {
		shop, _, err := tx.CreateShop(store.ShopFields{})
		return shop, err
	})
	return f
}

// open opens a store, and closes it when the test ends.
func open(t testing.TB, path string) *store.Store {
	t.Helper()
	s := check(store.Open(path, store.Options{Ephemeral: true, Readers: 2, PublicURL: "https://example.com"}))
	t.Cleanup(func() { s.Close() })
	return s
}

// on returns the fixture for a store on another file.
func (f *fixture) on(path string) *fixture {
	f.t.Helper()
	return &fixture{Store: open(f.t, path), t: f.t, a: f.a}
}

// must makes a write that must succeed and returns its result.
func must[T any](f *fixture, fn func(*store.Tx) (T, error)) (out T) {
	f.t.Helper()
	if err := f.Write(context.Background(), store.Write{Actor: store.Actor{Type: "user", Name: "ada"}, Do: func(tx *store.Tx) (err error) {
		out, err = fn(tx)
		return err
	}}); err != nil {
		f.t.Fatal(err)
	}
	return out
}

// set returns a field that is given.
func set[T any](v T) store.Opt[T] { return store.Opt[T]{V: v, Set: true} }

// program creates a published program of ten stamps that repeats.
func (f *fixture) program(name string) (id string) {
	f.t.Helper()
	return must(f, func(tx *store.Tx) (string, error) {
		p, err := tx.CreateProgram(
			f.a,
			store.ProgramFields{
				Name:             set(name),
				Type:             set("standard"),
				TotalStamps:      set(int64(10)),
				IconKey:          set("star"),
				RepeatAfterReset: set(true),
			},
		)
		if err != nil {
			return "", err
		}
		_, err = tx.ProgramAction(f.a, p.ID, store.Publish)
		return p.ID, err
	})
}

// card issues a card.
func (f *fixture) card(program string, fields store.CardFields) store.IssuedCard {
	f.t.Helper()
	return must(f, func(tx *store.Tx) (store.IssuedCard, error) {
		return tx.IssueCard(f.a, program, fields, store.SourceAPI)
	})
}

// webhook creates a webhook for all events of a program.
func (f *fixture) webhook(program string) {
	f.t.Helper()
	must(f, func(tx *store.Tx) (store.CreatedWebhook, error) {
		tx.CheckedTarget = "https://example.com"
		return tx.CreateWebhook(f.a, program, store.WebhookFields{URL: set("https://example.com"), Events: set([]string{"*"})})
	})
}

// till creates a location with a device.
func (f *fixture) till() (at store.Till) {
	f.t.Helper()
	return must(f, func(tx *store.Tx) (at store.Till, err error) {
		l, err := tx.CreateLocation(f.a.Shop, store.LocationFields{}, store.StaffPIN{})
		if err != nil {
			return at, err
		}
		d, _, err := tx.CreateDevice(f.a.Shop, store.NewDevice{LocationID: l.ID, Name: "Till", AcceptsCardIDs: true})
		at.Shop, at.AcceptsCardIDs = f.a.Shop, true
		at.Location, _ = f.Key(store.KindLocation, l.ID)
		at.Device, _ = f.Key(store.KindDevice, d.ID)
		return at, err
	})
}

// backup makes a backup and returns its file.
func (f *fixture) backup() (file string) {
	file = filepath.Join(f.t.TempDir(), "copy.db")
	check(Create(f.t.Context(), f.Path(), file, Options{}))
	return file
}

// restore restores a backup to a new file and returns the fixture for it.
func (f *fixture) restore(file string, at time.Time) *fixture {
	restored := filepath.Join(f.t.TempDir(), "again.db")
	check(Restore(f.t.Context(), file, restored, at, Options{}))
	return f.on(restored)
}

// code returns the QR code's text of the card with this install link.
func (f *fixture) code(installURL string) (code string) {
	succeed(f.View(0, func(v *store.View) error {
		h, err := v.HolderCard(path.Base(installURL))
		code = h.Code
		return err
	}))
	return code
}

// checkFile fails the test if Check has findings.
func (f *fixture) checkFile() {
	f.t.Helper()
	if found, err := f.Check(); err != nil || len(found) > 0 {
		f.t.Fatalf("check: %q, %v", found, err)
	}
}

// number returns the integer that a query selects.
func (f *fixture) number(sql string, args ...any) int64 {
	if f.conn == nil {
		f.conn = connect(f.t, f.Path())
		f.t.Cleanup(func() { f.conn.Close() })
	}
	return check(f.conn.Number(sql, args...))
}

// dump returns the content of every table.
func (f *fixture) dump() string {
	f.t.Helper()
	c := connect(f.t, f.Path())
	defer c.Close()
	lines := func(sql string, args ...any) (out []string) {
		r := c.Query(sql, args...)
		for r.Next() {
			out = append(out, r.Text())
		}
		succeed(r.Close())
		return out
	}
	var b strings.Builder
	for _, table := range lines("SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name") {
		var cols []string
		for _, c := range lines("SELECT name FROM pragma_table_info(?)", table) {
			cols = append(cols, "quote("+c+")")
		}
		fmt.Fprintf(&b, "%s\n%s\n", table, strings.Join(lines("SELECT concat_ws(',',"+strings.Join(cols, ",")+") FROM "+table), "\n"))
	}
	return b.String()
}

// createOlder creates a file of version 11.
func createOlder(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "older.db")
	schema := check(os.ReadFile("../migrations/11.sql"))
	succeed(os.WriteFile(path, nil, 0o600))
	c := connect(t, path)
	defer c.Close()
	succeed(c.Script(string(schema) + "; INSERT INTO meta (id, id_secret, id_check) VALUES (1, zeroblob(16), x'3534d8d874e0c081'); " +
		"PRAGMA application_id=0x706e6368; PRAGMA user_version=11"))
	return path
}

// connect opens a file beside the store.
func connect(t testing.TB, path string) *sqlite.Conn {
	t.Helper()
	return check(sqlite.Open(path, sqlite.ReadWrite, "busy_timeout=5000"))
}

// countdown is a context that is canceled after its error was read a number of times.
type countdown struct {
	context.Context
	after int
}

func (e *countdown) Err() error {
	if e.after--; e.after < 0 {
		return context.Canceled
	}
	return nil
}

// folder returns the names of the files in a folder.
func folder(t *testing.T, dir string) (names []string) {
	t.Helper()
	for _, e := range check(os.ReadDir(dir)) {
		names = append(names, e.Name())
	}
	return names
}

// check returns a value, and panics if err is not nil.
func check[T any](v T, err error) T {
	succeed(err)
	return v
}

// succeed panics if one of the errors is not nil.
func succeed(errs ...error) {
	if err := errors.Join(errs...); err != nil {
		panic(err)
	}
}
