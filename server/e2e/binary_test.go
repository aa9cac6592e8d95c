// Package e2e tests the built binary as its users start it. It also checks the
// documents: their links, names, generated tables and code blocks.
package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"punchcard/server/servertest"
)

// binaryDir is the folder of the built binary.
var binaryDir string

// binary returns the path of the binary, which the first call builds. Before that it reads the
// folders of the sources: the cache of go test records the folders that a test opens and the sizes
// and times of the files in them, but otherwise knows only the packages that this one imports. It leaves
// out the folder dist, which has no sources.
var binary = sync.OnceValue(func() string {
	err := filepath.WalkDir(absolute("."), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || path == absolute("dist")) {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		panic(err)
	}
	path := filepath.Join(binaryDir, "punchcard")
	build := exec.Command("go", "build", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%s%v", out, err))
	}
	return path
})

func TestMain(m *testing.M) {
	if conf := os.Getenv(passServerVariable); conf != "" {
		if err := servePasses(conf); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(func() int {
		// Paths in this package are those of the repository's root.
		if err := os.Chdir("../.."); err != nil {
			fmt.Println(err)
			return 1
		}
		dir, err := os.MkdirTemp("", "punchcard-binary-")
		if err != nil {
			fmt.Println(err)
			return 1
		}
		defer os.RemoveAll(dir)
		if err := os.Chmod(dir, 0o755); err != nil { // one test runs the binary as another user
			fmt.Println(err)
			return 1
		}
		binaryDir = dir
		servertest.Setup()
		return m.Run()
	}())
}

// waitLimit is the time after which a wait that does not end fails the test.
const waitLimit = 60 * time.Second

// output collects what a process prints, and lets readers wait for more.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newOutput() *output { return &output{more: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.more)
	o.more = make(chan struct{})
	return o.text.Write(p)
}

func (o *output) read() (text string, more <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.more
}

func (o *output) String() string {
	text, _ := o.read()
	return text
}

// process is a running server.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr *output
	ended          chan struct{}
	err            error // of the process; valid after ended is closed
	origin         string
	metrics        string // URL of the metrics, or empty
	ready          ready
	line           string // the ready line of dev
	reaped         bool
	clientsLeave   bool // clients disconnect during requests, so the server may log errors
}

// ready has the fields of dev's ready line that tests read.
type ready struct {
	BaseURL          string            `json:"base_url"`
	Origin           string            `json:"origin"`
	ShopID           string            `json:"shop_id"`
	APIKey           string            `json:"api_key"`
	RestrictedAPIKey string            `json:"restricted_api_key"`
	MCPKey           string            `json:"mcp_key"`
	TillToken        string            `json:"till_token"`
	ProgramIDs       map[string]string `json:"program_ids"`
	LocationIDs      []string          `json:"location_ids"`
	OwnerEmail       string            `json:"owner_email"`
	OwnerPassword    string            `json:"owner_password"`
	DashboardURL     string            `json:"dashboard_url"`
}

// environment returns the environment of a user without any configuration, with env added.
func environment(env []string) []string {
	all := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "USER=" + os.Getenv("USER"), "TMPDIR=" + os.TempDir()}
	return append(all, env...)
}

// launch starts a server with the environment variables env.
func launch(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(binary(), args...)
	cmd.Env = environment(env)
	return launchCommand(t, cmd)
}

// launchCommand starts a server.
func launchCommand(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{t: t, cmd: cmd, stdout: newOutput(), stderr: newOutput(), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	noError(t, p.cmd.Start())
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.stop)
	return p
}

// await waits until found returns true for what the process has printed.
func (p *process) await(o *output, found func(text string) bool) {
	p.t.Helper()
	timeout := time.After(waitLimit)
	for {
		text, more := o.read()
		if found(text) {
			return
		}
		select {
		case <-more:
		case <-p.ended:
			if found(o.String()) {
				return
			}
			p.reaped = true
			p.t.Fatalf("the server ended before it was ready: %v\n%s", p.err, p.stderr)
		case <-timeout:
			p.t.Fatalf("the server is not ready:\n%s", p.stderr)
		}
	}
}

// contains returns a function that finds part of a text.
func contains(part string) func(string) bool {
	return func(text string) bool { return strings.Contains(text, part) }
}

// startDev starts the fixture, on a free port unless args name one.
func startDev(t *testing.T, args ...string) *process { return startDevWith(t, nil, args...) }

