//go:build browser

package browser

import (
	"encoding/base64"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"punchcard/server/servertest"
	"punchcard/store"
)

// TestNewCards opens the form for new cards in the dashboard, and makes a card as a customer
// does, with and without scripts.
func TestNewCards(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]View{"scripts": {Width: 390}, "no scripts": {Width: 390, NoScripts: true}} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			v.Cookie = signIn(s, "manager")
			p := Open(t, s.Origin+"/dashboard/program/"+s.ProgramIDs["standard"], v)
			p.Follow("Cards that customers make")
			p.Check("Customers can make cards themselves")
			p.Choose("Phone number", "Optional")
			p.Fill("What customers have to agree to", "We keep your name.")
			p.Press("Save")
			p.Wait("The form for new cards was saved.", "/join/coffee-card", "Poster, A4")
			p.Follow("Open the form")
			p.Wait("Get your card", "0 of 10 stamps", "We keep your name.")
			p.Fill("Email address", "ada@example.com")
			p.Fill("Your name", strings.Repeat("x", 200))
			p.Fill("Phone number", "06 1234 5678")
			p.Check("I agree to this")
			p.Press("Get the card")
			p.Wait("Show this code at the till", "0 of 10 stamps")
			if got := s.Get("/cards?phone=%2B390612345678").Want(200).At("data.0.holder_email"); got != "ada@example.com" {
				t.Errorf("the phone number is of %v", got)
			}
		})
	}
}

// TestJoinErrors sends a form with errors, which a browser that checks forms does not send, and
// checks the page that shows them.
func TestJoinErrors(t *testing.T) {
	t.Parallel()
	d := startDemo(t, plainNames)
	p := Open(t, d.Origin+"/join/"+d.ids["slug"], View{Width: 360})
	eval[bool](p, `() => { document.querySelector('form').noValidate = true; return true }`)
	p.Fill("Email address", "ada")
	p.Press("Get the card")
	p.Wait("Correct these fields", "Enter an email address", "A card can only be made if you agree.")
	p.CheckNow()
	p.ExpectProblems() // the answer is 400
}

// TestLostCard asks for the links of cards by the form on the page of a link that has ended.
func TestLostCard(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]View{"scripts": {Width: 390}, "no scripts": {Width: 390, NoScripts: true}} {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			card, link := issue(s, fields{"holder_email": "ada@example.com"})
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

// posterFonts are fonts of different widths, which .ci/browser installs.
var posterFonts = []string{"Noto Sans", "DejaVu Sans"}

// TestPosters prints each poster, in the languages with the longest texts: as a PDF it is one page
// of its size, and its QR code can be read from it. In each font the QR code has at least 35 mm,
// and no texts overlap or are outside of the poster.
func TestPosters(t *testing.T) {
	t.Parallel()
	d := startDemo(t, plainNames)
	reader := Open(t, d.Origin+"/till/", View{Cookie: d.signIn("till")})
	reader.Wait("Find the card")
	// Names as long as they may be and as they should fit, with as many prizes as there can be.
	programs := map[string]string{"coffee-card": d.ids["program standard"], "friends": d.ids["program discount"]}
	for slug, name := range map[string]string{
		"a-long-name":      longName,
		"sixty-characters": "Treuekarte für Stammgäste der Konditorei Donau in Wien-Döbling",
	} {
		programs[slug] = d.NewProgram("standard", true, fields{"name": name, "total_stamps": 30})
		for i := range 9 {
			d.Post("/programs/"+programs[slug]+"/prizes", fields{"threshold": 3 + i%3, "name": name}).Want(201)
		}
		d.openForm(programs[slug], slug)
	}
	p := Open(t, d.Origin+"/dashboard", View{Cookie: d.signIn("viewer")})
	paper := map[string]string{
		"a4":   `59\d\S* x 84\d\S*`,
		"a6":   `29\d\S* x 4(19|20)\S*`,
		"tent": `59\d\S* x 84\d\S*`,
	} // points, which Chromium rounds
	for _, lang := range []string{"de", "pt"} {
		servertest.Write(t, d.App.Store, func(tx *store.Tx) error {
			_, err := tx.UpdateShop(d.Row(store.KindShop, d.ShopID), store.ShopFields{
				Name:     store.Given("Konditorei & Kaffeehaus Donaudampfschifffahrtsgesellschaft am Hauptbahnhof"),
				Language: store.Given(lang),
			}, "")
			return err
		})
		for slug, program := range programs {
			if lang == "pt" && slug != "sixty-characters" {
				continue
			}
			for size, page := range paper {
				name := slug + ", " + size + ", " + lang
				p.must(nil, p.navigate(d.Origin+"/dashboard/program/"+program+"/poster?size="+size))
				for _, font := range posterFonts {
					if wrong := p.posterFaults(font); len(wrong) > 0 {
						t.Errorf("%s in %s: %s", name, font, strings.Join(wrong, "; "))
					}
				}
				pdf := filepath.Join(t.TempDir(), "poster.pdf")
				noError(t, os.WriteFile(pdf, p.printed(), 0o644))
				if info := poppler(t, "pdfinfo", pdf); !regexp.MustCompile(`(?s)Pages: +1\n.*Page size: +` + page + ` pts`).Match(info) {
					t.Errorf("%s: want one page of %s: %s", name, page, info)
				}
				picture := "data:image/png;base64," + base64.StdEncoding.EncodeToString(poppler(t, "pdftoppm", "-png", "-r", "100", pdf))
				if got, want := reader.decoded(picture), d.Origin+"/join/"+slug; got != want {
					t.Errorf("%s: the QR code says %q, want %q", name, got, want)
				}
			}
		}
	}
}

// poppler runs a program of poppler-utils and returns its output.
func poppler(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).Output()
	if err != nil {
		t.Fatalf("%s (.ci/browser installs poppler-utils): %v", args[0], err)
	}
	return out
}

