//go:build unix

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"punchcard/server/servertest/require"
)

// olderSchema is the version of the schema that the binary of .ci/older makes, which the tests of migrations start beside
// the binary of this commit.
const olderSchema = "11"

// olderBinary returns the path of that binary.
var olderBinary = sync.OnceValues(func() (string, error) {
	var said bytes.Buffer
	build := exec.Command(".ci/older")
	build.Stderr = &said
	path, err := build.Output()
	if err != nil {
		err = fmt.Errorf("%s%w", &said, err)
	}
	return strings.TrimSpace(string(path)), err
})

// executeOlder runs the older binary until it exits.
func executeOlder(t *testing.T, args ...string) result {
	t.Helper()
	path := require.Must(olderBinary())
	return finish(t, exec.Command(path, args...), nil)
}

// newOlder returns the path of a file that the older binary has made, in a folder of its own.
func newOlder(t *testing.T) (db string) {
	t.Helper()
	db = filepath.Join(t.TempDir(), "shop.db")
	executeOlder(t, "shop", "create", "--name", "Bar Lux", "--timezone", "Europe/Rome", "--db", db).ok(t)
	return db
}

// wantSchema checks the version of a file's schema.
func wantSchema(t *testing.T, db, want string) {
	t.Helper()
	if got := query(t, db, "PRAGMA user_version"); got[0] != want {
		t.Errorf("%s has schema %s, want %s", filepath.Base(db), got[0], want)
	}
}

// schemaOfNewFile returns the version of the schema of the files that this version makes.
func schemaOfNewFile(t *testing.T) string {
	t.Helper()
	return query(t, newDatabase(t), "PRAGMA user_version")[0]
}

// TestOlderServer runs commands of this version on a file that an older server serves. All open it in one place. None of
// them changes the file, and the server goes on. It then upgrades the file and goes back.
func TestOlderServer(t *testing.T) {
	t.Parallel()
	newSchema := schemaOfNewFile(t)
	db := newOlder(t)
	older := require.Must(olderBinary())
	var k key
	noError(t, json.Unmarshal([]byte(executeOlder(t, "key", "create", "--name", "CRM", "--db", db, "--json").stdout), &k))
	cmd := exec.Command(older, "serve", "--db", db, "--listen", "127.0.0.1:0", "--log-format", "json")
	cmd.Env = environment(nil)
	server := launchCommand(t, cmd)
	server.awaitServing()
	program := newProgram(server.api(k.Secret), prepaidCard)

	for _, args := range []string{"shop list", "check --quick --rebuild", "shop update --name Other"} {
		runHere(append(strings.Fields(args), "--db", db)...).refused(t, db, "schema ("+olderSchema, "punchcard migrate --db "+db)
	}
	copied := filepath.Join(t.TempDir(), "backup.db")
	for _, args := range []string{"check --quick", "backup " + copied} {
		if r := execute(t, nil, append(strings.Fields(args), "--db", db)...); r.code != 0 {
			t.Errorf("%s: %+v", args, r)
		}
	}
	for _, args := range []string{
		"migrate", "serve --listen 127.0.0.1:0", "dev --listen 127.0.0.1:0", "restore " + copied + " --force",
	} {
		execute(t, nil, append(strings.Fields(args), "--db", db)...).refused(t, db, "another punchcard is serving this database")
	}
	wantSchema(t, copied, olderSchema)
	wantSchema(t, db, olderSchema)
	issueCard(server.api(k.Secret), program, map[string]string{"external_ref": "beside"})
	if names := require.Must(filepath.Glob(db + ".schema-*")); len(names) > 0 {
		t.Errorf("a refused command left %q", names)
	}
	server.stop()

	upgraded := startServe(t, db)
	if log := upgraded.stderr.String(); strings.Count(log, fmt.Sprintf("schema %s → %s", olderSchema, newSchema)) != 1 {
		t.Errorf("the log of the migration is\n%s", log)
	}
	issueCard(upgraded.api(k.Secret), program, map[string]string{"external_ref": "upgraded"})
	upgraded.stop()
	checkFile(t, db)
	kept := db + ".schema-" + olderSchema
	if info := require.Must(os.Stat(kept)); info.Mode() != 0o600 {
		t.Errorf("the copy has the mode %v", info.Mode())
	}
	runHere("shop", "list", "--db", kept).refused(t, "punchcard migrate")
	executeOlder(t, "shop", "list", "--db", db).refused(t, "newer punchcard")

	// Back to the older version, and an older backup in a newer one.
	executeOlder(t, "restore", kept, "--db", db, "--force").ok(t)
	executeOlder(t, "check", "--db", db).ok(t)
	succeed(t, "restore", copied, "--db", db, "--force")
	wantSchema(t, db, olderSchema)
	if r := runHere("migrate", "--db", db, "--no-copy"); r.code != 0 ||
		!strings.HasPrefix(r.stdout, fmt.Sprintf("%s: schema %s → %s", db, olderSchema, newSchema)) {
		t.Errorf("%+v", r)
	}
	checkFile(t, db)
}

