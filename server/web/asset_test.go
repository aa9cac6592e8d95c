package web

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"punchcard/server/servertest/require"
)

// get answers a request for an asset.
func get(method, path, encoding string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	AssetHandler().ServeHTTP(w, r)
	return w
}

// TestAssets checks that all assets are served under their hashed names, plain and
// compressed, and may be cached for a year.
func TestAssets(t *testing.T) {
	entries := require.Must(assetFS.ReadDir("assets"))
	hashed := regexp.MustCompile(`^/assets/[a-z]+\.[0-9a-f]{12}\.(css|js|svg)$`)
	for _, e := range entries {
		path := Asset(e.Name())
		if !hashed.MatchString(path) {
			t.Errorf("the path of %s is %s", e.Name(), path)
		}
		plain, zipped := get("GET", path, "br"), get("GET", path, "br, gzip;q=0.5")
		if plain.Code != http.StatusOK || plain.Header().Get("Content-Encoding") != "" || plain.Header().Get("Content-Type") == "" {
			t.Errorf("%s: %d %v", path, plain.Code, plain.Header())
		}
		if got := plain.Header().Get("Cache-Control"); got != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control %q", path, got)
		}
		if plain.Body.Len() < 150 { // compressed it would be larger
			continue
		}
		if zipped.Header().Get("Content-Encoding") != "gzip" || zipped.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: %v", path, zipped.Header())
		}
		r := require.Must(gzip.NewReader(zipped.Body))
		body, err := io.ReadAll(r)
		if err != nil || string(body) != plain.Body.String() {
			t.Errorf("%s: the compressed body differs: %v", path, err)
		}
		if head := get("HEAD", path, ""); head.Body.Len() != 0 ||
			head.Header().Get("Content-Length") != plain.Header().Get("Content-Length") {
			t.Errorf("%s: HEAD answers %d bytes, %v", path, head.Body.Len(), head.Header())
		}
	}
	for _, path := range []string{"/assets/app.css", "/assets/app.000000000000.css", "/assets/", "/assets/..%2fasset.go"} {
		if w := get("GET", path, ""); w.Code != http.StatusNotFound || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	if w := get("GET", Asset("app.css"), "gzip;q=0"); w.Header().Get("Content-Encoding") != "" {
		t.Error("gzip is sent although the client refuses it")
	}
}

// TestScriptsImportHashedNames checks that no module imports another by a name that is
// not served.
func TestScriptsImportHashedNames(t *testing.T) {
	names := regexp.MustCompile(`"\./([^"]+)"`)
	found := 0
	for _, a := range assets().byFile {
		if !strings.HasSuffix(a.name, ".js") {
			continue
		}
		for _, m := range names.FindAllSubmatch(a.content.Body(), -1) {
			found++
			if assets().byName[string(m[1])] == nil {
				t.Errorf("%s imports %s", a.name, m[1])
			}
		}
	}
	if found < 6 {
		t.Errorf("%d imports were found", found)
	}
}

// TestWeight checks that the stylesheet and the scripts stay small.
func TestWeight(t *testing.T) {
	scripts := 0
	for file, a := range assets().byFile {
		if strings.HasSuffix(file, ".js") {
			scripts += len(a.content.Body())
		}
	}
	if css := len(assets().byFile["app.css"].content.Body()); css > 30_000 {
		t.Errorf("the stylesheet has %d bytes", css)
	}
	if scripts > 12_000 {
		t.Errorf("the scripts have %d bytes", scripts)
	}
}
