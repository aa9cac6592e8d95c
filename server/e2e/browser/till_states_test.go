//go:build browser

package browser

import (
	"fmt"
	"strings"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/servertest"
	"punchcard/server/web"
)

// A tillWalk goes through the states of the till page in a language.
type tillWalk struct {
	*Page
	s     *servertest.Server
	print *web.Printer
	codes map[string]string // of cards, by what they are
	at    func(state string)
}

// startWalk starts the demo shop with a member of staff, and cards of all kinds, and opens its
// till page.
func startWalk(t *testing.T, v View) *tillWalk {
	t.Helper()
	s := start(t)
	w := &tillWalk{s: s, print: web.PrinterFor(v.Language), codes: map[string]string{}}
	s.Control("POST", "/staff", fields{"name": "Bruno", "pin": "4321"})
	till := s.Till(s.TillToken)
	for _, c := range []struct {
		name, program, action string
		count                 int
	}{
		{"new", "standard", "", 0}, {"ready", "standard", "stamps", 6}, {"full", "standard", "stamps", 10},
		{"earlier", "standard", "stamps", 13}, {"prepaid", "prepaid", "", 0}, {"discount", "discount", "", 0}, {"access", "access", "", 0},
	} {
		id, _ := issueOf(s, s.ProgramIDs[c.program], fields{"holder_name": "Ada Lovelace", "holder_email": c.name + "@example.com"})
		if c.action != "" {
			till.Post("/cards/"+id+"/"+c.action, fields{"count": c.count}).Want(201)
		}
		w.codes[c.name], _ = codesOf(s, id)
	}
	v.Cookie = kernel.DeviceCookie("", s.TillToken)
	w.Page = openTillAt(t, s.Origin+"/till/", v)
	w.say("Find the card")
	return w
}

// tr returns a text in the language of the page.
func (w *tillWalk) tr(text string, args ...any) string { return w.print.T(text, args...) }

// say waits until the page says something.
func (w *tillWalk) say(text string, args ...any) {
	w.t.Helper()
	w.Wait(w.tr(text, args...))
}

// press presses the button whose text is the translation of an English one.
func (w *tillWalk) press(text string, args ...any) {
	w.t.Helper()
	w.Press(w.tr(text, args...))
}

// open opens a card and waits for a text.
func (w *tillWalk) open(card, text string, args ...any) {
	w.t.Helper()
	w.scan(w.codes[card])
	w.say(text, args...)
}

// next goes back to finding a card.
func (w *tillWalk) next() {
	w.t.Helper()
	w.press("Next card")
	w.say("Find the card")
}

// walk goes through the states, and calls at in each.
func (w *tillWalk) walk() {
	w.t.Helper()
	w.at("till-find")
	if cut := eval[int](w.Page, `() => {
		const e = document.querySelector('.chip [dir=auto]')
		return e.scrollWidth - e.clientWidth
	}`); cut > 0 {
		w.t.Errorf("%d pixels of the button to sign in are cut", cut)
	}
	w.press("Scan with the camera")
	w.say("This device has no camera. Type the code, or use a scanner.")
	w.at("till-no-camera")
	w.scan("k7qm2x9pk7qm2x9p")
	w.say("No card has this code. Scan again, or check the characters.")
	w.at("till-unknown")
	w.ExpectProblems() // 404
	w.press("Menu")
	w.at("till-menu")
	if eval[bool](w.Page, `() => (document.querySelector("dialog .quiet").click(), !!document.querySelector("dialog"))`) {
		w.t.Error("a dialog is there until the browser draws the page again")
	}
	w.stamps()
	w.money()
	w.issue()
	w.staff()
	w.foreign()
	w.waiting()
	w.pairing()
}

func (w *tillWalk) stamps() {
	w.t.Helper()
	w.open("new", "{0} of {1} stamps", 0, 10)
	w.at("till-card")
	w.next()
	w.open("ready", "{0} of {1} stamps", 6, 10)
	w.at("till-ready")
	w.press("Give {0} stamp|Give {0} stamps", 1)
	w.say("{0} stamp given.|{0} stamps given.", 1)
	w.at("till-stamped")
	w.press("Redeem: {0}", "Croissant")
	w.say("{0} was redeemed.", "Croissant")
	w.at("till-redeemed")
	w.next()
	w.at("till-next")
	w.open("full", "{0} of {1} stamps", 10, 10)
	w.at("till-full")
	w.press("Redeem a prize ({0})", 2)
	w.say("Which prize?")
	w.at("till-prizes")
	w.Press("Free coffee")
	w.say("This completes the card and cannot be undone afterwards.")
	w.say("Not redeemed yet, and lost then: {0}", "Croissant")
	w.at("till-completes")
	w.press("Cancel")
	w.next()
	w.open("earlier", "and {0} full card before this one|and {0} full cards before this one", 1)
	w.at("till-earlier")
	w.next()
	for _, kind := range []string{"discount", "access"} {
		w.open(kind, map[string]string{"discount": "Use the discount", "access": "Record the visit"}[kind])
		w.at("till-" + kind)
		w.next()
	}
}