func startDevWith(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	p := launch(t, env, append([]string{"dev", "--listen", "127.0.0.1:0"}, args...)...)
	p.await(p.stdout, func(text string) bool {
		line, _, whole := strings.Cut(text, "\n")
		p.line = line + "\n"
		return whole
	})
	if err := json.Unmarshal([]byte(p.line), &p.ready); err != nil {
		t.Fatalf("the ready line is not JSON: %v\n%s", err, p.line)
	}
	p.origin = p.ready.Origin
	return p
}

// startServe starts the server on a file, on a free port unless args name one.
func startServe(t *testing.T, db string, args ...string) *process {
	t.Helper()
	p := launch(t, nil, append([]string{
		"serve", "--db", db, "--listen", "127.0.0.1:0", "--log-format", "json", "--log-level", "debug",
	}, args...)...)
	p.awaitServing()
	return p
}

// awaitServing waits until serve, which logs in JSON, has logged its origin.
func (p *process) awaitServing() {
	p.t.Helper()
	p.await(p.stderr, func(text string) bool {
		for line := range strings.Lines(text) {
			var entry struct{ Msg, Origin, Metrics string }
			if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving" {
				p.origin, p.metrics = entry.Origin, entry.Metrics
				return true
			}
		}
		return false
	})
}

// wait waits until the process ends and returns its error.
func (p *process) wait() error {
	p.t.Helper()
	p.reaped = true
	select {
	case <-p.ended:
	case <-time.After(waitLimit):
		p.cmd.Process.Kill()
		<-p.ended
		p.t.Errorf("the server did not end:\n%s", p.stderr)
	}
	return p.err
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("signal: %v", err)
	}
}

// stop ends the server with SIGTERM and checks that it exits with 0 and has logged no error.
func (p *process) stop() {
	p.t.Helper()
	if p.reaped {
		return
	}
	p.signal(syscall.SIGTERM)
	if err := p.wait(); err != nil {
		p.t.Errorf("the server ended with %v:\n%s", err, p.stderr)
	}
	for line := range strings.Lines(p.stderr.String()) {
		if (strings.Contains(line, "level=ERROR") || strings.Contains(line, `"level":"ERROR"`)) &&
			(!p.clientsLeave || !strings.Contains(line, "context canceled")) {
			p.t.Errorf("the server logged an error: %s", line)
		}
	}
}

// result is the outcome of a command.
type result struct {
	code           int
	stdout, stderr string
}

// memoryDir returns a temporary folder in memory if the system has /dev/shm, else on the disk. It is
// for tests with thousands of writes that kill the server but do not depend on the disk: a kill loses
// nothing that was written to a file, synced or not.
func memoryDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "punchcard-e2e-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// execute runs the binary until it exits.
func execute(t *testing.T, env []string, args ...string) (r result) {
	t.Helper()
	cmd := exec.Command(binary(), args...)
	return finish(t, cmd, env)
}

// progressLine is a line of the log about work that has lasted for ten seconds, as it may
// on a busy machine.
var progressLine = regexp.MustCompile(`(?m)^time=\S+ level=INFO msg=progress .*\n`)

// finish runs a command until it exits. It leaves out the lines about progress.
func finish(t *testing.T, cmd *exec.Cmd, env []string) (r result) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(env), &stdout, &stderr
	noError(t, cmd.Start())
	late := time.AfterFunc(waitLimit, func() { cmd.Process.Kill() })
	defer late.Stop()
	err := cmd.Wait()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || !exit.Exited()) {
		t.Fatalf("%v: %v\n%s", cmd.Args[1:], err, &stderr)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), progressLine.ReplaceAllString(stderr.String(), "")}
}

// ok ends the test unless a command succeeded.
func (r result) ok(t *testing.T) {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("%+v", r)
	}
}

// refused checks that a command ended with status 1 and one line on stderr that
// contains all of says.
func (r result) refused(t *testing.T, says ...string) {
	t.Helper()
	line, rest, _ := strings.Cut(r.stderr, "\n")
	if r.code != 1 || r.stdout != "" || rest != "" || !strings.HasPrefix(line, "punchcard: ") {
		t.Errorf("want exit 1, nothing on stdout and one line on stderr; got exit %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
	for _, s := range says {
		if !strings.Contains(line, s) {
			t.Errorf("the line does not contain %q: %q", s, line)
		}
	}
}

// freePort returns a free port on which a server can be started repeatedly. It is
// below the ports that systems use for outgoing connections.
func freePort(t *testing.T) int {
	t.Helper()
	for port := 20000 + os.Getpid()%5000; port < 32000; port++ {
		if _, taken := ports.LoadOrStore(port, true); taken {
			continue
		}
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

var ports sync.Map
