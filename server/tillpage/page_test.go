package tillpage_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/server/web"
)

type fields = servertest.Fields

// start starts the demo shop. Options change the Config.
func start(t *testing.T, options ...func(*app.Config)) *servertest.Server {
	t.Helper()
	servertest.Parallel(t)
	return servertest.Start(t, append(options, func(c *app.Config) { c.HoldWebhooks = true })...)
}

// get fetches a path. headers are name, value pairs.
func get(s *servertest.Server, path string, headers ...string) *servertest.Reply {
	s.T.Helper()
	return fetch(s, "GET", path, "", headers...)
}

// fetch makes a request for a path. headers are name, value pairs.
func fetch(s *servertest.Server, method, path, body string, headers ...string) *servertest.Reply {
	s.T.Helper()
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	return s.Fetch(method, s.Origin+path, []byte(body), h)
}

// TestPage checks the headers of the page, and that it renews the cookie of a device and sets no other.
func TestPage(t *testing.T) {
	s := start(t)
	r := get(s, "/till/").Want(200)
	for name, want := range map[string]string{
		"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Content-Security-Policy": web.ScannerCSP,
		"Set-Cookie":         "",
		"Permissions-Policy": "camera=(self), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
		"Referrer-Policy":    "no-referrer", "X-Frame-Options": "DENY",
	} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, directive := range []string{
		"script-src 'self' 'wasm-unsafe-eval';", "worker-src 'self';", "manifest-src 'self';", "default-src 'none';",
		"frame-ancestors 'none'",
	} {
		if !strings.Contains(web.ScannerCSP, directive) {
			t.Errorf("the policy lacks %s", directive)
		}
	}
	if strings.Contains(strings.ReplaceAll(web.ScannerCSP, "'wasm-unsafe-eval'", ""), "unsafe") {
		t.Error("the policy permits more than WebAssembly")
	}
	cookie := "punchcard-till=" + s.TillToken
	const attributes = "; Path=/till/; Max-Age=34560000; HttpOnly; SameSite=Strict"
	if got := get(s, "/till/", "Cookie", cookie).Header.Get("Set-Cookie"); got != cookie+attributes {
		t.Errorf("the cookie is %q", got)
	}
	for _, other := range []string{
		"punchcard-till=", "punchcard-till=x", cookie + "; " + cookie, "punchcard-till=tdk_test_" + strings.Repeat("!", 43),
		"__Secure-" + cookie, "punchcard=" + s.TillToken,
	} {
		if got := get(s, "/till/", "Cookie", other).Header.Values("Set-Cookie"); len(got) > 0 {
			t.Errorf("with %q the page sets %q", other, got)
		}
	}
	if get(s, "/till/", "Accept-Language", "de").Want(200); !strings.Contains(
		string(get(s, "/till/", "Accept-Language", "de").Body),
		"Karte suchen",
	) {
		t.Error("the page has no German texts")
	}
	fetch(s, "POST", "/till/", "").Want(405)
	get(s, "/till").Want(404)

	secure := start(t, func(c *app.Config) { c.PublicURL = "https://cards.example.com" })
	cookie = "__Secure-punchcard-till=" + secure.TillToken
	want := cookie + "; Path=/till/; Max-Age=34560000; HttpOnly; Secure; SameSite=Strict"
	if got := get(secure, "/till/", "Cookie", cookie).Header.Get("Set-Cookie"); got != want {
		t.Errorf("over https the cookie is %q, want %q", got, want)
	}
}

// TestUnpair checks that the answer ends the cookie, and that only the page itself can ask for it.
func TestUnpair(t *testing.T) {
	s := start(t)
	r := fetch(s, "POST", "/till/unpair", "{}", "Content-Type", "application/json", "Sec-Fetch-Site", "same-origin").Want(204)
	if got := r.Header.Get("Set-Cookie"); got != "punchcard-till=; Path=/till/; Max-Age=0; HttpOnly; SameSite=Strict" {
		t.Errorf("the cookie is %q", got)
	}
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		if r := fetch(s, "POST", "/till/unpair", "{}", append(headers, "Content-Type", "application/json")...).Want(403); r.Header.Get(
			"Set-Cookie",
		) != "" {
			t.Errorf("%v: %v", headers, r.Header)
		}
	}
	fetch(s, "POST", "/till/unpair", "a=b", "Content-Type", "application/x-www-form-urlencoded").Want(415)
}

var assetPath = regexp.MustCompile(`/(?:till/)?assets/[a-z_]+\.[0-9a-f]{12}\.[a-z]+`)

