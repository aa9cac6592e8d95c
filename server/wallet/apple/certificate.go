// Package apple has the formats of Apple Wallet: the certificates that sign passes, and the files of passes.
package apple

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	_ "embed"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// wwdr is Apple Worldwide Developer Relations Certification Authority G4, which issues all certificates for
// passes: https://www.apple.com/certificateauthority/AppleWWDRCAG4.cer
//
//go:embed AppleWWDRCAG4.cer
var wwdr []byte

// WWDR returns the certificate of the authority whose signature phones demand. It is valid until 2030-12-10.
var WWDR = sync.OnceValue(func() *x509.Certificate {
	c, err := x509.ParseCertificate(wwdr)
	if err != nil {
		panic(err)
	}
	return c
})

// Certificate is a certificate for the passes of one pass type.
type Certificate struct {
	Raw          []byte // DER
	PassType     string // such as pass.com.example.card
	Team         string // 10 letters and digits
	Organization string
	NotAfter     time.Time
	Key          []byte // PKCS #8
}

// NewRequest returns a new key, PKCS #8, and the certificate request for it, as DER. Apple makes a certificate of it and
// does not read its name.
func NewRequest() (key, request []byte, err error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, nil, err
	}
	if key, err = x509.MarshalPKCS8PrivateKey(private); err != nil {
		return nil, nil, err
	}
	template := x509.CertificateRequest{Subject: pkix.Name{CommonName: "punchcard"}}
	request, err = x509.CreateCertificateRequest(rand.Reader, &template, private)
	return key, request, err
}

// The reasons why a file is not the certificate of a pass type, but for those that name a time. Their texts are predicates.
var (
	ErrFormat  = errors.New("must be the .cer file that Apple has made, as it was downloaded")
	ErrRequest = errors.New("is the certificate request: upload it at Apple, and give the .cer file that Apple makes of it")
	ErrKey     = errors.New("is for another key: make the certificate at Apple with the request that waits here, and give that one")
	ErrKind    = errors.New("is for something else than passes: make a Pass Type ID Certificate at Apple")
	ErrTeam    = errors.New("has no team: download the Pass Type ID Certificate from your own account at Apple again")
	ErrType    = errors.New("has no pass type, or two different ones: make a Pass Type ID Certificate at Apple for an identifier " +
		"such as pass.com.example.card")
	ErrIssuer = errors.New("is not issued by Apple for passes (Worldwide Developer Relations, G4): make a Pass Type ID Certificate at " +
		"Apple and give that one")
)

var (
	passTypeOID = asn1.ObjectIdentifier{1, 2, 840, 113635, 100, 6, 1, 16} // the extension that has the pass type
	userIDOID   = asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 1}  // UID of the subject

	passTypeForm = regexp.MustCompile(`^pass\.[A-Za-z0-9.-]+$`)
	teamForm     = regexp.MustCompile(`^[A-Z0-9]{10}$`)
)

// Check returns the certificate in a file, DER or PEM, which must be valid at a time, issued by an authority, and for one of keys.
// The error says what is wrong with it first, and what to do.
func Check(file []byte, at time.Time, issuer *x509.Certificate, keys ...[]byte) (c Certificate, err error) {
	leaf, err := parse(file)
	if err != nil {
		return c, err
	}
	c = Certificate{Raw: leaf.Raw, PassType: passType(leaf), NotAfter: leaf.NotAfter}
	if units := leaf.Subject.OrganizationalUnit; len(units) == 1 {
		c.Team = units[0]
	}
	if names := leaf.Subject.Organization; len(names) > 0 {
		c.Organization = names[0]
	}
	for _, der := range keys {
		if key, err := ParseKey(der); err == nil && key.PublicKey.Equal(leaf.PublicKey) {
			c.Key = der
		}
	}
	name, day, now := leaf.Subject.CommonName, time.DateOnly, at.UTC().Format("2006-01-02 15:04")
	switch {
	case c.Key == nil:
		return c, ErrKey
	case !strings.HasPrefix(name, "Pass Type ID: ") && !strings.HasPrefix(name, "Pass Type ID with NFC: "):
		return c, ErrKind
	case !teamForm.MatchString(c.Team):
		return c, ErrTeam
	case c.PassType == "":
		return c, ErrType
	case at.Before(leaf.NotBefore):
		return c, fmt.Errorf("is valid from %s on, and the clock of the server says %s UTC: correct the clock if it is wrong, or wait",
			leaf.NotBefore.UTC().Format(day), now)
	case at.After(leaf.NotAfter):
		return c, fmt.Errorf("has ended on %s, and the clock of the server says %s UTC: correct the clock if it is wrong, or make a "+
			"new certificate at Apple", leaf.NotAfter.UTC().Format(day), now)
	case leaf.CheckSignatureFrom(issuer) != nil: // names and serial numbers can be copied
		return c, ErrIssuer
	}
	return c, nil
}

// ParseKey returns the key of a certificate, PKCS #8.
func ParseKey(der []byte) (*rsa.PrivateKey, error) {
	key, err := x509.ParsePKCS8PrivateKey(der)
	private, ok := key.(*rsa.PrivateKey)
	if err == nil && !ok {
		err = errors.New("the key is not RSA")
	}
	return private, err
}

// parse returns the certificate in a file.
func parse(file []byte) (*x509.Certificate, error) {
	if block, _ := pem.Decode(file); block != nil {
		file = block.Bytes
	}
	if c, err := x509.ParseCertificate(file); err == nil {
		return c, nil
	}
	if _, err := x509.ParseCertificateRequest(file); err == nil {
		return nil, ErrRequest
	}
	return nil, ErrFormat
}

// passType returns the pass type that both the extension and the subject of a certificate name; "" if there is none.
func passType(c *x509.Certificate) string {
	var name, user string
	for _, e := range c.Extensions {
		if e.Id.Equal(passTypeOID) {
			if rest, err := asn1.Unmarshal(e.Value, &name); err != nil || len(rest) > 0 {
				return ""
			}
		}
	}
	for _, part := range c.Subject.Names {
		if part.Type.Equal(userIDOID) {
			user, _ = part.Value.(string)
		}
	}
	if name != user || len(name) > len("pass.")+200 || !passTypeForm.MatchString(name) {
		return ""
	}
	return name
}
