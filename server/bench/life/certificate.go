package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"time"
)

// newCertificate replaces the file of a server on 127.0.0.1 that has its certificate and key, and returns a client that trusts this
// certificate alone.
func newCertificate(path string) (*http.Client, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(0, 3, 0),
		IPAddresses:  []net.IP{{127, 0, 0, 1}},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	pem.Encode(&file, &pem.Block{Type: "CERTIFICATE", Bytes: der})
	pem.Encode(&file, &pem.Block{Type: "PRIVATE KEY", Bytes: private})
	if err := os.WriteFile(path+".new", file.Bytes(), 0o600); err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(file.Bytes())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	return &http.Client{Transport: transport, CheckRedirect: stay, Timeout: time.Minute}, os.Rename(path+".new", path)
}
