package webhook_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/servertest/require"
	"punchcard/webhook"
)

// authority is a certificate authority for receivers.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// newAuthority returns a new authority with a certificate that it signed itself.
func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key = a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "Test authority"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotAfter: time.Now().Add(time.Hour)})
	return a
}

// sign returns a certificate with the fields of c, and its key. The first one, which is the
// authority's own, is signed with its own key.
func (a *authority) sign(c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	c.SerialNumber, c.NotBefore = big.NewInt(time.Now().UnixNano()), time.Now().Add(-48*time.Hour)
	key := require.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der := require.Must(x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer))
	made := require.Must(x509.ParseCertificate(der))
	return made, key
}

// server returns the TLS settings of a receiver with this name. Its certificate ends at until.
func (a *authority) server(name string, until time.Time, protocols ...string) *tls.Config {
	cert, key := a.sign(&x509.Certificate{DNSNames: []string{name}, NotAfter: until, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert.Raw}, PrivateKey: key}}, NextProtos: protocols}
}

// trusted makes the server under test trust only this authority.
func (a *authority) trusted(c *app.Config) {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	c.Guard = &webhook.Guard{Loopback: true, Unresolved: true, Roots: pool}
}
