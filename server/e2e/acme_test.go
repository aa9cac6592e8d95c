//go:build acme

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// ca is Pebble, Let's Encrypt's test CA, which issues certificates for hosts below .test. It looks
// for all these hosts on this machine, at the ports of the server.
type ca struct {
	t                       *testing.T
	dir                     string // has cert.pem, of Pebble's own https
	tlsPort, httpPort       int    // of challenges
	dns, listen, management string // addresses
	own                     *x509.CertPool
}

// startCA starts Pebble, whose certificates are valid for the given time. If tlsPort or httpPort is
// true, the challenge of that kind is looked for at a free port that the server may take, else at
// one that nobody takes.
func startCA(t *testing.T, validity time.Duration, tlsPort, httpPort bool) *ca {
	t.Helper()
	bin := os.Getenv("PEBBLE")
	if bin == "" {
		t.Fatal("PEBBLE is not set: run .ci/acme")
	}
	c := &ca{t: t, dir: t.TempDir()}
	c.own = servertest.WriteCertificate(t, c.dir, "pebble")
	c.tlsPort, c.httpPort = freePort(t), freePort(t)
	c.dns, c.listen, c.management = address(freePort(t)), address(freePort(t)), address(freePort(t))
	nobody := freePort(t)
	asked := map[bool][2]int{true: {c.tlsPort, c.httpPort}, false: {nobody, nobody}}
	config := require.Must(json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": c.listen, "managementListenAddress": c.management, "certificate": filepath.Join(c.dir, "cert.pem"),
		"privateKey": filepath.Join(c.dir, "key.pem"),
		"tlsPort":    asked[tlsPort][0], "httpPort": asked[httpPort][1], "retryAfter": map[string]int{"authz": 1, "order": 1},
		"profiles": map[string]any{"default": map[string]any{"description": "the only one", "validityPeriod": int(validity.Seconds())}},
	}}))
	file := filepath.Join(c.dir, "pebble.json")
	noError(t, os.WriteFile(file, config, 0o600))
	names := exec.Command(filepath.Join(bin, "pebble-challtestsrv"), "-dnsserver", c.dns, "-management", address(freePort(t)),
		"-defaultIPv4", "127.0.0.1", "-defaultIPv6", "", "-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "")
	pebble := exec.Command(filepath.Join(bin, "pebble"), "-config", file, "-dnsserver", c.dns)
	pebble.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1")
	for _, cmd := range []*exec.Cmd{names, pebble} {
		out := newOutput()
		cmd.Stdout, cmd.Stderr = out, out
		noError(t, cmd.Start())
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
			if t.Failed() {
				t.Logf("%s\n%s", cmd.Path, out)
			}
		})
	}
	deadline := time.Now().Add(waitLimit)
	for {
		if r, err := c.client().Get("https://" + c.listen + "/dir"); err == nil {
			r.Body.Close()
			return c
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-time.After(20 * time.Millisecond)
	}
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

func (c *ca) client() *http.Client {
	return &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.own}, DisableKeepAlives: true},
	}
}

// roots returns the root certificate of the CA.
func (c *ca) roots() *x509.CertPool {
	c.t.Helper()
	r := require.Must(c.client().Get("https://" + c.management + "/roots/0"))
	defer r.Body.Close()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(require.Must(io.ReadAll(r.Body))) {
		c.t.Fatal("the CA has no root certificate")
	}
	return pool
}

// serve starts a server that gets its certificates from the CA.
func (c *ca) serve(db string, args ...string) *process {
	c.t.Helper()
	p := launch(c.t, []string{"SSL_CERT_FILE=" + filepath.Join(c.dir, "cert.pem")},
		append([]string{"serve", "--db", db, "--log-format", "json", "--tls-auto", "cards.shop.test",
			"--listen", address(c.tlsPort), "--http-listen", address(c.httpPort), "--acme-url",
			"https://" + c.listen + "/dir"}, args...)...)
	p.awaitServing()
	return p
}

// handshake connects to a server as a browser does that thinks it is host, and returns the server's
// certificate.
func handshake(p *process, roots *x509.CertPool, host string) (*x509.Certificate, error) {
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: waitLimit}, "tcp", strings.TrimPrefix(p.origin, "https://"),
		&tls.Config{RootCAs: roots, ServerName: host})
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0], nil
}

// browser returns a client that finds every host at the server.
func browser(p *process, roots *x509.CertPool) *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true, ForceAttemptHTTP2: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(p.origin, "https://"))
			},
		}}
}