func (w *tillWalk) money() {
	w.t.Helper()
	w.open("prepaid", "Top up")
	w.press("Top up")
	w.Press("9")
	w.at("till-amount")
	w.scan("9999999")
	w.say("Spend")
	w.at("till-prepaid")
	w.press("Spend")
	w.scan("100000000")
	w.say("There is not enough money on the card. Spend less, or top it up.")
	w.at("till-refused")
	w.ExpectProblems() // 422
	w.next()
}

func (w *tillWalk) issue() {
	w.t.Helper()
	w.press("Issue a new card")
	w.say("Which program?")
	w.at("till-programs")
	w.Press("Coffee card")
	w.Fill(w.tr("Name of the customer, if wanted"), "Grace Hopper")
	w.at("till-name")
	w.Fill(w.tr("Phone number, if wanted"), "12")
	w.press("Issue the card")
	w.say("Enter a phone number as it is dialled here, or one that begins with + and the country’s code.")
	w.at("till-issue-fault")
	w.ExpectProblems() // 400
	w.Fill(w.tr("Phone number, if wanted"), "")
	w.press("Issue the card")
	w.say("Show this to the customer")
	w.at("till-new-card")
	w.press("Done")
	w.say("The card was issued.")
	w.say("{0} of {1} stamps", 0, 10)
	w.at("till-issued")
	w.next()
	w.press("Last entries")
	w.say("Undo")
	w.at("till-history")
	w.press("Close")
}

func (w *tillWalk) staff() {
	w.t.Helper()
	w.press("Sign in")
	w.say("Who is at the till?")
	w.at("till-staff")
	w.Press("Bruno")
	w.Wait("Bruno")
	w.Press("1")
	w.at("till-pin")
	w.scan("111")
	w.say("That was the wrong PIN. Try again.")
	w.at("till-wrong-pin")
	w.ExpectProblems() // 401
	w.scan("4321")
	w.say("{0} is at the till.", "Bruno")
	w.at("till-signed-in")
	w.press("Search for a card")
	w.Fill(w.tr("Name, email or phone number of the customer, at least three characters"), "nobody")
	w.press("Search")
	w.say("No card was found. Try another part of the name, or the last four digits of the phone number.")
	w.at("till-search-none")
	w.Fill(w.tr("Name, email or phone number of the customer, at least three characters"), "lovelace")
	w.press("Search")
	w.Wait("Prepaid card")
	w.at("till-search")
	w.press("Close")
}

// foreign connects the code of an earlier card, and redeems a prize by it.
func (w *tillWalk) foreign() {
	w.t.Helper()
	const code = "4006381333931"
	w.scan(code)
	w.say("No card has this code. Scan again, or check the characters.")
	w.ExpectProblems() // 404
	w.press("Connect with a card")
	w.at("till-connect")
	w.Fill(w.tr("Or the code of the customer’s card"), w.codes["full"])
	w.In(w.tr("Or the code of the customer’s card")).Press(w.tr("Show"))
	w.say("Connect with this card?")
	w.at("till-connect-card")
	w.press("Connect")
	w.say("The code {0} finds this card from now on.", code)
	w.at("till-connected")
	w.next()
	w.scan(code)
	w.say("Found by the code of an earlier card")
	w.press("Redeem a prize ({0})", 2)
	w.Press("Free coffee")
	w.say("The code of an earlier card is easily copied. Ask for the name, and go on only if it is this one.")
	w.at("till-holder")
	w.press("Cancel")
	w.next()
}

// waiting loses the answers of a stamp and a redemption.
func (w *tillWalk) waiting() {
	w.t.Helper()
	w.open("full", "{0} of {1} stamps", 10, 10)
	w.s.Control("POST", "/faults", fields{"method": "POST", "path": "/cards/*/*", "status": 503, "when": "before", "count": 100})
	w.press("Redeem a prize ({0})", 2)
	w.Press("Free coffee")
	w.press("Redeem")
	w.say("The server did not answer, so it is not known whether this was done. Ask again: it is never done twice.")
	w.at("till-no-answer")
	w.next()
	w.open("new", "{0} of {1} stamps", 0, 10)
	w.press("Give {0} stamp|Give {0} stamps", 1)
	w.say("The server does not answer. The stamp is kept on this device and sent later.")
	w.at("till-kept")
	w.press("{0} not sent|{0} not sent", 2)
	w.say("Waits for the connection")
	w.at("till-waiting")
	w.press("Close")
	w.s.Control("DELETE", "/faults", nil)
	w.ExpectProblems() // 503
}

