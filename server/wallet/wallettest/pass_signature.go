package wallettest

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// signature is what a phone learns from the signature of a pass.
type signature struct {
	time           time.Time
	passType, team string
}

// The structures of a signature (PKCS #7, RFC 2315 and RFC 5652).
type (
	contentInfo struct {
		Type    asn1.ObjectIdentifier
		Content asn1.RawValue `asn1:"explicit,optional,tag:0"`
	}
	signedData struct {
		Version      int
		Digests      []pkix.AlgorithmIdentifier `asn1:"set"`
		Content      contentInfo
		Certificates asn1.RawValue `asn1:"optional,tag:0"`
		Revocations  asn1.RawValue `asn1:"optional,tag:1"`
		Signers      []signerInfo  `asn1:"set"`
	}
	signerInfo struct {
		Version int
		Signer  struct {
			Issuer asn1.RawValue
			Serial *big.Int
		}
		Digest     pkix.AlgorithmIdentifier
		Attributes asn1.RawValue `asn1:"optional,tag:0"`
		Algorithm  pkix.AlgorithmIdentifier
		Signature  []byte
		Unsigned   asn1.RawValue `asn1:"optional,tag:1"`
	}
	attribute struct {
		Type   asn1.ObjectIdentifier
		Values []asn1.RawValue `asn1:"set"`
	}
)

var (
	oidData        = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidSigned      = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 2}
	oidContentType = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 3}
	oidDigest      = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 4}
	oidTime        = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 5}
	oidSHA1        = asn1.ObjectIdentifier{1, 3, 14, 3, 2, 26}
	oidSHA256      = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
)

// readSignature verifies a detached signature of a manifest. Its certificates must lead to one of the roots.
func readSignature(der, manifest []byte, roots *x509.CertPool) (s signature, err error) {
	var outer contentInfo
	var signed signedData
	if err := unmarshal(der, &outer, ""); err != nil {
		return s, err
	}
	if err := unmarshal(outer.Content.Bytes, &signed, ""); err != nil {
		return s, err
	}
	switch {
	case !outer.Type.Equal(oidSigned) || !signed.Content.Type.Equal(oidData):
		return s, errors.New("is not signed data")
	case len(signed.Content.Content.FullBytes) > 0:
		return s, errors.New("is not detached: the manifest is in it")
	case len(signed.Signers) != 1:
		return s, fmt.Errorf("has %d signers", len(signed.Signers))
	}
	certificates, err := x509.ParseCertificates(signed.Certificates.Bytes)
	if err != nil {
		return s, err
	}
	signer := signed.Signers[0]
	var leaf *x509.Certificate
	others := x509.NewCertPool()
	for _, c := range certificates {
		if c.SerialNumber.Cmp(signer.Signer.Serial) == 0 && bytes.Equal(c.RawIssuer, signer.Signer.Issuer.FullBytes) {
			leaf = c
		} else {
			others.AddCert(c)
		}
	}
	if leaf == nil {
		return s, errors.New("the certificate of the signer is missing")
	}
	if s.time, err = signer.verify(leaf, manifest); err != nil {
		return s, err
	}
	if len(certificates) < 2 {
		return s, errors.New("the intermediate certificate is missing")
	}
	_, err = leaf.Verify(x509.VerifyOptions{
		Roots:         roots,
		Intermediates: others,
		CurrentTime:   s.time,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageAny},
	})
	if err != nil {
		return s, err
	}
	return s, s.identify(leaf)
}

// verify verifies the signature of a manifest, and returns when it was made.
func (i signerInfo) verify(leaf *x509.Certificate, manifest []byte) (at time.Time, err error) {
	hash := crypto.SHA256
	switch {
	case i.Digest.Algorithm.Equal(oidSHA1):
		hash = crypto.SHA1
	case !i.Digest.Algorithm.Equal(oidSHA256):
		return at, fmt.Errorf("the digest %s is neither SHA-1 nor SHA-256", i.Digest.Algorithm)
	}
	if len(i.Attributes.FullBytes) == 0 {
		return at, errors.New("has no signed attributes, and so no signing time")
	}
	// What is signed has the tag of a set.
	set := bytes.Clone(i.Attributes.FullBytes)
	set[0] = asn1.TagSet | 0x20
	var attributes []attribute
	if err := unmarshal(set, &attributes, "set"); err != nil {
		return at, err
	}
	var kind asn1.ObjectIdentifier
	var digest []byte
	for _, a := range attributes {
		if len(a.Values) != 1 {
			return at, fmt.Errorf("the attribute %s has %d values", a.Type, len(a.Values))
		}
		var err error
		switch value := a.Values[0].FullBytes; {
		case a.Type.Equal(oidContentType):
			err = unmarshal(value, &kind, "")
		case a.Type.Equal(oidDigest):
			err = unmarshal(value, &digest, "")
		case a.Type.Equal(oidTime):
			err = unmarshal(value, &at, "")
		}
		if err != nil {
			return at, err
		}
	}
	sum := hash.New()
	sum.Write(manifest)
	key, ok := leaf.PublicKey.(*rsa.PublicKey)
	signed := hash.New()
	signed.Write(set)
	switch {
	case at.IsZero():
		return at, errors.New("the signing time is missing")
	case !kind.Equal(oidData):
		return at, errors.New("the content type is missing")
	case !bytes.Equal(digest, sum.Sum(nil)):
		return at, errors.New("is of another manifest")
	case !ok:
		return at, errors.New("the key of the certificate is not of RSA")
	}
	return at, rsa.VerifyPKCS1v15(key, hash, signed.Sum(nil), i.Signature)
}

// identify reads of which pass type and team a certificate is.
func (s *signature) identify(leaf *x509.Certificate) error {
	for _, part := range leaf.Subject.Names {
		if part.Type.Equal(userIDOID) {
			s.passType, _ = part.Value.(string)
		}
	}
	if len(leaf.Subject.OrganizationalUnit) == 1 {
		s.team = leaf.Subject.OrganizationalUnit[0]
	}
	for _, e := range leaf.Extensions {
		var name string
		if !e.Id.Equal(passTypeOID) {
			continue
		}
		if err := unmarshal(e.Value, &name, ""); err != nil || name != s.passType {
			return fmt.Errorf("the certificate is of the pass type %q and of the user %q", name, s.passType)
		}
		return nil
	}
	return errors.New("the certificate is not one of a pass type")
}

// unmarshal decodes DER, with nothing behind it.
func unmarshal(der []byte, into any, parameters string) error {
	rest, err := asn1.UnmarshalWithParams(der, into, parameters)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("there are %d bytes behind it", len(rest))
	}
	return err
}
