//go:build unix

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCardImportSurvivesKills kills the command that imports cards at random moments, and the one that
// undoes the import. The same command finishes both, or a server that is started: each row is imported
// exactly once.
func TestCardImportSurvivesKills(t *testing.T) {
	t.Parallel()
	const seed = 20261127
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 1))
	f := &shopFile{t: t, db: newDatabase(t)}
	f.run("program", "create", "--name", "Bar", "--type", "standard", "--total-stamps", "10", "--prize", "5=Cookie", "--prize", "10=Coffee",
		"--repeat-after-reset", "--icon-key", "coffee")
	const n = 700
	var text strings.Builder
	text.WriteString("reference,name,email,phone,note,stamps,claimed,claimed_overflow,code\n")
	stamps, prizes := 0, 0
	for i := range n {
		have, claimed, second := i%20, "", ""
		if have >= 5 && i%3 == 0 {
			claimed = "5"
			prizes++
		}
		if have >= 15 && i%2 == 0 {
			second = "5"
			prizes++
		}
		stamps += have
		fmt.Fprintf(&text, "r%d,Person %d,p%d@example.org,+39333%07d,note %d,%d,%s,%s,C-%d\n", i, i, i, i, i, have, claimed, second, i)
	}
	csv := filepath.Join(t.TempDir(), "cards.csv")
	if err := os.WriteFile(csv, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(db string) []string {
		return []string{"card", "import", csv, "--program", "Bar", "--db", db, "--json"}
	}
	left := map[string]int{} // the states that the kills left
	// killed kills a command at a random moment. A server that is started finishes its work in some rounds,
	// and the same command in the others, whose answer killed returns.
	killed := func(round int, db string, usual *time.Duration, args ...string) (r result) {
		t.Helper()
		begin := time.Now()
		if killAfter(t, time.Duration(chance.Int64N(int64(*usual)*5/4)), args...) {
			*usual = time.Since(begin) // the machine may have been slower before
		}
		checkFile(t, db)
		state := strings.Join(query(t, db, "SELECT state FROM imports"), "")
		left[filepath.Base(args[2])+" "+state]++
		if round%2 == 1 && (state == "running" || state == "undoing") {
			p := startServe(t, db)
			late := time.After(waitLimit)
			for len(query(t, db, "SELECT 1 FROM imports WHERE state IN ('running', 'undoing')")) > 0 {
				select {
				case <-time.After(5 * time.Millisecond):
				case <-late:
					t.Fatal("the server does not finish the import")
				}
			}
			p.stop()
			if args[2] == "undo" {
				return r
			}
		}
		if args[2] == "undo" && state == "undone" {
			return r
		}
		if r = execute(t, nil, args...); r.code != 0 {
			t.Fatalf("round %d, %s: %+v", round, state, r)
		}
		return r
	}
	loading := duration(t, load(copyFile(t, f.db))...)
	undoing := loading
	for round := range *killsFlag {
		db := copyFile(t, f.db)
		var report struct {
			Run struct {
				ID, State string
				Added     int
			}
		}
		if err := json.Unmarshal([]byte(killed(round, db, &loading, load(db)...).stdout), &report); err != nil {
			t.Fatal(err)
		}
		got := query(t, db, `SELECT count(DISTINCT external_ref)||' '||count(root_id IS NULL OR NULL)||' '||sum(stamps_count)||' '||
			(SELECT count(*) FROM contacts)||' '||(SELECT count(*) FROM foreign_codes)||' '||(SELECT count(*) FROM claims) FROM cards`)[0]
		if want := fmt.Sprintf("%d %d %d %d %d %d", n, n, stamps, n, n, prizes); got != want || report.Run.Added != n || report.Run.State != "done" {
			t.Errorf("round %d: references, cards, stamps, contacts, codes and prizes are %s, want %s; %+v", round, got, want, report)
		}
		checkFile(t, db)
		killed(round, db, &undoing, "card", "import", "undo", report.Run.ID, "--db", db)
		if got := query(t, db, `SELECT count(*)||' '||(SELECT count(*) FROM contacts)||' '||(SELECT group_concat(state||' '||removed) FROM imports)
			FROM cards WHERE deleted_at IS NULL`)[0]; got != fmt.Sprint("0 0 undone ", n) {
			t.Errorf("round %d: after the undo there are cards, contacts and imports: %s", round, got)
		}
		checkFile(t, db)
	}
	t.Logf("the kills left: %v", left)
}
