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
)

// schedule is the nice value and the policy of a thread, as the system has them.
func schedule(t *testing.T, task string) (nice, policy int) {
	t.Helper()
	raw, err := os.ReadFile(task + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	// Behind the name, which may hold anything, the third value comes first.
	values := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if _, err := fmt.Sscan(values[19-3]+" "+values[41-3], &nice, &policy); err != nil {
		t.Fatal(err)
	}
	return nice, policy
}

// alone runs the test in a process of its own, since a priority is given up for
// good; false: this is it.
func alone(t *testing.T) bool {
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

// locked runs f on so many threads at the same time.
func locked(n int, f func()) {
	var there, all sync.WaitGroup
	there.Add(n)
	for range n {
		all.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			there.Done()
			there.Wait()
			f()
		})
	}
	all.Wait()
}

// All threads of a backup step back, those that begin later too.
func TestPriorityOfABackup(t *testing.T) {
	if alone(t) {
		return
	}
	all := func(when string) {
		t.Helper()
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil || len(tasks) < 4 {
			t.Fatalf("%s: %d threads, %v", when, len(tasks), err)
		}
		for _, task := range tasks {
			if nice, policy := schedule(t, "/proc/self/task/"+task.Name()); nice != lowPriority || policy != unix.SCHED_NORMAL {
				t.Errorf("%s: a thread has the nice value %d and the policy %d", when, nice, policy)
			}
		}
	}
	locked(4, func() {})
	stepBack()
	all("at once")
	locked(8, func() {
		if nice, policy := schedule(t, "/proc/thread-self"); nice != lowPriority || policy != unix.SCHED_NORMAL {
			t.Errorf("later: nice value %d, policy %d", nice, policy)
		}
	})
}
