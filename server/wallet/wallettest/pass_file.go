package wallettest

import (
	"archive/zip"
	"bytes"
	"crypto/sha1"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// maxPassFile is the number of bytes of a file in a pass from which on a phone refuses it.
const maxPassFile = 10 << 20

// PassReader reads pass files (.pkpass) as an iPhone does, and refuses what Apple's documents do not allow, also where a
// phone would show something else than what was meant.
type PassReader struct {
	Roots     *x509.CertPool // of the authorities that may have issued certificates of pass types
	AllowHTTP bool           // permit a web service without https on a loopback address, as phones of developers can
}

// Pass is a pass as a phone has it.
type Pass struct {
	PassType      string
	Team          string
	Serial        string
	Token         string
	WebServiceURL string
	Style         string // such as "storeCard"
	Voided        bool
	Signed        time.Time
	Expires       time.Time // zero: never

	content passContent
	files   map[string][]byte            // without manifest.json and signature
	texts   map[string]map[string]string // by language
}

// Read returns the pass in a file. The error says which rule the file breaks.
func (r PassReader) Read(file []byte) (*Pass, error) {
	files, err := unzip(file)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"manifest.json", "signature", "pass.json", "icon.png"} {
		if files[name] == nil {
			return nil, fmt.Errorf("%s is missing", name)
		}
	}
	signature, err := readSignature(files["signature"], files["manifest.json"], r.Roots)
	if err != nil {
		return nil, fmt.Errorf("signature: %w", err)
	}
	manifest := files["manifest.json"]
	delete(files, "manifest.json")
	delete(files, "signature")
	if err := checkManifest(manifest, files); err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	p := &Pass{files: files, texts: map[string]map[string]string{}, Signed: signature.time}
	if err := p.readContent(r.AllowHTTP); err != nil {
		return nil, fmt.Errorf("pass.json: %w", err)
	}
	switch {
	case signature.passType != p.PassType:
		return nil, fmt.Errorf("pass.json: passTypeIdentifier is %q, and %q in the certificate", p.PassType, signature.passType)
	case signature.team != p.Team:
		return nil, fmt.Errorf("pass.json: teamIdentifier is %q, and %q in the certificate", p.Team, signature.team)
	}
	return p, p.checkFiles()
}

// unzip returns the files of an archive.
func unzip(file []byte) (map[string][]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") || files[f.Name] != nil {
			return nil, fmt.Errorf("zip: %q is a folder or stands twice", f.Name)
		}
		if f.Method != zip.Store && f.Method != zip.Deflate {
			return nil, fmt.Errorf("zip: %s is compressed in another way than Deflate", f.Name)
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(r, maxPassFile+1))
		if err != nil {
			return nil, fmt.Errorf("zip: %s: %w", f.Name, err)
		}
		if len(content) > maxPassFile {
			return nil, fmt.Errorf("zip: %s has more than %d bytes", f.Name, maxPassFile)
		}
		files[f.Name] = content
	}
	return files, nil
}

// checkManifest checks that a manifest has the checksum of every file, and no other.
func checkManifest(manifest []byte, files map[string][]byte) error {
	var sums map[string]string
	if err := json.Unmarshal(manifest, &sums); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum := sha1.Sum(files[name])
		switch sums[name] {
		case hex.EncodeToString(sum[:]):
		case "":
			return fmt.Errorf("%s is not listed", name)
		default:
			return fmt.Errorf("the SHA-1 of %s is wrong", name)
		}
		delete(sums, name)
	}
	for name := range sums {
		return fmt.Errorf("%s is listed, and not in the file", name)
	}
	return nil
}

var (
	pictureName = regexp.MustCompile(`^(?:[a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*\.lproj/)?(icon|logo|strip|thumbnail)(|@2x|@3x)\.png$`)
	textsName   = regexp.MustCompile(`^([a-z]{2,3}(?:-[A-Za-z0-9]{2,8})*)\.lproj/pass\.strings$`)
)

// checkFiles checks the pictures and reads the texts.
func (p *Pass) checkFiles() error {
	for _, name := range slices.Sorted(maps.Keys(p.files)) {
		content := p.files[name]
		if m := textsName.FindStringSubmatch(name); m != nil {
			texts, err := parseStrings(content)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			p.texts[m[1]] = texts
			continue
		}
		m := pictureName.FindStringSubmatch(name)
		switch {
		case name == "pass.json":
		case m == nil:
			return fmt.Errorf("%s is no file of a pass", name)
		default:
			if err := p.checkPicture(name, m[1], m[2]); err != nil {
				return err
			}
		}
	}
	for language, texts := range p.texts {
		for key, text := range texts {
			if err := checkChangeMessage(text); err != nil && p.isChangeMessage(key) {
				return fmt.Errorf("%s.lproj/pass.strings: %q: %w", language, text, err)
			}
		}
	}
	return nil
}

// isChangeMessage reports whether a text is the change message of a field.
func (p *Pass) isChangeMessage(text string) bool {
	return text != "" && slices.ContainsFunc(p.content.fields, func(f passField) bool { return f.ChangeMessage == text })
}

var (
	// picturePoints are the largest sizes of pictures, in points.
	picturePoints = map[string][2]int{"icon": {38, 38}, "logo": {160, 50}, "strip": {375, 144}, "thumbnail": {90, 90}}
	// pictureScales are the numbers of pixels of a point.
	pictureScales = map[string]int{"": 1, "@2x": 2, "@3x": 3}
)

// checkPicture checks a picture of a kind, such as "strip", at a scale, such as "@2x".
func (p *Pass) checkPicture(name, kind, scale string) error {
	m, err := decodePNG(p.files[name])
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	size, factor := m.Bounds().Size(), pictureScales[scale]
	most := picturePoints[kind]
	if size.X > most[0]*factor || size.Y > most[1]*factor {
		return fmt.Errorf("%s has %d × %d pixels, and may have %d × %d", name, size.X, size.Y, most[0]*factor, most[1]*factor)
	}
	if kind == "icon" && size.X != size.Y {
		return fmt.Errorf("%s is no square", name)
	}
	if kind == "strip" && p.Style == "generic" || kind == "thumbnail" && p.Style != "generic" {
		return fmt.Errorf("%s: a pass of style %s does not show it", name, p.Style)
	}
	if scale == "" {
		return nil
	}
	first, err := decodePNG(p.files[strings.Replace(name, scale, "", 1)])
	if err != nil {
		return fmt.Errorf("%s stands without the one of a single scale", name)
	}
	if size != first.Bounds().Size().Mul(factor) {
		return fmt.Errorf("%s has %d × %d pixels, which are not %d times those of a single scale", name, size.X, size.Y, factor)
	}
	return nil
}
