package web

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
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

// comments are the comments of scripts that have lines of their own, which are a tenth of what
// the till page loads. They are not served.
var comments = regexp.MustCompile(`(?m)^[ \t]*//.*\n`)

// assetTypes are the content types by suffix.
var assetTypes = map[string]string{
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
	".png":  "image/png",
	".wasm": "application/wasm",
}

// Assets are the files of a folder that pages load, served below a path.
type Assets struct {
	path   string            // such as /assets/
	byFile map[string]*asset // by file name
	byName map[string]*asset // by hashed name
}

// NewAssets returns the files in the roots of folders, which are embedded: it panics if one
// cannot be read. It leaves out files whose suffix is not in assetTypes. A file with the
// further suffix .gz is compressed, and its name is the one without that suffix. path is
// where Assets.ServeHTTP serves them.
func NewAssets(path string, folders ...fs.FS) *Assets {
	a := &Assets{path: path, byFile: map[string]*asset{}, byName: map[string]*asset{}}
	for _, folder := range folders {
		entries, err := fs.ReadDir(folder, ".")
		if err != nil {
			panic(err) // embedded, hence a mistake in the package
		}
		for _, e := range entries {
			a.add(folder, e.Name())
		}
	}
	return a
}

// add adds a file, and before it the modules that it imports. Imports have no cycles.
func (a *Assets) add(folder fs.FS, file string) *asset {
	embedded := file
	file = strings.TrimSuffix(embedded, ".gz")
	suffix := path.Ext(file)
	if a.byFile[file] != nil || assetTypes[suffix] == "" {
		return a.byFile[file]
	}
	body, err := fs.ReadFile(folder, embedded)
	if err != nil {
		panic(err)
	}
	if suffix == ".js" {
		body = comments.ReplaceAll(body, nil)
		body = imports.ReplaceAllFunc(body, func(m []byte) []byte {
			return []byte(`"./` + a.add(folder, string(imports.FindSubmatch(m)[1])).name + `"`)
		})
	}
	sum := sha256.Sum256(body)
	added := &asset{
		name:        strings.TrimSuffix(file, suffix) + "." + hex.EncodeToString(sum[:6]) + suffix,
		contentType: assetTypes[suffix],
		content:     static.New(func() []byte { return body }),
	}
	if file != embedded {
		added.content = static.NewZipped(body)
	}
	a.byFile[file], a.byName[added.name] = added, added
	return added
}

// Path returns the path of a file, such as /assets/app.3f2a91c0d4e5.css for app.css. It
// panics if there is none, which fails the template that asks for it.
func (a *Assets) Path(file string) string {
	found := a.byFile[file]
	if found == nil {
		panic(fmt.Sprintf("web: there is no asset %s", file))
	}
	return a.path + found.name
}

// Body returns the contents of a file as they are served.
func (a *Assets) Body(file string) []byte { return a.byFile[file].content.Body() }

// ServeHTTP serves the assets, at paths that end with their name. The caller has set the
// headers that each answer of a server has.
func (a *Assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	found := a.byName[path.Base(r.URL.Path)]
	if found == nil {
		h.Set("Cache-Control", "no-store")
		http.Error(w, "There is no such asset.", http.StatusNotFound)
		return
	}
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Type", found.contentType)
	found.content.ServeHTTP(w, r)
}

// assets are those that all pages share.
var assets = sync.OnceValue(func() *Assets {
	files, err := fs.Sub(assetFS, "assets")
	if err != nil {
		panic(err) // impossible: the folder is embedded
	}
	return NewAssets("/assets/", files)
})

// imports matches the import of another module, which is replaced by its hashed name.
var imports = regexp.MustCompile(`"\./([a-z]+\.js)"`)

// Asset returns the path of an asset that all pages share, as Assets.Path does.
func Asset(file string) string { return assets().Path(file) }

// AssetHandler serves the assets that all pages share.
func AssetHandler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { assets().ServeHTTP(w, r) })
}
