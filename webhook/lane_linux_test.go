package webhook_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
)

// A teller takes one request per connection and knows in which order they
// came: the kernel hands a connection over when its first data is there, and
// so in the order of the data. Nobody else's scheduling has a say in it.
type teller struct {
	url string

	mu    sync.Mutex
	cards []string
}

func newTeller(t *testing.T) *teller {
	t.Helper()
	conf := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_DEFER_ACCEPT, 60)
		})
		return err
	}}
	ln, err := conf.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	r := &teller{url: "http://localhost:" + port + "/"}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			req, err := http.ReadRequest(bufio.NewReader(c))
			if err != nil {
				t.Error(err)
				c.Close()
				continue
			}
			got := read(req)
			r.mu.Lock()
			r.cards = append(r.cards, got.Card)
			r.mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				io.WriteString(c, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
	return r
}

// Requests of a lane go out in the order of their commits, though none waits
// for another's answer.
func TestOrderOfRequests(t *testing.T) {
	s := start(t)
	r := newTeller(t)
	s.hook(r.url)
	want := s.burst(200)
	for range 100 {
		want = append(want, s.issue())
	}
	for range 20 {
		want = append(want, s.burst(10)...)
	}
	s.settle()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.cards, want) {
		for i := range min(len(r.cards), len(want)) {
			if r.cards[i] != want[i] {
				t.Fatalf("request %d of %d is that of commit %d", i, len(r.cards), slices.Index(want, r.cards[i]))
			}
		}
		t.Errorf("%d requests, want %d", len(r.cards), len(want))
	}
}
