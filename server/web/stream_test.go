package web_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"punchcard/server/web"
)

// pipes is a listener whose connections are in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{} }

// TestSendMessage checks that a stream outlives the time that a message may take, over both versions of HTTP.
func TestSendMessage(t *testing.T) {
	for _, http2 := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var protocols http.Protocols
			protocols.SetHTTP1(!http2)
			protocols.SetUnencryptedHTTP2(http2)
			s := &http.Server{Protocols: &protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for range 2 {
					if err := web.SendMessage(w, []byte("message\n"), time.Second); err != nil {
						t.Errorf("HTTP/2 %t: %v", http2, err)
					}
					time.Sleep(time.Minute)
				}
			})}
			accept := make(pipes)
			go s.Serve(accept)
			tr := &http.Transport{Protocols: &protocols, DialContext: func(context.Context, string, string) (net.Conn, error) {
				ours, theirs := net.Pipe()
				accept <- theirs
				return ours, nil
			}}
			resp, err := (&http.Client{Transport: tr}).Get("http://cards.example.com/")
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || http2 != (resp.ProtoMajor == 2) || string(got) != "message\nmessage\n" {
				t.Errorf("HTTP/2 %t: the stream of %s has %q: %v", http2, resp.Proto, got, err)
			}
			tr.CloseIdleConnections()
			s.Close()
		})
	}
}
