package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// rawConn is a connection to a server for tests that write HTTP themselves.
type rawConn struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func (p *process) dial(t *testing.T) *rawConn {
	t.Helper()
	c := require.Must(net.Dial("tcp", strings.TrimPrefix(p.origin, "http://")))
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(waitLimit))
	return &rawConn{t, c, bufio.NewReader(c)}
}

// send writes text, which must have its line ends.
func (w *rawConn) send(text string) *rawConn {
	require.Must(io.WriteString(w.Conn, text))
	return w
}

// receive reads one answer to a request with the method.
func (w *rawConn) receive(method string) *servertest.Reply {
	w.t.Helper()
	resp, err := http.ReadResponse(w.in, &http.Request{Method: method})
	if err != nil {
		w.t.Fatalf("no answer: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("incomplete answer: %v", err)
	}
	return &servertest.Reply{T: w.t, What: method, Status: resp.StatusCode, Header: resp.Header, Body: body}
}

// wantContinue reads 100 Continue.
func (w *rawConn) wantContinue() {
	w.t.Helper()
	for _, want := range []string{"HTTP/1.1 100 ", "\r\n"} {
		if line, err := w.in.ReadString('\n'); err != nil || !strings.HasPrefix(line, want) {
			w.t.Fatalf("%q, %v", line, err)
		}
	}
}

// wantClosed checks that the server closed the connection and sent nothing more.
func (w *rawConn) wantClosed() {
	w.t.Helper()
	if b, err := w.in.ReadByte(); err == nil {
		w.t.Errorf("the connection is open and sent %q", b)
	}
}

// awaitRefusal connects until the server accepts no more connections.
func (p *process) awaitRefusal() {
	for {
		c, err := net.Dial("tcp", strings.TrimPrefix(p.origin, "http://"))
		if err != nil {
			return
		}
		c.Close()
		<-time.After(time.Millisecond)
	}
}

// requestHead returns the head of a request, to which header lines may be added.
func requestHead(method, path, key string) string {
	return method + " /api/public/v1" + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + key + "\r\n"
}

// stopTest is a server that is stopped under load, and the cards whose issue it answered.
type stopTest struct {
	*shopFile
	program    string
	keys       []key
	slow       []*rawConn // requests in progress, whose bodies are incomplete
	issued     *progress  // of the clients
	clients    sync.WaitGroup
	unanswered atomic.Int64 // requests of the clients without an answer

	mu       sync.Mutex
	answered map[string]bool // by id
}

const slowBody = `{"holder_name":"Slow"}`

// startStopTest starts the server and eight clients.
func startStopTest(t *testing.T) *stopTest {
	t.Helper()
	s := &stopTest{shopFile: newShop(t), keys: make([]key, 8), issued: newProgress(), answered: map[string]bool{}}
	for i := range s.keys { // the rate limit is per key
		s.keys[i] = s.makeKey("create", "--name", fmt.Sprint("Client ", i))
	}
	s.program = newProgram(s.api(s.keys[0]), prepaidCard)
	for i := range 10 {
		s.slow = append(s.slow, s.beginSlow(i))
	}
	for i, k := range s.keys {
		s.clients.Go(func() { s.issueCards(i, k) })
	}
	return s
}

// beginSlow sends a request up to the first n bytes of its body. The server has read the head, since
// it has sent 100 Continue.
func (s *stopTest) beginSlow(n int) *rawConn {
	s.t.Helper()
	w := s.server.dial(s.t)
	w.send(requestHead("POST", "/programs/"+s.program+"/cards", s.keys[n%len(s.keys)].Secret) +
		fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(slowBody)))
	w.wantContinue()
	return w.send(slowBody[:n])
}

