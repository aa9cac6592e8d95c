package apple

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"time"

	"software.sslmate.com/src/go-pkcs12"
)

// The reasons why a certificate and its key cannot be read of a file. Their texts are predicates.
var (
	ErrPassword = errors.New("is not the password of this file")
	ErrP12      = errors.New("must be a .p12 file with one certificate and its RSA key")
	ErrSlow     = errors.New("is too slow to open: export it again, or make a request here")
)

// The bounds of what opening a file may cost. Keychain Access and openssl make files of 2048 iterations, which take some milliseconds.
const (
	maxIterations = 1_000_000
	p12Time       = 5 * time.Second
)

// opening is full while a file is opened. Files are opened one at a time: nothing can stop the opening of one whose encrypted part
// hides more iterations.
var opening = make(chan struct{}, 1)

// IsP12 reports whether a file may have a key beside its certificate (PKCS #12).
func IsP12(file []byte) bool {
	var pfx struct {
		Version  int
		AuthSafe asn1.RawValue
		MACData  asn1.RawValue `asn1:"optional"`
	}
	_, err := asn1.Unmarshal(file, &pfx)
	return err == nil && pfx.Version == 3
}

// OpenP12 returns the key, PKCS #8, and its certificate, as DER, in a file. The error is ErrPassword, ErrP12, ErrSlow or that of ctx.
func OpenP12(ctx context.Context, file []byte, password string) (key, certificate []byte, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p12Time, ErrSlow)
	defer cancel()
	select {
	case opening <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	var opened struct {
		key, certificate []byte
		err              error
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		opened.key, opened.certificate, opened.err = openP12(file, password)
		<-opening
	}()
	select {
	case <-done:
		return opened.key, opened.certificate, opened.err
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

// openP12 does so without a limit of time.
func openP12(file []byte, password string) (key, certificate []byte, err error) {
	defer func() {
		if recover() != nil { // ciphers panic if a file has an initialisation vector of another length
			err = ErrP12
		}
	}()
	if iterations(file) > maxIterations {
		return nil, nil, ErrSlow
	}
	private, first, more, err := pkcs12.DecodeChain(file, password)
	if errors.Is(err, pkcs12.ErrIncorrectPassword) {
		return nil, nil, ErrPassword
	}
	own, ok := private.(*rsa.PrivateKey)
	if err != nil || !ok {
		return nil, nil, ErrP12
	}
	for _, c := range append(more, first) {
		if own.PublicKey.Equal(c.PublicKey) {
			key, err = x509.MarshalPKCS8PrivateKey(own)
			return key, c.Raw, err
		}
	}
	return nil, nil, ErrP12
}

// iterations returns the maximum number of iterations by which keys are made of the password, as far as a file shows it: they are the
// integers that follow a salt, which is not compound.
func iterations(der []byte) (most int64) {
	salt := false
	for len(der) > 0 {
		var value asn1.RawValue
		rest, err := asn1.Unmarshal(der, &value)
		if err != nil {
			return most
		}
		if value.Tag == asn1.TagInteger && salt {
			var n int64
			if _, err := asn1.Unmarshal(value.FullBytes, &n); err == nil {
				most = max(most, n)
			}
		} else {
			most = max(most, iterations(value.Bytes))
		}
		salt = !value.IsCompound && value.Tag != asn1.TagInteger
		der = rest
	}
	return most
}
