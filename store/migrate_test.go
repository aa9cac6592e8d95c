package store

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shape returns the version of a file and its schema, without comments and blanks.
func shape(t *testing.T, path string) string {
	f := reopen(t, path, Options{MustExist: true})
	defer f.Close()
	version := f.number("PRAGMA user_version")
	lines := f.lines("SELECT concat_ws(' ', type, name, tbl_name, sql) FROM sqlite_schema ORDER BY type, name")
	return fmt.Sprintf("%d\n%s", version, bareSQL(strings.Join(lines, "\n\n")))
}

// createOlder creates a file of an older version, and runs a script in it.
func createOlder(t *testing.T, path string, version int64, script string) {
	secret := make([]byte, 16)
	createWithScript(t, path, fmt.Sprintf("PRAGMA synchronous=OFF; BEGIN; %s; INSERT INTO meta (id, id_secret, id_check) VALUES "+
		"(1, x'%x', x'%x'); PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT; %s",
		schemaOf(version), secret, secretCheck(secret), applicationID, version, script))
}

// TestMigratedEqualsFresh checks that a migrated file of any older version has the schema of a new
// file. The two newest migrations are those of this test, so that there are several.
func TestMigratedEqualsFresh(t *testing.T) {
	withSteps(t, addColumn, addTable)
	fresh := newPath(t)
	open(t, fresh, Options{}).Close()
	want := shape(t, fresh)
	for v := int64(firstVersion); v < version(); v++ {
		path := newPath(t)
		createOlder(t, path, v, "")
		open(t, path, Options{Serve: true}).Close()
		if got := shape(t, path); got != want {
			t.Errorf("migrated from version %d:\n%s\nfresh:\n%s", v, got, want)
		}
	}
}

// TestMigrationTo12 checks that the accounts of operators, and those with a second factor, count as proved after a
// migration to version 12 and others do not, and that each member of staff works at the same location as before.
func TestMigrationTo12(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	script := `INSERT INTO shops (id, name, mode, timezone, subscription_state, api_addon, mcp_access, included_locations, created_at,
		updated_at) VALUES (1, '', 'test', 'UTC', 'active', 1, 1, 9, 1, 1); INSERT INTO locations SELECT value, 1, '', '', '', '', '', 0, 0,
		0, NULL, NULL, 1, 1 FROM json_each('[7,8]'); `
	for i, name := range []string{"ada", "bob", "cleo"} {
		script += fmt.Sprintf(`INSERT INTO staff (id, shop_id, location_id, name, pin, created_at) 
				VALUES (%[1]d, 1, %[2]d, '%[3]s', 'x', 1);
			INSERT INTO users (email, email_key, name, password, language, operator, totp_secret, password_changed_at,
				created_at, updated_at)
			VALUES ('%[3]s@x.test', '%[3]s@x.test', '%[3]s', '', 'en', %[1]d=1, iif(%[1]d=2, x'00', NULL), 1, 1, 1); `, i+1, 7+i/2, name)
	}
	createOlder(t, path, 11, script)
	f := reopen(t, path, Options{Serve: true})
	f.selectsLines([]string{"ada", "bob"}, "SELECT name FROM users WHERE email_proved=1 ORDER BY name")
	f.selectsLines([]string{"ada x 7", "bob x 7", "cleo x 8"},
		"SELECT concat_ws(' ', name, pin, location_id) FROM staff JOIN staff_locations ON staff_id=id ORDER BY name")
}

// TestOldestSchema checks that a file older than the first version is refused with a sentence that
// says what to do, and is not changed.
func TestOldestSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "older.db")
	createOlder(t, path, firstVersion, "DROP TABLE key_calls; PRAGMA user_version=10")
	before := contents(t, path)
	const says = "was written by an older punchcard: it has schema 10, and this one knows schema 11 and newer; " +
		`run "punchcard migrate" of a version before this one first`
	for _, opts := range []Options{{}, {MustExist: true}, {Serve: true}, {Serve: true, NoCopy: true}} {
		refuses(t, path, opts, says)
	}
	_, quick := CheckQuick(t.Context(), path, nil)
	_, migrated := Migrate(path, Options{})
	for _, err := range []error{quick, migrated} {
		if err == nil || err.Error() != path+": "+says {
			t.Errorf("%v, want %q", err, says)
		}
	}
	after := slices.DeleteFunc(contents(t, path), func(line string) bool { return strings.HasPrefix(line, "older.db.lock ") })
	if !slices.Equal(after, before) {
		t.Errorf("the folder has\n%s\nand had\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
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

func TestMigrationRunsOnce(t *testing.T) {
	f := startAlone(t, Options{})
	f.cardOf(f.program(stamps("Coffee")), "Ada")
	before := f.dump()
	id := f.ID(KindCard, 1)
	f.Close()

	withSteps(t, addColumn, addTable)
	for range 3 {
		f = reopen(t, f.path, Options{Serve: true})
		f.selects(1, "SELECT count(*) FROM trays")
		f.selects(version(), "PRAGMA user_version")
		if id != f.ID(KindCard, 1) {
			t.Error("the ids differ after a migration")
		}
		f.Close()
	}
	f = reopen(t, f.path, Options{})
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
		"an unknown table": "UPDATE shops SET name='half way'; CREATE TABLE more (id INTEGER PRIMARY KEY) STRICT; " +
			"INSERT INTO nowhere VALUES (1)",
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			before := f.dump()
			f.Close()
			was := shape(t, f.path)
			t.Run("with the step", func(t *testing.T) {
				withSteps(t, addColumn, addTable, bad)
				refuses(t, f.path, Options{Serve: true}, fmt.Sprintf("from schema %d to %d: ", version()-1, version()))
			})
			if got := shape(t, f.path); got != was {
				t.Errorf("the schema is\n%s\nand was\n%s", got, was)
			}
			f = reopen(t, f.path, Options{})
			if after := f.dump(); after != before {
				t.Errorf("the rows changed: %s", firstDifference(before, after))
			}
		})
	}
}

func TestSchema(t *testing.T) {
	if to, err := os.Readlink("../schema.sql"); err != nil || to != "store/schema.sql" {
		t.Errorf("schema.sql at the root is a link to %q, %v", to, err)
	}
	f := start(t)
	loose := f.lines("SELECT name FROM pragma_table_list WHERE schema='main' AND type='table' AND strict=0 " +
		"AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
	if len(loose) > 0 {
		t.Errorf("not STRICT: %v", loose)
	}
	if n := f.number("SELECT count(*) FROM pragma_table_list WHERE schema='main' AND type='table' AND strict=1"); n < 10 {
		t.Errorf("only %d tables were checked", n)
	}
	for pragma, want := range map[string]string{
		"foreign_keys":   "1",
		"journal_mode":   "wal",
		"temp_store":     "2",
		"application_id": fmt.Sprint(applicationID),
	} {
		if got := f.lines("PRAGMA " + pragma); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %v, want %s", pragma, got, want)
		}
	}
	durable := &fixture{Store: open(t, newPath(t), Options{}), t: t}
	durable.must(func(tx *Tx) error {
		if n, err := tx.conn.Number("PRAGMA synchronous"); n != 2 || err != nil {
			t.Errorf("the writer's synchronous is %d, %v, want 2 (FULL)", n, err)
		}
		return nil
	})
}
