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

// Transport returns the transport for deliveries, which keeps up to perHost idle
// connections to each receiver. It uses no proxy, since a proxy would resolve
// names itself. It checks every connection, so that even a client that followed a
// redirect could not reach a forbidden address.
func (g *Guard) Transport(perHost int) *http.Transport {
	secure, plain := g.Dialer(), g.Dialer()
	plain.ControlContext = g.controlPlain
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: g.Roots, NextProtos: []string{"h2", "http/1.1"}}
	return &http.Transport{
		// Only http uses DialContext, since DialTLSContext is set.
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
		// Pings find a dead connection before all deliveries on it time out.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
	}
}

// notifyingConn is a connection that calls a function after the next write. The
// transport's own hook WroteRequest is too early in HTTP/1: the request is still
// in a buffer then, and another request may overtake it.
type notifyingConn struct {
	net.Conn
	wrote atomic.Pointer[func()] // called after the next write, once
}

func (c *notifyingConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if f := c.wrote.Swap(nil); f != nil {
		(*f)()
	}
	return n, err
}

// dial connects to an address by TCP.
func dial(ctx context.Context, d *net.Dialer, network, address string) (net.Conn, error) {
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &notifyingConn{Conn: c}, nil
}

// dialTLS connects to an address by TLS. It is used in place of a tls.Dialer,
// which cannot use a notifyingConn.
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

// traceWritten returns a context for a request. f is called, at least once, when
// the head of the request has been written to the connection, unless the request
// fails before.
func traceWritten(ctx context.Context, f func()) context.Context {
	var notified atomic.Bool // by the connection
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			c := i.Conn
			if t, ok := c.(*tls.Conn); ok {
				if t.ConnectionState().NegotiatedProtocol == "h2" {
					return // other requests are written to it too
				}
				c = t.NetConn()
			}
			if t, ok := c.(*notifyingConn); ok {
				notified.Store(true)
				t.wrote.Store(&f)
			}
		},
		WroteRequest: func(httptrace.WroteRequestInfo) {
			if !notified.Load() { // HTTP/2 flushes before it calls this
				f()
			}
		},
	})
}
