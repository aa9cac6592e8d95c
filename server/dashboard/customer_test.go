package dashboard_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"punchcard/store"
)

// TestCustomerPage shows two cards as one customer, downloads what is stored about one of them and erases both.
func TestCustomerPage(t *testing.T) {
	s := start(t)
	manager, owner := s.as("manager"), s.as("owner")
	card, _ := s.issue(object{"holder_name": "Ada", "holder_email": "ada@example.com"})
	prepaid := s.NewProgram("prepaid", true, object{"name": "Gift card", "initial_balance_cents": 500})
	gift := s.Issue(prepaid, object{"holder_email": "ADA@example.com"})
	other, _ := s.issue(object{"holder_name": "Ben"})
	s.stamp(card, 2)
	manager.fill("/dashboard/card/"+card+"/contact", "phone", "06 1234 5678", "birthday", "02-29", "note", "Likes tea").next()
	at := "/dashboard/card/" + card + "/customer"
	if !manager.get("/dashboard/card/" + card).link(at) {
		t.Error("the page of the card has no link to its customer")
	}
	page := manager.get(at).shows("2 cards of this customer", "Gift card", "€5.00", "Same email", "Likes tea",
		"29 Feb", "+390612345678", "2 of 10", "Days with a visit")
	if page.lacks("Download"); page.link("/dashboard/card/"+other) || page.link("/merge/") {
		t.Error("there is a link to a card of somebody else, or to the merge of different programs")
	}
	s.as("viewer").get(at).has("***78", "Gift card").lacks("0612345678", "29 Feb", "Likes tea", "ada@example.com", "Erase")
	manager.get(at + "/erase").shows("Choose at least one card.")

	owner.get(at + "/export").shows("Choose at least one card.")
	var x store.PersonExport
	if err := json.Unmarshal([]byte(owner.get(at+"/export?card_ids="+card).want(200).body), &x); err != nil || len(x.Chains) != 1 ||
		!strings.Contains(string(x.Chains[0].Contact), "Likes tea") {
		t.Errorf("the export has %+v, %v", x, err)
	}
	owner.get(at + "/export?card_ids=" + card + "&card_ids=crd_none").want(404)

	manager.get(at + "/erase?card_ids=" + other).shows("Choose at least one card.")
	s.Unchanged(func() {
		manager.post(at+"/erase", url.Values{"card_ids": {card, other}, "_confirmation": {"ada"}}).want(404)
	})
	query := url.Values{"card_ids": {card, gift, other}}.Encode()
	erase := manager.get(at + "/erase?" + query).shows("Erase 2 cards?").form()
	s.Unchanged(func() { erase.set("_confirmation", "Ben").refused("_confirmation") })
	erase.set("_confirmation", "ada").sendTwice().next().has("The cards were erased.")
	manager.get("/dashboard/card/" + gift).want(404)
	manager.get("/dashboard/card/" + other).want(200)
}

// TestMergePages chooses the card that goes, compares both, and merges them.
func TestMergePages(t *testing.T) {
	s := start(t)
	manager := s.as("manager")
	card, program := s.issue(object{"holder_name": "Ada", "holder_email": "ada@example.com"})
	twin := s.Issue(program, object{"holder_name": "ADA", "holder_email": "ada@example.com", "external_ref": "A-9"})
	other := s.Issue(program, object{"holder_name": "Ben"})
	s.stamp(twin, 3)
	at := "/dashboard/card/" + card + "/merge"
	choice := manager.get(at).want(200)
	if !choice.link(at+"/"+twin) || choice.link(at+"/"+other) || choice.link(at+"/"+card) {
		t.Error("the page offers other cards than that with the same email")
	}
	if !manager.get(at + "?q=Ben").link(at + "/" + other) {
		t.Error("the search does not find the other card")
	}
	// Where it is not certain that both are one person's, the person says so.
	asks := manager.get(at + "/" + other).has("They may be of different people")
	s.Unchanged(func() { asks.form().refused("yes", "Confirm that both cards") })
	manager.get(at+"/"+card).has("These cards cannot be merged", "Both are the same card").lacks("Merge the cards")
	page := manager.get(at+"/"+twin).has("3 stamps move", "then has 3 stamps", "what it does not have: Reference").lacks("different people")
	shown := page.form().sendTwice().next().has("The cards were merged.", "3 of 10 stamps", "A-9", "+3", "Merged with another card",
		"Another card merged into it")
	if !shown.link("/dashboard/card/" + twin) {
		t.Error("the ledger has no link to the other card")
	}
	manager.get("/dashboard/card/"+twin).has("Archived", "−3", "Merged with another card")
	manager.get("/dashboard/activity").has("Merged two cards")
}

// TestRequestOfArchivedCard closes what the holder of a card that was archived meanwhile has asked for.
func TestRequestOfArchivedCard(t *testing.T) {
	s := start(t)
	manager := s.as("manager")
	card, _ := s.issue(object{"holder_name": "Ada"})
	at := "/dashboard/card/" + card
	manager.fill(at+"/contact", "note", "Likes tea").next()
	s.SQL("UPDATE contacts SET erasure_at=1")
	manager.fill(at + "/archive").next()
	manager.get(at).has("The customer asks")
	manager.post(at+"/close-request", url.Values{"kind": {"erasure"}}).next().has("The request is closed.").lacks("The customer asks")
}
