package app

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"
)

// certificate is the server's TLS certificate. It is read again when its files
// change, so that renewing it needs no restart.
type certificate struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	loaded  *tls.Certificate
	files   [2]os.FileInfo // the files at the last attempt to load them
	problem error          // of that attempt
}

func newCertificate(cert, key string, log *slog.Logger) (*certificate, error) {
	switch {
	case key == "":
		return nil, fmt.Errorf("--tls-key (PUNCHCARD_TLS_KEY): is required with --tls-cert")
	case cert == "":
		return nil, fmt.Errorf("--tls-cert (PUNCHCARD_TLS_CERT): is required with --tls-key")
	}
	c := &certificate{cert: cert, key: key, log: log}
	if _, err := c.load(); err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key (PUNCHCARD_TLS_CERT, PUNCHCARD_TLS_KEY): %w", err)
	}
	return c, nil
}

// load reads the files if they were changed since the last attempt to.
func (c *certificate) load() (changed bool, err error) {
	var files [2]os.FileInfo
	for i, name := range []string{c.cert, c.key} {
		if files[i], err = os.Stat(name); err != nil {
			return false, err
		}
	}
	if sameFile(files[0], c.files[0]) && sameFile(files[1], c.files[1]) {
		return false, nil
	}
	c.files = files
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err == nil {
		c.loaded = &pair
	}
	c.problem = err
	return true, err
}

// sameFile reports whether a file has not changed between two looks at it. It compares
// more than times, because two writes may fall into one tick of the file system's clock.
func sameFile(a, b os.FileInfo) bool {
	return b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// get returns the certificate for a handshake. It checks the files each time, which
// takes a hundredth of the time of a handshake. While they cannot be read, or do
// not match yet, it returns the certificate from before.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch changed, err := c.load(); {
	case changed && err != nil:
		c.log.Error("the new certificate is not taken", "cert", c.cert, "error", err)
	case changed:
		c.log.Info("a new certificate", "cert", c.cert, "ends", c.loaded.Leaf.NotAfter)
	}
	return c.loaded, nil
}

func (c *certificate) config() *tls.Config { return tlsConfig(c.get) }

func (c *certificate) refresh() time.Duration {
	c.get(nil)
	return certificateInterval
}

func (c *certificate) list() []Certificate {
	c.get(nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	leaf := c.loaded.Leaf
	one := Certificate{Host: leaf.Subject.CommonName, Begins: leaf.NotBefore, Ends: leaf.NotAfter}
	if len(leaf.DNSNames) > 0 {
		one.Host = leaf.DNSNames[0]
	}
	if c.problem != nil {
		one.Problem = c.problem.Error()
	}
	return []Certificate{one}
}

// strictTransport makes browsers use https alone for this host, for a year after
// each answer. It leaves out includeSubDomains, since other hosts below the name may
// be somebody else's and have no https, and preload, which is the domain owner's to
// ask for and takes months to undo.
var strictTransport = []string{"max-age=31536000"}

// requireHTTPS returns a handler that tells browsers to use https alone. It is for
// requests over the server's own TLS: over plain http browsers ignore the header.
func requireHTTPS(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Strict-Transport-Security"] = strictTransport
		h.ServeHTTP(w, r)
	})
}
