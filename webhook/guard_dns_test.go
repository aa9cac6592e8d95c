package webhook

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"testing"
)

// answers returns the addresses of a name in the n-th answer of a type, from 1.
type answers func(n int) []string

func always(ips ...string) answers { return func(int) []string { return ips } }

// ServeDNS starts a DNS server for tests of the other package. Each name has the
// addresses of its first answers of a type, and of all later ones. The lookup of a
// name that begins with broken fails.
func ServeDNS(t *testing.T, names map[string][2][]string) *net.Resolver {
	t.Helper()
	known := map[string]answers{}
	for name, ips := range names {
		known[name] = func(n int) []string { return ips[min(n, 2)-1] }
	}
	return serveDNS(t, known)
}

// serveDNS starts a DNS server on loopback for these names, and returns a resolver
// that uses it. Other names do not exist.
func serveDNS(t *testing.T, names map[string]answers) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { conn.Close(); <-done })
	go func() {
		defer close(done)
		asked := map[string]int{}
		for buf := make([]byte, 1500); ; {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			conn.WriteTo(answer(buf[:n], names, asked), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answer returns the answer to a DNS query (RFC 1035, section 4).
func answer(query []byte, names map[string]answers, asked map[string]int) []byte {
	name, end := "", 12
	for query[end] != 0 {
		size := int(query[end])
		name += string(query[end+1:end+1+size]) + "."
		end += 1 + size
	}
	end += 5
	kind := binary.BigEndian.Uint16(query[end-4:])
	known, ok := names[strings.ToLower(name)]

	reply := append([]byte(nil), query[:end]...)
	binary.BigEndian.PutUint16(reply[2:], 0x8580) // an answer, authoritative
	copy(reply[4:12], []byte{0, 1, 0, 0, 0, 0, 0, 0})
	if strings.HasPrefix(name, "broken") {
		reply[3] |= 2 // the server failed
		return reply
	}
	if !ok {
		reply[3] |= 3 // no such name
		return reply
	}
	key := name + string(rune(kind))
	asked[key]++
	for _, s := range known(asked[key]) {
		ip := netip.MustParseAddr(s)
		if ip.Is4() != (kind == 1) || kind != 1 && kind != 28 {
			continue
		}
		reply[7]++
		reply = append(reply, 0xc0, 12)                           // the name asked for
		reply = append(reply, query[end-4:end]...)                // its type and class
		reply = append(reply, 0, 0, 0, 0, 0, byte(ip.BitLen()/8)) // no time to live
		reply = append(reply, ip.AsSlice()...)
	}
	return reply
}
