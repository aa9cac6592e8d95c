package store

import (
	"bytes"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// children are functions that this binary runs when a test starts it as another process.
var children = map[string]func(path string){"serve": serveChild, "issue": issueChild, "erase": eraseChild}

func TestMain(m *testing.M) {
	if child := children[os.Getenv("STORE_TEST_CHILD")]; child != nil {
		child(os.Getenv("STORE_TEST_PATH"))
		os.Exit(0)
	}
	debug.SetGCPercent(400) // stores have small heaps and are soon closed
	goleak.VerifyTestMain(m)
}

var seedFlag = flag.Uint64("store.seed", 0, "seed of the random tests; 0: a new one")

// chance returns a source of random numbers whose seed is logged.
func chance(t testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("repeat with -store.seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// clock is the store's clock, which changes only by move.
type clock struct{ ms atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ms.Store(time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC).UnixMilli())
	return c
}

func (c *clock) now() time.Time       { return time.UnixMilli(c.ms.Load()) }
func (c *clock) at() Time             { return Time(c.ms.Load()) }
func (c *clock) move(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// fixture is an open store with one shop.
type fixture struct {
	*Store
	t     testing.TB
	clock *clock
	a     Access // of the shop
	// byHand is set when rows were written directly, so that statistics are out of date.
	byHand bool
}

// lower sets a limit for the duration of a test, which must run alone.
func lower(t *testing.T, limit *int, to int) {
	old := *limit
	t.Cleanup(func() { *limit = old })
	*limit = to
}

// sample returns all cases of a test or, with go test -short, every eighth: see
// servertest.Sample.
func sample[T any](cases []T) (some []T) {
	if !testing.Short() {
		return cases
	}
	for i := 0; i < len(cases); i += 8 {
		some = append(some, cases[i])
	}
	return some
}

// start returns a fixture on a new file with options, and lets the test run beside others.
func start(t testing.TB, opts ...Options) *fixture {
	parallel(t)
	return startAlone(t, append(opts, Options{})[0])
}

// parallel lets a test run beside others, unless it is a subtest or does so already.
func parallel(t testing.TB) {
	if t, ok := t.(*testing.T); ok && !strings.Contains(t.Name(), "/") {
		defer func() { recover() }() // of the second call's panic
		t.Parallel()
	}
}

// ownVersion is the version of the schema without the steps that single tests add.
var ownVersion = version()

// newFile returns the content of a new file, which start copies, since that is faster than to create the
// schema. All copies have the same secret.
var newFile = sync.OnceValue(func() []byte {
	dir := check(os.MkdirTemp("", "store"))
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "cards.db")
	if err := check(Open(path, Options{Ephemeral: true})).Close(); err != nil {
		panic(err)
	}
	return check(os.ReadFile(path))
})

// startAlone returns a fixture, with synchronous=OFF for speed, for a test that changes what all tests share.
func startAlone(t testing.TB, opts Options) *fixture {
	opts.Ephemeral = true
	if opts.Readers == 0 {
		opts.Readers = 2
	}
	f := &fixture{t: t, clock: newClock()}
	if opts.Now == nil {
		opts.Now = f.clock.now
	}
	path := newPath(t)
	if opts.IDSecret == nil && version() == ownVersion {
		path = newDatabase(t)
	}
	f.Store = open(t, path, opts)
	f.a = f.shop(ShopFields{})
	return f
}

func open(t testing.TB, path string, opts Options) *Store {
	s := check(Open(path, opts))
	t.Cleanup(func() { s.Close() })
	return s
}

// newDatabase returns the path of a new database.
func newDatabase(t testing.TB) string {
	path := newPath(t)
	succeed(os.WriteFile(path, newFile(), 0o600))
	return path
}

// newPath returns the path of a database in a new folder.
func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "cards.db") }

// reopen returns a fixture on a file that exists.
func reopen(t testing.TB, path string, opts Options) *fixture {
	return &fixture{Store: open(t, path, opts), t: t}
}

// second returns a fixture on the same file, as another process would open it.
func (f *fixture) second() *fixture {
	g := reopen(f.t, f.path, Options{Ephemeral: true, Readers: 1, Now: f.clock.now})
	g.clock, g.a = f.clock, f.a
	return g
}

// in returns the fixture for another shop.
func (f *fixture) in(a Access) *fixture {
	g := *f
	g.a = a
	return &g
}

