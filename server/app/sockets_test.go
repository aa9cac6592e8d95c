package app_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/servertest"
)

// startServer starts a demo shop with a changed Config.
func startServer(t *testing.T, changes ...func(*app.Config)) *app.App {
	t.Helper()
	servertest.Parallel(t)
	return servertest.Start(t, changes...).App
}

// withTLS makes a server serve https.
func withTLS(t *testing.T) func(*app.Config) {
	dir := t.TempDir()
	servertest.WriteCertificate(t, dir, "server")
	return func(c *app.Config) {
		c.TLSCert, c.TLSKey = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	}
}

// dialServer connects to an address of the server, such as its Origin.
func dialServer(t *testing.T, origin string) net.Conn {
	t.Helper()
	_, address, _ := strings.Cut(origin, "://")
	c, err := net.Dial("tcp", address)
	noError(t, err)
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(servertest.Patience))
	return c
}

// wantClosed fails the test unless err means that the other side closed the connection.
func wantClosed(t *testing.T, err error) {
	t.Helper()
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the server did not close the connection: %v", err)
	}
}

// TestSlowClients checks that a client that never finishes its request is cut off: without an
// answer during the headers, with one during the body. The server goes on serving others.
func TestSlowClients(t *testing.T) {
	a := startServer(t, func(c *app.Config) { c.ReadTimeout = 200 * time.Millisecond })
	head := "POST /api/public/v1/programs/" + a.Ready.ProgramIDs["standard"] + "/cards HTTP/1.1\r\n" +
		"Host: localhost\r\nAuthorization: Bearer " + seed.APIKey +
		"\r\nContent-Type: application/json\r\nContent-Length: 100\r\n"
	for name, sent := range map[string]string{"headers": head, "body": head + "\r\n{\"holder_name\":"} {
		t.Run(name, func(t *testing.T) {
			c := dialServer(t, a.Origin)
			if _, err := c.Write([]byte(sent)); err != nil {
				t.Fatal(err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if name == "headers" {
				if err == nil {
					t.Fatalf("answered %s", resp.Status)
				}
				return
			}
			if err != nil || resp.StatusCode != http.StatusBadRequest || !resp.Close {
				t.Fatalf("%v, %v", resp, err)
			}
			if says, _ := io.ReadAll(resp.Body); !bytes.Contains(says, []byte(`"The body could not be read to its end."`)) {
				t.Errorf("refused: %s", says)
			}
		})
	}
	if status, body := call(t, "GET", a.Ready.BaseURL+"/cards", seed.APIKey, ""); status != http.StatusOK {
		t.Fatal(status, body)
	}
}

// TestSlowReader checks that a client that makes requests and reads no answers is cut off.
func TestSlowReader(t *testing.T) {
	a := startServer(t, func(c *app.Config) { c.WriteTimeout = 200 * time.Millisecond })
	c := dialServer(t, a.Origin)
	requests := []byte(strings.Repeat("GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n", 20))
	var err error
	for err == nil {
		_, err = c.Write(requests)
	}
	wantClosed(t, err)
}

// TestSlowReaderHTTP2 checks the same with HTTP/2, where a request's end does not close the
// connection, and the limits that the server announces. MaxConnections is one, so the next
// connection is answered only after the first was closed.
func TestSlowReaderHTTP2(t *testing.T) {
	a := startServer(t, func(c *app.Config) {
		// Long enough for the answers to fill the connection on a busy machine: a request that
		// has not begun its answer by then is reset, and takes no room.
		c.MaxConnections, c.WriteTimeout = 1, 2*time.Second
	}, withTLS(t))
	tcp := dialServer(t, a.Origin).(*net.TCPConn)
	noError(t, tcp.SetReadBuffer(4<<10)) // which a few answers fill
	c := tls.Client(tcp, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err := c.Handshake(); err != nil || c.ConnectionState().NegotiatedProtocol != "h2" {
		t.Fatal(err, c.ConnectionState().NegotiatedProtocol)
	}
	out := bufio.NewWriter(c)
	framer := http2.NewFramer(out, c)
	io.WriteString(out, http2.ClientPreface)
	framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1})
	framer.WriteWindowUpdate(0, 1<<30)
	noError(t, out.Flush())
	first, err := framer.ReadFrame()
	settings, ok := first.(*http2.SettingsFrame)
	if err != nil || !ok {
		t.Fatal(first, err)
	}
	if n, ok := settings.Value(http2.SettingMaxConcurrentStreams); !ok || n != 100 {
		t.Errorf("%d concurrent requests, %v", n, ok)
	}
	if n, ok := settings.Value(http2.SettingMaxHeaderListSize); !ok || n > 64<<10 {
		t.Errorf("headers of %d bytes, %v", n, ok)
	}
	framer.WriteSettingsAck()
	var block bytes.Buffer
	h := hpack.NewEncoder(&block)
	for stream := uint32(1); stream < 200; stream += 2 { // 100 answers of at least 100 KiB
		block.Reset()
		for _, f := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", "/openapi.json"}} {
			h.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		noError(
			t,
			framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndStream: true, EndHeaders: true}),
		)
	}
	noError(t, out.Flush())
	next := tls.Client(dialServer(t, a.Origin), &tls.Config{InsecureSkipVerify: true})
	io.WriteString(next, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if resp, err := http.ReadResponse(bufio.NewReader(next), nil); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("the server did not close the connection: %v", err)
	}
}

