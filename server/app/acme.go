package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"punchcard/store"
)

// The waits after failures to obtain a certificate. Each attempt is an order to the CA,
// which refuses further ones after too many that failed.
const (
	firstOrderWait = time.Minute
	longOrderWait  = 30 * time.Minute
)

var (
	// ecdsaSuites are those of a client that takes certificates with ECDSA keys.
	// Every browser since 2014 does, so one certificate for each host is enough.
	ecdsaSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}
)

// setTLSAuto checks the fields of --tls-auto and sets the defaults that follow from it.
func (c *Config) setTLSAuto() error {
	if len(c.TLSAuto) == 0 {
		for _, f := range []struct{ name, value string }{
			{"tls-cache", c.TLSCache}, {"acme-url", c.ACMEURL}, {"http-listen", c.HTTPListen},
		} {
			if f.value != "" {
				return fmt.Errorf("--%s (%s): needs --tls-auto (PUNCHCARD_TLS_AUTO)", f.name, Variable(f.name, ""))
			}
		}
		return nil
	}
	if c.TLSCert != "" || c.TLSKey != "" {
		return errors.New("--tls-auto (PUNCHCARD_TLS_AUTO): must not be given with --tls-cert or --tls-key")
	}
	hosts := make([]string, 0, len(c.TLSAuto))
	for _, name := range c.TLSAuto {
		host := strings.ToLower(strings.TrimSuffix(name, "."))
		if !store.IsHostName(host) {
			return fmt.Errorf("--tls-auto (PUNCHCARD_TLS_AUTO): must be host names such as cards.example.com, not %q", name)
		}
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	c.TLSAuto = hosts
	c.ACMEURL = cmp.Or(c.ACMEURL, autocert.DefaultACMEDirectory)
	if u, err := url.Parse(c.ACMEURL); err != nil || u.Scheme != "https" || u.Host == "" {
		return errors.New("--acme-url (PUNCHCARD_ACME_URL): must be the https URL of the directory of a CA")
	}
	c.PublicURL = cmp.Or(c.PublicURL, "https://"+hosts[0])
	if u, err := url.Parse(c.PublicURL); err == nil && u.Scheme == "http" {
		return errors.New("--public-url (PUNCHCARD_PUBLIC_URL): must begin with https:// with --tls-auto")
	}
	if c.Listen == "" {
		c.Listen, c.HTTPListen = ":443", cmp.Or(c.HTTPListen, ":80")
	}
	c.TLSCache = cmp.Or(c.TLSCache, filepath.Join(filepath.Dir(c.DB), "tls"))
	return nil
}

// checkTLSCache creates the folder of the certificates. It returns an error if files
// cannot be written there, or if others may write there.
func checkTLSCache(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	var info os.FileInfo
	if err == nil {
		info, err = os.Stat(dir)
	}
	if err == nil && info.Mode().Perm()&0o022 != 0 {
		err = fmt.Errorf("%s: others may write to it: chmod 700", dir)
	}
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, ".check-*"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("--tls-cache (PUNCHCARD_TLS_CACHE): %w", err)
	}
	return nil
}

// acmeCertificates are certificates that a CA issues by ACME, one for each host: those of
// --tls-auto, and those of the shops that have a public URL of their own. They are obtained
// at the start, kept in a folder, and renewed when a third of their time is left. That of a
// host that a shop gets later is obtained by the first request, or within an hour.
type acmeCertificates struct {
	manager *autocert.Manager
	log     *slog.Logger
	now     func() time.Time
	hosts   []string     // of --tls-auto
	shops   *store.Store // has the hosts of the shops; nil until it is open

	mu     sync.Mutex
	states map[string]*acmeState // by host
}

// acmeState is what is known of one host's certificate.
type acmeState struct {
	host    string
	ends    time.Time // zero: there is none
	begins  time.Time
	err     error         // of the last attempt to obtain one
	wait    time.Duration // from that attempt to the next
	retryAt time.Time
}

// newACMECertificates returns the certificates of the hosts of --tls-auto.
func newACMECertificates(c *Config) (*acmeCertificates, error) {
	if err := checkTLSCache(c.TLSCache); err != nil {
		return nil, err
	}
	a := &acmeCertificates{log: c.Log, now: time.Now, hosts: c.TLSAuto, states: map[string]*acmeState{}}
	a.manager = &autocert.Manager{
		Prompt:     autocert.AcceptTOS,
		Cache:      loggedCache{autocert.DirCache(c.TLSCache), c.Log},
		HostPolicy: a.admit,
		Client:     &acme.Client{DirectoryURL: c.ACMEURL, UserAgent: "punchcard/" + Version},
	}
	return a, nil
}

