//go:build browser

package browser

import "testing"

// TestManyCards gives stamps to two cards of the list, reads the report, finds the customer of one by a search, and merges
// another card into it, with scripts and without.
func TestManyCards(t *testing.T) {
	t.Parallel()
	for _, v := range []View{{}, {NoScripts: true}} {
		d := startDemo(t, plainNames)
		v.Cookie = d.signIn("owner")
		p := Open(t, d.Origin+"/dashboard", v)
		p.Follow("Cards")
		p.Choose("Order", "Most stamps first")
		if v.NoScripts {
			p.Press("Filter")
		}
		p.Wait("are sorted by stamps")
		p.Check("Choose the card of Elena Marchetti")
		p.Check("Choose the card of Luca Moretti")
		p.Choose("Change many cards", "Give stamps")
		p.Press("Change the ticked cards")
		p.Wait("2 cards in total")
		p.Fill("Stamps for each card", "2")
		p.Fill("Reason", "Closed on Monday")
		p.Press("Give the stamps")
		p.Wait("Changes of many cards") // the way back; the notice ends with the change
		if v.NoScripts {                // the page does not read itself again
			d.Control("POST", "/settle", nil)
			p.Follow("Changes of many cards")
			p.Follow("Give stamps")
		}
		p.Wait("2 changed", "Done")
		p.Follow("Cards")
		p.Fill("Search", "elena")
		if v.NoScripts {
			p.Press("Filter")
		}
		p.Wait("5 of 10")
		p.Follow("Customer: Elena Marchetti")
		p.Wait("1 card of this customer")
		p.Follow("Coffee card")
		p.Follow("Merge")
		p.Fill("Search", "jakob")
		if v.NoScripts {
			p.Press("Filter")
		}
		p.Follow("Compare with the card of Jakob Oduya")
		p.Wait("3 stamps move", "They may be of different people")
		p.Check("Both cards are the same person’s")
		p.Press("Merge the cards")
		p.Wait("The cards were merged.", "Merged with another card")
	}
}
