package webhook

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// Transport returns what deliveries are sent through, keeping up to perHost
// idle connections to each receiver. It uses no proxy, which would resolve
// names itself, and holds both rules at every dial, so that a client that
// follows a redirect gets no further. The client must still follow none.
func (g *Guard) Transport(perHost int) *http.Transport {
	secure, plain := g.Dialer(), g.Dialer()
	plain.ControlContext = g.controlPlain
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: g.Roots, NextProtos: []string{"h2", "http/1.1"}}
	return &http.Transport{
		// With DialTLSContext set, only http goes through DialContext.
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dial(ctx, plain, network, address)
		},
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return dialTLS(ctx, secure, config, network, address)
		},
		TLSClientConfig:        config,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           512,
		MaxIdleConnsPerHost:    perHost,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		// A connection that died without a word costs one ping and not a timeout
		// of every delivery that is put on it.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
	}
}

// A tapped connection tells when something has been written to it. The
// transport's own word for that, WroteRequest, comes in HTTP/1 while the
// request still lies in a buffer, and another may overtake it there.
type tapped struct {
	net.Conn
	wrote atomic.Pointer[func()] // to be called after the next write, once
}

func (c *tapped) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if f := c.wrote.Swap(nil); f != nil {
		(*f)()
	}
	return n, err
}

func dial(ctx context.Context, d *net.Dialer, network, address string) (net.Conn, error) {
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &tapped{Conn: c}, nil
}

// dialTLS does what a tls.Dialer does, whose connection cannot be tapped.
func dialTLS(ctx context.Context, d *net.Dialer, config *tls.Config, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	raw, err := dial(ctx, d, network, address)
	if err != nil {
		return nil, err
	}
	config = config.Clone()
	if config.ServerName, _, err = net.SplitHostPort(address); err == nil {
		c := tls.Client(raw, config)
		if err = c.HandshakeContext(ctx); err == nil {
			return c, nil
		}
	}
	raw.Close()
	return nil, err
}

// onTheWay has f called when the head of a request is on its way to the
// receiver, at least once unless the request fails before.
func onTheWay(ctx context.Context, f func()) context.Context {
	var tap atomic.Bool
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			c := i.Conn
			if t, ok := c.(*tls.Conn); ok {
				if t.ConnectionState().NegotiatedProtocol == "h2" {
					return // others write to it too
				}
				c = t.NetConn()
			}
			if t, ok := c.(*tapped); ok {
				tap.Store(true)
				t.wrote.Store(&f)
			}
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			if !tap.Load() { // HTTP/2 flushes before it says so
				f()
			}
		},
	})
}
