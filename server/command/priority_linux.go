package command

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// backupNice is the nice value of a backup. It gives about a tenth of the processor
// time of a busy process of normal priority. It is not the lowest priority, since a
// process that writes files may hold locks of the file system that the server needs
// to sync its own.
const backupNice = 10

// lowerPriority gives all threads of the process a low priority, so that a server on
// the same machine gets the processors first (BenchmarkBackup in server/app). On
// Linux each thread has a priority, which a new thread inherits. lowerPriority
// therefore repeats until it finds no thread that was created meanwhile.
func lowerPriority() {
	lowered := map[int]bool{}
	for before := -1; before < len(lowered); {
		before = len(lowered)
		tasks, _ := os.ReadDir("/proc/self/task")
		for _, task := range tasks {
			if id, err := strconv.Atoi(task.Name()); err == nil && !lowered[id] {
				unix.Setpriority(unix.PRIO_PROCESS, id, backupNice)
				lowered[id] = true
			}
		}
	}
}
