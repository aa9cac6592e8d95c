package backup

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"punchcard/store"
)

// TestProgress checks that a backup and a restore report each step from 0 to its total, in bytes
// or rows, and then that the work has ended.
func TestProgress(t *testing.T) {
	t.Parallel()
	f := start(t)
	c := connect(t, f.Path()) // for 22 MB: the first 16 MB of a file are written to the disk only when the cache is full
	succeed(c.Script(`INSERT INTO audit (created_at, shop_id, actor_type, actor_name, action, target_kind, target_id, detail)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<25000) SELECT i, 1, 'user', 'ada', 'shop.update', 1, 1,
		printf('%.*c', 900, 'x') FROM n`), c.Close())
	var steps, between []string
	last, ended := map[string][2]int64{}, false
	progress := func(step store.Step, done, total int64) {
		ended = step == store.Step{}
		if ended {
			return
		}
		name := strings.TrimSpace(step.Name + " " + step.Unit)
		if len(steps) == 0 || steps[len(steps)-1] != name {
			steps = append(steps, name)
			last[name] = [2]int64{}
		}
		before := last[name]
		if done < before[0] || done > total || before[1] != 0 && total != before[1] {
			t.Errorf("%s: %d of %d after %d of %d", name, done, total, before[0], before[1])
		}
		last[name] = [2]int64{done, total}
		if 0 < done && done < total && !slices.Contains(between, name) {
			between = append(between, name)
		}
	}
	reported := func(what string, want ...string) {
		t.Helper()
		if !slices.Equal(steps, want) || !ended {
			t.Errorf("%s: steps %q, want %q; ended: %t", what, steps, want, ended)
		}
		for name, l := range last {
			if l[0] != l[1] {
				t.Errorf("%s: %s ends with %d of %d", what, name, l[0], l[1])
			}
		}
		for _, name := range []string{"copying bytes", "checking the integrity rows", "rewriting bytes"} {
			if slices.Contains(want, name) && !slices.Contains(between, name) {
				t.Errorf("%s: nothing is reported while it is %s", what, name)
			}
		}
		steps, between, ended = nil, nil, false
		clear(last)
	}
	copied, restored := filepath.Join(t.TempDir(), "copy.db"), filepath.Join(t.TempDir(), "restored.db")
	size := check(Create(t.Context(), f.Path(), copied, Options{Progress: progress}))
	if n := last["copying bytes"][1]; n < size {
		t.Errorf("%d bytes are copied into a file of %d", n, size)
	}
	reported(
		"backup", "copying bytes", "counting the rows", "checking the integrity rows", "checking the invariants rows",
		"checking the references", "rewriting bytes", "writing to the disk", "counting the rows",
		"checking the integrity rows",
	)
	check(Restore(t.Context(), copied, restored, time.Now(), Options{Quick: true, Progress: progress}))
	reported(
		"restore", "copying bytes", "writing to the disk", "counting the rows", "checking the integrity rows",
		"ending sessions and links", "replacing the database",
	)
	if _, err := Create(t.Context(), f.Path(), copied, Options{Progress: progress}); err == nil || ended || steps != nil {
		t.Errorf("a backup that is refused: %v, steps %q", err, steps)
	}
}
