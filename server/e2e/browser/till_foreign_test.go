//go:build browser

package browser

import (
	"fmt"
	"image"
	"strings"
	"testing"

	"punchcard/server/app"
)

// filmOfBars writes a film of one barcode.
func filmOfBars(t *testing.T, bars string) string {
	t.Helper()
	return writeFilm(t, 1, photo{size: frames, bars: bars, side: 600}.draw(t))
}

// scanAgain has the camera see a code again that was in view all the time.
func (p *Page) scanAgain() {
	p.t.Helper()
	p.Press("Next card")
	p.Press("Stop")
	p.Press("Scan with the camera")
}

// TestTillConnectsEAN shows an EAN-13 barcode to the camera of a till, connects it with the card of a
// customer who is found by a search, and redeems a prize by it after a question about the holder.
func TestTillConnectsEAN(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.Control("POST", "/staff", fields{"name": "Bruno", "pin": "4321"})
	card, _ := issue(s, fields{"holder_name": "Ada Lovelace"})
	addStamps(s, card, 6)
	const code = "4006381333931"
	p := openTill(t, s, View{Width: 390, Camera: filmOfBars(t, ean(code))})
	p.Press("Scan with the camera")
	p.Wait("No card has this code.")
	p.ExpectProblems() // 404
	p.CheckNow()
	p.Press("Connect with a card")
	p.Wait("From then on the code " + code + " finds the card of the customer.")
	p.Press("Search for the customer")
	p.Press("Bruno")
	p.Wait("Continue")
	p.scan("4321")
	p.Fill("Name, email or phone number", "lovelace")
	p.Press("Search")
	p.Press("Ada Lovelace")
	p.Wait("Connect with this card?", "Coffee card")
	p.Press("Connect")
	p.Wait("The code " + code + " finds this card from now on.")
	if got := fmt.Sprint(s.Get("/cards/" + card + "/contact").Want(200).At("codes")); got != "["+code+"]" {
		t.Errorf("the card has the codes %s", got)
	}

	p.Press("Menu") // the session of the member of staff ends
	p.Press("Close")
	p.Press("Bruno is at the till. Sign out")
	p.Wait("Signed out.")
	p.scanAgain()
	p.Wait("Found by the code of an earlier card", "6 of 10 stamps")
	p.Press("Redeem: Croissant")
	p.Wait("Sign in to give a prize or money by the code of an earlier card.")
	p.Press("Bruno")
	p.Wait("Continue")
	p.scan("4321")
	p.Wait("Redeem Croissant?", "Ada Lovelace", "Ask for the name")
	p.run(`() => addEventListener('keydown', e => window.prevented = e.defaultPrevented)`)
	p.scan("7622210449283")
	if !eval[bool](p, `() => window.prevented`) {
		t.Error("the Enter of a keyboard scanner presses the button that has the focus")
	}
	p.Press("Cancel")
	p.Press("Redeem: Croissant")
	p.Press("Redeem")
	p.Wait("Croissant was redeemed.")
	p.scan("10023") // a number that a keyboard scanner types
	p.Wait("No card has this code.", "Connect with a card")
	p.ExpectProblems() // 404
}

