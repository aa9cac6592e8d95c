package command

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Healthcheck is the command that checks whether a server is ready. It has the variables of serve
// that say where a server listens and which certificate it has.
type Healthcheck struct {
	URL      string        `arg:"" optional:"" env:"PUNCHCARD_LISTEN" help:"Where the server listens: a URL, or host and port. Default: 127.0.0.1:8080, with --tls-auto port 443."`
	TLSCert  string        `name:"tls-cert" type:"path" placeholder:"FILE" help:"The certificate of a server with --tls-cert. No other one is trusted."`
	TLSAuto  []string      `name:"tls-auto" placeholder:"HOST" help:"The hosts of a server with --tls-auto. It is asked as the first of them, and no certificate is trusted but the one in --tls-cache."`
	TLSCache string        `name:"tls-cache" type:"path" placeholder:"DIR" help:"The folder of the certificates of --tls-auto. Default: tls beside the database."`
	DB       string        `default:"punchcard.db" type:"path" help:"The database, beside which --tls-cache is by default."`
	Timeout  time.Duration `default:"3s" help:"How long to wait for the answer."`
}

// Run returns an error unless the server is ready.
func (c *Healthcheck) Run() error {
	u, err := c.url()
	if err != nil {
		return err
	}
	transport := &http.Transport{}
	switch {
	case u.Scheme == "https" && len(c.TLSAuto) > 0:
		host := strings.ToLower(strings.TrimSuffix(c.TLSAuto[0], "."))
		cache := cmp.Or(c.TLSCache, filepath.Join(filepath.Dir(c.DB), "tls"))
		transport.TLSClientConfig = trustOnly(filepath.Join(cache, host), host) // where autocert keeps it
	case u.Scheme == "https" && c.TLSCert != "":
		transport.TLSClientConfig = trustOnly(c.TLSCert, u.Hostname())
	}
	client := http.Client{Timeout: c.Timeout, Transport: transport, CheckRedirect: noRedirect}
	req, err := http.NewRequestWithContext(context.Background(), "GET", u.String(), nil)
	if err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("not ready: %w", err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", resp.Status)
	}
	return nil
}

// url returns the URL to ask. An address without a scheme is that of --listen: it may be a wildcard.
// Its scheme is then that of a server with these flags.
func (c *Healthcheck) url() (*url.URL, error) {
	at, own := c.URL, c.TLSCert != "" || len(c.TLSAuto) > 0
	if strings.Contains(at, "://") {
		u, err := url.Parse(at)
		if err != nil {
			return nil, fmt.Errorf("the URL %s: %w", at, errors.Unwrap(err))
		}
		return u.JoinPath("readyz"), nil
	}
	if at == "" {
		at = "127.0.0.1:8080"
		if len(c.TLSAuto) > 0 {
			at = "127.0.0.1:443"
		}
	}
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		return nil, fmt.Errorf("the address of the server (PUNCHCARD_LISTEN): %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	u := &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/readyz"}
	if own {
		u.Scheme = "https"
	}
	return u, nil
}

// trustOnly returns a configuration of TLS that trusts the first certificate in a PEM file and no
// other one. Its name and its end do not matter: they say nothing of whether the server is ready.
func trustOnly(path, host string) *tls.Config {
	return &tls.Config{ServerName: host, InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var block *pem.Block
		for block, text = pem.Decode(text); block != nil && block.Type != "CERTIFICATE"; block, text = pem.Decode(text) {
		}
		if block == nil {
			return fmt.Errorf("%s: has no certificate", path)
		}
		if len(s.PeerCertificates) == 0 || !bytes.Equal(s.PeerCertificates[0].Raw, block.Bytes) {
			return fmt.Errorf("the server has another certificate than %s", path)
		}
		return nil
	}}
}
