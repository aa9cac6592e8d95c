package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"os"
	"time"

	"punchcard/server/wallet/wallettest"
)

// newCertificate replaces the file of a server on 127.0.0.1 that has its certificate and key, and returns a client that trusts this
// certificate alone.
func newCertificate(path string) (*http.Client, error) {
	certificate, key, err := wallettest.SelfSigned("The shop that was sold")
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	pem.Encode(&file, &pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
	pem.Encode(&file, &pem.Block{Type: "PRIVATE KEY", Bytes: private})
	if err := os.WriteFile(path+".new", file.Bytes(), 0o600); err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	return &http.Client{Transport: transport, CheckRedirect: stay, Timeout: time.Minute}, os.Rename(path+".new", path)
}
