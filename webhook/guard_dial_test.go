package webhook

import (
	"context"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
)

// get sends a request with the sender's transport.
func get(g *Guard, target string) (*http.Response, error) {
	tr := g.Transport(2)
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get(target)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return resp, err
}

// receiver returns a server with TLS and HTTP/2 on loopback that counts its
// connections.
func receiver(t *testing.T) (s *httptest.Server, roots *x509.CertPool, conns *atomic.Int64) {
	t.Helper()
	conns = new(atomic.Int64)
	s = httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	roots = x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return s, roots, conns
}

// TestTransport checks the settings of the transport. For the certificates and TLS versions that it accepts see
// TestReceiverConnections.
func TestTransport(t *testing.T) {
	t.Parallel()
	tr := new(Guard).Transport(3)
	if tr.Proxy != nil || !tr.DisableCompression || tr.MaxResponseHeaderBytes != 64<<10 || tr.MaxIdleConnsPerHost != 3 ||
		tr.MaxIdleConns == 0 || tr.IdleConnTimeout == 0 ||
		tr.TLSClientConfig.InsecureSkipVerify ||
		new(Guard).Dialer().Timeout == 0 {
		t.Errorf("%+v", tr)
	}
}

// TestPlainHTTPAtDial checks that the transport itself refuses http to addresses
// for which it is not allowed.
func TestPlainHTTPAtDial(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	dns := serveDNS(
		t,
		map[string]answers{"home.test.": always("127.0.0.1"), "public.test.": always("8.8.8.8"), "inside.test.": always("10.0.0.1")},
	)
	lo := prefixes("127.0.0.0/8")
	at := func(host string) string { return "http://" + host + ":" + port(s.URL) }
	for _, c := range []struct {
		name string
		g    Guard
		url  string
		want error
	}{
		{"loopback", Guard{Loopback: true}, s.URL, nil},
		{"a name of loopback", Guard{Loopback: true}, at("home.test"), nil},
		{"http allowed, network allowed", Guard{AllowHTTP: true, AllowCIDR: lo}, s.URL, nil},
		{"network allowed", Guard{AllowCIDR: lo}, s.URL, ErrPlainHTTP},
		{"http allowed", Guard{AllowHTTP: true}, s.URL, ErrNotPublic},
		{"public in dev", Guard{Loopback: true}, at("public.test"), ErrPlainHTTP},
		{"public literal in dev", Guard{Loopback: true}, "http://8.8.8.8", ErrPlainHTTP},
		{"private in dev", Guard{Loopback: true}, at("inside.test"), ErrNotPublic},
		{"public", Guard{}, at("public.test"), ErrPlainHTTP},
	} {
		c.g.Resolver = dns
		if _, err := get(&c.g, c.url); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestRebinding checks that a name that has a public address when the webhook is saved, and a
// loopback address when it is called, is refused at the call.
func TestRebinding(t *testing.T) {
	t.Parallel()
	s, roots, conns := receiver(t)
	dns := serveDNS(t, map[string]answers{
		"example.com.": func(n int) []string {
			if n == 1 {
				return []string{"8.8.8.8"}
			}
			return []string{"127.0.0.1"}
		},
		"both.test.": always("10.0.0.1", "127.0.0.1"),
	})
	g := &Guard{Resolver: dns, Roots: roots}
	target := "https://example.com:" + port(s.URL) + "/hook"
	if p := g.CheckURL(t.Context(), target); p != nil {
		t.Fatal("at save:", *p)
	}
	_, err := get(g, target)
	if !errors.Is(err, ErrNotPublic) || !strings.Contains(err.Error(), "127.0.0.1:"+port(s.URL)+": the address is not public") {
		t.Error("at delivery:", err)
	}
	if n := conns.Load(); n != 0 {
		t.Errorf("%d connections arrived", n)
	}
	if p := g.CheckURL(t.Context(), target); p == nil || p.Code != "not_public" {
		t.Error("at the next save:", p)
	}

	// With loopback allowed the same name works, so it was the address that was
	// refused above.
	g.Loopback = true
	if resp, err := get(g, target); err != nil || resp.StatusCode != 200 {
		t.Error(resp, err)
	}

	// Each address is checked: the dial skips the private one.
	c, err := g.Dialer().DialContext(t.Context(), "tcp", "both.test:"+port(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !strings.HasPrefix(c.RemoteAddr().String(), "127.0.0.1:") {
		t.Error(c.RemoteAddr())
	}
}

func port(rawURL string) string { return rawURL[strings.LastIndexByte(rawURL, ':')+1:] }

// answers returns the addresses of a name in the n-th answer of a type, from 1.
type answers func(n int) []string

// always returns answers that are the same addresses each time.
func always(ips ...string) answers { return func(int) []string { return ips } }

// ServeDNS starts a DNS server for tests of the other package. names has for each name the
// addresses of the first answer of a type, and those of all later ones. The lookup of a name that
// begins with broken fails.
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
