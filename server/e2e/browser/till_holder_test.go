//go:build browser

package browser

import "testing"

// TestTillHolderAskedAgain enters a customer while the server does not answer. "Ask again" sends it at once, and says
// beside the field what the server does not accept.
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
	if got := p.Value("Name of the customer"); got != "Grace Hopper" {
		t.Errorf("the name is %q", got)
	}
	p.Fill("Phone number", "+39 06 1234 5678")
	p.Press("Save")
	p.Wait("Connected", "The customer was saved.", "Grace Hopper")
	p.ExpectProblems() // the request that was given up, 400
}
