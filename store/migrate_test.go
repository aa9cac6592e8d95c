package store

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shape returns the version of a file and its schema as SQLite stores it.
func shape(t *testing.T, path string) string {
	t.Helper()
	f := &fixture{Store: open(t, path, Options{MustExist: true}), t: t}
	defer f.Close()
	version := f.number("PRAGMA user_version")
	return fmt.Sprintf("%d\n%s", version, strings.Join(f.lines("SELECT concat_ws(' ', type, name, tbl_name, sql) FROM sqlite_schema ORDER BY type, name"), "\n"))
}

// createOlder creates a file of an older version with this schema.
func createOlder(t *testing.T, path, schema string, version int64) {
	t.Helper()
	const secret = "000102030405060708090a0b0c0d0e0f"
	createWithScript(t, path, fmt.Sprintf("%s; INSERT INTO meta (id, id_secret) VALUES (1, x'%s'); PRAGMA application_id=%d; PRAGMA user_version=%d",
		schema, secret, applicationID, version))
	if version >= secretCheckSince {
		raw, _ := hex.DecodeString(secret)
		createWithScript(t, path, fmt.Sprintf("UPDATE meta SET id_check=x'%x'", secretCheck(raw)))
	}
}

// checkMigrations compares the schema of a new file with those of files that were migrated from
// each older version. schemaOf returns the schema of a version.
func checkMigrations(t *testing.T, schemaOf func(version int64) string) {
	t.Helper()
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	open(t, fresh, Options{}).Close()
	want := shape(t, fresh)
	for _, v := range sample(versionsBefore(version())) {
		path := filepath.Join(t.TempDir(), "older.db")
		createOlder(t, path, schemaOf(v), v)
		open(t, path, Options{}).Close()
		if got := shape(t, path); got != want {
			t.Errorf("migrated from version %d:\n%s\nfresh:\n%s", v, got, want)
		}
	}
}

// TestMigratedEqualsFresh checks that a migrated file of any older version has the schema of a new
// file.
func TestMigratedEqualsFresh(t *testing.T) {
	t.Parallel()
	checkMigrations(t, savedSchema(t))
}

// versionsBefore returns the versions that a file may have before it is migrated to v.
func versionsBefore(v int64) (all []int64) {
	for older := int64(1); older < v; older++ {
		all = append(all, older)
	}
	return all
}

// savedSchema returns a function that returns the schema of an older version.
func savedSchema(t *testing.T) func(v int64) string {
	return func(v int64) string {
		path := fmt.Sprintf("testdata/schema_v%d.sql", v)
		if v == 1 { // its schema is not in testdata, since Open needs it too
			path = "migrations/1.sql"
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("the schema of version %d is missing: %v", v, err)
		}
		return string(b)
	}
}

// TestMigrationKeepsDeliveries checks that the migration that replaced the table of deliveries
// keeps their values. Its outcome is the former state, or null for pending; empty headers become
// null.
func TestMigrationKeepsDeliveries(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "older.db")
	createOlder(t, path, savedSchema(t)(3)+`; INSERT INTO deliveries (webhook_id, event_id, state, special, due_at, attempts, response_status, last_error, duration_ms, request_headers, delivered_at) VALUES
		(1, 1, 'delivered', 0, NULL, 1, 204, NULL, 12, '{"A":"b"}', 500), (1, 2, 'failed', 2, 600, 5, 500, 'status 500', 9, '{"A":"c"}', NULL),
		(1, 3, 'pending', 1, 700, 2, NULL, 'refused', 3, '{"A":"d"}', NULL), (2, 3, 'pending', 0, NULL, 0, NULL, NULL, 0, '{}', NULL)`, 3)
	f := &fixture{Store: open(t, path, Options{}), t: t}
	got := f.lines("SELECT concat_ws('|', webhook_id, event_id, quote(outcome), special, quote(due_at), attempts, quote(response_status), quote(last_error), duration_ms, quote(request_headers), quote(delivered_at)) FROM deliveries")
	want := []string{`1|1|'delivered'|0|NULL|1|204|NULL|12|'{"A":"b"}'|500`, `1|2|'failed'|2|600|5|500|'status 500'|9|'{"A":"c"}'|NULL`,
		`1|3|NULL|1|700|2|NULL|'refused'|3|'{"A":"d"}'|NULL`, `2|3|NULL|0|NULL|0|NULL|NULL|0|NULL|NULL`}
	if !slices.Equal(got, want) {
		t.Errorf("after the migration\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestMigrationKeepsMail checks that the migration that replaced the table of queued mail keeps the
// messages and adds the shop of their card.
func TestMigrationKeepsMail(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "older.db")
	createOlder(t, path, savedSchema(t)(5)+`; INSERT INTO shops (id, name, mode, timezone, subscription_state, api_addon, mcp_access, included_locations, created_at, updated_at)
		VALUES (3, 'Shop', 'live', 'UTC', 'active', 1, 1, 1, 1, 1);
		INSERT INTO cards (id, shop_id, program_id, source, live, created_at, updated_at) VALUES (7, 3, 1, 'api', 1, 1, 1);
		INSERT INTO mails (card_id, token, ends_at, due_at, attempts, unsure, created_at) VALUES (7, 'token', 900, 800, 2, 1, 700)`, 5)
	f := &fixture{Store: open(t, path, Options{}), t: t}
	got := f.lines("SELECT concat_ws('|', card_id, token, ends_at, due_at, attempts, unsure, created_at, shop_id, quote(quota)) FROM mails")
	if want := []string{"7|token|900|800|2|1|700|3|NULL"}; !slices.Equal(got, want) {
		t.Errorf("after the migration %q, want %q", got, want)
	}
}

// TestMigrationBlanksDeletedWebhooks checks that webhooks that were deleted before
// version 6 lose their secrets, and others keep them.
func TestMigrationBlanksDeletedWebhooks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "older.db")
	hook := func(deleted string) string {
		return `; INSERT INTO webhooks (shop_id, program_id, url, events, program_ids, location_ids, include_shop_wide_events, active, description, bearer_token, secret,
			http_method, custom_headers, payload_version, created_at, updated_at, deleted_at) VALUES (1, 1, 'https://hooks.invalid/', '[]', '[]', '[]', 1, 1, '', 'token', 'whsec_', 'POST', '{"X":"y"}', 'v2', 1, 1, ` + deleted + `)`
	}
	createOlder(t, path, savedSchema(t)(5)+hook("NULL")+hook("7"), 5)
	f := &fixture{Store: open(t, path, Options{}), t: t}
	got := f.lines("SELECT concat_ws('|', secret, quote(bearer_token), custom_headers) FROM webhooks ORDER BY id")
	if want := []string{`whsec_|'token'|{"X":"y"}`, "|NULL|{}"}; !slices.Equal(got, want) {
		t.Errorf("after the migration %q, want %q", got, want)
	}
}

