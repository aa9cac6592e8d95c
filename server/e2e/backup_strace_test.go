//go:build durability

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestDiskFailsUnderABackup makes each call fail with which a backup writes and syncs, and checks
// that no backup is made and no file is left.
func TestDiskFailsUnderABackup(t *testing.T) {
	t.Parallel()
	db, dir := newDatabase(t), t.TempDir()
	file, trace := filepath.Join(dir, "copy.db"), filepath.Join(t.TempDir(), "trace")
	for _, c := range []struct {
		call, on string
		when     []int
		says     string
	}{
		{"pwrite64", file + ".partial-raw", []int{1, 2, 10, 30}, "the disk failed"},
		{"pwrite64", file + ".partial", []int{1, 2, 10, 30}, "the disk failed"},
		{"fsync", file + ".partial", []int{1}, "input/output error"},
	} {
		for _, n := range c.when {
			cmd := exec.Command("strace", "-f", "-qq", "-o", trace, "-P", c.on, "-e", "trace="+c.call, "-e", fmt.Sprintf("inject=%s:error=EIO:when=%d", c.call, n), binary(), "backup", file, "--db", db)
			r := finish(t, cmd, nil)
			calls := must(os.ReadFile(trace))
			if !strings.Contains(string(calls), "(INJECTED)") {
				t.Errorf("%s %d of %s did not fail; it printed %q", c.call, n, c.on, r.stdout)
				continue
			}
			r.refused(t, file, c.says)
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Fatalf("%s %d of %s left %v", c.call, n, c.on, left)
			}
		}
	}
	if r := execute(t, nil, "backup", file, "--db", db); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	checkFile(t, file)
}
