package app

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
)

// addressLimit bounds the connections of each client's address, or network of 64 bits of
// IPv6, over all listeners that share it. It closes further ones.
type addressLimit struct {
	max     int // 0: no limit
	exempt  []netip.Prefix
	refused atomic.Int64

	mu   sync.Mutex
	open map[netip.Prefix]int // connections
}

// loopback are the networks of this machine, from which only its own programs connect.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// newAddressLimit returns a limit of connections, of which clients in the exempt networks may
// have any number.
func newAddressLimit(max int, exempt ...netip.Prefix) *addressLimit {
	return &addressLimit{max: max, exempt: exempt, open: map[netip.Prefix]int{}}
}

// take counts a connection and returns the function to call when it is closed; ok is false if
// the address has too many.
func (l *addressLimit) take(c net.Conn) (release func(), ok bool) {
	release = func() {}
	at, err := netip.ParseAddrPort(c.RemoteAddr().String())
	ip := at.Addr().Unmap().WithZone("")
	if err != nil || l.max == 0 || slices.ContainsFunc(l.exempt, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return release, true
	}
	network, _ := ip.Prefix(ip.BitLen()) // the length is valid
	if ip.Is6() {
		network, _ = ip.Prefix(64)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[network] >= l.max {
		l.refused.Add(1)
		return release, false
	}
	l.open[network]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.open[network]--; l.open[network] == 0 {
			delete(l.open, network)
		}
	}, true
}

// limitListener is a listener that accepts a limited number of connections at once;
// more wait until one is closed. It closes those of an address that has too many before a
// byte is read, so that one address cannot take all. Unlike those of netutil.LimitListener its
// connections have CloseWrite, which net/http calls before it closes a connection
// on which the client still sends, since the answer would be lost otherwise.
type limitListener struct {
	net.Listener
	each *addressLimit
	open chan struct{} // has an element for each open connection
	done chan struct{} // closed by Close
	once sync.Once
}

// limitConnections returns a listener that accepts at most n connections at once
// from ln, a listener for TCP, and of each address as many as each allows.
func limitConnections(ln net.Listener, n int, each *addressLimit) net.Listener {
	return &limitListener{Listener: ln, each: each, open: make(chan struct{}, n), done: make(chan struct{})}
}

func (b *limitListener) Accept() (net.Conn, error) {
	select {
	case b.open <- struct{}{}:
	case <-b.done:
		return nil, net.ErrClosed
	}
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			<-b.open
			return nil, err
		}
		if release, ok := b.each.take(c); ok {
			return &limitConn{c.(*net.TCPConn), sync.OnceFunc(func() { release(); <-b.open })}, nil
		}
		c.Close()
	}
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