// TestSlowHandshake checks that a connection without a TLS handshake is closed like one with slow
// headers.
func TestSlowHandshake(t *testing.T) {
	a := startServer(t, func(c *app.Config) { c.ReadTimeout = 200 * time.Millisecond }, withTLS(t))
	for _, sent := range []string{"", "\x16\x03\x01\x02\x00\x01"} {
		c := dialServer(t, a.Origin)
		io.WriteString(c, sent)
		_, err := io.ReadAll(c)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after %q the server keeps waiting", sent)
		}
	}
}

// TestSlowScraper checks that the metrics address has the same time-outs.
func TestSlowScraper(t *testing.T) {
	a := startWithMetrics(t, func(c *app.Config) { c.ReadTimeout, c.WriteTimeout = 200*time.Millisecond, 200*time.Millisecond })
	for _, sent := range []string{"GET /metrics HTTP/1.1\r\nHo", strings.Repeat("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 20)} {
		c := dialServer(t, strings.TrimSuffix(a.MetricsURL, "/metrics"))
		if !strings.HasSuffix(sent, "\r\n") {
			if _, err := io.WriteString(c, sent); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("a connection with half a header was not closed")
			}
			continue
		}
		var err error
		for err == nil {
			_, err = io.WriteString(c, sent)
		}
		wantClosed(t, err)
	}
}

// TestConnectionsAreBounded checks that a connection beyond the limit waits until another is closed.
func TestConnectionsAreBounded(t *testing.T) {
	log := &servertest.Log{}
	a := startServer(t, func(c *app.Config) {
		c.MaxConnections, c.AccessLog, c.Log = 3, true, slog.New(slog.NewTextHandler(log, nil))
	})
	ask := func(c net.Conn, path string) {
		if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	readAnswer := func(c net.Conn) {
		t.Helper()
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		noError(t, err)
		io.Copy(io.Discard, resp.Body)
	}
	var accepted []net.Conn
	for range 3 {
		c := dialServer(t, a.Origin)
		ask(c, "/healthz")
		readAnswer(c)
		accepted = append(accepted, c)
	}
	waiting := dialServer(t, a.Origin)
	ask(waiting, "/i/waits")
	for range 50 {
		for _, c := range accepted {
			ask(c, "/healthz")
			readAnswer(c)
		}
	}
	if log.Has("/i/") {
		t.Error("a fourth connection was accepted")
	}
	accepted[1].Close()
	readAnswer(waiting)
	if !log.Has("/i/") {
		t.Error("the request that waited was not logged")
	}
}
