// Package tillpage serves the page at which staff stamp cards, /till/. The page is one HTML
// document with scripts, which calls the till API with the token in its cookie; a service
// worker keeps it, so that it opens without a connection. README.md says how it works.
//
// tillpage.go has the routes, pair.go how a device is paired, texts.go the texts of the
// scripts, which are in assets. vendor has the decoder of codes.
package tillpage

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"

	"github.com/julienschmidt/httprouter"

	"punchcard/server/kernel"
	"punchcard/server/static"
	"punchcard/server/web"
)

// Path is the path of the page. All its files are below it.
const Path = "/till/"

//go:embed pages/*.html assets vendor/zxing_reader.js vendor/zxing_reader.wasm.gz
var files embed.FS

// folder returns an embedded folder.
func folder(name string) fs.FS {
	f, err := fs.Sub(files, name)
	if err != nil {
		panic(err) // impossible: the folder is embedded
	}
	return f
}

// assets are the scripts, the stylesheet and the decoder.
var assets = sync.OnceValue(func() *web.Assets {
	return web.NewAssets(Path+"assets/", folder("assets"), folder("vendor"))
})

// templates returns the templates of the pages.
var templates = web.Pages(files)

// Pages serves the till page.
type Pages struct {
	Kernel *kernel.Kernel
	Hosts  *kernel.Hosts // whose URLs decide the cookie; see [kernel.DeviceCookie]
}

// Mount adds the pages to a router.
func (p *Pages) Mount(r *httprouter.Router) {
	get := func(path string, h httprouter.Handle) { p.Kernel.Handle(r, http.MethodGet, Path+path, h) }
	post := func(path string, h httprouter.Handle) { p.Kernel.Handle(r, http.MethodPost, Path+path, h) }
	get("", p.showTill)
	get("sw.js", p.unhashed("text/javascript; charset=utf-8", serviceWorker))
	get("manifest.webmanifest", p.showManifest)
	get("assets/:name", p.showAsset)
	get("pair/:token", p.askPair)
	post("pair/:token", p.pairByLink)
	post("pair", setToken(p, p.pairByCode))
	post("unpair", setToken(p, p.unpair))
}

// tillPage is the data of the page.
type tillPage struct {
	web.Frame
	Config config
	Sheet  string // path of the stylesheet
	Icon   string // path of the icon that iOS shows
	Icons  []string
}

// config is what the scripts need of the server.
type config struct {
	Lang   string            `json:"lang"`
	Texts  map[string]string `json:"texts"` // translations by English text; empty in English
	Worker string            `json:"worker"`
	Reader string            `json:"reader"`
	Wasm   string            `json:"wasm"`
}

// icons are the icons that the scripts show.
var icons = strings.Fields(`
	back bad balance camera card check close good info lock menu more plus prize qr refresh report search send stamp switch till torch
	undo upload user warning
`)

// showTill answers with the page, and renews the cookie. The page holds nothing of a shop.
func (p *Pages) showTill(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
	print := web.PrinterOf(r)
	page := tillPage{
		Frame: web.Frame{Title: print.T("Till"), Width: "till", Script: assets().Path("till.js")},
		Sheet: assets().Path("till.css"),
		Icon:  assets().Path("icon_ios.png"),
		Icons: icons,
		Config: config{
			Lang:   print.Lang(),
			Texts:  translations(print),
			Worker: assets().Path("worker.js"),
			Reader: assets().Path("zxing_reader.js"),
			Wasm:   assets().Path("zxing_reader.wasm"),
		},
	}
	if sent := r.CookiesNamed(kernel.DeviceCookieName(p.Hosts.URLOf(r))); len(sent) == 1 && kernel.IsDeviceToken(sent[0].Value) {
		http.SetCookie(w, kernel.DeviceCookie(p.Hosts.URLOf(r), sent[0].Value))
	}
	w.Header().Set("Vary", "Accept-Language, Cookie")
	p.render(w, http.StatusOK, "till", page, print)
}

