package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// server is "punchcard dev" as a process, on a file that outlives it.
type server struct {
	binary, db, log string
	older           string // binary of the schema before, which runs first; empty after the upgrade
	addr            string // the same after each start
	cmd             *exec.Cmd
	stdin           io.Closer
	ended           chan struct{}
	err             error        // of the process; valid after ended is closed
	ready           ready        // of the first start, which the file determines
	starts          atomic.Int64 // of the process

	restarting sync.RWMutex // locked while the process is replaced
	disk       *disk        // of the file, if a kill cuts the power too; otherwise nil
	commands   sync.RWMutex // locked while it is cut
}

// ready is the line that dev prints when it serves.
type ready struct {
	ShopID string `json:"shop_id"`
	APIKey string `json:"api_key"`
	MCPKey string `json:"mcp_key"`
}

// newServer returns the server for a folder, not started. binary is empty for one that is built now. With cutPower, a kill discards
// what was not synced.
func newServer(binary, dir string, cutPower bool) (*server, error) {
	if binary == "" {
		binary = filepath.Join(dir, "punchcard")
		build := exec.Command("go", "build", "-o", binary, "punchcard")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if err := output(build); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	s := &server{
		binary: binary,
		db:     filepath.Join(dir, "shop.db"),
		log:    filepath.Join(dir, "server.log"),
		addr:   l.Addr().String(),
	}
	if cutPower {
		dir = filepath.Join(dir, "disk")
		s.db = filepath.Join(dir, "shop.db")
		s.disk, err = newDisk(dir)
	}
	return s, err
}

// start starts the process with its clock at a time, and returns when it serves.
func (s *server) start(at time.Time) error {
	args := []string{"dev", "--db", s.db, "--listen", s.addr, "--clock", at.Format(time.RFC3339), "--quiet", "--log-format", "json"}
	if s.cmd = exec.Command(s.older, args...); s.older == "" {
		s.cmd = exec.Command(s.binary, append(args, "--exit-with-stdin")...)
	}
	// The runtime overwrites what it frees, so that the memory of the process has at its end what the program keeps.
	s.cmd.Env = append(os.Environ(), "GODEBUG=clobberfree=1")
	stderr, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer stderr.Close()
	s.cmd.Stderr = stderr
	stdin, err1 := s.cmd.StdinPipe()
	stdout, err2 := s.cmd.StdoutPipe()
	if err := errors.Join(err1, err2, s.cmd.Start()); err != nil {
		return err
	}
	s.stdin, s.ended = stdin, make(chan struct{})
	line, _ := bufio.NewReader(stdout).ReadBytes('\n') // a process that ends without a line fails below
	go func() {
		io.Copy(io.Discard, stdout)
		s.err = s.cmd.Wait()
		close(s.ended)
	}()
	s.starts.Add(1)
	into := &s.ready
	if s.starts.Load() > 1 { // clients read it
		into = new(ready)
	}
	if err := json.Unmarshal(line, into); err != nil {
		return errors.Join(fmt.Errorf("dev is not ready, see %s: %w", s.log, err), s.stop())
	}
	return nil
}

// origin returns the beginning of all URLs of the server.
func (s *server) origin() string { return "http://" + s.addr }

// stop ends the process as a service manager does.
func (s *server) stop() error {
	if s.stdin.Close(); s.older != "" {
		s.cmd.Process.Signal(syscall.SIGTERM)
	}
	<-s.ended
	return s.err
}

// kill ends the process as a power cut does, and starts it again. Without a disk of its own, nothing of the machine's cache is lost.
func (s *server) kill(at time.Time) error {
	return s.replace(func() error {
		s.cmd.Process.Signal(syscall.SIGKILL)
		<-s.ended
		if s.disk == nil {
			return nil
		}
		s.commands.Lock() // a backup goes on after a kill
		defer s.commands.Unlock()
		return s.disk.cutPower()
	}, at)
}

// replace starts the process again after end has ended it. Clients wait meanwhile.
func (s *server) replace(end func() error, at time.Time) error {
	s.restarting.Lock()
	defer s.restarting.Unlock()
	if err := end(); err != nil {
		return err
	}
	return s.start(at)
}

// await waits while the process is replaced.
func (s *server) await() {
	s.restarting.RLock()
	defer s.restarting.RUnlock()
}

// command runs a command of the binary on the file of the server.
func (s *server) command(args ...string) error {
	s.commands.RLock()
	defer s.commands.RUnlock()
	return output(exec.Command(s.binary, append(args, "--db", s.db)...))
}

// output runs a command, and puts what it says into the error.
func output(cmd *exec.Cmd) error {
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %.2000s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(said.Bytes()))
	}
	return nil
}
