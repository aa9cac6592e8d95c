package app

import (
	"net"
	"sync"
)

// limitListener is a listener that accepts a limited number of connections at once;
// more wait until one is closed. Unlike those of netutil.LimitListener its
// connections have CloseWrite, which net/http calls before it closes a connection
// on which the client still sends, since the answer would be lost otherwise.
type limitListener struct {
	net.Listener
	open chan struct{} // has an element for each open connection
	done chan struct{} // closed by Close
	once sync.Once
}

// limitConnections returns a listener that accepts at most n connections at once
// from ln, a listener for TCP.
func limitConnections(ln net.Listener, n int) net.Listener {
	return &limitListener{Listener: ln, open: make(chan struct{}, n), done: make(chan struct{})}
}

func (b *limitListener) Accept() (net.Conn, error) {
	select {
	case b.open <- struct{}{}:
	case <-b.done:
		return nil, net.ErrClosed
	}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.open
		return nil, err
	}
	return &limitConn{c.(*net.TCPConn), sync.OnceFunc(func() { <-b.open })}, nil
}

func (b *limitListener) Close() error {
	b.once.Do(func() { close(b.done) })
	return b.Listener.Close()
}

type limitConn struct {
	*net.TCPConn
	release func()
}

func (c *limitConn) Close() error {
	defer c.release()
	return c.TCPConn.Close()
}
