//go:build browser

package browser

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// TestTillCamera shows the page of a holder to the camera of a till.
func TestTillCamera(t *testing.T) {
	t.Parallel()
	s := start(t)
	_, link := issue(s, fields{"holder_name": "Ada Lovelace"})
	holder := Open(t, s.CardPage(link), View{Width: 390})
	holder.Wait("Show this code at the till")
	p := openTill(t, s, View{Width: 390, Camera: writeFilm(t, 1, frame(t, holder.phoneScreen()))})
	p.Press("Scan with the camera")
	p.Wait("Ada Lovelace", "0 of 10 stamps")
	p.Press("Give 1 stamp")
	p.Wait("1 stamp given. The card has 1 now.")
	holder.Wait("1 of 10 stamps")
	p.Press("Next card")
	p.Wait("Find the card", "Stop", "Undo")
	p.CheckNow()
	p.Press("Stop")
	p.Wait("Scan with the camera")
}

// TestTillCameraKept checks that the camera is on again when the page is opened again, and off
// while the device is not paired.
func TestTillCameraKept(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := openTill(t, s, View{Width: 390, Camera: writeFilm(t, 1, photo{size: frames}.draw(t))})
	p.Press("Scan with the camera")
	p.Wait("Stop")
	p.must(nil, p.navigate(s.Origin+"/till/"))
	p.Wait("Find the card", "Stop")
	if strings.Contains(p.Text(), "Scan with the camera") {
		t.Error("the page offers to start the camera, which is on")
	}
	p.Press("Menu")
	p.Press("Unpair this device")
	p.Press("Unpair")
	p.Wait("Pair this device with the shop")
	if n := eval[int](p, `() => document.querySelectorAll('video').length`); n != 0 {
		t.Error("the camera is on while the device is not paired")
	}
	p.ExpectProblems() // GET /me is 401
}

// TestTillCameraQueue has the camera of a tablet see two cards in turn. The second takes the
// place of the first after something was done with it, and not before.
func TestTillCameraQueue(t *testing.T) {
	t.Parallel()
	s := start(t)
	cards, codes := map[string]string{}, []string{}
	for _, name := range []string{"Ada Lovelace", "Grace Hopper"} {
		id, _ := issueOf(s, s.ProgramIDs["prepaid"], fields{"holder_name": name})
		code, _ := codesOf(s, id)
		cards[name], codes = id, append(codes, code)
	}
	const seconds = 0.5
	p := openTill(t, s, View{Width: 1024, Camera: filmOf(t, seconds, codes...)})
	p.Press("Scan with the camera")
	name := p.presented()
	pass := func(what string) {
		t.Helper()
		begin := p.filmed()
		p.wait("the film to pass twice", func() (bool, error) { return p.filmed() > begin+4*seconds, nil })
		if now := p.presented(); now != name {
			t.Fatalf("%s the card of %s has given way to that of %s", what, name, now)
		}
	}
	pass("before anything was done")
	p.Press("Top up")
	p.Wait("Balance: €0.00")
	pass("while an amount is asked for")
	p.scan("2000")
	p.wait("the balance", func() (bool, error) {
		return fmt.Sprint(s.Get("/cards/"+cards[name]).Want(200).At("current_value")) == "2000", nil
	})
	for other, id := range cards {
		if value := fmt.Sprint(s.Get("/cards/" + id).Want(200).At("current_value")); other != name && value != "0" {
			t.Errorf("the card of %s, who did not pay, has %s", other, value)
		}
	}
	p.wait("the next card", func() (bool, error) { return p.presented() != name, nil })
}

// filmed returns for how many seconds the camera has been on.
func (p *Page) filmed() float64 {
	return eval[float64](p, `() => document.querySelector('video').currentTime`)
}

// phoneScreen returns what a phone shows of the page: its beginning.
func (p *Page) phoneScreen() []byte {
	p.t.Helper()
	p.setSize(p.View.Width, height, 2)
	return p.window()
}

// TestTillCameraRefused checks that a till without a camera says so and works without one.
func TestTillCameraRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		camera, want string
		photo        bool // is offered
	}{
		"refused": {refusedCamera, "The camera is not allowed. Allow it in the browser’s settings for this page.", true},
		"none":    {"", "This device has no camera. Type the code, or use a scanner.", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			card, _ := issue(s, fields{"holder_name": "Ada Lovelace"})
			_, short := codesOf(s, card)
			p := openTill(t, s, View{Width: 390, Camera: c.camera})
			for range 2 { // pressing again asks again
				p.Press("Scan with the camera")
				p.Wait(c.want)
			}
			if strings.Contains(p.Text(), "Take a photo of the code") != c.photo {
				t.Errorf("a photo is offered: %t, want %t", !c.photo, c.photo)
			}
			p.Fill("Code of the card", short)
			p.Press("Show")
			p.Wait("Ada Lovelace")
			p.Press("Next card")
			p.must(nil, p.navigate(s.Origin+"/till/"))
			p.Wait("Find the card", "Scan with the camera")
			if strings.Contains(p.Text(), c.want) {
				t.Error("the page asks for the camera by itself")
			}
		})
	}
}

