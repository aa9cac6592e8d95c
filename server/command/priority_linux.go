package command

import (
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// lowPriority gets about a tenth of what a busy process of usual priority gets.
// It is not the lowest: who writes files may hold what the file system needs to
// sync those of others, and they wait for it then.
const lowPriority = 10

// lowest of the usual priorities.
const lowest = 19

// stepBack lets others go first on the processors. The system's priority is
// that of a thread here; threads that begin later take their parent's, and so
// it is repeated until none is found that began meanwhile.
func stepBack() {
	lowered := map[int]bool{}
	for before := -1; before < len(lowered); {
		before = len(lowered)
		tasks, _ := os.ReadDir("/proc/self/task")
		for _, task := range tasks {
			if id, err := strconv.Atoi(task.Name()); err == nil && !lowered[id] {
				unix.Setpriority(unix.PRIO_PROCESS, id, lowPriority)
				lowered[id] = true
			}
		}
	}
}

// aside calls f on a thread that has the time of the processors, and of the
// disk, that nobody else wants: any other thread that wakes takes the processor
// from it at once, where one of low priority would finish its turn of some
// milliseconds. f must hold nothing that other processes wait for.
func aside(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		// Never unlocked: the thread cannot get its priority back, and ends with
		// the goroutine.
		runtime.LockOSThread()
		// Where the system refuses that, it stays with this.
		unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), lowest)
		unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE, Nice: lowest}, 0)
		f()
	}()
	<-done
}
