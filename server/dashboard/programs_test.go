package dashboard_test

import (
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

func TestProgramPages(t *testing.T) {
	s := start(t)
	program := s.NewProgram("standard", true, nil)
	at := "/dashboard/program/" + program
	s.as("viewer").get("/dashboard/programs?type=prepaid").want(200)
	for _, query := range []string{"template=gift", "type=access", "from=" + program} {
		s.as("manager").get("/dashboard/new/program?" + query).want(200)
		s.as("viewer").get("/dashboard/new/program?" + query).want(403)
	}
	if p := s.as("viewer").get(at); p.link(at+"/edit") || p.link(at+"/rules") || p.link(at+"/new-prize") {
		t.Error("a viewer is offered what is refused")
	}
}

// TestTemplatesOfPrograms creates a program from each template, as a form that is sent
// without changes.
func TestTemplatesOfPrograms(t *testing.T) {
	s := start(t)
	manager := s.as("manager")
	for template, want := range map[string][]string{
		"coffee": {"Coffee card", "Croissant", "Free coffee", "Not published"}, "pizza": {"Pizza card", "Soft drink"},
		"gym":  {"Gym pass", "30 days from issue"},
		"gift": {"Gift card", "€0.00"}, "discount": {"Friends of the shop", "10 % off"},
	} {
		path := "/dashboard/new/program?template=" + template
		if !manager.get("/dashboard/new/program").link(path) {
			t.Errorf("no link to %s", path)
		}
		manager.get(path).form("/dashboard/new/program").sendTwice().next().has(want...).has("The program was created.")
	}
}

func TestNewProgram(t *testing.T) {
	s := start(t)
	manager := s.as("manager")
	form := manager.get("/dashboard/new/program?type=standard").form("/dashboard/new/program")
	form.refused("name")
	// A row that was left empty is closed up, and what is wrong is beside the row that has it.
	form.set("name", "Lunch", "total_stamps", "8", "prizes.0.name", "", "prizes.1.name", "Soup")
	refused := form.send().want(400).has("Prize 1: Fill in this field.")
	form = refused.problem("prizes-0-threshold").form("/dashboard/new/program").set("prizes.0.threshold", "9")
	above := form.send().want(422).has("A prize at 9 stamps would never be reached: a full card has 8.").problem("prizes-0-threshold")
	form = above.form("/dashboard/new/program")
	form.set("prizes.0.threshold", "8")
	for _, amount := range []string{"a lot", "1.000"} {
		form.set("min_spend_cents", amount).refused("min_spend_cents", "Enter an amount")
	}
	form.set("min_spend_cents", "2,50", "max_stamps_per_day", "3", "location_scope", "selected_locations")
	form.refused("scoped_location_ids")
	form.fields["scoped_location_ids"] = []string{"", s.LocationIDs[0]}
	form.set("name_localizations.it", "Pranzo", "description_localizations.de", "Mittagstisch")
	created := form.sendTwice().next().has("Lunch", "Soup", "€2.50", "Centrale", "Italiano, Deutsch")
	// The form of the program has what was stored.
	edit := manager.open(created.path + "/edit")
	if edit.fields.Get("name_localizations.it") != "Pranzo" || edit.fields.Get("description_localizations.de") != "Mittagstisch" ||
		edit.fields["scoped_location_ids"][1] != s.LocationIDs[0] {
		t.Errorf("%v", edit.fields)
	}
	edit = edit.set("total_stamps", "7").send().want(422).form(created.path + "/edit")
	edit.set("total_stamps", "9", "location_scope", "all_locations", "name_localizations.it", "").
		send().
		next().
		has("The program was saved.", "At all locations", "Deutsch").
		lacks("Italiano")
	manager.fill(created.path+"/rules", "max_stamps_per_day", "x").want(400).problem("max_stamps_per_day")
	manager.fill(created.path+"/rules", "max_stamps_per_day", "", "min_spend_cents", "").next().has("No limit")
	from := "?from=" + strings.TrimPrefix(created.path, "/dashboard/program/")
	copied := manager.get("/dashboard/new/program" + from).form("/dashboard/new/program").fields
	if copied.Get("prizes.0.name") != "Soup" || copied.Get("name") != "Lunch" {
		t.Errorf("%v", copied)
	}
}

// TestProgramStates publishes, suspends and deletes a program with cards.
func TestProgramStates(t *testing.T) {
	s := start(t)
	manager := s.as("manager")
	program := s.NewProgram("prepaid", false, object{"initial_balance_cents": 1250})
	at := "/dashboard/program/" + program
	do := func(action string, want ...string) *page {
		t.Helper()
		return manager.get(at + "/" + action).has(want...).form().sendTwice()
	}
	do("publish", "Publish V?").next().has("Cards can be issued.", "Published")
	s.Activate(s.Issue(program, nil))
	s.Activate(s.Issue(program, nil))
	do("unpublish", "2 cards go on working.").next().has("Not published")
	do("publish").next()
	do("suspend", "2 cards stop working at once", "€25.00 of your customers' money").next().has("Suspended")
	manager.post(at+"/publish", nil).want(409).has("The program’s state has changed")
	do("unsuspend", "2 cards work again.").next().has("Published")
	do("delete", "2 cards stop working and are archived for good.", "€25.00").next().has("The program was deleted")
	manager.get(at).want(404)
}

// TestFrozenProgram checks that what the first card on a phone freezes is said in the form before, and
// beside the link that leads to it, that the preview of the customer's page installs nothing, and that a
// program with a card on a phone says why it stays as it is, and that its rules can be changed.
func TestFrozenProgram(t *testing.T) {
	s := start(t)
	manager := s.as("manager")
	program := s.NewProgram("standard", true, nil)
	at, prize := "/dashboard/program/"+program, s.NewPrize(program, 5)
	const (
		said   = "From the first card on a phone, these stay as they are"
		frozen = "The design stays as it is"
		issued = "Nobody keeps a card of this program on a phone yet."
	)
	manager.get("/dashboard/new/program?type=standard").has(said)
	manager.get(at + "/edit").has(said).lacks(frozen)
	issue := func() *page {
		return manager.get("/dashboard/new/card?program_id=" + program).press("/dashboard/new/card").want(200)
	}
	issue().has(issued)
	s.Unchanged(func() {
		s.as("viewer").get(at+"/customer").want(200).
			has("no card is issued", "5 stamps", "At all locations").
			lacks("<form method=\"post\" action=\"/c/")
	})
	manager.get(at + "/edit").has(said)
	s.Install(s.Issue(program, nil))
	issue().lacks(issued)
	page := manager.get(at + "/edit").shows(frozen).lacks(said)
	if page.find(func(n *html.Node) bool { return n.Data == "fieldset" && has(n, "disabled") }) == nil {
		t.Error("the fields can be changed")
	}
	s.Unchanged(func() {
		manager.post(at+"/edit", url.Values{"name": {"X"}}).want(409).has("so the program and its prizes stay as they are")
		manager.post(at+"/prize/"+prize, url.Values{"name": {"X"}}).want(409)
	})
	if manager.get(at).has("Prizes stay as they are").link(at + "/new-prize") {
		t.Error("a prize can be added")
	}
	manager.fill(at+"/rules", "welcome_stamps", "5").want(422).problem("welcome_stamps", "must be fewer than every prize")
	manager.fill(at+"/rules", "max_stamps_per_day", "2", "welcome_stamps", "4").next().
		has("The rules at the till were saved.", "Stamps on a new card")
	manager.get("/dashboard/card/" + s.Issue(program, nil)).has("4 of 10 stamps")
}

func TestPrizes(t *testing.T) {
	s := start(t)
	manager := s.as("manager")
	program := s.NewProgram("standard", false, nil)
	at := "/dashboard/program/" + program
	manager.get(at).has("Add a prize", "Without a prize there is nothing to collect stamps for.")
	form := manager.open(at + "/new-prize")
	form.refused("threshold")
	form = form.set("threshold", "11", "name", "Cup").send().want(422).form()
	form.set("threshold", "5", "name_localizations.de", "Tasse").sendTwice().next().has("The prize was added.", "Cup")
	second := s.NewPrize(program, 10)
	up := manager.get(at).form(at + "/prizes")
	if ordered := up.sendTwice().next().text(); strings.Index(ordered, "At 10") > strings.Index(ordered, "Cup") {
		t.Errorf("the second prize is not the first: %s", ordered)
	}
	up.fields.Del("idempotency_key")
	s.NewPrize(program, 3)
	s.Unchanged(func() { up.send().want(409).has("have changed meanwhile") })
	at += "/prize/" + second
	manager.fill(at, "name", "").want(400).problem("name")
	manager.fill(at, "name", "Cake").next().has("Cake")
	manager.get(at + "/delete").has("Delete Cake?").form().send().next().has("The prize was deleted.").lacks("Cake")
}

// TestPreview checks that the preview has the card alone for scripts, and the page for
// browsers without, that its colours are readable, and that it stores nothing.
func TestPreview(t *testing.T) {
	s := start(t)
	manager := s.as("manager")
	program := s.NewProgram("standard", false, nil)
	at := "/dashboard/program/" + program
	form := manager.open(at + "/edit")
	form.set("name", "<b>Lunch", "total_stamps", "61", "bg_color_hex", "#FFFFFF", "text_color_hex", "#FFFFFE", "brand_color_hex", "red;}")
	s.Unchanged(func() {
		fragment := manager.post(at+"/preview", form.fields).
			want(200).
			has("<b>Lunch", "24 of 61 stamps", "This text is hard to read", "Cards show black text instead.")
		for _, want := range []string{"--bg:#FFFFFF;--ink:#111111;--brand:#1F2937", "<rect width=\"39%\""} {
			if !strings.Contains(fragment.body, want) {
				t.Errorf("no %s: %s", want, fragment.body)
			}
		}
		if fragment.lacks("<html", "red;}", "<b>Lunch").header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Error(fragment.header)
		}
		form.set("_page", "preview")
		whole := manager.post(at+"/preview", form.fields).shows("24 of 61 stamps")
		if got := whole.form(at + "/edit").fields.Get("name"); got != "<b>Lunch" {
			t.Errorf("the form has the name %q", got)
		}
		if !strings.Contains(whole.header.Get("Content-Security-Policy"), "'sha256-") {
			t.Errorf("the colours have no hash: %s", whole.header)
		}
		manager.post("/dashboard/new/program/preview", url.Values{"type": {"prepaid"}, "initial_balance_cents": {"12,5"}}).
			want(200).
			has("€12.50", "Name of the program")
	})
}
