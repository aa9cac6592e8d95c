package dashboard_test

import (
	"archive/zip"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// issue issues a card of a new stamp program with a prize at two stamps.
func (s *demo) issue(more object) (card, program string) {
	s.T.Helper()
	program = s.NewProgram("standard", false, nil)
	s.NewPrize(program, 2)
	s.REST().Post("/programs/"+program+"/publish", nil).Want(200)
	return s.Issue(program, more), program
}

// stamp gives a card stamps at the first location and returns the row of the ledger.
func (s *demo) stamp(card string, count int) string {
	s.T.Helper()
	return s.stampAt(s.LocationIDs[0], card, count)
}

func (s *demo) stampAt(location, card string, count int) string {
	s.T.Helper()
	till := s.Till(s.Control("POST", "/devices", object{"location_id": location, "accept_card_ids": true}).Str("token"))
	return till.Post("/cards/"+card+"/stamps", object{"count": count}).Want(201).Str("transaction.id")
}

// cardsOn returns the ids of the cards that a page leads to.
func cardsOn(p *page) (ids []string) {
	for n := range p.root().Descendants() {
		if id, ok := strings.CutPrefix(attribute(n, "href"), "/dashboard/card/"); ok && n.Data == "a" && !strings.Contains(id, "/") {
			ids = append(ids, id)
		}
	}
	return ids
}

// TestSearchPage searches and filters cards, and opens the one that is found.
func TestSearchPage(t *testing.T) {
	s := start(t)
	manager, viewer := s.as("manager"), s.as("viewer")
	ada, program := s.issue(object{"holder_name": "Ada Lovelace", "holder_email": "ada@example.com", "external_ref": "C-1"})
	bob := s.Issue(program, object{"holder_name": "Bob"})
	s.stamp(ada, 2)
	at := "/dashboard/card/" + ada
	manager.get(at).has("Ada Lovelace", "ada@", "2 of 10 stamps", "Ready", "Reverse", "Card issued")
	viewer.get(at).has("Ada Lovelace", "2 of 10 stamps").lacks("ada@", "Reverse", "/edit", "Show the code")
	viewer.get("/dashboard/cards").has("Ada Lovelace").lacks("ada@")
	for query, want := range map[string][]string{
		"program_id=" + program: {bob, ada}, "q=love": {ada}, "q=ADA%40ex": {ada}, "q=C-1": {ada}, "q=" + bob: {bob}, "q=nobody": nil,
		"status=invited&program_id=" + program: {bob}, "prize_due=true": {ada}, "seen=7&program_id=" + program: {ada},
		"seen=-30&program_id=" + program: nil,
		"seen=x&program_id=" + program:   {bob, ada}, "q=&program_id=" + program + "&status=&done=eraseCard": {bob, ada},
	} {
		if have := cardsOn(manager.get("/dashboard/cards?" + query).want(200)); !slices.Equal(have, want) {
			t.Errorf("%s: %v, want %v", query, have, want)
		}
	}
	// 40 days later, Ada's card has not been seen again, and Bob's never was.
	s.SQL("UPDATE cards SET created_at=created_at-40*86400000, last_seen_day=last_seen_day-40*(last_seen_day>0)")
	s.SQL("UPDATE transactions SET created_at=created_at-40*86400000")
	for query, want := range map[string][]string{
		"seen=-30": {bob, ada}, "seen=-90": nil, "seen=7": nil, "seen=-30&q=love": {ada}, "seen=-90&q=love": nil,
		"seen=-30&prize_due=true": {ada}, "seen=-30&status=invited": {bob},
		"seen=-30&status=archived": nil, "seen=-9999": {bob, ada},
	} {
		if have := cardsOn(manager.get("/dashboard/cards?program_id=" + program + "&" + query).want(200)); !slices.Equal(have, want) {
			t.Errorf("%s: %v, want %v", query, have, want)
		}
	}
	filters := "?prize_due=true&program_id=" + program + "&seen=-30"
	if !s.as("owner").get("/dashboard/cards" + filters).link("/dashboard/cards.csv" + filters) {
		t.Error("the export has other filters than the list")
	}
	if rows := s.export(filters); len(rows) != 2 || rows[1][0] != ada {
		t.Errorf("the export has %v", rows)
	}
	s.as("owner").get("/dashboard/cards.csv?prize_due=maybe").want(400)
	manager.get("/dashboard/cards?status=none").want(400).problem("status")
	manager.get("/dashboard/cards?q=nobody").has("No card found")
}

// export returns the exported cards.
func (s *demo) export(filters string) [][]string {
	s.T.Helper()
	return require.Must(csv.NewReader(strings.NewReader(s.as("owner").get("/dashboard/cards.csv" + filters).want(200).body)).ReadAll())
}

func TestIssueForm(t *testing.T) {
	s := start(t)
	manager := s.as("manager")
	_, program := s.issue(nil)
	form := manager.open("/dashboard/new/card?program_id=" + program)
	form.set("_program", "").refused("_program")
	form.set("_program", program, "holder_email", "nonsense").refused("holder_email")
	form.set("holder_email", "", "send_email", "true").send().want(400)
	form.set("holder_name", "Ada", "expires_at", "2099-12-31", "send_email", "").set("external_ref", "C-9")
	page := form.sendTwice().shows("The card was issued")
	manager.get(page.pathTo("/dashboard/card/", "")).has("Ada", "31 Dec 2099", "C-9")
	manager.fill("/dashboard/new/card?program_id="+program, "external_ref", "C-9").want(409).
		problem("external_ref", "with this reference already")
	s.Unchanged(func() { form.set("_program", s.ProgramIDs["private"]).send().want(409).has("sent already") })
}

func TestCardForms(t *testing.T) {
	s := start(t)
	manager, owner := s.as("manager"), s.as("owner")
	card, program := s.issue(object{"holder_name": "Ada  Lovelace", "holder_email": "ada@example.com"})
	row := s.stamp(card, 2)
	at := "/dashboard/card/" + card

	edit := manager.open(at + "/edit")
	edit.set("expires_at", "2020-01-01").refused("expires_at")
	edit.set("expires_at", "", "external_ref", "C-7").sendTwice().next().has("The card was saved.", "C-7", "Never")

	manager.fill(at + "/lock").next().has("The card is locked.")
	manager.get(at).press(at + "/unlock").next().has("The card is unlocked.")
	manager.twice(at+"/link").shows("New link", "/i/")
	manager.twice(at + "/mail").next().has("on its way by mail")

	reverse := "/dashboard/transaction/" + row + "/reverse"
	manager.get(reverse).has("+2").form().sendTwice().next().has("The row was reversed.", "0 of 10 stamps", "Reversed", "The manager")
	manager.post(reverse, nil).want(409).has("reversed already")

	s.Install(card)
	locked := manager.get(at + "/edit").has("on a phone").form()
	locked.set("external_ref", "C-8").send().next().has("C-8")
	manager.fill(at+"/reissue", "holder_name", "Ada King").shows("The card was reissued")
	manager.get(at).has("Ada King")

	contact := func(fields ...string) *page { return manager.fill(at+"/contact", fields...) }
	contact("phone", "12", "birthday", "02-30", "codes", "A-1\né").want(400).
		has("Enter a phone number as it is written in the country IT", "This month has no such day.", "A code has at most 64 letters")
	contact("phone", "06 1234 5678", "birthday", "02-29", "note", "Likes tea", "codes", "036000291452\r\n\r\nA-1").next().
		has("The contact was saved.", "+390612345678", "29 Feb", "Likes tea", "0036000291452, A-1", "Contact changed")
	s.as("viewer").get(at).has("***78").lacks("0612345678", "29 Feb", "Likes tea", "A-1")
	manager.get(at + "/reissue").has("by the codes of earlier cards: 0036000291452, A-1")
	contact("codes", "").next().has("+390612345678").lacks("A-1")
	manager.get(at + "/reissue").lacks("earlier cards")

	manager.fill("/dashboard/new/card", "_program", s.ProgramIDs["standard"], "phone", "12", "expires_at", "2020-01-01").want(400).
		has("Enter a phone number as it is written in the country IT", "Choose a time in the future.")

	var x store.CardExport
	if err := json.Unmarshal([]byte(owner.get(at+"/export").want(200).body), &x); err != nil ||
		x.Cards[0].HolderEmail.V != "ada@example.com" || !strings.Contains(string(x.Contact), `"phone": "+390612345678"`) ||
		!strings.Contains(string(x.Contact), "Likes tea") ||
		len(x.Transactions) != 2 {
		t.Errorf("the export has %+v, %v", x, err)
	}

	manager.fill(at + "/archive").next().has("Archived").lacks("/edit")
	erase := manager.get(at + "/erase").has("Other cards of the same person stay.").form()
	for _, typed := range []string{"", "Ada", "erase"} {
		s.Unchanged(func() { erase.set("_confirmation", typed).refused("_confirmation") })
	}
	erase.set("_confirmation", " ada king ").sendTwice().next().has("The card was erased.")
	manager.get(at).want(404)

	unnamed := "/dashboard/card/" + s.Issue(program, object{"holder_email": "ada@example.com"}) + "/erase"
	manager.post(unnamed, url.Values{"_confirmation": {""}}).want(400)
	manager.fill(unnamed, "_confirmation", "erase").next()
}

// TestCardsTable checks that the table of cards has more of them than one page of a list.
func TestCardsTable(t *testing.T) {
	s := start(t, func(c *app.Config) { c.Limits.PublicAPIMaxPageSize = 1 })
	_, program := s.issue(object{"holder_name": "=1+1", "external_ref": "a,\"b"})
	s.Issue(program, nil)
	rows := s.export("?program_id=" + program)
	if len(rows) != 3 || rows[0][0] != "id" || rows[2][3] != "'=1+1" || rows[2][5] != `a,"b` {
		t.Errorf("%q", rows)
	}
}

func TestPrintCards(t *testing.T) {
	s := start(t)
	_, program := s.issue(nil)
	form := s.as("manager").open("/dashboard/print/cards?program_id=" + program)
	form.set("count", "201").refused("count")
	form.set("count", "3", "_program", "").refused("_program")
	sheets := form.set("count", "12", "_program", program).sendTwice().shows("12 cards to print", "2 sheets of A4")
	if n := strings.Count(sheets.body, `class="print-card"`); n != 12 {
		t.Errorf("there are %d cards", n)
	}
	if !strings.Contains(sheets.body, "data-print") {
		t.Error("there is no button to print the sheets")
	}
	code := textOf(sheets.find(func(n *html.Node) bool { return n.Data == "code" }))
	s.as("manager").get("/dashboard/cards?q=" + code).has("Card without a name")
}

// TestNoMailServer checks that a server without a mail server offers no mail, and says where
// to set one.
func TestNoMailServer(t *testing.T) {
	db := filepath.Join(t.TempDir(), "shop.db")
	s := start(t, func(c *app.Config) { c.DB = db })
	card, _ := s.issue(object{"holder_email": "ada@example.com"})
	forms := []string{"/dashboard/new/card", "/dashboard/card/" + card + "/reissue"}
	manager := s.as("manager")
	manager.get("/dashboard/card/" + card).has("Mail a link").lacks("--smtp-url")
	for _, path := range forms {
		manager.get(path).has("Mail the link to the holder").lacks("--smtp-url")
	}
	s.as("").get("/reset").has("Send the link")
	s.Stop()
	s.Server = servertest.Start(t, func(c *app.Config) { c.DB, c.Dev = db, nil })
	manager = s.as("manager")
	manager.get("/dashboard/card/"+card).has("New link", "--smtp-url").lacks("Mail a link")
	for _, path := range forms {
		manager.get(path).has("--smtp-url").lacks("Mail the link to the holder")
	}
	s.as("").get("/reset").has("--smtp-url").lacks("Send the link")
}

// TestAdjustCard adjusts cards of both kinds, and checks what the pages show of it.
func TestAdjustCard(t *testing.T) {
	s := start(t)
	manager := s.as("manager")
	coffee, gift := s.Issue(s.NewProgram("standard", true, nil), nil), s.Issue(s.NewProgram("prepaid", true, nil), nil)
	at := "/dashboard/card/" + coffee
	if !manager.get(at).link(at + "/adjust") {
		t.Error("the page has no link to the form")
	}
	for card, field := range map[string]string{coffee: "stamps", gift: "amount_cents"} { // the keys of digits of a phone have no minus
		input := manager.get("/dashboard/card/" + card + "/adjust").find(func(n *html.Node) bool { return attribute(n, "name") == field })
		if mode := attribute(input, "inputmode"); mode != "text" {
			t.Errorf("the field %s has the keys for %s", field, mode)
		}
	}
	form := manager.open(at + "/adjust")
	form.set("stamps", "0", "reason", "Goodwill", "location_id", s.LocationIDs[0]).refused("stamps", "other than 0")
	form = form.set("stamps", "-1").send().want(422).has("The card has only 0 stamps.").form()
	shown := form.set("stamps", "4").sendTwice().next().has("The card was adjusted.", "4 of 10 stamps", "Adjustment", "Goodwill", "+4")
	if shown.link("/reverse") {
		t.Error("an adjustment can be reversed")
	}
	manager.fill("/dashboard/card/"+gift+"/adjust", "amount_cents", "12,50", "reason", "Goodwill", "location_id", s.LocationIDs[1]).
		next().
		has("Adjustment", "+€12.50")
	form = manager.open("/dashboard/card/"+gift+"/adjust", "reason", "Goodwill", "location_id", s.LocationIDs[1])
	for _, amount := range []string{"--1", "-+1", "1.000", "1e3", "1,000.00", "0.001", "1234567890123"} {
		s.Unchanged(func() { form.set("amount_cents", amount).refused("amount_cents", "such as 3.50") })
	}
	form = form.set("amount_cents", "-17,51").send().want(422).has("There is not enough money on the card for this.").form()
	form.set("amount_cents", "−2.50").send().next().has("−€2.50", "€15.00")
	manager.fill("/dashboard/card/"+gift+"/adjust", "amount_cents", "+3", "reason", "Goodwill", "location_id", s.LocationIDs[1]).
		next().
		has("+€3.00", "€18.00")
	manager.get("/dashboard").has("Adjustment")
	manager.get("/dashboard/report").has("Adjustment", "4 stamps · €13.00")
	s.as("viewer").get(at).has("Adjustment").lacks("Goodwill")
}

// TestExportAll downloads all data of a shop, which is audited, and is refused in an unknown format.
func TestExportAll(t *testing.T) {
	s := start(t)
	card, _ := s.issue(object{"holder_name": "Ada"})
	form := s.as("owner").open("/dashboard/export")
	form.set("format", "xml").refused("format")
	page := form.set("format", "csv").send().want(200)
	text := page.body
	z := require.Must(zip.NewReader(strings.NewReader(text), int64(len(text))))
	f := require.Must(z.Open("cards.csv"))
	if cards, err := io.ReadAll(f); err != nil || !strings.Contains(string(cards), card) || !strings.Contains(string(cards), "Ada") {
		t.Errorf("%s, %v", cards, err)
	}
	if last := z.File[len(z.File)-1].Name; last != "manifest.json" {
		t.Errorf("the last file is %s", last)
	}
	s.as("manager").get("/dashboard/activity").has("Exported all data of the shop")
}
