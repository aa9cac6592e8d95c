package store

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"punchcard/store/sqlite"
)

// countTables are the tables of the sums, which files before schema 3 lack.
var countTables = []string{"program_counts", "place_counts", "quarter_counts", "day_counts", "hour_counts"}

// sumsOf returns the rows of all sums, except for those that are zero, and the columns of cards
// that belong to the sums.
func (f *fixture) sumsOf() string {
	f.t.Helper()
	var b strings.Builder
	for _, table := range countTables {
		some := map[string]string{"program_counts": "1", "place_counts": "cards<>0 OR stamps<>0", "hour_counts": "stamps<>0"}[table]
		if some == "" {
			some = "activity<>0 OR stamps<>0 OR cards<>0"
		}
		cols := f.lines("SELECT name FROM pragma_table_info(?)", table)
		fmt.Fprintln(&b, table)
		fmt.Fprintln(&b, strings.Join(f.lines("SELECT concat_ws(' ',"+strings.Join(cols, ",")+") FROM "+table+" WHERE "+some), "\n"))
	}
	fmt.Fprintln(&b, strings.Join(f.lines("SELECT concat_ws(' ', id, ifnull(last_stamp_at, '-'), lapsed) FROM cards"), "\n"))
	return b.String()
}

// presentCards presents cards of all types in all ways that the sums count. It returns a card with a
// stamp that expires, and one that was refused before another location accepted it.
func (k till) presentCards() (short, refusedFirst string) {
	k.t.Helper()
	program, prizes := k.ladder(true, 5, 10)
	for i := range 6 {
		issued := must(k.fixture, func(tx *Tx) (IssuedCard, error) {
			return tx.IssueCard(k.a, program, CardFields{ExpiresAt: set(k.clock.at().Add(days(20)))}, SourceAPI)
		})
		k.ok(k.stamp(issued.ID, 3))
		k.clock.move(days(1) + 7*time.Hour)
		second := k.ok(k.stamp(issued.ID, 9)).Transaction.ID
		switch i {
		case 0:
			k.ok(k.reverse(second))
		case 1:
			k.ok(k.redeem(issued.ID, prizes[1]))
			k.ok(k.stamp(issued.ID, 2))
		case 2:
			k.ok(k.reverse(k.ok(k.redeem(issued.ID, prizes[0])).Transaction.ID))
			check(k.install(issued.InstallURL))
		case 3:
			k.lock(issued.ID, true)
		case 4:
			k.must(func(tx *Tx) error { return tx.EraseCard(k.a.Shop, issued.ID) })
		}
	}
	fields := stamps("Short")
	fields.StampsExpireAfterDays = set(int64(1))
	short = k.card(k.a, k.program(k.a, fields), CardFields{})
	k.ok(k.stamp(short, 4))
	k.clock.move(days(3))
	k.ok(k.stamp(short, 1))
	gift := k.card(k.a, k.program(k.a, prepaid("Gift", 300)), CardFields{})
	k.ok(k.topUp(gift, 200))
	k.ok(k.reverse(k.ok(k.spend(gift, 50)).Transaction.ID))
	k.ok(k.spend(gift, 70))
	k.ok(k.use(k.card(k.a, k.program(k.a, access("Club")), CardFields{})))
	k.ok(k.use(k.card(k.a, k.program(k.a, discount("Off")), CardFields{})))
	must(k.fixture, func(tx *Tx) (IssuedCard, error) { return tx.IssueAtCounter(k.device, program, CounterFields{}) })
	dropped := k.program(k.a, stamps("Dropped"))
	k.ok(k.stamp(k.card(k.a, dropped, CardFields{}), 2))
	k.must(func(tx *Tx) error { return tx.DeleteProgram(k.a.Shop, dropped) })
	refusedFirst = k.card(k.a, program, CardFields{ExpiresAt: set(k.clock.at().Add(time.Hour))})
	k.clock.move(time.Hour)
	_, err := k.stamp(refusedFirst, 1)
	refused(k.t, err, CardExpired)
	must(k.fixture, func(tx *Tx) (CardDetail, error) {
		return tx.UpdateCard(k.a, refusedFirst, CardPatch{ExpiresAt: null[Time]()})
	})
	elsewhere := k.till(k.a)
	elsewhere.ok(elsewhere.stamp(refusedFirst, 1))
	full, _ := k.ladder(false)
	k.ok(k.stamp(k.card(k.a, full, CardFields{}), 10))
	return short, refusedFirst
}

// olderCopy creates a file of version v with the rows of the file of k in its tables, and returns its
// path. refusedFirst is the key of a card that was refused before it was accepted.
func olderCopy(t *testing.T, k till, v int64, tables []string, refusedFirst int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "older.db")
	createOlder(t, path, savedSchema(t)(v), v)
	script := fmt.Sprintf("PRAGMA foreign_keys=0; ATTACH '%s' AS full; DELETE FROM meta;", k.path)
	c := check(openConn(path, sqlite.ReadWrite))
	has := map[string][]string{}
	r := c.query("SELECT " + columns("t.name", "c.name") + " FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type='table'")
	for r.next() {
		table := r.str()
		has[table] = append(has[table], r.str())
	}
	if err := r.close(); err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if cols := strings.Join(has[table], ","); cols != "" && table != "deliveries" && table != "events" && (v >= countedSince || !slices.Contains(countTables, table)) {
			script += fmt.Sprintf("INSERT INTO main.%s (%s) SELECT %s FROM full.%s;", table, cols, cols, table)
		}
	}
	if counts := has["program_counts"] != nil; counts != (v >= 3) {
		t.Fatalf("the older schema counts: %v", counts)
	}
	// Versions before 6 counted the card at the location that refused it.
	if v < countedSince {
		script += fmt.Sprintf("UPDATE main.cards SET first_location_id=%d WHERE id=%d;", k.device.Location, refusedFirst)
	}
	if err := c.script(script); err != nil {
		t.Fatal(err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOlderFilesAreCounted checks that opening a file of an older version, which has no sums or
// sums of another meaning, gives it the sums of a file that has counted from the start.
func TestOlderFilesAreCounted(t *testing.T) {
	t.Parallel()
	k := startTill(t)
	k.inZone("Australia/Lord_Howe")
	short, refusedFirst := k.presentCards()
	k.checkFile()
	want := k.sumsOf()
	tables := k.lines("SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name")
	k.Close()

	for _, v := range sample(versionsBefore(quarterMoneySince)) {
		t.Run(fmt.Sprintf("version %d", v), func(t *testing.T) {
			path := olderCopy(t, k, v, tables, k.key(KindCard, refusedFirst))
			f := &fixture{Store: open(t, path, Options{Now: k.clock.now}), t: t, clock: k.clock, a: k.a}
			f.checkFile()
			if got := f.sumsOf(); got != want {
				t.Errorf("counted at the opening:\n%s\nall along:\n%s", got, want)
			}
			// It continues to count.
			on := till{fixture: f, device: k.device, location: k.location}
			on.ok(on.stamp(short, 1))
			f.checkFile()
		})
	}
}