// before starts a server that passes requests on to another one, but for those that answer
// reports to have answered, and returns its URL.
func before(t *testing.T, s *servertest.Server, answer func(http.ResponseWriter, *http.Request) bool) string {
	t.Helper()
	target := require.Must(url.Parse(s.Origin))
	proxy := httputil.NewSingleHostReverseProxy(target)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answer(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(front.Close)
	return front.URL
}

// TestTillNoDecoder checks that the page says so if a part of the decoder cannot be loaded, and
// that it tries again.
func TestTillNoDecoder(t *testing.T) {
	t.Parallel()
	s := start(t)
	_, code := newCard(s, fields{"holder_name": "Ada Lovelace"})
	var missing atomic.Value // the beginning and the end of a name
	missing.Store([2]string{"/till/assets/worker.", ".js"})
	front := before(t, s, func(w http.ResponseWriter, r *http.Request) bool {
		name := missing.Load().([2]string)
		if !strings.HasPrefix(r.URL.Path, name[0]) || !strings.HasSuffix(r.URL.Path, name[1]) {
			return false
		}
		http.Error(w, "unavailable", http.StatusServiceUnavailable)
		return true
	})
	p := openTillAt(t, front+"/till/", View{Width: 390, Cookie: kernel.DeviceCookie("", s.TillToken), Camera: filmOf(t, 1, code)})
	for _, name := range [][2]string{{"/till/assets/worker.", ".js"}, {"/till/assets/zxing", ".js"}, {"/till/assets/zxing", ".wasm"}} {
		missing.Store(name)
		p.Press("Scan with the camera")
		p.Wait("The scanner could not be loaded. Check the connection, or type the code.", "Scan with the camera")
	}
	p.ExpectProblems() // 503
	missing.Store([2]string{"none", "none"})
	p.Press("Scan with the camera")
	p.Wait("Ada Lovelace")
	p.ExpectProblems() // of the last attempt
}

// openInsecureTill opens the till page over plain http, by a name that is not loopback.
func openInsecureTill(t *testing.T, s *servertest.Server, v View) *Page {
	t.Helper()
	address := strings.Replace(s.Origin, "127.0.0.1", insecureHost, 1) + "/till/"
	v.Cookie = kernel.DeviceCookie("", s.TillToken)
	p := openTillAt(t, address, v)
	p.Wait("Find the card")
	for _, problem := range p.ExpectProblems() { // browsers do not isolate such a page
		if !strings.Contains(problem, "Cross-Origin-Opener-Policy") {
			t.Error(problem)
		}
	}
	return p
}

// TestTillPhoto reads photos of codes where browsers permit no camera.
func TestTillPhoto(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *app.Config) { c.AllowHosts = []string{insecureHost} })
	card, _ := issue(s, fields{"holder_name": "Ada Lovelace"})
	code, short := codesOf(s, card)
	p := openInsecureTill(t, s, View{Width: 390})
	p.Wait("Take a photo of the code", "The camera works only over https. The person who runs the server can switch "+
		"that on with --tls-auto, or a proxy.")
	p.CheckNow()
	var b bytes.Buffer
	noError(t, png.Encode(&b, photo{size: image.Rect(0, 0, 900, 1200), text: code, side: 500}.draw(t)))
	photos := map[string][]byte{
		"straight.png": b.Bytes(),
		"turned.jpeg":  encodeJPEG(t, photo{size: image.Rect(0, 0, 1600, 1200), text: code, side: 600, angle: 90}.draw(t)),
		"oblique.jpeg": encodeJPEG(t, photo{size: image.Rect(0, 0, 1600, 1200), text: code, side: 600, angle: 33}.draw(t)),
		"small.jpeg":   encodeJPEG(t, photo{size: image.Rect(0, 0, 4000, 3000), text: code, side: 320, angle: 4}.draw(t)),
		"tiny.jpeg":    encodeJPEG(t, photo{size: image.Rect(0, 0, 300, 400), text: code, side: 140}.draw(t)),
	}
	for name, content := range photos {
		p.ChooseFile("Take a photo of the code", writeFile(t, name, content))
		p.Wait("Ada Lovelace", "0 of 10 stamps")
		p.Press("Next card")
		p.Wait("Take a photo of the code")
	}
	for name, content := range map[string][]byte{
		"nothing.jpeg": encodeJPEG(t, photo{size: frames}.draw(t)),
		"text.png":     []byte("no picture"),
	} {
		p.ChooseFile("Take a photo of the code", writeFile(t, name, content))
		p.Wait("There is no readable code in the photo.")
		p.Fill("Code of the card", short) // which works as ever
		p.Press("Show")
		p.Wait("Ada Lovelace")
		p.Press("Next card")
		p.Wait("Take a photo of the code")
	}
	p.show(code, "Ada Lovelace")
	p.Press("Give 1 stamp")
	p.Wait("1 stamp given.")
	wantStamps(s, card, 1)
}
