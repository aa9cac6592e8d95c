package command

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// lowPriority gets about a tenth of what a busy process of usual priority gets.
// It is not the lowest: who writes files may hold what the file system needs to
// sync those of others, and they wait for it then.
const lowPriority = 10

// stepBack gives all threads of the process a low priority, so that a server
// beside gets the processors first (BenchmarkBackup in server/app). Linux keeps a
// priority for each thread, and a new thread takes its parent's; so stepBack
// repeats until it finds no thread that began meanwhile.
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
