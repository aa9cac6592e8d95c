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

// firstAsked and otherAsked return the same two in all tests.
var firstAsked, otherAsked = sync.OnceValue(ask), sync.OnceValue(ask)

func ask() asked {
	key, request, err := NewRequest()
	if err != nil {
		panic(err)
	}
	return asked{key, request}
}

// TestCheck checks a certificate, and what is said of each that is not the one of a pass type.
func TestCheck(t *testing.T) {
	authority := require.Must(wallettest.NewAuthority())
	other := require.Must(wallettest.NewAuthority())
	key, request, foreign := firstAsked().key, firstAsked().request, otherAsked().request
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	issue := func(a *wallettest.Authority, request []byte, o wallettest.Order) []byte {
		t.Helper()
		if o.Until.IsZero() {
			o.Until = now.AddDate(0, 1, 0)
		}
		return require.Must(a.Issue(request, o))
	}
	changed := func(change func(c *x509.Certificate)) []byte {
		return issue(authority, request, wallettest.Order{Change: change})
	}
	pemOf := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	right := issue(authority, request, wallettest.Order{})
	for name, test := range map[string]struct {
		file []byte
		want error  // nil: text
		text string // part of the error, "" if there is none
	}{
		"right": {file: right},
		"PEM":   {file: pemOf("CERTIFICATE", right)},
		"NFC": {file: changed(func(c *x509.Certificate) {
			c.Subject.CommonName = "Pass Type ID with NFC: pass.com.example.card"
		})},
		"nothing":          {file: nil, want: ErrFormat},
		"a text":           {file: []byte("certificate"), want: ErrFormat},
		"cut off":          {file: right[:len(right)-1], want: ErrFormat},
		"the request":      {file: request, want: ErrRequest},
		"the request, PEM": {file: pemOf("CERTIFICATE REQUEST", request), want: ErrRequest},
		"another key":      {file: issue(authority, foreign, wallettest.Order{}), want: ErrKey},
		"of an app": {file: changed(func(c *x509.Certificate) { c.Subject.CommonName = "Apple Distribution: Example" }),
			want: ErrKind},
		"without a team": {file: changed(func(c *x509.Certificate) { c.Subject.OrganizationalUnit = nil }), want: ErrTeam},
		"no team's form": {file: issue(authority, request, wallettest.Order{Team: "Example"}), want: ErrTeam},
		"without a type": {file: changed(func(c *x509.Certificate) { c.ExtraExtensions = nil }), want: ErrType},
		"two types": {
			file: changed(func(c *x509.Certificate) { c.Subject.ExtraNames[0].Value = "pass.com.example.other" }),
			want: ErrType,
		},
		"no user":          {file: changed(func(c *x509.Certificate) { c.Subject.ExtraNames = nil }), want: ErrType},
		"no type's form":   {file: issue(authority, request, wallettest.Order{PassType: "com.example"}), want: ErrType},
		"broken extension": {file: changed(func(c *x509.Certificate) { c.ExtraExtensions[0].Value = asn1.NullBytes }), want: ErrType},
		"not yet": {
			file: changed(func(c *x509.Certificate) { c.NotBefore = now.AddDate(0, 0, 1) }),
			text: "from 2026-03-02 on, and the clock of the server says 2026-03-01 12:00 UTC",
		},
		"ended": {
			file: issue(authority, request, wallettest.Order{Until: now.AddDate(0, 0, -1)}),
			text: "ended on 2026-02-28, and the clock of the server says 2026-03-01 12:00 UTC",
		},
		"several faults": {file: issue(other, request, wallettest.Order{Team: "Example", Until: now.AddDate(0, 0, -1)}), want: ErrTeam},
		"another issuer": {file: issue(other, request, wallettest.Order{}), want: ErrIssuer},
	} {
		c, err := Check(test.file, now, authority.Certificate, key)
		switch {
		case test.want != nil && !errors.Is(err, test.want), test.text != "" && (err == nil || !strings.Contains(err.Error(), test.text)):
			t.Errorf("%s: %v", name, err)
		case test.want == nil && test.text == "" && (err != nil || c.PassType != "pass.com.example.card" || c.Team != "TEAM000001" ||
			c.Organization != "Example Coffee" || string(c.Raw) == "" || !c.NotAfter.Equal(now.AddDate(0, 1, 0))):
			t.Errorf("%s: %+v, %v", name, c, err)
		}
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
