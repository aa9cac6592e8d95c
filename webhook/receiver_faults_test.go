package webhook_test

import (
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest/require"
)

// tlsCases returns a healthy receiver over TLS, and receivers whose handshake or certificate is
// faulty.
func tlsCases(t *testing.T, trusted *authority) []*receiverCase {
	soon := time.Now().Add(time.Hour)
	good := trusted.server("localhost", soon)
	secure := func(c *tls.Config) string {
		return listenRaw(t, c, answerText("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")).url
	}
	securely := func(act func(net.Conn)) string { return strings.Replace(rawURL(t, act), "http:", "https:", 1) }
	old := &tls.Config{Certificates: good.Certificates, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	mutual := &tls.Config{Certificates: good.Certificates, ClientAuth: tls.RequireAnyClientCert}
	return []*receiverCase{
		{name: "TLS", url: secure(good), want: "200 after 1: "},
		unanswered("TLS 1.1", secure(old), "the receiver does not speak TLS 1.2 or newer"),
		unanswered("demands a certificate", secure(mutual), "the receiver refused the TLS connection"),
		unanswered("closes in the handshake", securely(func(c net.Conn) { c.Read(make([]byte, 1<<16)) }), cut+" during the TLS handshake"),
		unanswered("resets in the handshake", securely(func(c net.Conn) {
			c.Read(make([]byte, 1))
			raw(c).SetLinger(0)
		}), reset+" while it was made"),
		unanswered("a wrong handshake", securely(func(c net.Conn) {
			c.Read(make([]byte, 1<<16))
			io.WriteString(c, "\x16\x03\x03\x00\x04\x0e\x00\x00\x00")
			waitForClose(c)
		}), "the TLS handshake failed"),
		unanswered("unknown authority", secure(newAuthority(t).server("localhost", soon)), "the certificate is from an unknown authority"),
		unanswered("wrong host", secure(trusted.server("example.com", soon)), "the certificate is not valid for this name"),
		unanswered("expired", secure(trusted.server("localhost", time.Now().Add(-time.Hour))),
			"the certificate has expired or is not valid yet"),
		unanswered("plain HTTP on a TLS port", securely(func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
			waitForClose(c)
		}), "the receiver does not speak TLS on this port"),
		unanswered("TLS on a plain port", rawURL(t, answerText("\x15\x03\x01\x00\x02\x02\x0a")), malformed),
	}
}

// unanswered returns a receiver whose answer never begins, and what the log must say of it.
func unanswered(name, url, text string) *receiverCase {
	return &receiverCase{name: name, url: url, want: "null after 1: " + text}
}

// unreachableCases returns receivers to which no connection is made.
func unreachableCases(t *testing.T) []*receiverCase {
	l := require.Must(net.Listen("tcp", "127.0.0.1:0"))
	c := require.Must(net.Dial("tcp", l.Addr().String())) // nobody else can listen on its port while it is open
	t.Cleanup(func() { c.Close(); l.Close() })
	_, port, _ := net.SplitHostPort(c.LocalAddr().String())
	const noAddress = "the host has no public address, or its name does not resolve"
	return []*receiverCase{
		unanswered("nobody listens", "http://localhost:"+port+"/secret", "the connection was refused"),
		unanswered("no such name", "https://none.secret.test/secret", noAddress),
		unanswered("a private address", "https://moved.secret.test/secret", noAddress),
		unanswered("a name server that fails", "https://broken.secret.test/secret", "the host's name could not be looked up"),
	}
}

