//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// importedFile is a file into which cards are imported.
type importedFile struct {
	db     string
	csv    string
	rows   int
	since  time.Time // after the file was made
	before string    // the export
}

// newImportedFile makes a file without cards, and a list of n cards.
func newImportedFile(t *testing.T, n int) *importedFile {
	t.Helper()
	f := &shopFile{t: t, db: newDatabase(t)}
	f.run("program", "create", "--name", "Bar", "--type", "standard", "--total-stamps", "10", "--prize", "5=Cookie", "--prize", "10=Coffee",
		"--repeat-after-reset", "--icon-key", "coffee")
	var text strings.Builder
	text.WriteString("reference,name,email,phone,note,stamps,claimed,claimed_overflow,code\n")
	for i := range n {
		have, claimed, second := i%20, "", ""
		if have >= 5 && i%3 == 0 {
			claimed = "5"
		}
		if have >= 15 && i%2 == 0 {
			second = "5"
		}
		fmt.Fprintf(&text, "r%d,Person %d,p%d@example.org,+39333%07d,note %d,%d,%s,%s,C-%d\n", i, i, i, i, i, have, claimed, second, i)
	}
	csv := filepath.Join(t.TempDir(), "cards.csv")
	noError(t, os.WriteFile(csv, []byte(text.String()), 0o600))
	i := &importedFile{db: f.db, csv: csv, rows: n, since: time.Now()}
	i.before = i.export(t, copyFile(t, f.db))
	return i
}

// load returns the command that imports the cards.
func (i *importedFile) load(db string) []string {
	return []string{"card", "import", i.csv, "--program", "Bar", "--db", db, "--json"}
}

func (i *importedFile) export(t *testing.T, db string) string {
	t.Helper()
	return exported(t, db, "Bar Lux", i.since)
}

// state returns the state of the import, or that there is none. A server finishes what is left in odd
// rounds.
func (i *importedFile) state(t *testing.T, db string, round int) string {
	t.Helper()
	state := strings.Join(query(t, db, "SELECT state FROM imports"), "")
	if round%2 == 1 && (state == "running" || state == "undoing") {
		serveUntil(t, db, "SELECT 1 FROM imports WHERE state IN ('running', 'undoing')").stop()
	}
	return state
}

// importTrial returns a trial of an import of n cards.
func importTrial(t *testing.T, n int) trial {
	i := newImportedFile(t, n)
	db := copyFile(t, i.db)
	succeed(t, i.load(db)...)
	after := i.export(t, db)
	got := query(t, db, `SELECT count(DISTINCT external_ref)||' '||count(root_id IS NULL OR NULL)||' '||(SELECT count(*) FROM contacts)||
		' '||(SELECT count(*) FROM foreign_codes) FROM cards`)[0]
	if want := fmt.Sprintf("%d %d %d %d", n, n, n, n); got != want {
		t.Fatalf("references, cards, contacts and codes are %s, want %s", got, want)
	}
	return func(round int, kill killer) (left string) {
		db := copyFile(t, i.db)
		kill(i.load(db)...)
		checkFile(t, db)
		if left = i.state(t, db, round); left == "" {
			left = "nothing"
			wantExport(t, db, "Bar Lux", i.since, i.before, "after a kill before the import")
		}
		var report struct {
			Run struct {
				State string
				Added int
			}
		}
		noError(t, json.Unmarshal([]byte(succeed(t, i.load(db)...)), &report))
		if report.Run.Added != n || report.Run.State != "done" {
			t.Errorf("the import is %+v", report)
		}
		checkFile(t, db)
		wantExport(t, db, "Bar Lux", i.since, after, "after the import")
		return left
	}
}

// undoTrial returns a trial of the undo of an import of n cards.
func undoTrial(t *testing.T, n int) trial {
	i := newImportedFile(t, n)
	var report struct{ Run struct{ ID string } }
	noError(t, json.Unmarshal([]byte(succeed(t, i.load(i.db)...)), &report))
	before := i.export(t, copyFile(t, i.db))
	undo := func(db string) []string { return []string{"card", "import", "undo", report.Run.ID, "--db", db} }
	db := copyFile(t, i.db)
	succeed(t, undo(db)...)
	after := i.export(t, db)
	cards := func(export string) string {
		return export[strings.Index(export, "cards.jsonl"):strings.Index(export, "locations.jsonl")]
	}
	if cards(after) != cards(i.before) {
		t.Fatalf("after the undo the cards are %s", cards(after))
	}
	return func(round int, kill killer) (left string) {
		db := copyFile(t, i.db)
		kill(undo(db)...)
		checkFile(t, db)
		left = i.state(t, db, round)
		if left == "done" {
			wantExport(t, db, "Bar Lux", i.since, before, "after a kill before the undo")
		}
		if query(t, db, "SELECT state FROM imports")[0] == "undone" {
			runHere(undo(db)...).refused(t, "running or done")
		} else {
			succeed(t, undo(db)...)
		}
		checkFile(t, db)
		wantExport(t, db, "Bar Lux", i.since, after, "after the undo")
		got := query(t, db, `SELECT state||' '||removed||' '||(SELECT count(*) FROM contacts) FROM imports`)[0]
		if got != fmt.Sprintf("undone %d 0", n) {
			t.Errorf("after the undo the import, its cards and contacts are: %s", got)
		}
		return left
	}
}

// TestCardImportSurvivesKills kills the command that imports cards at random moments. The same command
// finishes it, or a server that is started, with the export of an import that was not killed. The cards are more than one part of
// an import has.
func TestCardImportSurvivesKills(t *testing.T) {
	t.Parallel()
	killAtRandom(t, importTrial(t, 320))
}

// TestImportUndoSurvivesKills does the same with the command that undoes an import.
func TestImportUndoSurvivesKills(t *testing.T) {
	t.Parallel()
	killAtRandom(t, undoTrial(t, 120))
}
