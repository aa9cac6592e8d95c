package apple

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"punchcard/server/servertest/require"
	"punchcard/server/wallet/wallettest"
)

// TestWWDR checks that the embedded certificate is the one that Apple publishes.
func TestWWDR(t *testing.T) {
	sum := sha256.Sum256(wwdr)
	if got := hex.EncodeToString(sum[:]); got != "ea4757885538dd8cb59ff4556f676087d83c85e70902c122e42c0808b5bce14c" {
		t.Errorf("its fingerprint is %s", got)
	}
	c := WWDR()
	if s := c.Subject.String(); s != "CN=Apple Worldwide Developer Relations Certification Authority,OU=G4,O=Apple Inc.,C=US" ||
		!c.IsCA || c.NotAfter.Format(time.DateOnly) != "2030-12-10" {
		t.Errorf("it is of %s, until %s", s, c.NotAfter)
	}
}

// asked is a key and its request, which take long to make.
type asked struct{ key, request []byte }

// firstAsked returns the same in all tests.
var firstAsked = sync.OnceValue(func() asked {
	key, request, err := NewRequest()
	if err != nil {
		panic(err)
	}
	return asked{key, request}
})

// TestCheck checks a certificate, and what is said of each that is not the one of a pass type.
func TestCheck(t *testing.T) {
	authority := require.Must(wallettest.NewAuthority())
	other := require.Must(wallettest.NewAuthority())
	key, request := firstAsked().key, firstAsked().request
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	issue := func(a *wallettest.Authority, o wallettest.Order) []byte {
		t.Helper()
		if o.Until.IsZero() {
			o.Until = now.AddDate(0, 1, 0)
		}
		return require.Must(a.Issue(request, o))
	}
	changed := func(change func(c *x509.Certificate)) []byte {
		return issue(authority, wallettest.Order{Change: change})
	}
	pemOf := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	right := issue(authority, wallettest.Order{})
	for name, test := range map[string]struct {
		file []byte
		want error
	}{
		"right": {right, nil},
		"PEM":   {pemOf("CERTIFICATE", right), nil},
		"NFC": {changed(func(c *x509.Certificate) {
			c.Subject.CommonName = "Pass Type ID with NFC: pass.com.example.card"
		}), nil},
		"nothing":          {nil, ErrFormat},
		"cut off":          {right[:len(right)-1], ErrFormat},
		"the request":      {request, ErrRequest},
		"the request, PEM": {pemOf("CERTIFICATE REQUEST", request), ErrRequest},
		"of an app":        {changed(func(c *x509.Certificate) { c.Subject.CommonName = "Apple Distribution: Example" }), ErrKind},
		"without a team":   {changed(func(c *x509.Certificate) { c.Subject.OrganizationalUnit = nil }), ErrTeam},
		"without a type":   {changed(func(c *x509.Certificate) { c.ExtraExtensions = nil }), ErrType},
		"another issuer":   {issue(other, wallettest.Order{}), ErrIssuer},
		"no team's form":   {issue(authority, wallettest.Order{Team: "Example"}), ErrTeam},
		"two types":        {changed(func(c *x509.Certificate) { c.Subject.ExtraNames[0].Value = "pass.com.example.other" }), ErrType},
		"no user":          {changed(func(c *x509.Certificate) { c.Subject.ExtraNames = nil }), ErrType},
		"no type's form":   {issue(authority, wallettest.Order{PassType: "com.example"}), ErrType},
		"a long type":      {issue(authority, wallettest.Order{PassType: "pass." + strings.Repeat("p", 201)}), ErrType},
		"broken extension": {changed(func(c *x509.Certificate) { c.ExtraExtensions[0].Value = asn1.NullBytes }), ErrType},
		"several faults":   {issue(other, wallettest.Order{Team: "Example", Until: now.AddDate(0, 0, -1)}), ErrTeam},
	} {
		c, err := Check(test.file, now, authority.Certificate, key)
		if !errors.Is(err, test.want) || err == nil && (c.PassType != "pass.com.example.card" || c.Team != "TEAM000001" ||
			c.Organization != "Example Coffee" || string(c.Raw) == "" || !c.NotAfter.Equal(now.AddDate(0, 1, 0))) {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	for text, file := range map[string][]byte{
		"from 2026-03-02 on, and the clock of the server says 2026-03-01 12:00 UTC": changed(func(c *x509.Certificate) {
			c.NotBefore = now.AddDate(0, 0, 1)
		}),
		"ended on 2026-02-28, and the clock of the server says 2026-03-01 12:00 UTC": issue(authority,
			wallettest.Order{Until: now.AddDate(0, 0, -1)}),
	} {
		if _, err := Check(file, now, authority.Certificate, key); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
	foreign := require.Must(x509.MarshalPKCS8PrivateKey(otherKey()))
	if _, err := Check(right, now, authority.Certificate, foreign); !errors.Is(err, ErrKey) {
		t.Errorf("with another key: %v", err)
	}
	if _, err := Check(right, now, WWDR(), key); !errors.Is(err, ErrIssuer) {
		t.Errorf("by Apple's authority: %v", err)
	}
}

// FuzzCheck checks files of any content.
func FuzzCheck(f *testing.F) {
	authority := require.Must(wallettest.NewAuthority())
	key, request := firstAsked().key, firstAsked().request
	right := require.Must(authority.Issue(request, wallettest.Order{}))
	f.Add(right)
	f.Add(request)
	f.Add(wwdr)
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := Check(file, time.Now(), authority.Certificate, key)
		if err == nil && string(c.Raw) != string(right) {
			t.Errorf("%x is accepted as %+v", file, c)
		}
	})
}