// TestWeight checks how many bytes the page loads when it is first opened: without compression and
// the decoder, and with both.
func TestWeight(t *testing.T) {
	s := start(t)
	size := func(encoding, path string) int {
		t.Helper()
		return len(get(s, path, "Accept-Encoding", encoding, "Accept-Language", "de").Want(200).Body)
	}
	worker := string(get(s, "/till/sw.js").Want(200).Body)
	kept := map[string]bool{}
	for _, path := range assetPath.FindAllString(worker, -1) {
		kept[path] = true
	}
	plain, zipped := size("identity", "/till/"), size("gzip", "/till/")
	for path := range kept {
		plain += size("identity", path)
		zipped += size("gzip", path)
	}
	if len(kept) < 15 {
		t.Errorf("the service worker keeps %d files only", len(kept))
	}
	if plain > 150_000 {
		t.Errorf("the page has %d bytes", plain)
	}
	decoder := 0
	for _, path := range assetPath.FindAllString(string(get(s, "/till/").Want(200).Body), -1) {
		if !kept[path] {
			decoder += size("gzip", path)
		}
	}
	if decoder < 300_000 || zipped+decoder > 600_000 {
		t.Errorf("the page has %d bytes with the decoder, which has %d", zipped+decoder, decoder)
	}
	t.Logf("%d bytes, %d compressed, %d with the decoder", plain, zipped, zipped+decoder)
}

// TestFiles checks the service worker, the manifest and the icons.
func TestFiles(t *testing.T) {
	s := start(t)
	for path, want := range map[string]string{
		"/till/sw.js": "text/javascript; charset=utf-8", "/till/manifest.webmanifest": "application/manifest+json",
	} {
		r := get(s, path).Want(200)
		if r.Header.Get("Content-Type") != want || r.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %v", path, r.Header)
		}
		if csp := r.Header.Get("Content-Security-Policy"); !strings.HasPrefix(
			csp,
			"default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self';",
		) {
			t.Errorf("%s has the policy %q", path, csp)
		}
	}
	var manifest struct {
		StartURL string `json:"start_url"`
		Scope    string
		Display  string
		Name     string
		Icons    []struct{ Src, Sizes string }
	}
	require.NoError(t, json.Unmarshal(get(s, "/till/manifest.webmanifest", "Accept-Language", "it").Body, &manifest))
	if manifest.StartURL != "/till/" || manifest.Scope != "/till/" || manifest.Display != "standalone" || manifest.Name != "Cassa" ||
		len(manifest.Icons) != 3 {
		t.Errorf("%+v", manifest)
	}
	for _, icon := range manifest.Icons {
		r := get(s, icon.Src).Want(200)
		m, err := png.Decode(bytes.NewReader(r.Body))
		if err != nil || fmt.Sprintf("%dx%d", m.Bounds().Dx(), m.Bounds().Dy()) != icon.Sizes ||
			r.Header.Get("Content-Type") != "image/png" {
			t.Errorf("%s: %v, %v", icon.Src, err, r.Header)
		}
	}
	for _, path := range []string{
		"/till/assets/icon_small.png", "/till/assets/till.js", "/till/assets/till.000000000000.js",
		"/till/nothing",
	} {
		get(s, path).Want(404)
	}
}

// vendored returns a file of the npm package. Its WebAssembly is kept compressed.
func vendored(t *testing.T, file string) []byte {
	if path.Ext(file) != ".wasm" {
		return require.Must(os.ReadFile("vendor/" + file))
	}
	zipped := require.Must(os.Open("vendor/" + file + ".gz"))
	defer zipped.Close()
	r := require.Must(gzip.NewReader(zipped))
	return require.Must(io.ReadAll(r))
}

// TestVendored checks that the decoder is what vendor/SHA256SUMS and vendor/README.md say.
func TestVendored(t *testing.T) {
	sums := require.Must(os.ReadFile("vendor/SHA256SUMS"))
	readme := require.Must(os.ReadFile("vendor/README.md"))
	files := 0
	for line := range strings.Lines(string(sums)) {
		want, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		body := vendored(t, file)
		files++
		if sum := sha256.Sum256(body); hex.EncodeToString(sum[:]) != want {
			t.Errorf("%s has another checksum", file)
		}
		if size := web.PrinterFor("en").Number(int64(len(body))); !strings.Contains(string(readme), "| "+size+" |") {
			t.Errorf("README.md does not say that %s has %s bytes", file, size)
		}
	}
	version := regexp.MustCompile(`(?m)^Version: (\d+\.\d+\.\d+)$`).FindSubmatch(readme)
	glue, err := os.ReadFile("vendor/zxing_reader.js")
	if err != nil || files != 2 || version == nil || !bytes.Contains(glue, []byte("zxing-wasm@"+string(version[1])+"/")) {
		t.Errorf("%v, %d files, version %q", err, files, version)
	}
}
