package apple

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/smallstep/pkcs7"

	"punchcard/server/logo"
	"punchcard/server/servertest/require"
)

// edit replaces a text in a file.
func edit(name, from, to string) func(map[string][]byte) {
	return func(files map[string][]byte) {
		if !bytes.Contains(files[name], []byte(from)) {
			panic(name + " does not contain " + from)
		}
		files[name] = bytes.Replace(files[name], []byte(from), []byte(to), 1)
	}
}

// inPass replaces a text in pass.json.
func inPass(from, to string) func(map[string][]byte) { return edit("pass.json", from, to) }

// TestPhoneRefuses breaks one rule of passes each, and checks that the phone says which.
func TestPhoneRefuses(t *testing.T) {
	const german = "de.lproj/pass.strings"
	small, _ := new(Cache).Pictures(warm, nil)
	set := func(name string, content []byte) func(map[string][]byte) {
		return func(files map[string][]byte) { files[name] = content }
	}
	for _, c := range []struct {
		want string // in the error
		edit func(files map[string][]byte)
	}{
		{"", func(map[string][]byte) {}},
		{"pass.json is missing", func(f map[string][]byte) { delete(f, "pass.json") }},
		{"icon.png is missing", func(f map[string][]byte) { delete(f, "icon.png") }},
		{"icon.png: png", set("icon.png", []byte("GIF89a, which is no PNG"))},
		{"strip.png: png: invalid", set("strip.png", small["strip.png"][:2000])},
		{"icon.png is no square", func(f map[string][]byte) {
			f["icon.png"], _ = logo.Encode((&painter{}).canvas(29, 28))
			delete(f, "icon@2x.png")
			delete(f, "icon@3x.png")
		}},
		{"icon@2x.png has 29 × 29 pixels, which are not 2 times", set("icon@2x.png", small["icon.png"])},
		{"icon@3x.png has 58 × 58 pixels, which are not 3 times", set("icon@3x.png", small["icon@2x.png"])},
		{"strip@2x.png has 1125 × 432 pixels, and may have 750 × 288", set("strip@2x.png", small["strip@3x.png"])},
		{"strip@2x.png stands without the one of a single scale", func(f map[string][]byte) { delete(f, "strip.png") }},
		{"thumbnail.png: a pass of style storeCard does not show it", set("thumbnail.png", small["icon.png"])},
		{"strip", inPass(`"storeCard"`, `"generic"`)},
		{"notes.txt is no file of a pass", set("notes.txt", []byte("x"))},
		{"formatVersion is 2", inPass(`"formatVersion":1`, `"formatVersion":2`)},
		{"unknown field", inPass(`"description"`, `"descriptoin"`)},
		{"description is missing", inPass(`"description":"Coffee card"`, `"description":""`)},
		{"organizationName is missing", inPass(`"organizationName":"Corner Café"`, `"organizationName":""`)},
		{"serialNumber has 118", inPass("c_0123456789abcdef", "c_0123456789abcdef"+strings.Repeat("0", 100))},
		{"authenticationToken has 15", inPass(`"0123456789abcdef"`, `"0123456789abcde"`)},
		{"passTypeIdentifier is", inPass(testPassType, "pass.com.example.other")},
		{"teamIdentifier is", inPass(team, "Z1B2C3D4E5")},
		{"webServiceURL is not https", inPass("https://shop.example.com/wallet", "http://shop.example.com/wallet")},
		{"webServiceURL has the /v1", inPass("/wallet/apple", "/wallet/apple/v1")},
		{"webServiceURL is", inPass("/wallet/apple", "/wallet/apple?x=1")},
		{"the colour", inPass("rgb(17, 17, 17)", "rgb(17, 17, 256)")},
		{"expirationDate", inPass("2030-12-31T22:59:59Z", "2030-12-31")},
		{"parts of a second", inPass("22:59:59Z", "22:59:59.5Z")},
		{"format is", inPass("PKBarcodeFormatQR", "QR")},
		{"message is missing", inPass(`"message":"https://shop.example.com/c/AbCdEfGh"`, `"message":""`)},
		{"messageEncoding is", inPass("iso-8859-1", "ascii")},
		{"outside of iso-8859-1", inPass(`"message":"https`, `"message":"€`)},
		{"0, 0 is no location", inPass(`{"latitude":45.07,"longitude":7.69}`, `{"latitude":0,"longitude":0}`)},
		{"longitude is missing", inPass(`,"longitude":7.69`, ``)},
		{"there are 11 locations",
			inPass(`{"latitude":45.07,"longitude":7.69}`,
				strings.Repeat(`{"latitude":45.07,"longitude":7.69},`, 9)+`{"latitude":45.07,"longitude":7.69}`)},
		{"there are two styles", inPass(`"storeCard"`, `"coupon":{},"storeCard"`)},
		{"there is no style", inPass(`"storeCard"`, `"userInfo"`)},
		{"4 header fields",
			inPass(`"headerFields":[`, `"headerFields":[{"key":"1","value":1},{"key":"2","value":1},{"key":"3","value":1},`)},
		{"5 secondary and auxiliary",
			inPass(`"secondaryFields":[`,
				`"auxiliaryFields":[{"key":"1","value":1},{"key":"2","value":1},{"key":"3","value":1}],"secondaryFields":[`)},
		{"2 primary fields", inPass(`"headerFields"`, `"primaryFields":[{"key":"1","value":1},{"key":"2","value":1}],"headerFields"`)},
		{`"stamps": the key is missing or stands twice`, inPass(`"prize"`, `"stamps"`)},
		{"value is missing", inPass(`,"value":"3 / 10"`, ``)},
		{"value is neither", inPass(`"3 / 10"`, `["3 / 10"]`)},
		{"another %", inPass("You have %@ stamps", "You have %@ stamps, %@")},
		{"another %", inPass("You have %@ stamps", "10 % off: %@")},
		{"currencyCode is", inPass(`"value":"3 / 10"`, `"value":3,"currencyCode":"€"`)},
		{"value is no number", inPass(`"value":"3 / 10"`, `"value":"3","currencyCode":"EUR"`)},
		{"exclude each other", inPass(`"value":"3 / 10"`, `"value":3,"currencyCode":"EUR","numberStyle":"PKNumberStyleDecimal"`)},
		{"numberStyle is", inPass(`"value":"3 / 10"`, `"value":3,"numberStyle":"Decimal"`)},
		{"dateStyle is", inPass(`"value":"3 / 10"`, `"value":"2030-12-31T23:59Z","dateStyle":"Short"`)},
		{"parsing time", inPass(`"value":"3 / 10"`, `"value":"tomorrow","dateStyle":"PKDateStyleShort"`)},
		{"no textAlignment",
			inPass(`"headerFields":[`, `"primaryFields":[{"key":"1","value":1,"textAlignment":"PKTextAlignmentLeft"}],"headerFields":[`)},
		{"no link", inPass(`Your card`, `\u003cb\u003e`)},
		{"more than one value", inPass(`{`, `{} {`)},
		{"; is missing", edit(german, `;`, ``)},
		{"= is missing", edit(german, `=`, `:`)},
		{"a quotation mark is missing", edit(german, `"Stamps"`, `Stamps`)},
		{"does not end", set(german, []byte(`"a" = "b`))},
		{"a comment does not end", edit(german, `"Stamps"`, `/* "Stamps"`)},
		{"a zero byte", edit(german, `Stempel`, "\x00")},
		{"stands twice", edit(german, `"Stamps"`, `"Name"`)},
		{`the escape \q`, edit(german, `Stempel`, `\q`)},
		{"neither UTF-8 nor UTF-16", edit(german, `Stempel`, "\xff")},
	} {
		files := require.Must(stampPass().files())
		maps.Copy(files, small)
		c.edit(files)
		_, err := testAuthority().reader().Read(pack(t, files, testSigner()))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("the phone says %v, not %q", err, c.want)
		}
	}
}

