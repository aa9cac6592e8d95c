//go:build browser

package browser

import (
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
)

type fields = servertest.Fields

// start serves the demo shop with a clock that stands still, and with the faults that tests of the till inject.
func start(t *testing.T, options ...func(*app.Config)) *servertest.Server {
	t.Helper()
	return servertest.Start(t, append([]func(*app.Config){servertest.Frozen, servertest.WithJournal}, options...)...)
}

// issue issues a stamp card and returns its id and the link of its page.
func issue(s *servertest.Server, body fields) (id, link string) {
	s.T.Helper()
	return issueOf(s, s.ProgramIDs["standard"], body)
}

// newCard issues a stamp card and returns its id and the content of its QR code.
func newCard(s *servertest.Server, body fields) (id, code string) {
	s.T.Helper()
	id, link := issue(s, body)
	code, _ = s.Codes(link)
	return id, code
}

// issueOf issues a card of a program.
func issueOf(s *servertest.Server, program string, body fields) (id, link string) {
	s.T.Helper()
	r := s.Post("/programs/"+program+"/cards", servertest.Merge(body, nil)).Want(201)
	return r.Str("id"), r.Str("install_url")
}

// longName is a name of 200 characters without a blank.
var longName = strings.Repeat("Donaudampfschifffahrtsgesellschaft", 6)[:200]

// TestCardStates checks the page of a card in each of its states.
func TestCardStates(t *testing.T) {
	s := start(t)
	till := s.Till(s.TillToken)
	card := func(program string, body fields, actions ...any) string {
		id, link := issueOf(s, program, body)
		for i := 0; i+1 < len(actions); i += 2 {
			till.Post("/cards/"+id+"/"+actions[i].(string), actions[i+1]).Want(201)
		}
		return s.CardPage(link)
	}
	program := func(kind string, more fields) string { return s.NewProgram(kind, true, more) }
	standard := s.ProgramIDs["standard"]
	earlier := card(standard, fields{"holder_name": "Ada Lovelace"}, "stamps", fields{"count": 12})
	hostile := program("standard", fields{
		"name":            longName[:100],
		"description":     `</style><script>alert(1)</script> ` + longName,
		"total_stamps":    61,
		"brand_color_hex": "#abcdef",
		"bg_color_hex":    "#777777",
		"text_color_hex":  "#787878",
	})
	s.Post("/programs/"+hostile+"/prizes", fields{
		"threshold":   61,
		"name":        "שלום עולם " + longName[:80],
		"description": "🍕👩‍👩‍👧‍👦 " + longName,
	}).Want(201)
	for name, link := range map[string]string{
		"new":     card(standard, nil),
		"ready":   card(standard, fields{"holder_name": "Ada Lovelace"}, "stamps", fields{"count": 6}),
		"earlier": earlier,
		"many":    card(program("standard", fields{"total_stamps": 60}), nil, "stamps", fields{"count": 30}),
		"bar": card(program("standard", fields{
			"total_stamps":   61,
			"bg_color_hex":   "#102030",
			"text_color_hex": "#ffffff",
		}), nil, "stamps", fields{"count": 30}),
		"hostile":  card(hostile, fields{"holder_name": longName}, "stamps", fields{"count": 61}),
		"prepaid":  card(s.ProgramIDs["prepaid"], nil, "topups", fields{"amount_cents": 12345678}),
		"discount": card(s.ProgramIDs["discount"], fields{"expires_at": "2026-12-31T12:00:00Z"}),
		"access":   card(s.ProgramIDs["access"], fields{"holder_name": "مرحبا بالعالم"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			CheckPage(t, link, Rules{})
		})
	}
}

// TestCardInstall keeps a card on a phone, as its holder does, with and without scripts.
func TestCardInstall(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, v := range []View{{Width: 360}, {Width: 360, NoScripts: true}} {
		_, link := issue(s, fields{"holder_name": "Ada Lovelace"})
		page := s.CardPage(link)
		p := Open(t, link, v)
		p.Wait("Ada Lovelace", "0 of 10 stamps", "Show this code at the till")
		p.Press("I keep it on my iPhone")
		p.Wait("You told the shop that you keep this card on your phone.")
		if strings.Contains(p.Text(), "I keep it on") || s.Origin+p.Path() != page {
			t.Errorf("%s: %s", p.Path(), p.Text())
		}
	}
}

// TestCardLive checks that a page shows what happens at the till, and that its link has
// ended, without being loaded again.
func TestCardLive(t *testing.T) {
	t.Parallel()
	s := start(t)
	id, link := issue(s, nil)
	p := Open(t, s.CardPage(link), View{Width: 360})
	p.Wait("0 of 10 stamps")
	before := p.visited()
	addStamps(s, id, 3)
	p.Wait("3 of 10 stamps", "History")
	if p.visited() != before {
		t.Error("the page was loaded again")
	}
	s.Post("/cards/"+id+"/reissue", nil).Want(200)
	p.Wait("This link was replaced by a newer one. Ask the shop for a new one.")
	if problems := p.ExpectProblems(); len(problems) == 0 {
		t.Error("the page did not ask for itself")
	}
}

// TestCardOffline checks that a page is shown as it last was where there is no
// connection, and that nothing of it is left after its link has ended.
func TestCardOffline(t *testing.T) {
	db := t.TempDir() + "/test.db"
	serve := func(c *app.Config) { c.DB = db }
	s := start(t, serve)
	id, link := issue(s, fields{"holder_name": "Ada Lovelace"})
	page := s.CardPage(link)
	p := Open(t, page, View{Width: 360})
	addStamps(s, id, 4)
	p.Wait("4 of 10 stamps")
	p.wait("the copy", func() (kept bool, err error) {
		err = p.tab.eval(&kept, `async () => await caches.has(location.pathname) && `+
			`(await (await (await caches.open(location.pathname)).match(location.pathname))?.text() ?? '').includes('4 of 10')`)
		return kept, err
	})
	if strings.Contains(p.Text(), "No connection") {
		t.Error("the page says that there is no connection")
	}
	s.Stop()
	noError(t, p.navigate(page))
	p.Wait("No connection. This is the card as of 1 Mar 2026, 10:00.", "Ada Lovelace", "4 of 10 stamps", "Show this code at the till")
	if n := eval[int](p, `() => [...document.querySelectorAll('.code svg')].length +
		(getComputedStyle(document.querySelector('.code')).borderRadius === '0px' ? 10 : 0)`); n != 1 {
		t.Error("the page has no QR code or no style")
	}
	again := start(t, serve, func(c *app.Config) { c.Listen = strings.TrimPrefix(s.Origin, "http://") })
	p.Wait("4 of 10 stamps")
	again.Post("/cards/"+id+"/reissue", nil).Want(200)
	noError(t, p.navigate(page))
	p.Wait("This link was replaced by a newer one.")
	if left := eval[[]string](p, `() => caches.keys()`); len(left) != 0 {
		t.Errorf("the browser keeps %q", left)
	}
	p.ExpectProblems() // of the requests without a server
}
