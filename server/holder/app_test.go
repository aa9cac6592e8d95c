package holder_test

import (
	"bytes"
	"encoding/json"
	"image/png"
	"strings"
	"testing"
)

// TestManifest checks the manifest of a card and the icons that it names.
func TestManifest(t *testing.T) {
	s := start(t)
	program := newProgram(
		s,
		fields{
			"type":               "access",
			"name":               `</script>"Tea`,
			"access_image_url":   "https://example.com/a.png",
			"name_localizations": fields{"fr": "Thé"},
			"brand_color_hex":    "#0F766E",
		},
	)
	_, page := issuePage(s, program, fields{})
	path := page[len(s.Origin):]
	var m struct {
		ID, Scope, Name, Lang, Display string
		StartURL                       string `json:"start_url"`
		ThemeColor                     string `json:"theme_color"`
		Icons                          []struct{ Src, Sizes, Type, Purpose string }
	}
	read := func(url string) {
		t.Helper()
		r := fetch(s, "GET", url, "").Want(200)
		if err := json.Unmarshal(r.Body, &m); err != nil || r.Header.Get("Content-Type") != "application/manifest+json" ||
			r.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%v: %s %s", err, r.Header, r.Body)
		}
	}
	read(page + "/manifest.webmanifest")
	if m.ID != path || m.StartURL != path || m.Scope != path || m.Name != `</script>"Tea` || m.Lang != "en" || m.Display != "standalone" ||
		m.ThemeColor != "#0F766E" ||
		len(m.Icons) != 4 {
		t.Errorf("%+v", m)
	}
	read(page + "/manifest.webmanifest?lang=fr")
	if m.ID != path || m.StartURL != path+"?lang=fr" || m.Name != "Thé" || m.Lang != "fr" {
		t.Errorf("%+v", m)
	}
	purposes := map[string]int{}
	for _, i := range m.Icons {
		purposes[i.Purpose]++
		r := fetch(s, "GET", s.Origin+i.Src, "").Want(200)
		picture, err := png.DecodeConfig(bytes.NewReader(r.Body))
		if size := strings.TrimSuffix(i.Src[strings.LastIndexByte(i.Src, '/')+1:], ".png"); err != nil || i.Type != "image/png" ||
			r.Header.Get("Content-Type") != i.Type ||
			i.Sizes != size+"x"+size ||
			picture.Width != picture.Height ||
			!strings.HasPrefix(i.Sizes, size) ||
			len(r.Body) > 20_000 {
			t.Errorf("%+v: %v, %d bytes, %s", i, err, len(r.Body), r.Header)
		}
	}
	if purposes["any"] != 2 || purposes["maskable"] != 2 {
		t.Errorf("%v", purposes)
	}
	for _, name := range []string{"181.png", "180", "x", "..%2f180.png"} {
		fetch(s, "GET", page+"/icon/"+name, "").Want(404, "not_found")
	}
	// The page names the manifest and the icon.
	body := string(readPage(s, page).Body)
	for _, link := range []string{
		`<link rel="manifest" href="` + path + `/manifest.webmanifest">`,
		`<link rel="apple-touch-icon" href="` + path + `/icon/180.png">`,
	} {
		if !strings.Contains(body, link) {
			t.Errorf("the page has no %s", link)
		}
	}
}

// TestWorker checks how the service worker is served, and that the page has the text that the
// worker replaces in its copy.
func TestWorker(t *testing.T) {
	s := start(t)
	r := fetch(s, "GET", s.Origin+"/sw.js", "").Want(200)
	if got := r.Header.Get("Content-Type"); got != "text/javascript; charset=utf-8" || r.Header.Get("Cache-Control") != "no-cache" ||
		!strings.Contains(r.Header.Get("Content-Security-Policy"), "connect-src 'self'") {
		t.Errorf("%s", r.Header)
	}
	const stale = `id="stale" data-part hidden`
	_, page := issuePage(s, s.ProgramIDs["standard"], fields{})
	if !strings.Contains(string(r.Body), stale) || strings.Count(string(readPage(s, page).Body), stale) != 1 {
		t.Errorf("the page and the worker do not both have %s once", stale)
	}
}
