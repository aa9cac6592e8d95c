package app

import (
	"net"
	"sync"
)

// bounded is a listener that takes so many connections at once; more wait until
// one is closed. Its connections can be closed for writing alone, as those of TCP
// can: the server does so before it drops one that still sends, or the answer
// would be lost with it. (netutil.LimitListener hides that.)
type bounded struct {
	net.Listener
	free chan struct{} // takes one for each connection
	done chan struct{}
	once sync.Once
}

func bound(ln net.Listener, n int) net.Listener {
	return &bounded{Listener: ln, free: make(chan struct{}, n), done: make(chan struct{})}
}

func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.free <- struct{}{}:
	case <-b.done:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.free
		return nil, err
	}
	return &boundedConn{Conn: c, leave: sync.OnceFunc(func() { <-b.free })}, nil
}

func (b *bounded) Close() error {
	b.once.Do(func() { close(b.done) })
	return b.Listener.Close()
}

type boundedConn struct {
	net.Conn
	leave func()
}

func (c *boundedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

func (c *boundedConn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}