// render answers with a page. Only the till itself may use the camera and WebAssembly.
func (p *Pages) render(w http.ResponseWriter, status int, name string, data any, print *web.Printer) {
	var b bytes.Buffer
	if err := templates().Render(&b, name, data, print); err != nil {
		p.Kernel.AnswerError(w, err)
		return
	}
	p.Kernel.RequestID(w)
	if name == "till" {
		web.SetScannerHeaders(w.Header())
	} else {
		web.SetHeaders(w.Header())
		web.AllowForms(w.Header())
	}
	web.Write(w, status, b.Bytes())
}

// setFileHeaders sets the headers of a file that is no page. A worker has the policy of its
// own file, so it permits what the decoder needs.
func (p *Pages) setFileHeaders(w http.ResponseWriter, contentType string) {
	p.Kernel.RequestID(w)
	web.SetHeaders(w.Header())
	w.Header().Set("Content-Security-Policy", filePolicy)
	w.Header().Set("Content-Type", contentType)
}

// filePolicy is the policy of all files that are no pages. It has an effect on workers only.
const filePolicy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// showAsset answers with a hashed asset.
func (p *Pages) showAsset(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
	p.setFileHeaders(w, "")
	assets().ServeHTTP(w, r)
}

// unhashed returns a handler of a file whose path has no hash, so browsers ask for it again
// each time.
func (p *Pages) unhashed(contentType string, make func() []byte) httprouter.Handle {
	content := static.New(make)
	return func(w http.ResponseWriter, r *http.Request, _ httprouter.Params) {
		p.setFileHeaders(w, contentType)
		w.Header().Set("Cache-Control", "no-cache")
		content.ServeHTTP(w, r)
	}
}

// shell returns the paths of the files that the page needs beside itself when it opens. The
// decoder is not among them: it is kept when it was first used.
func shell() []string {
	list := []string{web.Asset("app.css"), web.Asset("icon.svg"), assets().Path("till.css"), Path + "manifest.webmanifest"}
	for _, file := range scripts() {
		if file != "worker.js" && file != "sw.js" {
			list = append(list, assets().Path(file))
		}
	}
	return list
}

// scripts returns the names of the scripts.
func scripts() (list []string) {
	entries, err := fs.ReadDir(files, "assets")
	if err != nil {
		panic(err) // impossible: the folder is embedded
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".js") {
			list = append(list, e.Name())
		}
	}
	return list
}

// serviceWorker returns the script of the service worker with the files that it keeps. It
// changes with them, so browsers fetch it, and all of them, again.
func serviceWorker() []byte {
	list, err := json.Marshal(shell())
	if err != nil {
		panic(err) // impossible: a list of texts
	}
	return append(fmt.Appendf(nil, "const shell = %s;\n", list), assets().Body("sw.js")...)
}

// showManifest answers with the description of the installable app.
func (p *Pages) showManifest(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
	print := web.PrinterOf(r)
	type icon struct {
		Source  string `json:"src"`
		Sizes   string `json:"sizes"`
		Type    string `json:"type"`
		Purpose string `json:"purpose"`
	}
	p.unhashed("application/manifest+json", func() []byte {
		body, err := json.Marshal(map[string]any{
			"id": Path, "start_url": Path, "scope": Path, "display": "standalone", "orientation": "any",
			"name": print.T("Till"), "short_name": print.T("Till"), "lang": print.Lang(),
			"theme_color": "#2f45c5", "background_color": "#fbfbfc", // the first is the ground of the icons
			"icons": []icon{
				{assets().Path("icon_small.png"), "192x192", "image/png", "any"},
				{assets().Path("icon_large.png"), "512x512", "image/png", "any"},
				{assets().Path("icon_large.png"), "512x512", "image/png", "maskable"},
			},
		})
		if err != nil {
			panic(err) // impossible: texts
		}
		return body
	})(w, r, ps)
}
