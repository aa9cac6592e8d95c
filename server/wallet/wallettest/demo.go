package wallettest

import (
	"crypto/x509"
	_ "embed"
	"encoding/pem"
	"sync"
)

// demo has what Demo returns, in PEM: the certificates of the two authorities and of the pass type, and the key of the last.
//
//go:embed demo.pem
var demo []byte

// What the certificate of Demo is for.
const (
	DemoPassType = "pass.test.punchcard.demo"
	DemoTeam     = "PUNCHCARD0"
)

// DemoWallet is what a fixture signs the passes of its demo shop with.
type DemoWallet struct {
	Root        *x509.Certificate
	Issuer      *x509.Certificate
	Certificate *x509.Certificate
	Key         []byte // of Certificate: PKCS #8
}

// Demo returns certificates that are the same in every fixture, so that a file that dev made works in the next run, and no start has
// to make a key. The key is public knowledge. Phones refuse what it signs, except those that trust Root.
var Demo = sync.OnceValue(func() (d DemoWallet) {
	rest := demo
	for _, to := range []**x509.Certificate{&d.Root, &d.Issuer, &d.Certificate} {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			panic(err) // impossible: the tests read it
		}
		*to = c
	}
	block, _ := pem.Decode(rest)
	d.Key = block.Bytes
	return d
})

// Reader returns a reader of passes that trusts the demo shop and permits its URL.
func (d DemoWallet) Reader() PassReader {
	roots := x509.NewCertPool()
	roots.AddCert(d.Root)
	return PassReader{Roots: roots, AllowHTTP: true}
}
