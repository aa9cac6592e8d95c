package dashboard_test

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"punchcard/server/servertest/require"

	"golang.org/x/net/html"
)

// upload sends a form with a file, and with texts by the names of their fields.
func (b *browser) upload(path, field string, content []byte, texts ...string) *page {
	b.T.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part := require.Must(w.CreateFormFile(field, "logo.png"))
	part.Write(content)
	for i := 0; i < len(texts); i += 2 {
		w.WriteField(texts[i], texts[i+1])
	}
	w.Close()
	return b.request(http.MethodPost, path, w.FormDataContentType(), &body)
}

// picture returns a PNG.
func picture(t *testing.T) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 64, 32))
	for x := range 64 {
		m.Set(x, x/2, color.RGBA{200, 30, 60, 255})
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.Bytes()
}

func TestLogo(t *testing.T) {
	s := start(t)
	program := s.NewProgram("standard", true, nil)
	at := "/dashboard/program/" + program
	manager := s.as("manager")
	s.Unchanged(func() {
		for _, bad := range [][]byte{nil, []byte("no picture"), make([]byte, 10<<20+1), make([]byte, 11<<20)} {
			manager.upload(at+"/logo", "picture", bad).want(400).problem("picture")
		}
		manager.upload(at+"/logo", "other", picture(t)).want(400).problem("picture")
		manager.post(at+"/logo", nil).want(400)
	})
	shown := manager.upload(at+"/logo", "picture", picture(t)).next().has("The logo was saved.")
	img := shown.find(func(n *html.Node) bool { return n.Data == "img" })
	if img == nil {
		t.Fatalf("no logo: %s", shown.body)
	}
	// The logo is public, as is the page of a card, which shows it too.
	logo := s.as("").get(attribute(img, "src")).want(200)
	if logo.header.Get("Content-Type") != "image/png" || !strings.Contains(logo.header.Get("Cache-Control"), "immutable") ||
		!strings.Contains(logo.header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Error(logo.header)
	}
	s.as("").get("/logo/00000000000000000000000000000000.png").want(404)
	link := s.REST().Post("/programs/"+program+"/cards", nil).Want(201).Str("install_url")
	card := s.as("").get(strings.TrimPrefix(link, s.Origin)).want(200)
	if !strings.Contains(card.body, attribute(img, "src")) ||
		!strings.Contains(card.header.Get("Content-Security-Policy"), "img-src 'self'") {
		t.Errorf("%s %s", card.header, card.body)
	}
	manager.get(at + "/logo").press(at + "/logo/delete").next().has("The logo was removed.").lacks("<img")
	s.as("").get(attribute(img, "src")).want(404)
	// Nothing is read of a picture that a person may not set, or that a program may not get.
	s.as("viewer").endless(at + "/logo").want(403)
	s.Install(s.Issue(program, nil))
	manager.endless(at + "/logo").want(409).has("The logo stays as it is.")
}

// endless begins to send a form with a picture whose content never comes.
func (b *browser) endless(path string) *page {
	b.T.Helper()
	body, end := io.Pipe()
	defer end.Close()
	req := require.Must(http.NewRequestWithContext(b.T.Context(), http.MethodPost, b.Origin+path, body))
	req.ContentLength = 5 << 20
	req.Header.Set("Content-Type", "multipart/form-data; boundary=x")
	return b.do(req)
}
