package holder

import (
	_ "embed"
	"encoding/json"
	"net/http"

	"punchcard/server/kernel"
	"punchcard/server/logo"
	"punchcard/server/operation"
	"punchcard/server/static"
	"punchcard/server/web"
	"punchcard/store"
)

// manifest is a web app manifest, by which a card's page is put on the home screen.
type manifest struct {
	ID              string `json:"id"`
	StartURL        string `json:"start_url"`
	Scope           string `json:"scope"`
	Name            string `json:"name"`
	ShortName       string `json:"short_name"`
	Description     string `json:"description"`
	Lang            string `json:"lang"`
	Display         string `json:"display"`
	ThemeColor      string `json:"theme_color"`
	BackgroundColor string `json:"background_color"`
	Icons           []icon `json:"icons"`
}

// icon is an icon of a manifest.
type icon struct {
	Src     string `json:"src"`
	Sizes   string `json:"sizes"`
	Type    string `json:"type"`
	Purpose string `json:"purpose"`
}

// iconSizes are the sides of the icons of a card in pixels, by name. The smallest is for
// iOS, which reads no manifest.
var iconSizes = map[string]int{"180.png": 180, "192.png": 192, "512.png": 512}

// showManifest answers with the manifest of a card.
func showManifest(v *visit) error {
	h, err := do[store.HolderCard](v, operation.ShowCardPage, nil)
	if err != nil {
		return err
	}
	v.speak(h.Shop)
	path := pagePath(h.PageToken)
	m := manifest{
		ID:              path,
		StartURL:        v.withLanguage(path),
		Scope:           path,
		Name:            v.card(&h).ProgramName(),
		ShortName:       v.card(&h).ProgramName(),
		Description:     h.Shop.Name,
		Lang:            v.Lang(),
		Display:         "standalone",
		ThemeColor:      h.Program.BrandColorHex,
		BackgroundColor: h.Program.BgColorHex,
	}
	for _, purpose := range []string{"any", "maskable"} {
		for _, size := range []string{"192", "512"} {
			m.Icons = append(m.Icons, icon{path + "/icon/" + size + ".png", size + "x" + size, "image/png", purpose})
		}
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return v.file("application/manifest+json", body)
}

// showIcon answers with the icon of a card, which is drawn from the program's colours and
// logo.
func showIcon(v *visit) error {
	h, err := do[store.HolderCard](v, operation.ShowCardPage, nil)
	if err != nil {
		return err
	}
	size, ok := iconSizes[v.params["name"]]
	if !ok {
		return kernel.Refuse(store.NotFound, "No such icon.")
	}
	var l store.Logo
	if h.LogoHash.Valid {
		in := kernel.Args{Params: map[string]string{"hash": h.LogoHash.V}}
		if l, err = run[store.Logo](v, operation.GetLogo, in); err != nil {
			return err
		}
	}
	png, err := logo.Icon(size, h.Program.BrandColorHex, web.BlackOrWhite(h.Program.BrandColorHex), l.Bytes)
	if err != nil {
		return err
	}
	return v.file("image/png", png)
}

// file answers with something other than a page. The error is nil.
func (v *visit) file(contentType string, body []byte) error {
	h := v.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	web.Write(v.w, http.StatusOK, body)
	return nil
}

//go:embed worker.js
var workerJS []byte

var worker = static.New(func() []byte { return workerJS })

// workerPolicy is the content security policy of the service worker, which also applies to
// what it loads.
const workerPolicy = "default-src 'none'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// showWorker answers with the service worker. It is at the root, since a worker has no
// scope above its own folder.
func showWorker(v *visit) error {
	h := v.w.Header()
	h.Set("Content-Security-Policy", workerPolicy)
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	worker.ServeHTTP(v.w, v.r)
	return nil
}
