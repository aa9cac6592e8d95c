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
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is "punchcard serve" as a process, on a file of its own.
type server struct {
	binary, db      string
	cmd             *exec.Cmd
	ended           chan struct{}
	err             error // of the process; valid after ended is closed
	origin, metrics string
	client          *http.Client // for requests that are not measured
	logged          chan struct{}
	failures        *failures
}

// command runs a command of punchcard and decodes the JSON that it prints into v.
func (s *server) command(v any, args ...string) error {
	cmd := exec.Command(s.binary, append(args, "--db", s.db, "--json")...)
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, v)
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = errors.New(strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", args[0], args[1], err)
	}
	return nil
}

// start starts the server and returns when it serves.
func (s *server) start() error {
	s.cmd = exec.Command(s.binary, "serve", "--db", s.db, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--log-format", "json",
		"--api-key-rate-limit-per-minute", "0", "--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8")
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended, s.logged, s.client = make(chan struct{}), make(chan struct{}), &http.Client{Timeout: time.Minute}
	serving := make(chan struct{})
	go s.listen(stderr, serving)
	go func() {
		<-s.logged // Wait closes the pipe
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

// listen reads the log. It closes serving when the server serves, and adds a failure
// for each warning or error.
func (s *server) listen(log io.Reader, serving chan<- struct{}) {
	defer close(s.logged)
	for lines := bufio.NewScanner(log); lines.Scan(); {
		var entry struct{ Level, Msg, Origin, Metrics string }
		err := json.Unmarshal(lines.Bytes(), &entry)
		if err == nil && entry.Msg == "serving" && s.origin == "" {
			s.origin, s.metrics = entry.Origin, entry.Metrics
			close(serving)
		} else if err != nil || entry.Level != "INFO" {
			s.failures.add("the server's log: %.500s", lines.Bytes())
		}
	}
	io.Copy(io.Discard, log) // keeps the server from blocking after a line that is too long
}

// stop ends the server as a service manager does.
func (s *server) stop() error {
	s.client.CloseIdleConnections()
	s.cmd.Process.Signal(syscall.SIGTERM) // fails if the process has ended, which Wait reports
	late := time.AfterFunc(time.Minute, func() { s.cmd.Process.Kill() })
	defer late.Stop()
	<-s.ended
	if s.err != nil {
		return fmt.Errorf("serve ended: %w", s.err)
	}
	return nil
}

// addr returns the address of the server, without a scheme.
func (s *server) addr() string { return strings.TrimPrefix(s.origin, "http://") }

// call makes a request that is not measured and decodes the answer, whose status must
// be 2xx, into v.
func (s *server) call(bearer, method, path string, body string, v any) error {
	req, err := http.NewRequest(method, s.origin+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+bearer)
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s %.300s", method, path, resp.Status, raw)
	}
	return json.Unmarshal(raw, v)
}

// scrape returns the values of /metrics, by name and labels.
func (s *server) scrape() (map[string]float64, error) {
	resp, err := s.client.Get(s.metrics)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	values := map[string]float64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line := lines.Text()
		if cut := strings.LastIndexByte(line, ' '); cut > 0 && line[0] != '#' {
			if values[line[:cut]], err = strconv.ParseFloat(line[cut+1:], 64); err != nil {
				return nil, fmt.Errorf("/metrics: %q", line)
			}
		}
	}
	return values, lines.Err()
}

// check runs "punchcard check" on the file.
func (s *server) check() error {
	out, err := exec.Command(s.binary, "check", "--db", s.db).CombinedOutput()
	if err != nil {
		return fmt.Errorf("check: %w: %.2000s", err, bytes.TrimSpace(out))
	}
	return nil
}

// size returns the size of a file in bytes; 0 if there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// build builds the binary with the go command.
func build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "punchcard")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", path, "punchcard")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
}
