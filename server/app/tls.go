package app

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificate is the server's own, read anew when its files change: whoever
// renews it need not restart the server.
type certificate struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	loaded  *tls.Certificate
	changed [2]time.Time // of the files as they were loaded, or found to be bad
}

func newCertificate(cert, key string, log *slog.Logger) (*certificate, error) {
	switch {
	case key == "":
		return nil, fmt.Errorf("--tls-key (PUNCHCARD_TLS_KEY): is required with --tls-cert")
	case cert == "":
		return nil, fmt.Errorf("--tls-cert (PUNCHCARD_TLS_CERT): is required with --tls-key")
	}
	c := &certificate{cert: cert, key: key, log: log}
	changed, err := c.times()
	if err == nil {
		err = c.load(changed)
	}
	if err != nil {
		return nil, fmt.Errorf("--tls-cert, --tls-key (PUNCHCARD_TLS_CERT, PUNCHCARD_TLS_KEY): %w", err)
	}
	return c, nil
}

func (c *certificate) times() (changed [2]time.Time, err error) {
	for i, name := range []string{c.cert, c.key} {
		info, err := os.Stat(name)
		if err != nil {
			return changed, err
		}
		changed[i] = info.ModTime()
	}
	return changed, nil
}

func (c *certificate) load(changed [2]time.Time) error {
	c.changed = changed
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err == nil {
		c.loaded = &pair
	}
	return err
}

// get looks at the files at every handshake, which costs a hundred times as
// much. A pair that cannot be read, or does not belong together yet, leaves the
// one before in place.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if changed, err := c.times(); err == nil && changed != c.changed {
		if err := c.load(changed); err != nil {
			c.log.Error("the new certificate is not taken", "cert", c.cert, "error", err)
		} else {
			c.log.Info("a new certificate", "cert", c.cert, "ends", c.loaded.Leaf.NotAfter)
		}
	}
	return c.loaded, nil
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
}
