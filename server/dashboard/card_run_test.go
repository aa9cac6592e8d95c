package dashboard_test

import (
	"encoding/csv"
	"net/url"
	"strings"
	"testing"
)

// TestSortedCards sorts and filters the list, and reads how many cards there are.
func TestSortedCards(t *testing.T) {
	s := start(t)
	manager := s.as("manager")
	one, program := s.issue(object{"holder_name": "Ada"})
	s.stamp(one, 1)
	five := s.Issue(program, object{"holder_name": "Ben", "holder_email": "ben@example.com"})
	s.stamp(five, 5)
	s.Issue(program, object{"holder_name": "Cleo"})
	order := func(query string, names ...string) {
		t.Helper()
		text := manager.get("/dashboard/cards?program_id=" + program + "&" + query).shows(names...).text()
		for i := 1; i < len(names); i++ {
			if strings.Index(text, names[i-1]) > strings.Index(text, names[i]) {
				t.Errorf("%s: %s stands after %s", query, names[i-1], names[i])
			}
		}
	}
	order("", "3 cards", "Cleo", "Ben", "Ada")
	order("sort=stamps", "3 cards", "Ben", "Ada", "Cleo")
	order("sort=last_visit", "3 cards", "Ben", "Ada", "Cleo")
	order("seen=1", "2 cards", "Ben", "Ada")
	manager.get("/dashboard/cards?sort=balance&program_id=" + program).shows("No card found")
	order("sort=stamps&status=archived", "No card found")
	found := manager.get("/dashboard/cards?sort=stamps&q=ben").shows("Ben").lacks("Ada", "1 card")
	if s.as("owner").get("/dashboard/cards?q=ben").link("/dashboard/cards.csv") {
		t.Error("a search has a link to the export of all cards")
	}
	if !found.link("/dashboard/card/" + five + "/customer") {
		t.Error("a search has no link to the customer")
	}
	manager.fill("/dashboard/card/"+one+"/contact", "birthday", s.now().Format("01-02")).next()
	manager.get("/dashboard/cards?birthday=true").has("Ada", "1 card").lacks("Ben")
	s.as("viewer").get("/dashboard/cards?birthday=true").shows("Ada", "Ben").lacks("Birthday this month", "ticked")
}

// TestCardRunPages changes the cards that are ticked, and all of a filter, and reads the reports.
func TestCardRunPages(t *testing.T) {
	s := start(t)
	manager := s.as("manager")
	card, program := s.issue(object{"holder_name": "Ada"})
	other := s.Issue(program, object{"holder_name": "Ben"})
	gift := s.Issue(s.NewProgram("prepaid", true, nil), object{"holder_name": "Cleo"})
	s.stamp(other, 2)
	manager.get("/dashboard/runs").has("No changes yet")
	manager.get("/dashboard/cards").has("Change the ticked cards", "Give stamps")
	change := func(query url.Values) string { return "/dashboard/cards/change?" + query.Encode() }

	manager.get(change(url.Values{"action": {"lock"}})).
		has("Choose at least one card.").
		form().
		send().
		want(400).
		has("Choose at least one card.")
	form := manager.get(change(url.Values{"action": {"goodwill"}, "card_ids": {card, gift}, "status": {"archived"}})).has("2 cards").form()
	form.set("location_id", s.LocationIDs[0], "reason", "Closed", "stamps", "0").refused("stamps")
	run := form.set("stamps", "3").send().next().has("Give stamps", "2 cards")
	s.Control("POST", "/settle", nil)
	form.sendTwice() // once the change has ended, so that nothing else is written meanwhile
	manager.get(run.path+"?done=run-started").has("1 changed", "Done", "Not changed", "Cleo", "do not take this").
		lacks("Reload", "The cards are being changed.")
	manager.get("/dashboard/card/"+card).has("3 of 10 stamps", "Closed", "The manager")

	all := url.Values{"action": {"extend"}, "all": {"true"}, "program_id": {program}, "card_ids": {gift}}
	page := manager.get(change(all)).has("2 cards")
	page.form().set("expires_at", "2020-01-01").refused("expires_at")
	s.REST().Patch("/cards/"+other, object{"expires_at": "2098-01-01T00:00:00Z"}).Want(200)
	page.form().set("expires_at", "2099-12-31").send().next()
	s.Control("POST", "/settle", nil)
	manager.get("/dashboard/card/" + other).has("31 Dec 2099")
	manager.get("/dashboard/card/" + card).lacks("31 Dec 2099")
	searched := url.Values{"action": {"archive"}, "all": {"true"}, "q": {"Ada"}}
	manager.get(change(searched)).has("Choose at least one card.").form().send().want(400)
	manager.post("/dashboard/cards/change", searched).want(400)
	manager.fill(change(url.Values{"action": {"archive"}, "all": {"true"}, "prize_due": {"true"}})).next()
	s.Control("POST", "/settle", nil)
	manager.get("/dashboard/runs").has("Archive", "Later expiry date", "Give stamps")
	manager.get("/dashboard/activity").has("Began a change of many cards")

	file := s.as("owner").get("/dashboard/cards.csv?chosen=true&card_ids=" + card).want(200)
	rows, err := csv.NewReader(strings.NewReader(file.body)).ReadAll()
	if err != nil || len(rows) != 2 || rows[1][0] != card {
		t.Errorf("the export has %v, %v", rows, err)
	}
	s.as("owner").get("/dashboard/cards.csv?chosen=true").want(400)
}
