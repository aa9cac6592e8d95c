//go:build unix

package e2e

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"punchcard/server/servertest/require"
)

// killer runs a command of the binary until it ends or is killed, and reports whether it ended.
type killer func(args ...string) (whole bool)

// trial runs a command on a copy of a file by means of kill, checks what is left, and finishes the command. It
// returns what the kill left. Rounds are counted from 0.
type trial func(round int, kill killer) (left string)

// killAtRandom kills the command of a trial at random moments, one in each of as many equal parts of its time as there are kills.
func killAtRandom(t *testing.T, try trial) {
	t.Helper()
	const seed = 20261127
	chance := rand.New(rand.NewPCG(seed, 1))
	usual := waitLimit // the first run ends
	left := map[string]int{}
	for round := range 1 + *killsFlag {
		state := try(round, func(args ...string) (whole bool) {
			d, begin := usual, time.Now()
			if round > 0 {
				part := int64(usual) * 5 / 4 / int64(*killsFlag)
				d = time.Duration(part*int64(round-1) + chance.Int64N(part))
			}
			if whole = killAfter(t, d, args...); whole {
				usual = time.Since(begin) // the machine may have been slower before
			} else if round == 0 {
				t.Fatalf("%v failed", args)
			}
			return whole
		})
		if round > 0 {
			left[state]++
		}
		if t.Failed() {
			t.Fatalf("seed %d, round %d, which left: %s", seed, round, state)
		}
	}
	t.Logf("the kills left: %v", left)
}

var (
	exportedTime = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[\d:.]+Z"`)
	// ofFile are the rows of the audit log about exports and moves of the whole shop.
	ofFile = regexp.MustCompile(`"action":"shop\.(export|begin_move|correct_move|abort_move|move)"`)
)

// exported exports a shop and returns all rows, but for those of the audit log about exports and moves of
// the shop. Times since the given one are blank, so that what two runs of a command wrote can be compared.
func exported(t *testing.T, db, shop string, since time.Time) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "out")
	succeed(t, "export", "--db", db, "--shop", shop, "--format", "jsonl", "--out", folder)
	var all strings.Builder
	for _, path := range require.Must(filepath.Glob(filepath.Join(folder, "*.jsonl"))) {
		all.WriteString(filepath.Base(path) + "\n")
		for line := range strings.Lines(string(require.Must(os.ReadFile(path)))) {
			if !ofFile.MatchString(line) {
				all.WriteString(exportedTime.ReplaceAllStringFunc(line, func(text string) string {
					if at := require.Must(time.Parse(`"`+time.RFC3339+`"`, text)); at.Before(since) || at.After(time.Now()) {
						return text
					}
					return `""`
				}))
			}
		}
	}
	return all.String()
}

// wantExport compares the export of a shop.
func wantExport(t *testing.T, db, shop string, since time.Time, want, when string) {
	t.Helper()
	if got := exported(t, db, shop, since); got != want {
		t.Errorf("%s, the export of %s differs: %s", when, shop, difference(want, got))
	}
}

// succeed runs a command in the test's process, which must succeed.
func succeed(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	r := runHere(args...)
	if r.code != 0 {
		t.Fatalf("%v: %+v", args, r)
	}
	return r.stdout
}

// serveUntil serves a file until a query selects no row, and returns the server.
func serveUntil(t *testing.T, db, statement string) *process {
	t.Helper()
	p := startServe(t, db)
	late := time.After(waitLimit)
	for len(query(t, db, statement)) > 0 {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-late:
			t.Fatalf("the server does not finish: %s", statement)
		}
	}
	return p
}