// withSteps adds migrations for the duration of a test.
func withSteps(t *testing.T, steps ...string) {
	oldSchema, oldSteps := schema, migrations
	t.Cleanup(func() { schema, migrations = oldSchema, oldSteps })
	migrations = append(slices.Clone(migrations), steps...)
	schema += ";" + strings.Join(steps, ";")
}

const (
	addColumn = "ALTER TABLE shops ADD COLUMN colour TEXT"
	addTable  = "CREATE TABLE trays (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT; INSERT INTO trays (name) VALUES ('first')"
)

// TestMadeUpMigrations checks the schemas after two migrations that only this test has.
func TestMadeUpMigrations(t *testing.T) {
	last, at := schema, version()
	withSteps(t, addColumn, addTable)
	checkMigrations(t, func(v int64) string {
		switch v {
		case at:
			return last
		case at + 1:
			return last + ";" + addColumn
		}
		return savedSchema(t)(v)
	})
}

func TestMigrationRunsOnce(t *testing.T) {
	f := start(t, Options{})
	f.card(f.a, f.program(f.a, stamps("Coffee")), CardFields{HolderName: set("Ada")})
	before := f.dump()
	id := f.ID(KindCard, 1)
	f.Close()

	withSteps(t, addColumn, addTable)
	for range 3 {
		f = &fixture{Store: open(t, f.path, Options{}), t: t}
		if n := f.number("SELECT count(*) FROM trays"); n != 1 {
			t.Errorf("the step that adds a row left %d", n)
		}
		if n := f.number("PRAGMA user_version"); n != version() {
			t.Errorf("the file has version %d after two steps to %d", n, version())
		}
		if id != f.ID(KindCard, 1) {
			t.Error("the ids differ after a migration")
		}
		f.Close()
	}
	f = &fixture{Store: open(t, f.path, Options{}), t: t}
	f.sql("DROP TABLE trays")
	f.sql("ALTER TABLE shops DROP COLUMN colour")
	if after := f.dump(); after != before {
		t.Errorf("the migration changed rows: %s", firstDifference(before, after))
	}
}

func TestFailedMigrationLeavesTheFile(t *testing.T) {
	for name, bad := range map[string]string{
		"bad SQL":             "INSERT INTO trays (name) VALUES ('second'); THIS IS NOT SQL",
		"a broken constraint": "UPDATE shops SET mode='neither'",
		"an unknown table":    "UPDATE shops SET name='half way'; CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT; INSERT INTO nowhere VALUES (1)",
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t, Options{})
			before := f.dump()
			f.Close()
			was := shape(t, f.path)
			t.Run("with the step", func(t *testing.T) {
				withSteps(t, addColumn, addTable, bad)
				refuses(t, f.path, Options{}, fmt.Sprintf("from schema %d to %d: ", version()-1, version()))
			})
			if got := shape(t, f.path); got != was {
				t.Errorf("the schema is\n%s\nand was\n%s", got, was)
			}
			f = &fixture{Store: open(t, f.path, Options{}), t: t}
			if after := f.dump(); after != before {
				t.Errorf("the rows changed: %s", firstDifference(before, after))
			}
		})
	}
}

func TestSchema(t *testing.T) {
	t.Parallel()
	if to, err := os.Readlink("../schema.sql"); err != nil || to != "store/schema.sql" {
		t.Errorf("schema.sql at the root is a link to %q, %v", to, err)
	}
	f := start(t, Options{})
	loose := f.lines("SELECT name FROM pragma_table_list WHERE schema='main' AND type='table' AND strict=0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
	if len(loose) > 0 {
		t.Errorf("not STRICT: %v", loose)
	}
	if n := f.number("SELECT count(*) FROM pragma_table_list WHERE schema='main' AND type='table' AND strict=1"); n < 10 {
		t.Errorf("only %d tables were checked", n)
	}
	for pragma, want := range map[string]string{"foreign_keys": "1", "journal_mode": "wal", "temp_store": "2", "application_id": fmt.Sprint(applicationID)} {
		if got := f.lines("PRAGMA " + pragma); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %v, want %s", pragma, got, want)
		}
	}
	durable := &fixture{Store: open(t, filepath.Join(t.TempDir(), "cards.db"), Options{}), t: t}
	durable.must(func(tx *Tx) error {
		if n, err := tx.conn.number("PRAGMA synchronous"); n != 2 || err != nil {
			t.Errorf("the writer's synchronous is %d, %v, want 2 (FULL)", n, err)
		}
		return nil
	})
}