var testSigner = sync.OnceValue(func() Signer { return testAuthority().signer(testPassType, testPassType, team, nil) })

// pack returns the pass file of files that are valid or not.
func pack(t *testing.T, files map[string][]byte, s Signer) []byte {
	t.Helper()
	require.NoError(t, s.complete(files, time.Now()))
	return require.Must(archive(files))
}

// TestPhoneRefusesSignatures breaks the manifest, the signature or the certificates, and checks that the phone says which.
func TestPhoneRefusesSignatures(t *testing.T) {
	a := testAuthority()
	other := authority{key: otherKey()}
	other.root = other.issue(&x509.Certificate{Subject: pkix.Name{CommonName: "Root"}, IsCA: true, BasicConstraintsValid: true}, nil)
	other.intermediate = other.issue(
		&x509.Certificate{Subject: pkix.Name{CommonName: "Other"}, IsCA: true, BasicConstraintsValid: true},
		other.root,
	)
	wrongKey := testSigner()
	wrongKey.Key = otherKey()
	wrongKey.Signatures = new(Cache)
	nothing := func(map[string][]byte) {}
	resigned := func(sign func(d *pkcs7.SignedData, s Signer) error) func(map[string][]byte) {
		return func(f map[string][]byte) {
			d, err := pkcs7.NewSignedData(f["manifest.json"])
			if err == nil {
				err = sign(d, testSigner())
			}
			if err == nil {
				f["signature"], err = d.Finish()
			}
			require.NoError(t, err)
		}
	}
	chain := func(d *pkcs7.SignedData, s Signer) error {
		return d.AddSignerChain(s.Certificate, s.Key, []*x509.Certificate{s.Intermediate}, pkcs7.SignerInfoConfig{})
	}
	for _, c := range []struct {
		want   string
		signer Signer
		edit   func(files map[string][]byte) // after signing
	}{
		{"manifest.json is missing", testSigner(), func(f map[string][]byte) { delete(f, "manifest.json") }},
		{"signature is missing", testSigner(), func(f map[string][]byte) { delete(f, "signature") }},
		{"the SHA-1 of pass.json is wrong", testSigner(), inPass("Ada", "Eve")},
		{"logo.png is not listed", testSigner(), func(f map[string][]byte) { f["logo.png"] = f["icon.png"] }},
		{"icon@2x.png is listed", testSigner(), func(f map[string][]byte) { delete(f, "icon@2x.png") }},
		{"of another manifest", testSigner(), edit("manifest.json", ":", " :")},
		{"asn1", testSigner(), func(f map[string][]byte) { f["signature"] = f["signature"][:100] }},
		{"bytes behind it", testSigner(), func(f map[string][]byte) { f["signature"] = append(f["signature"], 0) }},
		{"verification error", wrongKey, nothing},
		{"is not one of a pass type", a.signer("", testPassType, team, func(c *x509.Certificate) { c.ExtraExtensions = nil }), nothing},
		{"of the user", a.signer("pass.com.example.other", testPassType, team, nil), nothing},
		{"teamIdentifier", a.signer(testPassType, testPassType, "Z1B2C3D4E5", nil), nothing},
		{"passTypeIdentifier", a.signer("pass.com.example.other", "pass.com.example.other", team, nil), nothing},
		{"certificate has expired", a.signer(testPassType, testPassType, team, func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().AddDate(0, 0, -9), time.Now().AddDate(0, 0, -1)
		}), nothing},
		{"is not detached", testSigner(), resigned(chain)},
		{"the intermediate certificate is missing", testSigner(), resigned(func(d *pkcs7.SignedData, s Signer) error {
			defer d.Detach()
			return d.AddSigner(s.Certificate, s.Key, pkcs7.SignerInfoConfig{})
		})},
		{"has 2 signers", testSigner(), resigned(func(d *pkcs7.SignedData, s Signer) error {
			defer d.Detach()
			return errors.Join(chain(d, s), chain(d, s))
		})},
		{"neither SHA-1 nor SHA-256", testSigner(), resigned(func(d *pkcs7.SignedData, s Signer) error {
			defer d.Detach()
			d.SetDigestAlgorithm(pkcs7.OIDDigestAlgorithmSHA512)
			return chain(d, s)
		})},
		{"has no signed attributes", testSigner(), resigned(func(d *pkcs7.SignedData, s Signer) error {
			defer d.Detach()
			return d.SignWithoutAttr(s.Certificate, s.Key, pkcs7.SignerInfoConfig{})
		})},
		// The identifiers of the attributes are signed, and are looked at before the signature is.
		{"the signing time is missing", testSigner(),
			edit("signature", "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x05", "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x06")},
		{"the content type is missing", testSigner(),
			edit("signature", "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x03", "\x2a\x86\x48\x86\xf7\x0d\x01\x09\x07")},
		{"is not signed data", testSigner(), edit("signature", "\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02",
			"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x03")},
		{"the certificate of the signer is missing", testSigner(), func(f map[string][]byte) {
			serial := testSigner().Certificate.SerialNumber.Bytes()
			last := bytes.LastIndex(f["signature"], serial)
			f["signature"][last]++
		}},
		{"unknown authority", other.signer(testPassType, testPassType, team, nil), nothing},
	} {
		files, _ := stampPass().files()
		for _, name := range []string{"icon.png", "icon@2x.png"} {
			files[name] = warm.pictures(t)[name]
		}
		require.NoError(t, c.signer.complete(files, time.Now()))
		c.edit(files)
		file, _ := archive(files)
		if _, err := a.reader().Read(file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the phone says %v, not %q", err, c.want)
		}
	}
}

