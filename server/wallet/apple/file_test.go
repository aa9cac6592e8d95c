package apple

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"maps"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"punchcard/server/servertest/require"
	"punchcard/server/wallet/wallettest"
)

// otherKey returns a key of nobody.
var otherKey = sync.OnceValue(func() *rsa.PrivateKey { return require.Must(rsa.GenerateKey(rand.Reader, 2048)) })

// authority issues certificates of pass types in tests.
type authority struct {
	root, intermediate *x509.Certificate
	key                *rsa.PrivateKey // of both
}

// testAuthority returns the authority of all tests of this package.
var testAuthority = sync.OnceValue(func() (a authority) {
	a.key, _ = rsa.GenerateKey(rand.Reader, 2048)
	ca := func(name string, parent *x509.Certificate) *x509.Certificate {
		c := &x509.Certificate{Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
			KeyUsage: x509.KeyUsageCertSign}
		return a.issue(c, parent)
	}
	a.root = ca("Root", nil)
	a.intermediate = ca("Intermediate", a.root)
	return a
})

// issue signs a certificate with the key of the authority. A certificate without a parent signs itself.
func (a authority) issue(c, parent *x509.Certificate) *x509.Certificate {
	c.SerialNumber = big.NewInt(time.Now().UnixNano())
	if c.NotBefore.IsZero() {
		c.NotBefore, c.NotAfter = time.Now().AddDate(0, 0, -1), time.Now().AddDate(1, 0, 0)
	}
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, a.key.Public(), a.key)
	if err != nil {
		panic(err)
	}
	issued, _ := x509.ParseCertificate(der)
	return issued
}

// signer returns a signer whose certificate names a pass type in the extension and in the subject.
func (a authority) signer(extension, user, team string, change func(*x509.Certificate)) Signer {
	value, _ := asn1.MarshalWithParams(extension, "utf8")
	c := &x509.Certificate{
		Subject: pkix.Name{
			CommonName:         "Pass Type ID: " + user,
			OrganizationalUnit: []string{team},
			ExtraNames:         []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 1}, Value: user}},
		},
		ExtraExtensions: []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 840, 113635, 100, 6, 1, 16}, Value: value}},
		ExtKeyUsage:     []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(c)
	}
	return Signer{a.issue(c, a.intermediate), a.key, a.intermediate, new(Cache)}
}

// reader returns a phone that trusts the authority.
func (a authority) reader() wallettest.PassReader {
	roots := x509.NewCertPool()
	roots.AddCert(a.root)
	return wallettest.PassReader{Roots: roots}
}

const (
	testPassType = "pass.com.example.card"
	team         = "A1B2C3D4E5"
)

// stampPass returns the pass of a stamp card.
func stampPass() Pass {
	return Pass{
		PassTypeIdentifier:  testPassType,
		TeamIdentifier:      team,
		OrganizationName:    "Corner Café",
		SerialNumber:        "c_0123456789abcdef",
		AuthenticationToken: "0123456789abcdef",
		WebServiceURL:       "https://shop.example.com/wallet/apple",
		Description:         "Coffee card",
		LogoText:            "Corner Café",
		BackgroundColor:     RGB("#FFF7ED"),
		ForegroundColor:     RGB("#111111"),
		LabelColor:          RGB("#9A3412"),
		ExpirationDate:      time.Date(2030, 12, 31, 22, 59, 59, 999, time.UTC),
		Barcodes:            QR("https://shop.example.com/c/AbCdEfGh", "K7QF-2MWX"),
		Locations:           append(make([]Location, 3), Location{45.07, 7.69}, Location{45.08, 7.68}),
		StoreCard: &Fields{
			Header: []Field{{Key: "stamps", Label: "Stamps", Value: "3 / 10", ChangeMessage: "You have %@ stamps"}},
			Secondary: []Field{{Key: "prize", Label: "Next prize", Value: "Free \"flat\\white\""},
				{Key: "holder", Label: "Name", Value: "Ada"}},
			Back: []Field{{Key: "more", Label: "More", Value: "https://shop.example.com/c/AbCdEfGh",
				AttributedValue: "<a href='https://shop.example.com/c/AbCdEfGh'>Your card</a>"}},
		},
		Texts: map[string]map[string]string{
			"de": {
				"Stamps":               "Stempel",
				"You have %@ stamps":   "Du hast %@ Stempel",
				"Free \"flat\\white\"": "Gratis »Flat\\White«\n\"heute\"",
				"Name":                 "",
			},
			"fr": {"Stamps": "Tampons"},
			"pt": {},
		},
	}
}

