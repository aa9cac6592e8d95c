package app

import (
	"net"
	"net/netip"
	"testing"
	"time"
)

// TestConnectionsPerAddress checks that an address has at most so many connections at once, that
// further ones are closed before the server reads or writes a byte, that other addresses are not
// affected, and that exempt networks have any number.
func TestConnectionsPerAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit *addressLimit
		want  int // connections of one address that stay open, of five
	}{
		"three":   {newAddressLimit(3), 3},
		"off":     {newAddressLimit(0), 5},
		"exempt":  {newAddressLimit(3, loopback...), 5},
		"another": {newAddressLimit(3, netip.MustParsePrefix("10.0.0.0/8")), 3},
	} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		noError(t, err)
		limited := limitConnections(ln, 100, c.limit)
		defer limited.Close()
		accepted := make(chan net.Conn, 100)
		go func() {
			for {
				conn, err := limited.Accept()
				if err != nil {
					return
				}
				conn.Write([]byte("hello"))
				accepted <- conn
			}
		}()
		dial := func(from string) (open bool) {
			t.Helper()
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: time.Minute}
			conn, err := d.Dial("tcp", ln.Addr().String())
			noError(t, err)
			t.Cleanup(func() { conn.Close() })
			conn.SetDeadline(time.Now().Add(time.Minute))
			n, _ := conn.Read(make([]byte, 5))
			return n == 5
		}
		open := 0
		for range 5 {
			if dial("127.0.0.1") {
				open++
			}
		}
		if refused := c.limit.refused.Load(); open != c.want || refused != int64(5-c.want) {
			t.Errorf("%s: %d of five connections are open, %d were refused", name, open, refused)
		}
		if c.want == 5 {
			continue
		}
		if !dial("127.0.0.2") {
			t.Errorf("%s: another address is refused", name)
		}
		(<-accepted).Close()
		if !dial("127.0.0.1") {
			t.Errorf("%s: a connection is refused after another was closed", name)
		}
		if dial("127.0.0.1") {
			t.Errorf("%s: a closed connection makes room for two", name)
		}
	}
}