// TestPhoneRefusesArchives checks archives that are not as they should be.
func TestPhoneRefusesArchives(t *testing.T) {
	for want, write := range map[string]func(z *zip.Writer){
		"a folder or stands twice": func(z *zip.Writer) { z.Create("icon.png"); w, _ := z.Create("icon.png"); w.Write([]byte("x")) },
		`"de.lproj/" is a folder`:  func(z *zip.Writer) { z.Create("de.lproj/") },
		"in another way":           func(z *zip.Writer) { z.CreateRaw(&zip.FileHeader{Name: "icon.png", Method: 12}) },
		"icon.png has more than":   func(z *zip.Writer) { w, _ := z.Create("icon.png"); w.Write(make([]byte, 10<<20+1)) },
		"checksum error": func(z *zip.Writer) {
			w, _ := z.CreateRaw(&zip.FileHeader{Name: "icon.png", CRC32: 7, CompressedSize64: 1, UncompressedSize64: 1})
			w.Write([]byte("x"))
		},
	} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		write(z)
		z.Close()
		if _, err := testAuthority().reader().Read(b.Bytes()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the phone says %v, not %q", err, want)
		}
	}
	if _, err := testAuthority().reader().Read([]byte("no zip")); err == nil {
		t.Error("the phone takes what is no zip")
	}
}

