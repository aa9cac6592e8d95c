//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"punchcard/server/kernel"
)

// TestTillTappedTwice taps the button that gives a stamp twice: at its place there is then the
// one for the next card. What was given can still be taken back.
func TestTillTappedTwice(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, code := newCard(s, fields{"holder_name": "Ada Lovelace"})
	p := openTill(t, s, View{Width: 390})
	p.scan(code)
	at := p.press("Give 1 stamp", buttons)
	p.Wait("1 stamp given.", "1 of 10 stamps")
	p.must(nil, p.click(at.X, at.Y))
	p.Wait("Find the card", "1 stamp given.", "Undo")
	wantStamps(s, card, 1)
	p.Press("Undo")
	p.Wait("Undone: 1 stamp.")
	wantStamps(s, card, 0)
}

// waitForActions waits until the actions of the card take presses after the page was shielded from a second tap.
func (p *Page) waitForActions() {
	p.t.Helper()
	p.wait("the focus", func() (there bool, err error) {
		err = p.tab.eval(&there, `() => document.activeElement.matches('.act .huge')`)
		return there, err
	})
}

// TestTillSavedTwice taps the button that saves a customer twice, on a tablet and on a phone: what is below the dialog takes
// no press, neither before the answer nor after it. Then the keyboard goes on at the stamp.
func TestTillSavedTwice(t *testing.T) {
	t.Parallel()
	const slower = `(start => window.setTimeout = (f, ms, ...a) => start(f, ms === 500 ? 3000 : ms, ...a))(setTimeout)`
	s := start(t)
	for _, width := range []int{390, 1024} {
		card := s.Issue(s.ProgramIDs["standard"], nil)
		_, short := codesOf(s, card)
		p := openTill(t, s, View{Width: width}, slower)
		p.scan(short)
		p.Press("Enter the customer")
		p.Fill("Name of the customer", "Grace Hopper")
		at := p.press("Save", buttons)
		p.must(nil, p.click(at.X+40, at.Y))
		p.Wait("The customer was saved.", "Grace Hopper")
		p.must(nil, p.click(at.X+40, at.Y))
		p.waitForActions()
		p.Wait("Grace Hopper", "0 of 10 stamps", "Give 1 stamp")
		wantStamps(s, card, 0)
	}
}

// TestTillScannedEarly scans a second card before the stamp on the first one is answered: it is
// opened after the answer. Codes that are scanned while an amount is asked for enter no digits.
func TestTillScannedEarly(t *testing.T) {
	t.Parallel()
	s := start(t)
	ada, first := newCard(s, fields{"holder_name": "Ada Lovelace"})
	grace, link := issueOf(s, s.ProgramIDs["prepaid"], fields{"holder_name": "Grace Hopper"})
	second, _ := s.Codes(link)
	p := openTill(t, s, View{})
	p.show(first, "Ada Lovelace")
	p.run(`code => {
		const sent = fetch, scan = `+typeAtOnce+`
		window.fetch = (...a) => { window.fetch = sent; scan(code); return sent(...a) } // while it is on its way
	}`, second)
	p.Press("Give 1 stamp")
	p.Wait("Grace Hopper", "Top up")
	wantStamps(s, ada, 1)
	p.Press("Top up")
	p.Wait("Balance: €0.00")
	p.Press("2")
	p.Wait("€0.02")
	p.scan("12ab34")
	p.Wait("€0.02", "Balance:")
	p.scan("34-x")
	p.Wait("€0.02", "Balance:")
	p.Press("Close")
	if value := fmt.Sprint(s.Get("/cards/" + grace).Want(200).At("current_value")); value != "0" {
		t.Errorf("the second card has %s", value)
	}
}

// TestTillSlowServer opens the page while the server does not answer what the device may do: it
// is usable as it was before.
func TestTillSlowServer(t *testing.T) {
	t.Parallel()
	s := start(t)
	card, code := newCard(s, fields{"holder_name": "Ada Lovelace"})
	var slow atomic.Bool
	end := make(chan struct{})
	front := before(t, s, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/till/v1/me" || !slow.Load() {
			return false
		}
		select {
		case <-end:
			return false
		case <-r.Context().Done():
			return true
		}
	})
	p := openTillAt(t, front+"/till/", View{Width: 390, Cookie: kernel.DeviceCookie("", s.TillToken)})
	p.Wait("Find the card", "Demo till")
	slow.Store(true) // a page that waited for this answer would wait for ever
	p.must(nil, p.navigate(front+"/till/"))
	p.Wait("Find the card", "Demo till")
	p.show(code, "Ada Lovelace")
	close(end)
	p.Press("Give 1 stamp")
	p.Wait("1 stamp given.")
	wantStamps(s, card, 1)
}