// restrictedTo returns what a key that is restricted to locations has access to.
func (f *fixture) restrictedTo(locations ...string) Access {
	a := Access{Shop: f.a.Shop, Restricted: true}
	for _, id := range locations {
		a.Locations = append(a.Locations, f.key(KindLocation, id))
	}
	return a
}

var operator = Actor{Type: "user", Name: "ada"}

func (f *fixture) do(fn func(*Tx) error) error {
	return f.Write(context.Background(), Write{Actor: operator, Do: fn})
}

// must makes a write, and panics if it fails.
func (f *fixture) must(fn func(*Tx) error) { succeed(f.do(fn)) }

// must makes a write and returns its result, and panics if it fails.
func must[T any](f *fixture, fn func(*Tx) (T, error)) (out T) {
	f.must(func(tx *Tx) (err error) {
		out, err = fn(tx)
		return err
	})
	return out
}

// check returns v and panics if err is not nil.
func check[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// errorOf returns the error of a call with two results.
func errorOf[T any](_ T, err error) error { return err }

// sql changes rows directly and returns their number.
func (f *fixture) sql(sql string, args ...any) (n int64) {
	f.byHand = true
	f.must(func(tx *Tx) error {
		n = tx.exec(sql, args...)
		return nil
	})
	return n
}

// number returns the integer that a query selects.
func (f *fixture) number(sql string, args ...any) (n int64) {
	f.reads(func(v *View) { n = check(v.conn.Number(sql, args...)) })
	return n
}

// selects fails the test unless a query selects the integer want.
func (f *fixture) selects(want int64, sql string, args ...any) {
	f.t.Helper()
	if got := f.number(sql, args...); got != want {
		f.t.Errorf("%s gives %d, want %d", sql, got, want)
	}
}

// lines returns the rows of a query with one column.
func (f *fixture) lines(sql string, args ...any) (out []string) {
	f.view(func(v *View) error {
		r := v.query(sql, args...)
		for r.next() {
			out = append(out, r.str())
		}
		return r.close()
	})
	return out
}

// selectsLines fails the test unless a query with one column selects the rows want.
func (f *fixture) selectsLines(want []string, sql string, args ...any) {
	f.t.Helper()
	if got := f.lines(sql, args...); !slices.Equal(got, want) {
		f.t.Errorf("%s gives\n%s\nwant\n%s", sql, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func (f *fixture) view(fn func(*View) error) { succeed(f.View(0, fn)) }

// view makes a read and returns its result, and panics if it fails.
func view[T any](f *fixture, fn func(*View) (T, error)) (out T) {
	f.view(func(v *View) (err error) {
		out, err = fn(v)
		return err
	})
	return out
}

// checkFile fails the test if rows break an invariant of Check.
func (f *fixture) checkFile() {
	f.t.Helper()
	f.recountByHand()
	if found := f.broken(); len(found) > 0 {
		f.t.Fatalf("check: %q", found)
	}
}

// broken returns the findings of Check about invariants.
func (f *fixture) broken() []string {
	return view(f, func(v *View) ([]string, error) {
		v.snapshot()
		return v.checkInvariants(nil, Invariants)
	})
}

// checkPages fails the test if Check has findings. It takes three times as long as checkFile, since SQLite checks
// all pages and indexes, and is for tests of how these are written.
func (f *fixture) checkPages() {
	f.t.Helper()
	f.recountByHand()
	if found := check(f.Check()); len(found) > 0 {
		f.t.Fatalf("check: %q", found)
	}
}

// recountByHand recounts the sums and empties name_words if the test wrote rows directly.
func (f *fixture) recountByHand() {
	if !f.byHand {
		return
	}
	f.must((*Tx).RecountStats)
	f.must(func(tx *Tx) error {
		tx.exec("DELETE FROM name_words")
		tx.exec("UPDATE meta SET indexed_cards=0")
		return tx.failed
	})
	f.byHand = false
}

func (f *fixture) shop(fields ShopFields) (a Access) {
	if !fields.Name.Set {
		fields.Name = set("My shop")
	}
	f.must(func(tx *Tx) (err error) {
		a.Shop, _, err = tx.CreateShop(fields)
		return err
	})
	return a
}

// child inserts an overflow instance without stamps into a chain.
func (f *fixture) child(parent string) (id string) {
	const inherited = "external_ref, holder_name, holder_email, email_key, expires_at, activated_at, installed_at"
	f.sql("INSERT INTO cards (shop_id, program_id, root_id, parent_id, source, live, created_at, updated_at, "+inherited+`)
		SELECT shop_id, program_id, ifnull(root_id, id), id, 'overflow', 0, ?1, ?1, `+inherited+" FROM cards WHERE id=?2",
		f.clock.at(), f.key(KindCard, parent))
	return f.ID(KindCard, f.number("SELECT max(id) FROM cards"))
}

// ledger inserts n rows of type kind with one stamp each and returns their keys.
func (f *fixture) ledger(a Access, card, program, location, kind string, n int) (keys []int64) {
	for range n {
		f.sql(`INSERT INTO transactions (shop_id, card_id, program_id, location_id, type, stamps_delta, metadata, created_at)
			VALUES (?,?,?,?,?,1,'{"till":1}',?)`,
			a.Shop, f.key(KindCard, card), f.key(KindProgram, program), f.key(KindLocation, location), kind, f.clock.at())
		keys = append(keys, f.number("SELECT max(id) FROM transactions"))
	}
	f.sql("UPDATE cards SET stamps_count=stamps_count+? WHERE id=?", n, f.key(KindCard, card))
	return keys
}

func (f *fixture) key(kind Kind, id string) int64 {
	key, ok := f.Key(kind, id)
	if !ok {
		panic(fmt.Sprintf("%q is no id of kind %d", id, kind))
	}
	return key
}

func (f *fixture) read(id string) (d CardDetail, err error) {
	err = f.View(0, func(v *View) error {
		d, err = v.Card(f.a, id)
		return err
	})
	return d, err
}

func set[T any](v T) Opt[T] { return Opt[T]{V: v, Set: true} }
func null[T any]() Opt[T]   { return Opt[T]{Set: true, Null: true} }

func setInt(n int64) Opt[int64] { return set(n) }

func optional(s string) Opt[string] { return Opt[string]{V: s, Set: s != ""} }

// refused fails the test unless err is a refusal with this code.
func refused(t testing.TB, err error, code Code) {
	t.Helper()
	if e, ok := AsError(err); !ok || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
}

// enqueue passes a write to the writer without waiting for it, so that the test determines the
// order.
func (f *fixture) enqueue(do func(*Tx) error) *job {
	return f.enqueueWrite(Write{Actor: operator, Do: do})
}

func (f *fixture) enqueueWrite(w Write) *job {
	j := &job{Write: w, done: make(chan struct{})}
	f.queue <- j
	return j
}

func (j *job) wait() error {
	<-j.done
	return j.err
}

// hold blocks the writer in a group of its own until release is called. Writes that are queued
// meanwhile form the next groups.
func (f *fixture) hold() (release func()) {
	running, end := make(chan struct{}), make(chan struct{})
	j := f.enqueue(func(*Tx) error {
		close(running)
		<-end
		return nil
	})
	<-running
	return func() {
		close(end)
		<-j.done
	}
}

// group makes all writes in one transaction, in this order, and returns their errors.
func (f *fixture) group(writes ...Write) (errs []error) {
	release := f.hold()
	jobs := make([]*job, len(writes))
	for i, w := range writes {
		jobs[i] = f.enqueueWrite(w)
	}
	release()
	for _, j := range jobs {
		errs = append(errs, j.wait())
	}
	return errs
}

// commits counts the transactions in the WAL since it was last reset.
func (f *fixture) commits() (n int) {
	b := check(os.ReadFile(f.path + "-wal"))
	if len(b) < 32 {
		return 0
	}
	frame := 24 + int(binary.BigEndian.Uint32(b[8:]))
	for at := 32; at+frame <= len(b) && bytes.Equal(b[at+8:at+16], b[16:24]); at += frame {
		if binary.BigEndian.Uint32(b[at+4:]) != 0 {
			n++
		}
	}
	return n
}

// tables returns for each table, by its name, a query that gives its rows as text.
func (f *fixture) tables() map[string]string {
	all := map[string]string{}
	for _, line := range f.lines(`SELECT concat(t.name, ' ', group_concat('quote(' || c.name || ')' ORDER BY c.cid))
		FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type='table' GROUP BY t.name`) {
		name, columns, _ := strings.Cut(line, " ")
		all[name] = "SELECT concat_ws(','," + columns + ") FROM " + name
	}
	return all
}

// dump returns the content of every table.
func (f *fixture) dump() string {
	var b strings.Builder
	tables := f.tables()
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		fmt.Fprintf(&b, "%s\n%s\n", name, strings.Join(f.lines(tables[name]), "\n"))
	}
	return b.String()
}