// TestACME has a server get its certificate at the start, before anybody asks for it, and use it
// again after a restart without the CA.
func TestACME(t *testing.T) {
	t.Parallel()
	c := startCA(t, 90*24*time.Hour, true, true)
	db := filepath.Join(t.TempDir(), "shop.db")
	p := c.serve(db)
	p.await(p.stderr, func(text string) bool {
		return strings.Contains(text, `"msg":"a new certificate","host":"cards.shop.test"`)
	})
	roots := c.roots()
	for path, want := range map[string]int{"/healthz": 200, "/": 303, "/api/public/v1/me": 401} {
		r := require.Must(browser(p, roots).Get("https://cards.shop.test" + path))
		r.Body.Close()
		if r.StatusCode != want || r.Proto != "HTTP/2.0" || r.Header.Get("Strict-Transport-Security") != "max-age=31536000" {
			t.Errorf("%s: %d by %s, %q", path, r.StatusCode, r.Proto, r.Header.Get("Strict-Transport-Security"))
		}
	}
	r := require.Must(http.NewRequest("GET", "http://"+address(c.httpPort)+"/docs?x=1", nil))
	r.Host = "cards.shop.test"
	if got := require.Must(browser(&process{origin: address(c.httpPort)}, nil).Do(r)); got.StatusCode != http.StatusMovedPermanently ||
		got.Header.Get("Location") != "https://cards.shop.test/docs?x=1" {
		t.Errorf("plain http: %d to %s", got.StatusCode, got.Header.Get("Location"))
	}
	first := require.Must(handshake(p, roots, "cards.shop.test"))
	if left := time.Until(first.NotAfter); left < 89*24*time.Hour {
		t.Errorf("the certificate ends in %s", left)
	}
	for _, host := range []string{"www.shop.test", "", "127.0.0.1"} {
		if cert, err := handshake(p, roots, host); err == nil {
			t.Errorf("%q gets a certificate for %v", host, cert.DNSNames)
		}
	}
	folder := filepath.Join(filepath.Dir(db), "tls")
	if mode := require.Must(os.Stat(folder)).Mode().Perm(); mode != 0o700 {
		t.Errorf("the folder has mode %o", mode)
	}
	if r := execute(t, []string{"PUNCHCARD_TLS_AUTO=cards.shop.test", "PUNCHCARD_LISTEN=" + address(c.tlsPort), "PUNCHCARD_DB=" + db},
		"healthcheck"); r != (result{}) {
		t.Errorf("healthcheck: %+v", r)
	}
	kept := require.Must(os.ReadDir(folder))
	for _, f := range kept {
		if mode := require.Must(f.Info()).Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o", f.Name(), mode)
		}
	}
	if len(kept) != 2 { // the account's key and the certificate
		t.Errorf("the folder has %v", kept)
	}
	// The first handshake for the public URL of a shop, which a command sets beside the server, obtains its certificate.
	if _, err := handshake(p, roots, "pizza.shop.test"); err == nil {
		t.Error("there is a certificate for the host of no shop")
	}
	execute(t, nil, "shop", "create", "--db", db, "--name", "Pizza", "--public-url", "https://Pizza.shop.test").ok(t)
	if cert := require.Must(handshake(p, roots, "pizza.shop.test")); cert.DNSNames[0] != "pizza.shop.test" {
		t.Errorf("the certificate is for %v", cert.DNSNames)
	}
	r.Host = "pizza.shop.test"
	got := require.Must(browser(&process{origin: address(c.httpPort)}, nil).Do(r))
	if got.Header.Get("Location") != "https://pizza.shop.test/docs?x=1" {
		t.Errorf("plain http at the host of a shop: %d to %s", got.StatusCode, got.Header.Get("Location"))
	}
	p.stop()

	p = c.serve(db, "--acme-url", "https://"+address(freePort(t))+"/nobody")
	if again := require.Must(handshake(p, roots, "cards.shop.test")); again.SerialNumber.Cmp(first.SerialNumber) != 0 {
		t.Error("after a restart the certificate is another one")
	}
}

// TestACMERenewal has a server renew a certificate that is valid for seconds, by the challenge of
// plain http, since the CA looks for the other one where nobody is. Connections go on meanwhile.
func TestACMERenewal(t *testing.T) {
	t.Parallel()
	c := startCA(t, 40*time.Second, false, true)
	p := c.serve(filepath.Join(t.TempDir(), "shop.db"), "--tls-cache", filepath.Join(t.TempDir(), "keys"))
	roots := c.roots()
	serials := map[string]bool{}
	for deadline := time.Now().Add(2 * waitLimit); len(serials) < 2; {
		cert, err := handshake(p, roots, "cards.shop.test")
		if err != nil {
			t.Fatalf("after %d certificates: %v\n%s", len(serials), err, p.stderr)
		}
		serials[cert.SerialNumber.String()] = true
		if time.Now().After(deadline) {
			t.Fatalf("the certificate is not renewed:\n%s", p.stderr)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// TestACMERefused has a CA refuse a certificate, since it does not find the server. The server goes
// on, logs why, and does not order again with each handshake.
func TestACMERefused(t *testing.T) {
	t.Parallel()
	c := startCA(t, 90*24*time.Hour, false, false)
	p := c.serve(filepath.Join(t.TempDir(), "shop.db"))
	p.await(p.stderr, contains(`"msg":"no certificate"`))
	for range 5 {
		if _, err := handshake(p, nil, "cards.shop.test"); err == nil {
			t.Error("there is a certificate")
		}
	}
	p.signal(os.Interrupt)
	if err := p.wait(); err != nil {
		t.Error(err)
	}
	if text := p.stderr.String(); strings.Count(text, `"msg":"no certificate"`) != 1 {
		t.Errorf("the log has\n%s", text)
	}
}
