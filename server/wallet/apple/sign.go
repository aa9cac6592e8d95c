package apple

import (
	"archive/zip"
	"bytes"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"time"

	"github.com/smallstep/pkcs7"
)

// Signer signs passes.
type Signer struct {
	Certificate  *x509.Certificate // of the pass type
	Key          *rsa.PrivateKey
	Intermediate *x509.Certificate // that issued Certificate
	Signatures   *Cache            // that it has made
}

// Files are files of a pass, by name.
type Files map[string][]byte

// File returns a pass file (.pkpass) with pictures. It is an error if the certificate is not valid at the time at, since no phone
// would take the pass. The signature itself has the time of the computer's clock.
func File(p Pass, pictures Files, s Signer, at time.Time) ([]byte, error) {
	if at.Before(s.Certificate.NotBefore) || at.After(s.Certificate.NotAfter) {
		return nil, fmt.Errorf("the certificate of the pass type is valid from %s to %s",
			s.Certificate.NotBefore.Format(time.DateOnly), s.Certificate.NotAfter.Format(time.DateOnly))
	}
	files, err := p.files()
	if err != nil {
		return nil, err
	}
	maps.Copy(files, pictures)
	if err = s.complete(files, at); err != nil {
		return nil, err
	}
	return archive(files)
}

// complete adds the manifest and the signature to the files of a pass. A signature is kept for a day, since its time was wrong if the
// clock was.
func (s Signer) complete(files Files, at time.Time) error {
	sums := map[string]string{}
	for name, content := range files {
		sums[name] = fmt.Sprintf("%x", sha1.Sum(content))
	}
	manifest, _ := json.Marshal(sums) // texts have no error
	files["manifest.json"] = manifest
	key := at.Format(time.DateOnly) + string(manifest) + string(s.Certificate.Raw)
	signature, err := s.Signatures.keep(key, func() (Files, error) {
		signature, err := s.sign(manifest)
		return Files{"signature": signature}, err
	})
	maps.Copy(files, signature)
	return err
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

// archive returns a zip file in which equal files stand in equal order. Nothing is compressed, since PNG does not shrink
// any further.
func archive(files map[string][]byte) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := files[name]
		w, err := z.CreateRaw(&zip.FileHeader{
			Name:               name,
			CRC32:              crc32.ChecksumIEEE(content),
			CompressedSize64:   uint64(len(content)),
			UncompressedSize64: uint64(len(content)),
		})
		if err != nil {
			return nil, err
		}
		if _, err = w.Write(content); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return b.Bytes(), err
}
