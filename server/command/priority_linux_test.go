package command

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"punchcard/server/servertest/require"
)

// schedule returns the nice value and the scheduling policy of a thread.
func schedule(t *testing.T, task string) (nice, policy int) {
	t.Helper()
	raw, err := os.ReadFile(task + "/stat")
	noError(t, err)
	// The third value comes first after the name, which may contain anything.
	values := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	require.Must(fmt.Sscan(values[19-3]+" "+values[41-3], &nice, &policy))
	return nice, policy
}

// inProcess runs the test in a process of its own, since the priority cannot be
// raised again. It returns false in that process.
func inProcess(t *testing.T) bool {
	const mark = "PUNCHCARD_TEST_ALONE"
	if os.Getenv(mark) != "" {
		return false
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), mark+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

// onThreads calls f on n threads at the same time.
func onThreads(n int, f func()) {
	var ready, all sync.WaitGroup
	ready.Add(n)
	for range n {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			ready.Wait()
			f()
		})
	}
	all.Wait()
}

// TestPriorityOfABackup checks that all threads get the low priority, also those that
// begin later.
func TestPriorityOfABackup(t *testing.T) {
	if inProcess(t) {
		return
	}
	all := func(when string) {
		t.Helper()
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil || len(tasks) < 4 {
			t.Fatalf("%s: %d threads, %v", when, len(tasks), err)
		}
		for _, task := range tasks {
			if nice, policy := schedule(t, "/proc/self/task/"+task.Name()); nice != backupNice || policy != unix.SCHED_NORMAL {
				t.Errorf("%s: a thread has the nice value %d and the policy %d", when, nice, policy)
			}
		}
	}
	onThreads(4, func() {})
	lowerPriority()
	all("at once")
	onThreads(8, func() {
		if nice, policy := schedule(t, "/proc/thread-self"); nice != backupNice || policy != unix.SCHED_NORMAL {
			t.Errorf("later: nice value %d, policy %d", nice, policy)
		}
	})
}