// posterFaults shows the poster in a font and returns what is wrong with the boxes of its sides.
func (p *Page) posterFaults(font string) []string {
	p.t.Helper()
	return eval[[]string](p, `font => {
		document.body.style.fontFamily = '"' + font + '"'
		const wrong = []
		for (const poster of document.querySelectorAll('.poster')) {
			const em = parseFloat(getComputedStyle(poster).fontSize)
			const whole = poster.getBoundingClientRect()
			const boxes = [...poster.querySelectorAll('.poster-shop, h2, .poster-big, li, .poster-qr, .poster-code p')].map(e => {
				const r = e.getBoundingClientRect()
				return {what: (e.className || e.localName) + ' "' + e.textContent.slice(0, 20) + '"', left: r.left, right: r.right,
					top: r.top, bottom: r.bottom, hidden: e.localName === 'li' &&
					r.left >= e.parentNode.getBoundingClientRect().right - 1}
			}).filter(b => !b.hidden)
			const millimetres = poster.querySelector('.poster-qr').getBoundingClientRect().width / em *
				(poster.classList.contains('a6') ? 3.5 : 7)
			if (millimetres < 35) wrong.push('the QR code has ' + millimetres + ' mm')
			for (const [i, a] of boxes.entries()) {
				if (a.left < whole.left - 1 || a.right > whole.right + 1 || a.top < whole.top - 1 || a.bottom > whole.bottom + 1)
					wrong.push(a.what + ' is outside')
				for (const b of boxes.slice(i + 1)) {
					if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
						Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1) wrong.push(a.what + ' overlaps ' + b.what)
				}
			}
			const main = poster.querySelector('.poster-main')
			if (main.scrollHeight > main.clientHeight + 1 || main.scrollWidth > main.clientWidth + 1) wrong.push('the texts are cut off')
			const rows = boxes.filter(b => b.what.startsWith('li')).length
			if (rows < poster.querySelectorAll('li').length)
				wrong.push('only ' + rows + ' of ' + poster.querySelectorAll('li').length + ' rows have room')
		}
		return wrong
	}`, font)
}

// decoded returns what the QR code in a picture says. The page must be that of the till.
func (p *Page) decoded(picture string) string {
	p.t.Helper()
	return eval[string](p, `async picture => {
		const config = JSON.parse(document.getElementById('config').textContent)
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
		const found = await ZXingWASM.readBarcodes(context.getImageData(0, 0, canvas.width, canvas.height),
			{formats: ['QRCode'], tryHarder: true})
		return found[0]?.text || ''
	}`, picture)
}