// TestTillConnectsCode128 shows a Code 128 barcode to the camera of a till, connects it with a new card,
// and checks that it gives no prize where nobody can sign in and there is no PIN.
func TestTillConnectsCode128(t *testing.T) {
	t.Parallel()
	s := start(t)
	const code = "Club 0042"
	p := openTill(t, s, View{Width: 390, Camera: filmOfBars(t, code128(code))})
	p.Press("Scan with the camera")
	p.Wait("No card has this code.")
	p.ExpectProblems() // 404
	p.Press("Connect with a card")
	p.Press("Issue a new card")
	p.Press("Coffee card")
	p.Fill("Name of the customer", "Grace Hopper")
	p.Fill("Phone number, if wanted", "4567")
	p.Press("Issue the card")
	p.Wait("Enter a phone number as it is dialled here")
	p.ExpectProblems() // 400
	if name, phone := p.Value("Name of the customer"), p.Value("Phone number, if wanted"); name != "Grace Hopper" || phone != "4567" {
		t.Errorf("the form has %q and %q", name, phone)
	}
	p.Fill("Phone number, if wanted", "06 1234 5678")
	p.Press("Issue the card")
	p.Wait("Show this to the customer")
	p.Press("Done")
	p.Wait("The code "+code+" finds this card from now on.", "Grace Hopper", "0 of 10 stamps")
	p.scanAgain()
	p.Wait("Found by the code of an earlier card", "Grace Hopper")
	for range 5 {
		p.Press("One stamp more")
	}
	p.Press("Give 6 stamps")
	p.Press("Redeem: Croissant")
	p.Wait("An earlier card’s code is not enough", "ask a manager for a PIN of this location")
	p.CheckNow()
	p.Press("Close")

	till := s.Till(s.TillToken)
	other, _ := issue(s, fields{"holder_name": "Ada Lovelace"})
	_, short := codesOf(s, other)
	connect := func(code, want string) {
		t.Helper()
		p.show(code, "No card has this code.")
		p.Press("Connect with a card")
		if want == "Another card has the code" {
			till.Post("/cards/Club%200042/codes", fields{"code": code}).Want(201) // meanwhile, at another till
		}
		p.Fill("Or the code of the customer’s card", short)
		p.In("Or the code of the customer’s card").Press("Show")
		p.Press("Connect")
		p.Wait(want)
	}
	connect("1000", "Another card has the code")
	for _, more := range []string{"1", "2", "3", "4"} {
		till.Post("/cards/"+short+"/codes", fields{"code": more}).Want(201)
	}
	connect("1001", "The code 1001 finds this card from now on.")
	connect("1002", "The card has five codes of earlier cards")
	p.CheckNow()
	p.ExpectProblems() // 404 and 409
}

// TestTillConnectsLate loses the answer of an issue and the page itself: asked again, the page connects the
// new card with the code for which it was issued.
func TestTillConnectsLate(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := openTill(t, s, View{Width: 390})
	p.scan("4006381333931")
	p.Wait("No card has this code.")
	p.Press("Connect with a card")
	p.Press("Issue a new card")
	p.Press("Coffee card")
	s.Control("POST", "/faults", fields{"method": "POST", "path": "/programs/*/cards", "status": 503, "when": "after"})
	p.Press("Issue the card")
	p.Wait("it is not known whether this was done")
	p.must(nil, p.navigate(s.Origin+"/till/"))
	s.Control("POST", "/faults", fields{"method": "POST", "path": "/cards/*/codes", "status": 503, "when": "after"})
	p.Press("1 not sent")
	p.Press("Ask again")
	p.Wait("Show this to the customer")
	p.Press("Done")
	p.Wait("The server does not answer.", "0 of 10 stamps")
	p.ExpectProblems() // 404 and 503
	p.Press("Ask again")
	p.Wait("The code 4006381333931 finds this card from now on.")
	s.Get("/cards?code=4006381333931").WantOK(fields{"data.0.status": "active"})
}

// TestTillPhotoOfBarcodes reads photos of barcodes of all kinds.
func TestTillPhotoOfBarcodes(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *app.Config) { c.AllowHosts = []string{insecureHost} })
	p := openInsecureTill(t, s, View{Width: 390})
	p.Press("Menu") // browsers vibrate only after a touch
	p.Press("Close")
	for name, c := range map[string]struct{ bars, code string }{
		"EAN-13":   {ean("4006381333931"), "4006381333931"},
		"EAN-8":    {ean("96385074"), "96385074"},
		"UPC-A":    {ean("036000291452"), "036000291452"},
		"Code 128": {code128("aB-17 x"), "aB-17 x"},
		"Code 39":  {code39("A1-00234"), "A1-00234"},
	} {
		card, _ := issue(s, fields{"holder_name": name + " club"})
		s.Patch("/cards/"+card+"/contact", fields{"codes": []string{c.code}}).Want(200)
		for i, angle := range []float64{0, 90, 8} {
			content := encodeJPEG(t, photo{size: image.Rect(0, 0, 1600, 1200), bars: c.bars, side: 900, angle: angle}.draw(t))
			p.ChooseFile("Take a photo of the code", writeFile(t, fmt.Sprint(i, ".jpeg"), content))
			p.Wait(name+" club", "Found by the code of an earlier card")
			p.Press("Next card")
			p.Wait("Take a photo of the code")
		}
	}
	if strings.Contains(p.Text(), "No card has this code.") {
		t.Error(p.Text())
	}
}
