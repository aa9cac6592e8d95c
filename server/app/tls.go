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
	changed [2]time.Time // modification times at the last attempt to load the files
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
	var times [2]time.Time
	for i, name := range []string{c.cert, c.key} {
		info, err := os.Stat(name)
		if err != nil {
			return false, err
		}
		times[i] = info.ModTime()
	}
	if times == c.changed {
		return false, nil
	}
	c.changed = times
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err == nil {
		c.loaded = &pair
	}
	return true, err
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

func (c *certificate) config() *tls.Config {
	return &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
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