// FuzzPhone reads pass files and strings files of any content.
func FuzzPhone(f *testing.F) {
	icon := warm.pictures(f)["icon.png"]
	file := require.Must(File(stampPass(), Files{"icon.png": icon}, testSigner(), time.Now()))
	f.Add(file, "Stamps", "Free \"flat\\white\"\n\t\r")
	f.Fuzz(func(t *testing.T, file []byte, key, text string) {
		if p, err := testAuthority().reader().Read(file); err == nil {
			p.Fields("de")
		}
		p := stampPass()
		p.LogoText = key
		p.Texts = map[string]map[string]string{"de": {key: text}}
		files := require.Must(p.files())
		files["icon.png"] = icon
		read := require.Must(testAuthority().reader().Read(pack(t, files, testSigner())))
		whole := utf8.ValidString(key) && utf8.ValidString(text) && !strings.Contains(key+text, "\x00")
		if got := read.Text(key, "de"); whole && got != cmp.Or(text, key) {
			t.Errorf("%q is translated to %q, not %q", key, got, text)
		}
	})
}

// TestPublishedPasses checks that the phone takes the content of two sample passes that Apple has published with its
// Wallet Developer Guide (https://developer.apple.com/library/archive/documentation/UserExperience/Conceptual/PassKit_PG/).
func TestPublishedPasses(t *testing.T) {
	const testPassType, team = "pass.com.apple.devpubs.example", "A93A5CM278"
	signer := testAuthority().signer(testPassType, testPassType, team, nil)
	for name, want := range map[string]string{
		"storecard": "remaining balance=21.75 USD|Deal of the Day=Lemons",
		"coupon":    "Any premium dog food=20% off|EXPIRES=24 Apr 2013",
	} {
		content := require.Must(os.ReadFile(filepath.Join("testdata", name+".json")))
		p, err := testAuthority().reader().
			Read(pack(t, map[string][]byte{"pass.json": content, "icon.png": warm.pictures(t)["icon.png"]}, signer))
		if err != nil {
			t.Error(name, err)
			continue
		}
		var got []string
		for _, f := range p.Fields("en") {
			got = append(got, f.Label+"="+f.Value)
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("%s: %s", name, s)
		}
	}
}
