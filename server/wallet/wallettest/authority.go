package wallettest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// Authority stands in for the authority of Apple that issues certificates for passes.
type Authority struct {
	Root        *x509.Certificate
	Certificate *x509.Certificate // of the intermediate, which issues

	key *ecdsa.PrivateKey
}

// Order is what a certificate is to be. The zero value of a field stands for what Apple would make.
type Order struct {
	PassType string    // default pass.com.example.card
	Team     string    // default TEAM000001
	From     time.Time // default: a year before Until
	Until    time.Time // default: in a year
	// Change, if set, changes the certificate before it is signed, such as to one that Apple would not make.
	Change func(c *x509.Certificate)
}

// NewAuthority returns an authority with new keys. All of them have the same names.
func NewAuthority() (*Authority, error) {
	root, rootKey, err := newIssuer("Stand-in for Apple Root CA", nil, nil)
	if err != nil {
		return nil, err
	}
	intermediate, key, err := newIssuer("Stand-in for Apple Worldwide Developer Relations", root, rootKey)
	return &Authority{root, intermediate, key}, err
}

// SelfSigned returns a certificate for a server on 127.0.0.1, with its key.
func SelfSigned(name string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	return newIssuer(name, nil, nil)
}

// newIssuer returns the certificate and the key of an authority, which a parent signs; nil: the authority itself. The certificate is
// also one for a server on 127.0.0.1.
func newIssuer(name string, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: name, Organization: []string{"punchcard"}},
		NotBefore:             time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:              time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign | x509.KeyUsageDigitalSignature,
		IPAddresses:           []net.IP{{127, 0, 0, 1}},
	}
	if parent == nil {
		parent, parentKey = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), parentKey)
	if err != nil {
		return nil, nil, err
	}
	c, err := x509.ParseCertificate(der)
	return c, key, err
}

var (
	passTypeOID = asn1.ObjectIdentifier{1, 2, 840, 113635, 100, 6, 1, 16}
	passUseOID  = asn1.ObjectIdentifier{1, 2, 840, 113635, 100, 4, 14}
	userIDOID   = asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 1}
)

// Issue returns the certificate for a request in PEM, as the .cer file that Apple makes: DER.
func (a *Authority) Issue(request []byte, o Order) ([]byte, error) {
	if block, _ := pem.Decode(request); block != nil {
		request = block.Bytes
	}
	r, err := x509.ParseCertificateRequest(request)
	if err == nil {
		err = r.CheckSignature()
	}
	if err != nil {
		return nil, err
	}
	if o.PassType == "" {
		o.PassType = "pass.com.example.card"
	}
	if o.Team == "" {
		o.Team = "TEAM000001"
	}
	if o.Until.IsZero() {
		o.Until = time.Now().AddDate(1, 0, 0)
	}
	if o.From.IsZero() {
		o.From = o.Until.AddDate(-1, 0, 0)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, err
	}
	value, err := asn1.MarshalWithParams(o.PassType, "utf8")
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject: pkix.Name{
			CommonName:         "Pass Type ID: " + o.PassType,
			OrganizationalUnit: []string{o.Team},
			Organization:       []string{"Example Coffee"},
			Country:            []string{"IT"},
			ExtraNames:         []pkix.AttributeTypeAndValue{{Type: userIDOID, Value: o.PassType}},
		},
		NotBefore:          o.From,
		NotAfter:           o.Until,
		KeyUsage:           x509.KeyUsageDigitalSignature,
		ExtKeyUsage:        []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		UnknownExtKeyUsage: []asn1.ObjectIdentifier{passUseOID},
		ExtraExtensions:    []pkix.Extension{{Id: passTypeOID, Value: value}},
		PublicKey:          r.PublicKey,
	}
	if o.Change != nil {
		o.Change(template)
	}
	return x509.CreateCertificate(rand.Reader, template, a.Certificate, template.PublicKey, a.key)
}