// answerCases returns receivers that end their answer too early, or whose answer is not HTTP.
func answerCases(t *testing.T) []*receiverCase {
	const silently = " without an answer"
	return []*receiverCase{
		unanswered("closes in the status line", rawURL(t, answerText("HTTP/1.1 20")), malformed),
		unanswered("closes without an answer", rawURL(t, func(c net.Conn) { readRequest(c) }), cut+silently),
		unanswered("resets without an answer", rawURL(t, func(c net.Conn) {
			readRequest(c)
			raw(c).SetLinger(0)
		}), reset+silently),
		{name: "resets in the middle", url: rawURL(t, func(c net.Conn) {
			readRequest(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
			raw(c).SetLinger(0)
		}), want: "200 after 1: " + reset + halfway},
		{
			name: "closes in the middle",
			url:  rawURL(t, answerText("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")),
			want: "200 after 1: " + cut + halfway,
		},
		unanswered("closes in a header", rawURL(t, answerText("HTTP/1.1 200 OK\r\nContent-Le")), malformed),
		{
			name: "closes in a chunk",
			url:  rawURL(t, answerText("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nhalf")),
			want: "200 after 1: " + cut + halfway,
		},
		{
			name: "410, cut off",
			url:  rawURL(t, answerText("HTTP/1.1 410 Gone\r\nContent-Length: 100\r\n\r\nhalf")),
			want: "410 after 1: the receiver answered 410",
			over: true,
		},
		unanswered("no HTTP", rawURL(t, answerText("220 secret ESMTP\r\n")), malformed),
		unanswered("no number", rawURL(t, answerText("HTTP/1.1 secret\r\n\r\n")), malformed),
		{
			name: "a wrong chunk",
			url:  rawURL(t, answerText("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nsecret\r\n")),
			want: "200 after 1: " + malformed,
		},
		unanswered("two lengths", rawURL(t, answerText("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n")), malformed),
	}
}

// endlessCases returns receivers whose answer has no end or is very long. The first one stores
// how many bytes it wrote in written.
func endlessCases(t *testing.T, written *atomic.Int64) []*receiverCase {
	const oversize = "the answer's headers are too long"
	return []*receiverCase{
		{name: "endless body", url: rawURL(t, func(c net.Conn) {
			readRequest(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
			written.Store(repeat(c, "endless"))
		}), want: "200 after 1: "},
		{name: "endless body of a 500", url: rawURL(t, func(c net.Conn) {
			readRequest(c)
			io.WriteString(c, "HTTP/1.1 500 No\r\n\r\n")
			repeat(c, "endless")
		}), want: "500 after 1: the receiver answered 500"},
		{name: "gzip bomb", url: answerer(t, bomb), want: "200 after 1: "},
		unanswered("endless 103", rawURL(t, func(c net.Conn) {
			readRequest(c)
			repeat(c, "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
		}), oversize),
		unanswered("huge header", rawURL(t, func(c net.Conn) {
			readRequest(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nX-Huge: ")
			repeat(c, "huge")
		}), oversize),
		unanswered("many headers", rawURL(t, func(c net.Conn) {
			readRequest(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			repeat(c, "X-Many: headers\r\n")
		}), oversize),
	}
}

// bomb answers with 16 MiB that are compressed to 16 KiB.
func bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	w.Write(zeros())
}

// zeros returns 16 MiB of zeros, compressed.
var zeros = sync.OnceValue(func() []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(make([]byte, 16<<20))
	z.Close()
	return b.Bytes()
})

// TestReceiverHangs checks that the timeout ends attempts at receivers that do not end their
// answer, and that an answer of 101 ends an attempt.
func TestReceiverHangs(t *testing.T) {
	trusted := newAuthority(t)
	s := start(t, trusted.trusted, func(c *app.Config) { c.Limits.WebhookDeliveryTimeoutMS = 700 })
	holding := func(text string) string {
		return rawURL(t, func(c net.Conn) {
			answerText(text)(c)
			waitForClose(c)
		})
	}
	const unmade = "no connection was made within 700 ms"
	const noAnswer = "the receiver did not answer within 700 ms"
	const unended = "the receiver did not end its answer within 700 ms"
	list := []*receiverCase{
		unanswered("no answer", rawURL(t, waitForClose), noAnswer),
		unanswered("no TLS", strings.Replace(rawURL(t, waitForClose), "http:", "https:", 1), unmade),
		unanswered("half a status line", holding("HTTP/1.1 2"), unended),
		unanswered("no end of the headers", holding("HTTP/1.1 200 OK\r\nA: b\r\n"), unended),
		unanswered("103 and no more", holding("HTTP/1.1 103 Early Hints\r\n\r\n"), unended),
		{name: "no body", url: holding("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"), want: "200 after 1: " + unended},
		{name: "no end of the body", url: holding("HTTP/1.1 200 OK\r\n\r\nhello"), want: "200 after 1: " + unended},
		{name: "a byte at a time", url: rawURL(t, drip), want: "200 after 1: " + unended},
		{
			name: "410 without an end",
			url:  holding("HTTP/1.1 410 Gone\r\nContent-Length: 10\r\n\r\n"),
			want: "410 after 1: the receiver answered 410",
			over: true,
		},
		{
			name: "another protocol",
			url:  holding("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: secret\r\n\r\n"),
			want: "101 after 1: the receiver answered 101",
		},
		{
			name: "another protocol, not named",
			url:  holding("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
			want: "101 after 1: the receiver answered 101",
		},
	}
	deliverFirst(s, list)
	s.clock.Advance(5*time.Second - time.Millisecond)
	s.settle()
	for _, c := range list {
		if n := c.hook.only().Attempts; n != 1 {
			t.Errorf("%s: %d attempts before the second is due", c.name, n)
		}
	}
	s.clock.Advance(501 * time.Millisecond)
	s.settle()
	for _, c := range list {
		if d := c.hook.only(); (d.Attempts != 2) != c.over {
			t.Errorf("%s: %s", c.name, d.outcome())
		}
	}
}
