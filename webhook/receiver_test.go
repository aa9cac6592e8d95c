package webhook_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// request is a request to a receiver.
type request struct {
	Header  http.Header
	Body    []byte
	Proto   string
	Event   string
	EventID string
	Card    string
}

// read reads a request.
func read(r *http.Request) request {
	body, _ := io.ReadAll(r.Body)
	var env struct {
		Event   string `json:"event"`
		EventID string `json:"event_id"`
		Data    struct {
			Card string `json:"card_instance_id"`
		}
	}
	json.Unmarshal(body, &env)
	return request{r.Header, body, r.Proto, env.Event, env.EventID, env.Data.Card}
}

// receiver is a web server that records requests and answers as the test sets.
type receiver struct {
	t   *testing.T
	url string
	got chan request // every request, before its answer

	srv    *httptest.Server
	closed chan struct{} // closed at the end of the test, so that handlers that hang return

	mu     sync.Mutex
	answer http.HandlerFunc
	all    []request
}

// listen starts a receiver that answers 200 by default.
func listen(t *testing.T, answer ...http.HandlerFunc) *receiver {
	t.Helper()
	r := newReceiver(t, answer...)
	r.srv.Start()
	return r.at(r.srv.URL)
}

// newReceiver returns a receiver that is not started.
func newReceiver(t *testing.T, answer ...http.HandlerFunc) *receiver {
	r := &receiver{t: t, got: make(chan request, 10000), closed: make(chan struct{})}
	for _, a := range answer {
		r.answer = a
	}
	r.srv = httptest.NewUnstartedServer(r)
	r.srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(func() {
		close(r.closed)
		r.srv.CloseClientConnections()
		r.srv.Close()
	})
	return r
}

// at sets the URL: with a host name, and with parts that must not be logged.
func (r *receiver) at(base string) *receiver {
	u, _ := url.Parse(base)
	r.url = u.Scheme + "://localhost:" + u.Port() + "/secret-path?token=secret"
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	got := read(req)
	r.mu.Lock()
	r.all = append(r.all, got)
	answer := r.answer
	r.mu.Unlock()
	r.got <- got
	if answer != nil {
		answer(w, req)
	}
}

// answers sets the handler of the receiver.
func (r *receiver) answers(f http.HandlerFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = f
}

// status returns a handler that answers with a status.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// hang does not answer until the test ends or the connection is closed.
func (r *receiver) hang(_ http.ResponseWriter, req *http.Request) {
	select {
	case <-r.closed:
	case <-req.Context().Done():
	}
}

// requests returns all requests so far.
func (r *receiver) requests() []request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]request(nil), r.all...)
}

// next waits for the next request and returns it.
func (r *receiver) next() request {
	r.t.Helper()
	return servertest.Await(r.t, r.got, "a request")
}

// none checks that there is no further request.
func (r *receiver) none(when string) {
	r.t.Helper()
	select {
	case got := <-r.got:
		r.t.Fatalf("%s: got %s", when, got.Body)
	default:
	}
}

// rawReceiver is a receiver that writes its own bytes to each connection.
type rawReceiver struct {
	url string
	ln  net.Listener
	wg  sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
	count int
}

// listenRaw starts a receiver that calls act with each connection, with TLS if
// config is not nil, and then closes it.
func listenRaw(t *testing.T, config *tls.Config, act func(net.Conn)) *rawReceiver {
	t.Helper()
	ln := require.Must(net.Listen("tcp", "127.0.0.1:0"))
	scheme := "http"
	if config != nil {
		scheme = "https"
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	w := &rawReceiver{url: scheme + "://localhost:" + port + "/secret-path?token=secret", ln: ln}
	w.wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			w.mu.Lock()
			w.conns = append(w.conns, c)
			w.count++
			w.mu.Unlock()
			if config != nil {
				c = tls.Server(c, config)
			}
			w.wg.Go(func() {
				defer c.Close()
				act(c)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		w.mu.Lock()
		for _, c := range w.conns {
			c.Close()
		}
		w.mu.Unlock()
		w.wg.Wait()
	})
	return w
}

// listenHeld starts a receiver at which connections hang in the handshake of TLS until letGo is called. reached gets a
// value for each connection.
func listenHeld(t *testing.T) (hold *rawReceiver, reached <-chan struct{}, letGo func()) {
	came, release := make(chan struct{}, 16), make(chan struct{})
	hold = listenRaw(t, nil, func(net.Conn) {
		came <- struct{}{}
		<-release
	})
	hold.url = strings.Replace(hold.url, "http:", "https:", 1)
	letGo = sync.OnceFunc(func() { close(release) })
	t.Cleanup(letGo)
	return hold, came, letGo
}

// connections returns how many connections there were.
func (w *rawReceiver) connections() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// answerText returns a function that reads a request and writes a text.
func answerText(text string) func(net.Conn) {
	return func(c net.Conn) {
		if readRequest(c) {
			io.WriteString(c, text)
		}
	}
}

// readRequest reads a whole request and reports whether it is one.
func readRequest(c net.Conn) bool {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return false
	}
	io.Copy(io.Discard, r.Body)
	return true
}

// waitForClose waits until the other side closes the connection.
func waitForClose(c net.Conn) { io.Copy(io.Discard, c) }

// raw returns the TCP connection of c, which may be one of TLS.
func raw(c net.Conn) *net.TCPConn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return c.(*net.TCPConn)
}

// drip writes a body slowly, byte by byte, without end.
func drip(c net.Conn) {
	if !readRequest(c) {
		return
	}
	io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for range ticker.C {
		if _, err := io.WriteString(c, "x"); err != nil {
			return
		}
	}
}

// repeat writes a text again and again until the other side closes the connection,
// and returns the number of bytes written.
func repeat(c net.Conn, text string) (n int64) {
	block := []byte(strings.Repeat(text, 1+4096/len(text)))
	for {
		k, err := c.Write(block)
		n += int64(k)
		if err != nil {
			return n
		}
	}
}