// admit is the policy of autocert, which returns an error for a host that is none of the
// server's. Challenges over plain http may name the port, where that is not 80.
func (a *acmeCertificates) admit(_ context.Context, host string) error {
	name, _, _ := strings.Cut(host, ":")
	if a.state(strings.ToLower(name)) == nil {
		return fmt.Errorf("neither --tls-auto nor a shop's public URL names %q", name)
	}
	return nil
}

// state returns what is known of the certificate of a host, nil if the host is none of the server's.
func (a *acmeCertificates) state(host string) *acmeState {
	if !slices.Contains(a.hosts, host) && (a.shops == nil || a.shops.ShopURL(host) == "") {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.states[host]
	if s == nil {
		s = &acmeState{host: host}
		a.states[host] = s
	}
	return s
}

// all returns what is known of the certificate of each host.
func (a *acmeCertificates) all() (all []*acmeState) {
	hosts := a.hosts
	if a.shops != nil {
		hosts = slices.Concat(hosts, a.shops.ShopHosts())
	}
	for i, host := range hosts {
		if s := a.state(host); s != nil && !slices.Contains(hosts[:i], host) {
			all = append(all, s)
		}
	}
	return all
}

// loggedCache logs what cannot be written to a cache, which autocert does not report.
// After a restart such certificates are ordered again.
type loggedCache struct {
	autocert.Cache
	log *slog.Logger
}

func (c loggedCache) Put(ctx context.Context, name string, data []byte) error {
	err := c.Cache.Put(ctx, name, data)
	if err != nil {
		c.log.Error("a certificate or key cannot be kept", "error", err)
	}
	return err
}

func (a *acmeCertificates) config() *tls.Config {
	c := tlsConfig(a.get)
	c.NextProtos = append(c.NextProtos, acme.ALPNProto)
	return c
}

// get returns the certificate for a handshake, or that for the CA's challenge. It
// obtains the certificate first if there is none.
func (a *acmeCertificates) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if slices.Equal(hello.SupportedProtos, []string{acme.ALPNProto}) {
		return a.manager.GetCertificate(hello)
	}
	s := a.state(strings.ToLower(strings.TrimSuffix(hello.ServerName, ".")))
	if s == nil {
		return nil, fmt.Errorf("no certificate for %q", hello.ServerName)
	}
	return a.obtain(s)
}

// obtain returns the certificate of a host. After a failure to obtain one it orders
// another only when the wait is over, however many handshakes ask for it.
func (a *acmeCertificates) obtain(s *acmeState) (*tls.Certificate, error) {
	a.mu.Lock()
	if s.err != nil && a.now().Before(s.retryAt) {
		defer a.mu.Unlock()
		return nil, s.err
	}
	a.mu.Unlock()
	cert, err := a.manager.GetCertificate(&tls.ClientHelloInfo{ServerName: s.host, CipherSuites: ecdsaSuites})
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	switch {
	case err == nil:
		s.err, s.wait = nil, 0
		if cert.Leaf != nil && !cert.Leaf.NotAfter.Equal(s.ends) {
			s.begins, s.ends = cert.Leaf.NotBefore, cert.Leaf.NotAfter
			a.log.Info("a new certificate", "host", s.host, "ends", s.ends)
		}
	case s.err == nil || !now.Before(s.retryAt): // not an attempt that another one has counted
		s.err, s.wait = err, min(max(2*s.wait, firstOrderWait), longOrderWait)
		s.retryAt = now.Add(s.wait)
		a.log.Error("no certificate", "host", s.host, "error", err, "retry_at", s.retryAt)
	}
	return cert, err
}

// refresh obtains the certificates that there are not, and looks which ones are in use
// since autocert has renewed them. It returns when to call it again.
func (a *acmeCertificates) refresh() (wait time.Duration) {
	wait = certificateInterval
	for _, s := range a.all() {
		if _, err := a.obtain(s); err != nil {
			a.mu.Lock()
			wait = min(wait, max(s.retryAt.Sub(a.now()), time.Second))
			a.mu.Unlock()
		}
	}
	return wait
}

func (a *acmeCertificates) list() (list []Certificate) {
	all := a.all()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range all {
		c := Certificate{Host: s.host, Begins: s.begins, Ends: s.ends, Renewed: true}
		if s.err != nil {
			c.Problem = s.err.Error()
		}
		list = append(list, c)
	}
	return list
}
