//go:build browser

package browser

import (
	"strings"
	"testing"
)

// TestTillHolderAskedAgain enters a customer while the server does not answer. "Ask again" sends it at once, says beside
// the field what the server does not accept, and is told of what was saved without an answer.
func TestTillHolderAskedAgain(t *testing.T) {
	t.Parallel()
	s := start(t)
	card := s.Issue(s.ProgramIDs["standard"], nil)
	_, short := codesOf(s, card)
	p, f := openHanging(t, s, View{Width: 390})
	p.scan(short)
	p.Press("Enter the customer")
	p.Fill("Name of the customer", "Grace Hopper")
	p.Fill("Phone number", "12")
	f.requests.Store(true)
	p.Press("Save")
	<-f.kept
	p.pass(personWaits)
	p.Wait("Offline", "The server does not answer.")
	f.requests.Store(false)
	p.Press("Ask again") // no timer passes: nothing else finds that the server is back
	p.Wait("Enter a phone number as it is dialled here")
	p.CheckNow()
	if got := p.Value("Name of the customer"); got != "Grace Hopper" {
		t.Errorf("the name is %q", got)
	}
	p.Fill("Phone number", "+39 06 1234 5678")
	f.answers.Store(true) // the server saves the customer, and the page does not hear of it
	p.Press("Save")
	<-f.kept
	p.pass(personWaits)
	p.Wait("Offline", "The server does not answer.")
	f.answers.Store(false)
	p.Press("Ask again")
	p.Wait("Connected", "The customer was saved.", "Grace Hopper")
	p.ExpectProblems() // the requests that were given up, 400
}

// TestTillHolderOnce checks that a card offers to enter the customer no more once it has one: also a phone number alone,
// which no till sees, and one from another till. A card that was found by the code of an earlier one does not offer it.
func TestTillHolderOnce(t *testing.T) {
	t.Parallel()
	s := start(t)
	p := openTill(t, s, View{Width: 390})
	s.Till(s.TillToken).Post("/cards/"+s.Issue(s.ProgramIDs["standard"], nil)+"/codes", fields{"code": "1001"}).Want(201)
	p.scan("1001")
	p.Wait("Found by the code of an earlier card", "0 of 10 stamps")
	if strings.Contains(p.Text(), "Enter the customer") {
		t.Error("the code of an earlier card is enough to enter the customer")
	}
	enter := func(meanwhile func(card string), texts ...string) {
		t.Helper()
		card := s.Issue(s.ProgramIDs["standard"], nil)
		_, short := codesOf(s, card)
		p.scan(short)
		p.Press("Enter the customer")
		p.Fill("Phone number", "+39 06 1234 5678")
		meanwhile(card)
		p.Press("Save")
		p.Wait(texts...)
		p.wait("the card without the offer", func() (bool, error) { return !strings.Contains(p.Text(), "Enter the customer"), nil })
	}
	enter(func(string) {}, "The customer was saved.")
	enter(func(card string) {
		s.Patch("/cards/"+card, fields{"holder_name": "Ada Lovelace"}).Want(200)
	}, "The card has a customer already.", "Ada Lovelace")
	p.ExpectProblems() // 409
}

// TestTillHolderByKeys enters a customer with the keyboard alone: what is typed first is the name.
func TestTillHolderByKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	_, short := codesOf(s, s.Issue(s.ProgramIDs["standard"], nil))
	p := openTill(t, s, View{Width: 390})
	p.scan(short)
	p.Press("Give 1 stamp") // a barista may stamp first
	p.Wait("1 of 10 stamps")
	p.Press("Enter the customer")
	if title := eval[string](p, `() => document.querySelector('dialog h2').innerText`); title != "Enter the customer" {
		t.Errorf("the dialog is %q", title)
	}
	p.must(nil, p.insert("Grace Hopper"))
	p.must(nil, p.key("\t\t12\r"))
	p.Wait("Enter a phone number as it is dialled here")
	p.must(nil, p.key("+39061234567"))
	p.must(nil, p.key("\r"))
	p.Wait("The customer was saved.", "Grace Hopper")
	p.ExpectProblems() // 400
}