// TestMigrateSurvivesKills kills migrations at random moments. The file must be of the older
// version or of this one, and a copy must be complete.
func TestMigrateSurvivesKills(t *testing.T) {
	t.Parallel()
	newSchema := schemaOfNewFile(t)
	chance := rand.New(rand.NewPCG(20261124, 1))
	source := newOlder(t)
	sqlExec(t, source, `INSERT INTO audit (shop_id, actor_type, action, target_kind, target_id, detail, created_at)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<10000)
		SELECT 1, 'system', 'card.noted', 4, 1, json_object('note', printf('%.100c', 'x')), 1700000000000 FROM n`)
	usual := duration(t, "migrate", "--db", copyFile(t, source))
	killed, db := 0, copyFile(t, source)
	for round := range *killsFlag {
		begin := time.Now()
		whole := killAfter(t, time.Duration(chance.Int64N(int64(usual)*5/4)), "migrate", "--db", db)
		if whole { // the machine may have been slower before
			usual = time.Since(begin)
		} else {
			killed++
		}
		kept := db + ".schema-" + olderSchema
		_, missing := os.Stat(kept)
		files := []string{db}
		if missing == nil {
			wantSchema(t, kept, olderSchema)
			files = append(files, kept)
		}
		for _, path := range files {
			if err := checkQuickly(t, path); err != nil {
				t.Fatalf("round %d: %s: %v", round, path, err)
			}
		}
		version := query(t, db, "PRAGMA user_version")[0]
		if n := query(t, db, "SELECT count(*) FROM audit WHERE action='card.noted'"); n[0] != "10000" || version == newSchema &&
			missing != nil || version == olderSchema && whole {
			t.Fatalf("round %d: schema %s with %s rows, the copy is missing: %v", round, version, n[0], missing)
		}
		if version == newSchema {
			db = copyFile(t, source)
		}
	}
	execute(t, nil, "migrate", "--db", db).ok(t)
	if left := require.Must(filepath.Glob(db + "*.partial")); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	t.Logf("of %d migrations %d were killed", *killsFlag, killed)
	if killed < *killsFlag/4 {
		t.Errorf("only %d migrations were killed", killed)
	}
}

// TestMigrateOnFullDisk migrates a file where there is no room for its copy.
func TestMigrateOnFullDisk(t *testing.T) {
	t.Parallel()
	db := newOlder(t)
	same, size := unchanged(t, db), require.Must(os.Stat(db)).Size()
	for _, c := range []struct{ command, says string }{
		{"migrate", "migrates it all the same"}, {"serve --listen 127.0.0.1:0", "--no-copy"},
	} {
		// RLIMIT_FSIZE simulates the full disk. It is above the size of the -shm file.
		args := append([]string{"-c", fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, size/512-100), binary()}, strings.Fields(c.command)...)
		cmd := exec.Command("sh", append(args, "--db", db)...)
		finish(t, cmd, nil).refused(t, db+": not migrated, since it cannot be copied before: ", c.says)
		same()
		if left := require.Must(filepath.Glob(db + ".schema-*")); len(left) > 0 {
			t.Errorf("%s left %q", c.command, left)
		}
	}
	execute(t, nil, "migrate", "--no-copy", "--db", db).ok(t)
	if _, err := os.Stat(db + ".schema-" + olderSchema); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("there is a copy, %v", err)
	}
}
