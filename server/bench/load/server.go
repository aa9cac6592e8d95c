package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// server is "punchcard serve" as a process, on a file of its own.
type server struct {
	fail          func(format string, args ...any)
	binary, db    string
	cmd           *exec.Cmd
	ended         chan struct{}
	err           error // of the process; valid after ended is closed
	addr, metrics string
	logged        atomic.Int64 // bytes
}

// start starts the server and returns when it serves. Each warning and error in its
// log is a failure, except that the demo shop's keys are public.
func (s *server) start() error {
	s.cmd = exec.Command(s.binary, append(strings.Fields("serve --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 --log-format json "+
		"--api-key-rate-limit-per-minute 0 --till-rate-limit-per-minute 0 --webhook-allow-http --webhook-allow-cidr 127.0.0.0/8 "+
		"--mcp-key-rate-limit-per-minute 0 --mcp-key-daily-call-budget 0"),
		"--db", s.db)...)
	s.cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOGC=") }) // it is for builds
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	serving := make(chan struct{})
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			s.logged.Add(int64(len(lines.Bytes()) + 1))
			var entry struct{ Level, Msg, Origin, Metrics string }
			err := json.Unmarshal(lines.Bytes(), &entry)
			if err == nil && entry.Msg == "serving" && s.addr == "" {
				s.addr, s.metrics = strings.TrimPrefix(entry.Origin, "http://"), entry.Metrics
				close(serving)
			} else if err != nil || entry.Level != "INFO" && !ofDemo(entry.Msg) {
				s.fail("the server's log: %.500s", lines.Bytes())
			}
		}
		io.Copy(io.Discard, stderr) // keeps the server from blocking after a line that is too long
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	select {
	case <-serving:
		return nil
	case <-s.ended:
		return fmt.Errorf("serve ended: %v", s.err)
	case <-time.After(time.Minute):
		return errors.Join(errors.New("serve does not serve"), s.stop())
	}
}

// ofDemo reports whether a warning is about the demo shop, which the load uses.
func ofDemo(warning string) bool {
	return strings.HasPrefix(warning, "the database was made by dev") || strings.HasPrefix(warning, "the program has no prizes")
}

// stop ends the server, unless it has ended, as a service manager does.
func (s *server) stop() error {
	s.cmd.Process.Signal(syscall.SIGTERM) // fails if the process has ended, which Wait reports
	late := time.AfterFunc(time.Minute, func() { s.cmd.Process.Kill() })
	defer late.Stop()
	<-s.ended
	if s.err != nil {
		return fmt.Errorf("serve ended: %w", s.err)
	}
	return nil
}

// scrape returns the values of /metrics, by name and labels, and the bytes that were logged.
func (s *server) scrape() (map[string]float64, error) {
	resp, err := http.Get(s.metrics)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	values := map[string]float64{logged: float64(s.logged.Load())}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if words := strings.Fields(lines.Text()); len(words) == 2 {
			values[words[0]], _ = strconv.ParseFloat(words[1], 64)
		}
	}
	return values, lines.Err()
}

// run runs a command and returns its output in the error.
func run(cmd *exec.Cmd) error {
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %.2000s", strings.Join(cmd.Args[:2], " "), err, bytes.TrimSpace(out))
	}
	return nil
}

// build builds the binary with the go command.
func build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "punchcard")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "punchcard")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return path, run(cmd)
}
