//go:build browser

package browser

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"punchcard/server/servertest"
)

// TestNewCards opens the form for new cards in the dashboard, and makes a card as a customer
// does, with and without scripts.
func TestNewCards(t *testing.T) {
	for name, v := range map[string]View{"scripts": {Width: 390}, "no scripts": {Width: 390, NoScripts: true}} {
		t.Run(name, func(t *testing.T) {
			s := servertest.Start(t, servertest.Frozen)
			v.Cookie = signIn(s, "manager")
			p := Open(t, s.Origin+"/dashboard/program/"+s.ProgramIDs["standard"], v)
			p.Follow("Cards that customers make")
			p.Check("Customers can make cards themselves")
			p.Fill("What customers have to agree to", "We keep your name.")
			p.Press("Save")
			p.Wait("The form for new cards was saved.", "/join/coffee-card", "Poster, A4")
			p.Follow("Open the form")
			p.Wait("Get your card", "0 of 10 stamps", "We keep your name.")
			p.Fill("Email address", "ada@example.com")
			p.Fill("Your name", strings.Repeat("x", 200))
			p.Check("I agree to this")
			p.CheckNow()
			p.Press("Get the card")
			p.Wait("Show this code at the till", "0 of 10 stamps")
		})
	}
}

// TestJoinErrors sends a form with errors, which a browser that checks forms does not send, and
// checks the page that shows them.
func TestJoinErrors(t *testing.T) {
	d := startDemo(t, plainNames)
	for _, dark := range []bool{false, true} {
		p := Open(t, d.Origin+"/join/"+d.ids["slug"], View{Width: 360, Dark: dark})
		eval[bool](p, `() => { document.querySelector('form').noValidate = true; return true }`)
		p.Fill("Email address", "ada")
		p.Press("Get the card")
		p.Wait("Correct these fields", "Enter an email address", "A card can only be made if you agree.")
		p.CheckNow()
		p.ExpectProblems() // the answer is 400
		p.ShootAs(fmt.Sprintf("join-errors-%t", dark))
	}
}

// TestLostCard asks for the links of cards by the form on the page of a link that has ended.
func TestLostCard(t *testing.T) {
	for name, v := range map[string]View{"scripts": {Width: 390}, "no scripts": {Width: 390, NoScripts: true}} {
		t.Run(name, func(t *testing.T) {
			s := servertest.Start(t, servertest.Frozen)
			card, link := issue(s, s.ProgramIDs["standard"], fields{"holder_email": "ada@example.com"})
			page := s.CardPage(link)
			s.Post("/cards/"+card+"/reissue", nil).Want(200)
			p := Open(t, page, v)
			p.ExpectProblems() // the answer is 410
			p.Wait("Find your card")
			p.CheckNow()
			p.Fill("Email address", "Ada@example.com")
			p.Press("Send me the links")
			p.Wait("If there are cards with this address, their links are on the way.")
			if r := s.ControlAPI().Get("/emails").Want(200); !strings.Contains(string(r.Body), "Links to your cards") {
				t.Errorf("no mail: %s", r.Body)
			}
		})
	}
}

// pdfPage matches the beginning of a page in a PDF.
var pdfPage = regexp.MustCompile(`/Type\s*/Page\b`)

// TestPosters prints each poster on one page, and reads its QR code with the decoder of the
// till page.
func TestPosters(t *testing.T) {
	d := startDemo(t, plainNames)
	reader := Open(t, d.Origin+"/till/", View{Cookie: d.signIn("till")})
	reader.Wait("Find the card")
	// Names as long as they may be, and more prizes than there is room for.
	long := d.NewProgram("standard", true, fields{"name": longName, "total_stamps": 30})
	for i := range 8 {
		d.Post("/programs/"+long+"/prizes", fields{"threshold": 3 + i%3, "name": longName}).Want(201)
	}
	d.ids["program long"] = long
	d.openForm(long, "a-long-name")
	for program, slug := range map[string]string{"program standard": "coffee-card", "program discount": "friends", "program long": "a-long-name"} {
		for _, size := range []string{"a4", "a6", "tent"} {
			p := Open(t, d.Origin+"/dashboard/program/"+d.ids[program]+"/poster?size="+size, View{Cookie: d.signIn("viewer")})
			pdf := p.printed()
			if n := len(pdfPage.FindAll(pdf, -1)); n != 1 {
				t.Errorf("%s, %s: %d pages", program, size, n)
			}
			if screenshots != "" {
				os.WriteFile(filepath.Join(screenshots, fmt.Sprintf("poster-%s-%s.pdf", slug, size)), pdf, 0o644)
			}
			picture := "data:image/png;base64," + base64.StdEncoding.EncodeToString(p.screenshot(1))
			if got, want := reader.decoded(picture), d.Origin+"/join/"+slug; got != want {
				t.Errorf("%s, %s: the QR code says %q, want %q", program, size, got, want)
			}
		}
	}
}

// decoded returns what the QR code in a picture says. The page must be that of the till.
func (p *Page) decoded(picture string) string {
	p.t.Helper()
	return eval[string](p, `async picture => {
		const config = JSON.parse(document.getElementById('till').dataset.config)
		if (!window.ZXingWASM) {
			await new Promise((done, failed) => {
				const script = document.createElement('script')
				script.src = config.reader
				script.onload = done
				script.onerror = failed
				document.head.append(script)
			})
			await ZXingWASM.prepareZXingModule({overrides: {locateFile: () => config.wasm}, fireImmediately: true})
		}
		const image = new Image()
		image.src = picture
		await image.decode()
		const canvas = document.createElement('canvas')
		canvas.width = image.naturalWidth
		canvas.height = image.naturalHeight
		const context = canvas.getContext('2d')
		context.drawImage(image, 0, 0)
		const found = await ZXingWASM.readBarcodes(context.getImageData(0, 0, canvas.width, canvas.height), {formats: ['QRCode'], tryHarder: true})
		return found[0]?.text || ''
	}`, picture)
}
