package apple

import (
	"archive/zip"
	"bytes"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"time"

	"github.com/smallstep/pkcs7"
)

// Signer signs passes.
type Signer struct {
	Certificate  *x509.Certificate // of the pass type
	Key          *rsa.PrivateKey
	Intermediate *x509.Certificate // that issued Certificate
}

// Pictures are the pictures of a pass as PNG, by file name.
type Pictures map[string][]byte

// File returns a pass file (.pkpass). It is an error if the certificate is not valid at the time at, since no phone
// would take the pass. The signature itself has the time of the computer's clock.
func File(p Pass, pictures Pictures, s Signer, at time.Time) ([]byte, error) {
	if at.Before(s.Certificate.NotBefore) || at.After(s.Certificate.NotAfter) {
		return nil, fmt.Errorf("the certificate of the pass type is valid from %s to %s",
			s.Certificate.NotBefore.Format(time.DateOnly), s.Certificate.NotAfter.Format(time.DateOnly))
	}
	files, err := p.files()
	if err != nil {
		return nil, err
	}
	maps.Copy(files, pictures)
	sums := map[string]string{}
	for name, content := range files {
		sum := sha1.Sum(content)
		sums[name] = hex.EncodeToString(sum[:])
	}
	if files["manifest.json"], err = json.Marshal(sums); err != nil {
		return nil, err
	}
	if files["signature"], err = s.sign(files["manifest.json"]); err != nil {
		return nil, err
	}
	return archive(files)
}

// sign returns a detached signature (PKCS #7) with both certificates.
func (s Signer) sign(manifest []byte) ([]byte, error) {
	signed, err := pkcs7.NewSignedData(manifest)
	if err != nil {
		return nil, err
	}
	signed.SetDigestAlgorithm(pkcs7.OIDDigestAlgorithmSHA256)
	parents := []*x509.Certificate{s.Intermediate}
	if err = signed.AddSignerChain(s.Certificate, s.Key, parents, pkcs7.SignerInfoConfig{}); err != nil {
		return nil, err
	}
	signed.Detach()
	return signed.Finish()
}

// archive returns a zip file in which equal files stand in equal order. PNG does not shrink any further, so
// pictures are stored as they are.
func archive(files map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate}
		if path.Ext(name) == ".png" {
			h.Method = zip.Store
		}
		w, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err = w.Write(files[name]); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}