// pairing shows the page of a device that is not paired.
func (w *tillWalk) pairing() {
	w.t.Helper()
	w.press("Menu")
	w.press("Unpair this device")
	w.say("Unpair this device?")
	w.at("till-unpair")
	w.press("Unpair")
	w.say("Pair this device with the shop")
	w.at("till-pairing")
	w.Fill(w.tr("Pairing code"), "K7QM-2X9P")
	w.press("Pair")
	w.say("This code is not valid, was used, or is older than ten minutes. Ask for a new one.")
	w.at("till-pairing-refused")
	w.ExpectProblems() // 401, 410
}

// TestTillStates checks each state of the till page as any page is checked, and that its texts fit
// at 360 pixels. Tests that come to the same states do not check them again.
func TestTillStates(t *testing.T) {
	t.Parallel()
	w := startWalk(t, View{Width: 360, Language: "en"})
	w.at = func(state string) {
		t.Helper()
		before := t.Failed()
		w.fits(state)
		w.wait("the end of the request", func() (idle bool, err error) { // until then its button is pale
			err = w.tab.eval(&idle, `() => !document.querySelector(".till-body[aria-busy]")`)
			return idle, err
		})
		w.CheckNow()
		if t.Failed() && !before {
			t.Errorf("the faults above are those of %s", state)
		}
	}
	w.walk()
}

// TestTillLanguages checks in each other language that no state of the till page has texts that do not
// fit at 360 pixels.
func TestTillLanguages(t *testing.T) {
	t.Parallel()
	for _, language := range []string{"it", "es", "fr", "de", "pt"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			w := startWalk(t, View{Width: 360, Language: language})
			w.at = w.fits
			w.walk()
		})
	}
}

// fits checks that the texts of a state fit.
func (w *tillWalk) fits(state string) {
	w.t.Helper()
	w.check(state, append(checkClipped(w.Page), checkWidths(w.Page)...))
	w.setSize(w.View.Width, height, w.View.Scale)
}

// TestPicturesTill takes pictures of the till page.
func TestPicturesTill(t *testing.T) {
	if screenshots == "" {
		t.Skip("the variable SCREENSHOTS names no folder")
	}
	main := "card stamped amount new-card issued search refused pairing"
	for _, width := range []int{360, 768, 1280} {
		for _, theme := range []string{"light", "dark"} {
			name := fmt.Sprintf("%d-%s", width, theme)
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := startWalk(t, View{Width: width, Dark: theme == "dark", Still: true, Language: "en"})
				w.at = func(state string) {
					if strings.Contains(" "+main+" ", " "+strings.TrimPrefix(state, "till-")+" ") {
						w.shoot(state + "-" + name)
						w.setSize(w.View.Width, height, w.View.Scale)
					}
				}
				w.walk()
			})
		}
	}
}

// checkClipped returns the texts that do not fit into what holds them: a button, a note, a
// dialog or another box that hides what is beyond it. What people have entered may be cut.
func checkClipped(p *Page) []string {
	p.t.Helper()
	return eval[[]string](p, `() => {
		const bad = new Set()
		for (const e of (document.querySelector('dialog[open]') || document.body).querySelectorAll('*')) {
			if (!e.checkVisibility() || e.closest('svg, bdi, [dir=auto], .vh, template')) continue
			const parts = [...e.childNodes].filter(n => n.nodeType === Node.TEXT_NODE && n.data.trim())
			for (const part of parts) {
				const range = document.createRange()
				range.selectNodeContents(part)
				for (const r of range.getClientRects()) {
					for (let a = e; a !== document.documentElement; a = a.parentElement) {
						const style = getComputedStyle(a), b = a.getBoundingClientRect()
						if (style.overflowY === 'auto' || style.overflowY === 'scroll') {
							if (r.left < b.left - 1 || r.right > b.right + 1)
								bad.add(part.data + ' is wider than ' + a.tagName + '.' + a.className)
							break // what is below can be scrolled to
						}
						if (style.overflowX === 'visible' && !a.matches('button, .button, .note, .chip, .pass, input')) continue
						if (style.display === 'inline') continue
						if (r.left < b.left - 1 || r.right > b.right + 1 || r.top < b.top - 3 || r.bottom > b.bottom + 3)
							bad.add(part.data + ' does not fit into ' + a.tagName + '.' + a.className)
					}
				}
			}
		}
		return [...bad]
	}`)
}