// drawn keeps the pictures of the tests, which are slow to draw.
var drawn Cache

func (l Look) pictures(t testing.TB) Files {
	return require.Must(drawn.Pictures(l, readLogo))
}

// TestFile checks that a phone takes a pass and shows what is in it, in each language.
func TestFile(t *testing.T) {
	signer := testAuthority().signer(testPassType, testPassType, team, nil)
	file := require.Must(File(stampPass(), warm.pictures(t), signer, time.Now()))
	p := require.Must(testAuthority().reader().Read(file))
	if p.Style != "storeCard" || p.Serial != "c_0123456789abcdef" || p.Voided || p.Expires.Format(time.RFC3339) != "2030-12-31T22:59:59Z" {
		t.Errorf("the phone has %+v", p)
	}
	if time.Since(p.Signed).Abs() > time.Hour {
		t.Errorf("signed at %s", p.Signed)
	}
	for language, want := range map[string]string{
		"de": "Stempel=3 / 10|Next prize=Gratis »Flat\\White«\n\"heute\"|Name=Ada",
		"fr": "Tampons=3 / 10|Next prize=Free \"flat\\white\"|Name=Ada",
		"pt": "Stamps=3 / 10|Next prize=Free \"flat\\white\"|Name=Ada",
	} {
		var got []string
		for _, f := range p.Fields(language) {
			if f.Place != "back" {
				got = append(got, f.Label+"="+f.Value)
			}
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("in %s: %s", language, s)
		}
	}
	if !bytes.Equal(p.Strip(), warm.pictures(t)["strip@3x.png"]) {
		t.Error("the strip is another one")
	}
	changed := stampPass()
	changed.StoreCard.Header[0].Value = "4 / 10"
	file, _ = File(changed, warm.pictures(t), signer, time.Now())
	newer := require.Must(testAuthority().reader().Read(file))
	if got := newer.Notices(p, "de"); !slices.Equal(got, []string{"Du hast 4 / 10 Stempel"}) {
		t.Errorf("the phone tells %q", got)
	}
	if _, err := File(stampPass(), nil, signer, time.Now().AddDate(2, 0, 0)); err == nil {
		t.Error("a certificate that has ended signs")
	}
}

// BenchmarkFile makes and signs the file of a pass whose pictures are in the cache.
func BenchmarkFile(b *testing.B) {
	signer := testAuthority().signer(testPassType, testPassType, team, nil)
	var c Cache
	for b.Loop() {
		pictures := require.Must(c.Pictures(warm, readLogo))
		signer.Signatures = new(Cache) // so that each file is signed
		require.Must(File(stampPass(), pictures, signer, time.Now()))
	}
}

// TestSignaturesAreKept checks that a pass that is the same is signed once in a day.
func TestSignaturesAreKept(t *testing.T) {
	a := testAuthority()
	signer := a.signer(testPassType, testPassType, team, nil)
	at := time.Now()
	file := func() []byte { return require.Must(File(stampPass(), warm.pictures(t), signer, at)) }
	first := file()
	signer.Key = otherKey() // makes other signatures
	if !bytes.Equal(first, file()) {
		t.Error("a pass was signed twice")
	}
	at = at.AddDate(0, 0, 1)
	nextDay := file()
	signer.Certificate = a.signer(testPassType, testPassType, team, nil).Certificate
	if bytes.Equal(first, nextDay) || bytes.Equal(nextDay, file()) {
		t.Error("a pass was not signed again on another day, or with another certificate")
	}
	for _, files := range signer.Signatures.kept {
		if len(files) != 1 || files["signature"] == nil {
			t.Errorf("the files %q are kept", slices.Collect(maps.Keys(files)))
		}
	}
}

// TestFileIsDeterministic checks that equal passes have equal files but for the signature.
func TestFileIsDeterministic(t *testing.T) {
	first := require.Must(stampPass().files())
	a, _ := archive(first)
	for range 10 {
		second, _ := stampPass().files()
		if b, _ := archive(second); !bytes.Equal(a, b) {
			t.Fatal("equal passes have different files")
		}
	}
	if !strings.Contains(string(first["pass.json"]), `"locations":[{"latitude":45.07,"longitude":7.69},{`) {
		t.Errorf("locations at 0,0 are in %s", first["pass.json"])
	}
	many := stampPass()
	many.Locations = slices.Repeat(many.Locations[3:4], 12)
	if files, _ := many.files(); strings.Count(string(files["pass.json"]), "45.07") != 10 {
		t.Error("there are not ten locations")
	}
}
