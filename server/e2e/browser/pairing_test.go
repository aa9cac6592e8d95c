//go:build browser

package browser

import (
	"regexp"
	"testing"
)

// newTill makes a till on the page of tills, and waits for its pairing code and link.
func (p *Page) newTill(location, name string) {
	p.t.Helper()
	p.Follow("New till")
	p.Choose("Location", location)
	p.Fill("Name", name)
	p.Press("Pair a phone or tablet")
	p.Wait("The code and the link are shown only now.")
}

// TestPairing pairs a phone by the link that the dashboard shows, and a tablet by the code.
func TestPairing(t *testing.T) {
	t.Parallel()
	s := start(t)
	pairing := func(name string, v View) string {
		t.Helper()
		v.Cookie = signIn(s, "owner")
		p := Open(t, s.Origin+"/dashboard/tills", v)
		p.newTill("Centrale", name)
		p.CheckNow()
		return p.Text()
	}
	find := func(pattern, text string) string {
		t.Helper()
		found := regexp.MustCompile(pattern).FindString(text)
		if found == "" {
			t.Fatalf("nothing is %s: %s", pattern, text)
		}
		return found
	}

	link := find(`http://\S+/till/pair/\S+`, pairing("Phone", View{}))
	phone := Open(t, link, View{Width: 390})
	phone.CheckNow()
	phone.Press("Pair this device")
	phone.Wait("Find the card", "Centrale", "Phone")
	again := Open(t, link, View{Width: 390})
	again.Press("Pair this device")
	again.Wait("This device was not paired", "This link was used already, or it is older than ten minutes.")
	again.ExpectProblems()
	again.CheckNow()

	code := find(`\b[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}\b`, pairing("Tablet", View{Width: 360, NoScripts: true}))
	tablet := openTillAt(t, s.Origin+"/till/", View{Width: 1024})
	tablet.Fill("Pairing code", code)
	tablet.Press("Pair")
	tablet.Wait("Find the card", "Tablet")
	tablet.ExpectProblems() // GET /me was 401
}
