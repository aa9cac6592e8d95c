package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// startSeeded serves a demo shop whose key has no rate limit, with environment variables and by a command with these arguments, if
// any, before those of the program.
func startSeeded(t *testing.T, env []string, by ...string) (p *process, api *servertest.Client, issue string) {
	t.Helper()
	db, ready := demoFile(t)
	args := append(by, binary(), "serve", "--db", db, "--listen", "127.0.0.1:0", "--log-format", "json",
		"--api-key-rate-limit-per-minute", "0")
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = environment(env)
	p = launchCommand(t, cmd)
	p.awaitServing()
	p.clientsLeave = true
	return p, p.api(ready.APIKey), "/programs/" + ready.ProgramIDs["standard"] + "/cards"
}

// smallSegments gives a connection small segments, which the system buffers few of: an answer that the client does not read
// then stops the server.
var smallSegments = net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) {
		syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 536)
		syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
	})
}}

// connectSlowly makes a thousand connections, or as many as the machine allows, until the end of the test. A third of the clients
// send nothing, a third the first byte of a header, and a third a request whose answer they do not read. meanwhile is called with
// each hundredth.
func (p *process) connectSlowly(meanwhile func()) {
	p.t.Helper()
	var slow []net.Conn
	p.t.Cleanup(func() { // before the server is stopped
		for _, c := range slow {
			c.Close()
		}
	})
	for len(slow) < 1000 {
		c, err := smallSegments.Dial("tcp", strings.TrimPrefix(p.origin, "http://"))
		if err != nil && len(slow) < 200 {
			p.t.Fatal(err)
		}
		if err != nil { // out of files: leave some for the requests
			for _, c := range slow[len(slow)-50:] {
				c.Close()
			}
			slow = slow[:len(slow)-50]
			break
		}
		slow = append(slow, c)
		io.WriteString(c, [...]string{"", "G", "GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"}[len(slow)%3])
		if len(slow)%100 == 0 {
			meanwhile()
		}
	}
	for late := time.Now().Add(waitLimit); p.unread() < len(slow)/3; {
		if time.Now().After(late) {
			p.t.Fatalf("%d of %d answers wait for their clients", p.unread(), len(slow)/3)
		}
		<-time.After(10 * time.Millisecond)
	}
	p.t.Logf("%d connections", len(slow))
}

// TestThousandSlowClients checks that the server answers others while a thousand clients are slow.
func TestThousandSlowClients(t *testing.T) {
	p, api, issue := startSeeded(t, nil)
	p.connectSlowly(func() {
		api.Get("/cards/" + api.Post(issue, nil).NewID()).Want(200)
		p.outside().Get("/readyz").Want(200)
	})
	if n := anonymous(t, p.cmd.Process.Pid); n > memoryLimit {
		t.Errorf("with slow clients the server takes %d bytes of memory", n)
	}
}

// unread returns how many connections of the server have bytes in the system that the client has not taken.
func (p *process) unread() (n int) {
	port := require.Must(strconv.Atoi(p.origin[strings.LastIndex(p.origin, ":")+1:]))
	for line := range strings.Lines(string(require.Must(os.ReadFile("/proc/net/tcp")))) {
		f := strings.Fields(line) // the local address, the remote one, the state and the queues are after the number
		if strings.HasSuffix(f[1], fmt.Sprintf(":%04X", port)) && f[3] == "01" && !strings.HasPrefix(f[4], "00000000:") {
			n++
		}
	}
	return n
}

// anonymous returns the bytes of memory that a process has besides the pages of files.
func anonymous(t *testing.T, pid int) (n int64) {
	t.Helper()
	_, rest, _ := bytes.Cut(require.Must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))), []byte("RssAnon:"))
	if _, err := fmt.Sscan(string(rest), &n); err != nil {
		t.Fatalf("no RssAnon: %v", err)
	}
	return n << 10
}

// memoryLimit is the memory of the smallest machine that the tests imitate.
const memoryLimit = 64 << 20

// smallMemory is the environment of a program that must take less than memoryLimit. GOMAXPROCS is large, since a program
// hashes as many passwords at once as half of it.
var smallMemory = []string{"GOMEMLIMIT=48MiB", "GOMAXPROCS=16"}

// TestMemoryLimit loads a server that is told of a small limit while slow clients are connected. All requests must be answered
// within the memory.
func TestMemoryLimit(t *testing.T) {
	p, api, issue := startSeeded(t, smallMemory)
	p.connectSlowly(func() {})
	loadMixed(p, api, issue)
}

// tooMany is the answer, with 503, to a sign-in for which no turn comes in time.
const tooMany = "Many people are signing in at this moment. Try again in a few seconds."

// loadMixed makes writes, reads of long lists and of sums, and sign-ins at once, and checks the answers and the memory.
func loadMixed(p *process, api *servertest.Client, issue string) {
	p.t.Helper()
	var mu sync.Mutex
	var peak int64
	var all sync.WaitGroup
	for client := range 16 {
		all.Go(func() {
			for n := range 8 {
				r := api.Try(context.Background(), "POST", issue, map[string]string{"external_ref": fmt.Sprint(client, "-", n)})
				if r.Err == nil && r.Status == 201 {
					r = api.Try(context.Background(), "GET", [...]string{"/cards?limit=100", "/analytics/summary"}[n%2], nil)
				}
				if r.Err != nil || r.Status/100 != 2 {
					p.t.Errorf("%s: %d %s (%v)", r.What, r.Status, r.Body, r.Err)
				}
				if n == 4 {
					form := url.Values{"email": {fmt.Sprintf("p%d@example.com", client)}, "password": {"not the password"}}
					if resp, err := http.PostForm(p.origin+"/sign-in", form); err != nil {
						p.t.Error(err)
					} else if page, _ := io.ReadAll(resp.Body); resp.StatusCode != 401 && !bytes.Contains(page, []byte(tooMany)) {
						p.t.Errorf("a sign-in is answered %s: %s", resp.Status, page)
					}
				}
				now := anonymous(p.t, p.cmd.Process.Pid)
				mu.Lock()
				peak = max(peak, now)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	p.t.Logf("at most %d MiB of memory", peak>>20)
	if peak > memoryLimit {
		p.t.Errorf("the server took %d bytes of memory", peak)
	}
}
