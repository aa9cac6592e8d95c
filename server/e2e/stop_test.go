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
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"punchcard/server/servertest"
)

// rawConn is a connection to a server for tests that write HTTP themselves.
type rawConn struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func (p *process) dial(t *testing.T) *rawConn {
	t.Helper()
	c := must(net.Dial("tcp", strings.TrimPrefix(p.origin, "http://")))
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(waitLimit))
	return &rawConn{t, c, bufio.NewReader(c)}
}

// send writes text, which must have its line ends.
func (w *rawConn) send(text string) *rawConn {
	w.t.Helper()
	if _, err := io.WriteString(w.Conn, text); err != nil {
		w.t.Fatal(err)
	}
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

// wantClosed checks that the server closed the connection and sent nothing more.
func (w *rawConn) wantClosed() {
	w.t.Helper()
	if b, err := w.in.ReadByte(); err == nil {
		w.t.Errorf("the connection is open and sent %q", b)
	}
}

// requestHead returns the head of a request, to which header lines may be added.
func requestHead(method, path, key string) string {
	return method + " /api/public/v1" + path + " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + key + "\r\n"
}

// TestGracefulStop stops a server under load.
func TestGracefulStop(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	keys := make([]key, 8)
	for i := range keys { // the rate limit is per key
		keys[i] = f.makeKey("create", "--name", fmt.Sprint("Client ", i))
	}
	program := newProgram(f.api(keys[0]), `{"type":"prepaid","name":"Prepaid","initial_balance_cents":0}`)

	// These are requests whose head the server has read and whose body is missing: it has sent 100
	// Continue.
	const body = `{"holder_name":"Slow"}`
	var slow []*rawConn
	for i := range 10 {
		w := f.server.dial(t)
		w.send(requestHead("POST", "/programs/"+program+"/cards", keys[i%len(keys)].Secret) + fmt.Sprintf("Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", len(body)))
		if line, err := w.in.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
			t.Fatalf("%q, %v", line, err)
		}
		if _, err := w.in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		slow = append(slow, w.send(body[:i]))
	}

	var mu sync.Mutex
	answered := map[string]bool{} // ids of cards
	note := func(status int, raw []byte) {
		mu.Lock()
		defer mu.Unlock()
		var made card
		if err := json.Unmarshal(raw, &made); err != nil || status != 201 {
			t.Errorf("status %d %s (%v)", status, raw, err)
		}
		answered[made.ID] = true
	}
	var unanswered atomic.Int64 // requests without an answer
	started := make(chan struct{}, 1000)
	var wg sync.WaitGroup
	for i, k := range keys {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := 0; n < 250; n++ {
				r := f.server.api(k.Secret).Try(context.Background(), "POST", "/programs/"+program+"/cards", fmt.Sprintf(`{"external_ref":"%d-%d"}`, i, n))
				if r.Err != nil && r.Status == 0 { // the server has ended
					if errors.Is(r.Err, io.ErrUnexpectedEOF) {
						t.Errorf("incomplete answer: %v", r.Err)
					}
					unanswered.Add(1)
					return
				}
				if r.Err != nil {
					t.Errorf("incomplete answer: %v", r.Err)
					return
				}
				note(r.Status, r.Body)
				started <- struct{}{}
			}
		}()
	}
	for range 100 {
		<-started
	}
	go func() { // the answer is not read
		for range started {
		}
	}()

	f.server.signal(syscall.SIGTERM)
	wg.Wait()
	address := strings.TrimPrefix(f.server.origin, "http://")
	for {
		c, err := net.Dial("tcp", address)
		if err != nil {
			break // refused while requests are in progress
		}
		c.Close()
	}
	select {
	case <-f.server.ended:
		t.Fatal("the server ended before the requests in progress")
	default:
	}
	for i, w := range slow {
		w.send(body[i:])
		r := w.receive("POST")
		note(r.Status, r.Body)
		w.wantClosed()
	}
	if err := f.server.wait(); err != nil {
		t.Errorf("the server ended with %v:\n%s", err, f.server.stderr)
	}
	close(started)
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("the address still accepts connections")
	}
	if out := f.run("check"); out != "ok\n" {
		t.Errorf("check printed %q", out)
	}

	again := startServe(t, f.db, "--api-key-rate-limit-per-minute", "0")
	all, had := listCards(again.api(keys[0].Secret), 100), len(answered)
	if n := len(all) - had; n > int(unanswered.Load()) {
		t.Errorf("%d cards that were not answered, but only %d requests without an answer", n, unanswered.Load())
	}
	for _, c := range all {
		delete(answered, c.ID)
	}
	if len(answered) > 0 {
		t.Errorf("%d cards that were answered 201 are not in the file", len(answered))
	}
}

// TestSecondSignal checks that a second signal ends a server that waits for a client.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	f := newShop(t)
	k := f.makeKey("create", "--name", "CRM")
	w := f.server.dial(t).send(requestHead("POST", "/programs", k.Secret) + "Expect: 100-continue\r\nContent-Length: 10\r\n\r\n")
	if line, err := w.in.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 100 ") {
		t.Fatalf("%q, %v", line, err)
	}
	f.server.signal(syscall.SIGTERM)
	for {
		c, err := net.Dial("tcp", strings.TrimPrefix(f.server.origin, "http://"))
		if err != nil {
			break
		}
		c.Close()
	}
	f.server.signal(syscall.SIGTERM)
	if err := f.server.wait(); err == nil {
		t.Error("the server exited with 0")
	}
	if out := f.run("check"); out != "ok\n" {
		t.Errorf("check printed %q", out)
	}
}
