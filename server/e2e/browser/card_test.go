//go:build browser

package browser

import (
	"strings"
	"testing"

	"punchcard/server/servertest"
)

type fields = servertest.Fields

// issue issues a card and returns its id and the link of its page.
func issue(s *servertest.Server, program string, body fields) (id, link string) {
	s.T.Helper()
	r := s.Post("/programs/"+program+"/cards", servertest.Merge(body, nil)).Want(201)
	return r.Str("id"), r.Str("install_url")
}

// longName is a name of 200 characters without a blank.
var longName = strings.Repeat("Donaudampfschifffahrtsgesellschaft", 6)[:200]

// TestCardStates checks the page of a card in each of its states.
func TestCardStates(t *testing.T) {
	s := servertest.Start(t, servertest.Frozen)
	till := s.Till(s.TillToken)
	card := func(program string, body fields, actions ...any) string {
		id, link := issue(s, program, body)
		for i := 0; i+1 < len(actions); i += 2 {
			till.Post("/cards/"+id+"/"+actions[i].(string), actions[i+1]).Want(201)
		}
		return link
	}
	program := func(kind string, more fields) string { return s.NewProgram(kind, true, more) }
	standard := s.ProgramIDs["standard"]
	earlier := card(standard, fields{"holder_name": "Ada Lovelace"}, "stamps", fields{"count": 12})
	hostile := program("standard", fields{"name": longName[:100], "description": `</style><script>alert(1)</script> ` + longName, "total_stamps": 61, "brand_color_hex": "#abcdef", "bg_color_hex": "#777777", "text_color_hex": "#787878"})
	s.Post("/programs/"+hostile+"/prizes", fields{"threshold": 61, "name": "שלום עולם " + longName[:80], "description": "🍕👩‍👩‍👧‍👦 " + longName}).Want(201)
	for name, link := range map[string]string{
		"new":      card(standard, nil),
		"ready":    card(standard, fields{"holder_name": "Ada Lovelace"}, "stamps", fields{"count": 6}),
		"earlier":  earlier,
		"many":     card(program("standard", fields{"total_stamps": 60}), nil, "stamps", fields{"count": 30}),
		"bar":      card(program("standard", fields{"total_stamps": 61, "bg_color_hex": "#102030", "text_color_hex": "#ffffff"}), nil, "stamps", fields{"count": 30}),
		"hostile":  card(hostile, fields{"holder_name": longName}, "stamps", fields{"count": 61}),
		"prepaid":  card(s.ProgramIDs["prepaid"], nil, "topups", fields{"amount_cents": 12345678}),
		"discount": card(s.ProgramIDs["discount"], fields{"expires_at": "2026-12-31T12:00:00Z"}),
		"access":   card(s.ProgramIDs["access"], fields{"holder_name": "مرحبا بالعالم"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			CheckPage(t, link, Rules{Picture: "card-" + name})
		})
	}
}

// TestCardRefused checks the pages of links that show no card.
func TestCardRefused(t *testing.T) {
	s := servertest.Start(t, servertest.Frozen)
	id, link := issue(s, s.ProgramIDs["standard"], nil)
	s.Control("POST", "/cards/"+id+"/lock", fields{})
	CheckPage(t, link, Rules{Status: 409, Picture: "card-locked"})
	s.Control("POST", "/cards/"+id+"/archive", fields{})
	CheckPage(t, link, Rules{Status: 410, Picture: "card-ended"})
}

// TestCardInstall keeps a card on a phone, as its holder does, with and without scripts.
func TestCardInstall(t *testing.T) {
	s := servertest.Start(t, servertest.Frozen)
	for _, v := range []View{{Width: 360}, {Width: 360, NoScripts: true}} {
		_, link := issue(s, s.ProgramIDs["standard"], fields{"holder_name": "Ada Lovelace"})
		p := Open(t, link, v)
		p.Wait("Ada Lovelace", "0 of 10 stamps", "Show this code at the till")
		p.Press("Keep it on my iPhone")
		p.Wait("This card is on your phone")
		if strings.Contains(p.Text(), "Keep it on") || s.Origin+p.Path() != link {
			t.Errorf("%s: %s", p.Path(), p.Text())
		}
		p.CheckNow()
		p.ShootAs("card-installed")
	}
}
