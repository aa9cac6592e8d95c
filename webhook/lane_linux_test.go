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

	"punchcard/server/servertest/require"
)

// orderedReceiver accepts one request per connection and records the order in which
// they arrived: the operating system returns each connection when its first data
// has arrived, so the order does not depend on the scheduling of goroutines.
type orderedReceiver struct {
	url string

	mu    sync.Mutex
	cards []string
}

func newOrderedReceiver(t *testing.T) *orderedReceiver {
	t.Helper()
	conf := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_DEFER_ACCEPT, 60)
		})
		return err
	}}
	ln := require.Must(conf.Listen(context.Background(), "tcp", "127.0.0.1:0"))
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	r := &orderedReceiver{url: "http://localhost:" + port + "/"}
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

// TestOrderOfRequests checks that the requests of a lane are sent in the order of their events,
// although none waits for the answer to another.
func TestOrderOfRequests(t *testing.T) {
	s := start(t)
	r := newOrderedReceiver(t)
	s.hook(r.url)
	want := s.burst(200)
	for range 30 {
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
				t.Fatalf("request %d of %d is of card %d", i, len(r.cards), slices.Index(want, r.cards[i]))
			}
		}
		t.Errorf("%d requests, want %d", len(r.cards), len(want))
	}
}
