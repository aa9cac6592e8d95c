package apple

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"punchcard/server/servertest/require"
	"punchcard/server/wallet/wallettest"
)

// TestOpenP12 checks files as Keychain Access and openssl write them, wrong passwords and other files.
func TestOpenP12(t *testing.T) {
	authority := require.Must(wallettest.NewAuthority())
	key, request := firstAsked().key, firstAsked().request
	private := require.Must(ParseKey(key))
	der := require.Must(authority.Issue(request, wallettest.Order{}))
	leaf := require.Must(x509.ParseCertificate(der))
	opens := func(name string, file []byte) {
		t.Helper()
		if !IsP12(file) {
			t.Fatalf("%s: it is not recognised", name)
		}
		got, certificate, err := OpenP12(t.Context(), file, "pässword")
		if err != nil || !bytes.Equal(got, key) || !bytes.Equal(certificate, der) {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := OpenP12(t.Context(), file, "password"); !errors.Is(err, ErrPassword) {
			t.Errorf("%s with a wrong password: %v", name, err)
		}
	}
	var file []byte
	for name, encoder := range map[string]*pkcs12.Encoder{"RC2, as Keychain Access": pkcs12.LegacyRC2, "AES": pkcs12.Modern2023} {
		file = require.Must(encoder.Encode(private, leaf, []*x509.Certificate{authority.Certificate}, "pässword"))
		opens(name, file)
	}
	if openssl, err := exec.LookPath("openssl"); err == nil {
		parts := filepath.Join(t.TempDir(), "parts.pem")
		block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
		require.NoError(t, os.WriteFile(parts, append(block("PRIVATE KEY", key), block("CERTIFICATE", der)...), 0o600))
		made := require.Must(exec.Command(openssl, "pkcs12", "-export", "-in", parts, "-passout", "pass:pässword").Output())
		opens("openssl", made)
	}
	if IsP12(der) || IsP12(request) || IsP12(nil) {
		t.Error("a certificate, a request or nothing is taken for a .p12 file")
	}
	trust := require.Must(pkcs12.Modern.EncodeTrustStore([]*x509.Certificate{leaf}, "pässword"))
	for name, other := range map[string][]byte{"no key": trust, "cut off": file[:len(file)-1]} {
		if _, _, err := OpenP12(t.Context(), other, "pässword"); !errors.Is(err, ErrP12) {
			t.Errorf("%s: %v", name, err)
		}
	}
	slow := require.Must(pkcs12.Modern2023.WithIterations(maxIterations+1).Encode(private, leaf, nil, ""))
	if _, _, err := OpenP12(t.Context(), slow, ""); !errors.Is(err, ErrSlow) {
		t.Errorf("with many iterations: %v", err)
	}
	ended, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	opening <- struct{}{} // another file is being opened
	defer func() { <-opening }()
	if _, _, err := OpenP12(ended, file, "pässword"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the request: %v", err)
	}
}

// FuzzOpenP12 opens files of any content.
func FuzzOpenP12(f *testing.F) {
	key, request := firstAsked().key, firstAsked().request
	private := require.Must(ParseKey(key))
	authority := require.Must(wallettest.NewAuthority())
	der := require.Must(authority.Issue(request, wallettest.Order{}))
	leaf := require.Must(x509.ParseCertificate(der))
	for _, encoder := range []*pkcs12.Encoder{pkcs12.LegacyRC2.WithIterations(2), pkcs12.Modern2023.WithIterations(2),
		pkcs12.Passwordless} {
		file := require.Must(encoder.Encode(private, leaf, nil, ""))
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		key, _, err := openP12(file, "")
		if err == nil && key == nil {
			t.Error("there is no key")
		}
	})
}
