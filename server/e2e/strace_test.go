//go:build durability

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"punchcard/server/servertest/require"
)

// tracer is strace attached to a running server. It records system calls, or makes them fail, until
// detach.
type tracer struct {
	t      *testing.T
	cmd    *exec.Cmd
	stderr *output
	ended  chan struct{}
	file   string
}

// attach attaches strace to a server with these options.
func (p *process) attach(args ...string) *tracer {
	p.t.Helper()
	tr := &tracer{t: p.t, stderr: newOutput(), ended: make(chan struct{}), file: filepath.Join(p.t.TempDir(), "trace")}
	tr.cmd = exec.Command("strace", append(args, "-f", "-y", "-o", tr.file, "-p", fmt.Sprint(p.cmd.Process.Pid))...)
	tr.cmd.Stderr = tr.stderr
	noError(p.t, tr.cmd.Start())
	go func() {
		tr.cmd.Wait()
		close(tr.ended)
	}()
	late := time.After(waitLimit)
	for {
		// strace prints this after it has attached to all threads.
		text, more := tr.stderr.read()
		if strings.Contains(text, " attached") {
			return tr
		}
		select {
		case <-more:
		case <-tr.ended:
			p.t.Fatalf("strace ended:\n%s", tr.stderr)
		case <-late:
			p.t.Fatalf("strace does not attach:\n%s", tr.stderr)
		}
	}
}

// detach detaches strace and returns the trace.
func (tr *tracer) detach() string {
	tr.t.Helper()
	tr.cmd.Process.Signal(syscall.SIGINT)
	select {
	case <-tr.ended:
	case <-time.After(waitLimit):
		tr.cmd.Process.Kill()
		<-tr.ended
		tr.t.Fatalf("strace did not end:\n%s", tr.stderr)
	}
	raw := require.Must(os.ReadFile(tr.file))
	os.Remove(tr.file)
	return string(raw)
}

// straceCommand returns a command of the binary whose nth call of some kind fails.
func straceCommand(trace, call string, n int, args ...string) *exec.Cmd {
	return exec.Command("strace", append([]string{"-f", "-o", trace, "-e", "trace=pwrite64,fsync,ftruncate",
		"-e", fmt.Sprintf("inject=%s:error=EIO:when=%d", call, n), binary()}, args...)...)
}
