//go:build unix && durability

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// changingCalls are the system calls that change a name, a size or content.
var changingCalls = []string{"?rename,renameat", "?link,linkat", "?unlink,unlinkat", "fsync", "ftruncate", "pwrite64"}

// killAtCall runs a command that is killed at the nth call of some kind of one of its threads. It reports
// whether the command ended before.
func killAtCall(t *testing.T, call string, n int, args ...string) (whole bool) {
	t.Helper()
	cmd := exec.Command("strace", append([]string{
		"-f", "-qq", "-o", os.DevNull, "-e", "trace=" + call, "-e",
		fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n), binary(),
	}, args...)...)
	cmd.Env = environment(nil)
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(err.Error(), "killed") {
		t.Fatalf("%v, killed at %s %d: %v: %s", args, call, n, err, out)
	}
	return err == nil
}

// TestKilledAtEachCall kills each command that changes much at the calls by which it changes files: at the first
// ones of each kind, and then at ever fewer.
func TestKilledAtEachCall(t *testing.T) {
	for name, try := range map[string]func(*testing.T) trial{
		"import":   func(t *testing.T) trial { return importTrial(t, 320) },
		"undo":     func(t *testing.T) trial { return undoTrial(t, 120) },
		"merge":    mergeTrial,
		"deletion": func(t *testing.T) trial { return newLeavingShop(t).deletionTrial(t) },
		"split":    func(t *testing.T) trial { return newLeavingShop(t).splitTrial(t) },
		"abort":    func(t *testing.T) trial { return newLeavingShop(t).abortTrial(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killAtEachCall(t, try(t))
		})
	}
}

// killAtEachCall kills the command of a trial at calls of each kind.
func killAtEachCall(t *testing.T, try trial) {
	t.Helper()
	left, round := map[string]int{}, 0
	for _, call := range changingCalls {
		// No thread may make n calls in one run, and one may in the next.
		for n, ended := 1, 0; ended < 2; n += 1 + n/3 {
			whole := false
			state := try(round, func(args ...string) bool {
				whole = killAtCall(t, call, n, args...)
				return whole
			})
			if t.Failed() {
				t.Fatalf("killed at %s %d, which left: %s", call, n, state)
			}
			if whole {
				ended++
			} else {
				left[call+": "+state]++
			}
			round++
		}
	}
	t.Logf("the kills left: %v", left)
	if len(left) < 2 {
		t.Error("the kills left one state only")
	}
}
