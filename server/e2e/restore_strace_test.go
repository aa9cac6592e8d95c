//go:build durability

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestRestoreKilledAtEachCall kills a restore at each call that changes a name, a size or content.
func TestRestoreKilledAtEachCall(t *testing.T) {
	t.Parallel()
	old, backup := crashedFolder(t), backupOf(t, "Bar Nero")
	for _, call := range []string{"?rename,renameat", "?link,linkat", "?unlink,unlinkat", "fsync", "ftruncate", "pwrite64"} {
		step, swapped := 1, 0
		for n := 1; ; n += step {
			what := fmt.Sprintf("killed at %s %d", call, n)
			s, whole := killRestore(t, old, backup, what, func(args ...string) bool {
				cmd := exec.Command("strace", append([]string{"-f", "-qq", "-o", os.DevNull, "-e", "trace=" + call, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n), binary()}, args...)...)
				cmd.Env = environment(nil)
				out, err := cmd.CombinedOutput()
				if err != nil && !strings.Contains(err.Error(), "killed") {
					t.Fatalf("%s: %v: %s", what, err, out)
				}
				return err == nil
			})
			if s {
				swapped++
			}
			if whole {
				t.Logf("%s: %d kills", call, (n-1+step-1)/step)
				break
			}
			if call == "pwrite64" && n > 6 {
				step = 9
			}
		}
	}
}