// issueCards issues up to 250 cards, until the server has ended.
func (s *stopTest) issueCards(client int, k key) {
	for n := range 250 {
		r := s.server.api(k.Secret).Try(context.Background(), "POST", "/programs/"+s.program+"/cards",
			fmt.Sprintf(`{"external_ref":"%d-%d"}`, client, n))
		if r.Err != nil && r.Status == 0 { // the server has ended
			if errors.Is(r.Err, io.ErrUnexpectedEOF) {
				s.t.Errorf("incomplete answer: %v", r.Err)
			}
			s.unanswered.Add(1)
			return
		}
		if r.Err != nil {
			s.t.Errorf("incomplete answer: %v", r.Err)
			return
		}
		s.note(r)
		s.issued.add()
	}
}

// note records an answer, which must be 201.
func (s *stopTest) note(r *servertest.Reply) {
	var made card
	if err := json.Unmarshal(r.Body, &made); err != nil || r.Status != 201 {
		s.t.Errorf("status %d %s (%v)", r.Status, r.Body, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered[made.ID] = true
}

// TestGracefulStop checks that a server that is to stop under load refuses connections, answers the
// requests in progress, and has in its file what it answered.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	s := startStopTest(t)
	if !s.issued.waitUntil(func() bool { return s.issued.count() >= 100 }) {
		t.Fatalf("only %d cards were issued", s.issued.count())
	}
	s.server.signal(syscall.SIGTERM)
	s.clients.Wait()
	s.server.awaitRefusal()
	select {
	case <-s.server.ended:
		t.Fatal("the server ended before the requests in progress")
	default:
	}
	for i, w := range s.slow {
		w.send(slowBody[i:])
		s.note(w.receive("POST"))
		w.wantClosed()
	}
	if err := s.server.wait(); err != nil {
		t.Errorf("the server ended with %v:\n%s", err, s.server.stderr)
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(s.server.origin, "http://")); err == nil {
		t.Error("the address still accepts connections")
	}
	checkFile(t, s.db)

	again := startServe(t, s.db, "--api-key-rate-limit-per-minute", "0", "--till-rate-limit-per-minute", "0")
	all, had := listCards(again.api(s.keys[0].Secret), 100), len(s.answered)
	if n := len(all) - had; n > int(s.unanswered.Load()) {
		t.Errorf("%d cards that were not answered, but only %d requests without an answer", n, s.unanswered.Load())
	}
	for _, c := range all {
		delete(s.answered, c.ID)
	}
	if len(s.answered) > 0 {
		t.Errorf("%d cards that were answered 201 are not in the file", len(s.answered))
	}
}

// TestSecondSignal checks that a second signal ends a server that waits for a client.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	k := f.makeKey("create", "--name", "CRM")
	w := f.server.dial(t).send(requestHead("POST", "/programs", k.Secret) + "Expect: 100-continue\r\nContent-Length: 10\r\n\r\n")
	w.wantContinue()
	f.server.signal(syscall.SIGTERM)
	f.server.awaitRefusal()
	f.server.signal(syscall.SIGTERM)
	if err := f.server.wait(); err == nil {
		t.Error("the server exited with 0")
	}
	checkFile(t, f.db)
}

// TestExitWithStdin checks that a server ends with status 0 when the pipe of its standard input
// closes, and that the null device is refused.
func TestExitWithStdin(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"dev"}, {"serve", "--db", filepath.Join(t.TempDir(), "shop.db"), "--log-format", "json"}} {
		cmd := exec.Command(binary(), append(args, "--listen", "127.0.0.1:0", "--exit-with-stdin")...)
		cmd.Env = environment(nil)
		stdin := require.Must(cmd.StdinPipe())
		p := launchCommand(t, cmd)
		p.await(p.stdout, func(text string) bool { return args[0] != "dev" || strings.Contains(text, "\n") })
		if args[0] == "serve" {
			p.awaitServing()
		}
		if _, err := io.WriteString(stdin, "what is written is ignored\n"); err != nil {
			t.Error(err)
		}
		stdin.Close()
		if err := p.wait(); err != nil {
			t.Errorf("%s: %v\n%s", args[0], err, p.stderr)
		}
		execute(t, nil, append(args, "--listen", "127.0.0.1:0", "--exit-with-stdin")...).
			refused(t, "--exit-with-stdin (PUNCHCARD_EXIT_WITH_STDIN)", "the null device")
	}
}
