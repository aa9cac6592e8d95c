package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"
	"sync"

	"punchcard/server/static"
)

//go:embed assets
var assetFS embed.FS

// asset is a file that pages load. Its name changes with its contents, so that
// browsers keep it for a year.
type asset struct {
	name        string // with the hash, such as "app.3f2a91c0d4e5.css"
	contentType string
	content     *static.Content
}

// assetTypes are the content types by suffix.
var assetTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// assets holds the assets by file name and by hashed name.
var assets = sync.OnceValue(func() (table struct{ byFile, byName map[string]*asset }) {
	entries, err := assetFS.ReadDir("assets")
	if err != nil {
		panic(err) // embedded, hence a mistake in this package
	}
	table.byFile, table.byName = map[string]*asset{}, map[string]*asset{}
	var add func(file string) *asset
	add = func(file string) *asset {
		if a := table.byFile[file]; a != nil {
			return a
		}
		body, err := assetFS.ReadFile("assets/" + file)
		if err != nil {
			panic(err)
		}
		body = imports.ReplaceAllFunc(body, func(m []byte) []byte { // modules import no cycles
			return []byte(`"./` + add(string(imports.FindSubmatch(m)[1])).name + `"`)
		})
		sum := sha256.Sum256(body)
		suffix := path.Ext(file)
		a := &asset{
			name:        strings.TrimSuffix(file, suffix) + "." + hex.EncodeToString(sum[:6]) + suffix,
			contentType: assetTypes[suffix],
			content:     static.New(func() []byte { return body }),
		}
		table.byFile[file], table.byName[a.name] = a, a
		return a
	}
	for _, e := range entries {
		add(e.Name())
	}
	return table
})

// imports matches the import of another module, which is replaced by its hashed name.
var imports = regexp.MustCompile(`"\./([a-z]+\.js)"`)

// Asset returns the path of an asset, such as /assets/app.3f2a91c0d4e5.css for
// app.css. It panics if there is none, which fails the template that asks for it.
func Asset(file string) string {
	a := assets().byFile[file]
	if a == nil {
		panic(fmt.Sprintf("web: there is no asset %s", file))
	}
	return "/assets/" + a.name
}

// AssetHandler serves the assets, at paths that end with their name. The caller has set
// the headers that each answer of a server has.
func AssetHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		a := assets().byName[path.Base(r.URL.Path)]
		if a == nil {
			h.Set("Cache-Control", "no-store")
			http.Error(w, "There is no such asset.", http.StatusNotFound)
			return
		}
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("Content-Type", a.contentType)
		a.content.ServeHTTP(w, r)
	})
}
