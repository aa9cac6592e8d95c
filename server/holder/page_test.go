package holder_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/server/web"
)

// issuePage issues a card and returns it with the URL of its page.
func issuePage(s *servertest.Server, program string, f fields) (card, page string) {
	s.T.Helper()
	card, link := issueCard(s, program, f)
	return card, s.Origin + pageOf(s, link)
}

// TestCardPage checks that the page of a card is there until a reissue, archiving or
// erasure, also after its install link has ended, and that neither reading it nor a
// refusal writes.
func TestCardPage(t *testing.T) {
	s := start(t)
	card, link := issueCard(s, s.ProgramIDs["standard"], fields{"holder_name": "Ada"})
	page := s.Origin + pageOf(s, link)
	s.Unchanged(func() {
		p := readPage(s, page).Want(200)
		checkPage(p)
		checkText(p, "0 of 10 stamps", "I keep it on my iPhone")
		checkText(readPage(s, link).Want(200), "open the page of the card")
		for _, forged := range []string{
			"x", "../" + page[len(page)-26:], page[len(page)-26:] + "0", link[len(link)-52:], strings.ToUpper(page[len(page)-26:]),
		} {
			for _, path := range []string{"", "/events", "/manifest.webmanifest", "/icon/180.png"} {
				fetch(s, "GET", s.Origin+"/c/"+forged+path, "").Want(404, "not_found")
			}
			if len(forged) != 52 { // the token of the install link, which may install
				fetch(s, "POST", s.Origin+"/c/"+forged+"/install", `{"platform":"apple"}`, "Content-Type", "application/json").
					Want(404, "not_found")
			}
		}
		fetch(s, "GET", s.Origin+"/i/"+page[len(page)-26:], "").Want(404, "not_found")
	})
	s.Advance("1000h")
	readPage(s, link).Want(410)
	readPage(s, page).Want(200)
	r := fetch(
		s,
		"POST",
		page+"/install",
		"platform=google", "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html",
	).Want(303)
	if s.Origin+r.Header.Get("Location") != page {
		t.Errorf("Location %q", r.Header.Get("Location"))
	}
	if got := s.Call("GET", "/cards/"+card, nil).Want(200); got.Str("status") != "active" {
		t.Errorf("%s", got.Body)
	}
	refused := func(page string, status int, code, text string) {
		t.Helper()
		checkRefused(s, page, status, code, text)
		for _, path := range []string{"", "/events", "/manifest.webmanifest", "/icon/180.png"} {
			fetch(s, "GET", page+path, "").Want(status, code)
		}
	}
	again := s.Call("POST", "/cards/"+card+"/reissue", fields{}).Want(200).Str("install_url")
	refused(page, 410, "gone", "This link was replaced by a newer one. Ask the shop for a new one.")
	page = s.Origin + pageOf(s, again)
	readPage(s, page).Want(200)
	s.Control("POST", "/cards/"+card+"/archive", fields{})
	refused(page, 410, "gone", "This card has ended. Ask the shop for a new one.")
	s.Control("POST", "/cards/"+card+"/delete", fields{})
	refused(page, 404, "not_found", "No such card.")
}

// TestReadyPrizes checks that the prizes which the till gives now are the first thing on a card,
// counted over its whole chain, with the options of a threshold in one line.
func TestReadyPrizes(t *testing.T) {
	s := start(t)
	program := newProgram(s, fields{"type": "standard", "name": "Tea", "total_stamps": 10, "icon_key": "x", "repeat_after_reset": true})
	for _, prize := range []fields{
		{"threshold": 5, "name": "Biscuit"}, {"threshold": 10, "name": "Free tea"}, {"threshold": 10, "name": "Cake"},
	} {
		s.Call("POST", "/programs/"+program+"/prizes", prize).Want(201)
	}
	card, page := issuePage(s, program, fields{"holder_name": "Ada"})
	for _, c := range []struct {
		give int
		face string
	}{
		{4, "Tea Ada 4 of 10 stamps 1 more for Biscuit"},
		{6, "Biscuit ready Free tea / Cake ready Tea Ada 10 of 10 stamps"},
		{2, "Biscuit ready Free tea / Cake ready Tea Ada 2 of 10 stamps"},
		{9, "Biscuit × 2 ready Free tea / Cake × 2 ready Tea Ada 1 of 10 stamps"},
	} {
		callTill(s, "POST", "/cards/"+card+"/stamps", fields{"count": c.give}).Want(201)
		p := readPage(s, page).Want(200)
		checkPage(p)
		checkText(p, c.face)
	}
	s.Control("POST", "/cards/"+card+"/lock", fields{})
	if text := pageText(readPage(s, page).Want(200)); strings.Contains(text, "× 2 ready") {
		t.Errorf("a locked card says that a prize can be redeemed: %s", text)
	}
}

// TestNotices checks that the page of a card that cannot be used says so, and what to do.
func TestNotices(t *testing.T) {
	s := start(t)
	program := newProgram(s, fields{"type": "standard", "name": "Tea", "total_stamps": 5, "icon_key": "x"})
	card, link := issueCard(s, program, fields{"expires_at": "2026-03-02T09:00:00Z"})
	page := s.Origin + pageOf(s, link)
	fetch(s, "POST", link+"/install", `{"platform":"apple"}`, "Content-Type", "application/json").Want(200)
	used := func() {
		t.Helper()
		if r := readPage(s, link).Want(303); s.Origin+r.Header.Get("Location") != page {
			t.Errorf("the used link leads to %q", r.Header.Get("Location"))
		}
	}
	s.Control("POST", "/cards/"+card+"/lock", fields{})
	used()
	checkText(readPage(s, page).Want(200), "This card is locked. Ask the shop to unlock it.", "Show this code")
	s.Control("POST", "/cards/"+card+"/unlock", fields{})
	s.Call("POST", "/programs/"+program+"/suspend", fields{}).Want(200)
	checkText(readPage(s, page).Want(200), "The shop has paused this card.")
	s.Advance("24h")
	checkText(readPage(s, page).Want(200), "This card expired on 2 Mar 2026. Ask the shop for a new one.")
	used()
	s.Control("POST", "/cards/"+card+"/archive", fields{})
	readPage(s, link).Want(410)
}

// TestLedgerRows checks that the page has the last 50 rows of the ledger in plain words,
// and neither devices nor ids.
func TestLedgerRows(t *testing.T) {
	s := start(t)
	card, page := issuePage(s, s.ProgramIDs["standard"], fields{})
	stamp := callTill(s, "POST", "/cards/"+card+"/stamps", fields{"count": 6}).Want(201)
	prize := regexp.MustCompile(`prz_\w+`).FindString(string(callTill(s, "GET", "/cards/"+card, nil).Body))
	redeemed := callTill(s, "POST", "/cards/"+card+"/redemptions", fields{"prize_id": prize}).Want(201)
	callTill(s, "POST", "/transactions/"+redeemed.Str("transaction.id")+"/reversal", fields{}).Want(201)
	callTill(s, "POST", "/transactions/"+stamp.Str("transaction.id")+"/reversal", fields{}).Want(201)
	p := readPage(s, page).Want(200)
	checkText(
		p, "Corrected: 6 stamps taken back", "Corrected: prize not redeemed: Croissant",
		"Prize redeemed: Croissant (corrected later)", "6 stamps (corrected later)", "1 Mar 2026, 10:00",
	)
	if m := regexp.MustCompile(`(crd|txn|dev|loc|prz|prg|shp)_\w+|Demo till`).FindString(string(p.Body)); m != "" {
		t.Errorf("the page has %s", m)
	}
	for range 30 {
		id := callTill(s, "POST", "/cards/"+card+"/stamps", fields{"count": 1}).Want(201).Str("transaction.id")
		callTill(s, "POST", "/transactions/"+id+"/reversal", fields{}).Want(201)
	}
	p = readPage(s, page).Want(200)
	checkPage(p)
	if n := strings.Count(string(p.Body), "<time "); n != 50 {
		t.Errorf("the page has %d rows", n)
	}
}

// TestLocations checks that the page has the enabled locations at which the card works.
func TestLocations(t *testing.T) {
	s := start(t)
	closed := s.Control("POST", "/locations", fields{"name": "Closed kiosk", "city": "Torino", "country_code": "IT"}).Str("id")
	kiosk := s.Control("POST", "/locations", fields{
		"name": "Kiosk", "address": "Via Po 1", "postal_code": "10123", "city": "Torino", "country_code": "IT",
	}).
		Str("id")
	s.Call("POST", "/locations/"+closed+"/disable", fields{}).Want(200)
	program := newProgram(
		s,
		fields{
			"type":                "standard",
			"name":                "Tea",
			"total_stamps":        5,
			"icon_key":            "x",
			"location_scope":      "selected_locations",
			"scoped_location_ids": []string{closed, kiosk},
		},
	)
	_, page := issuePage(s, program, fields{})
	p := readPage(s, page).Want(200)
	checkText(p, "Where it is valid Kiosk Via Po 1, 10123 Torino")
	if strings.Contains(pageText(p), "Closed kiosk") {
		t.Error("the page has a location that is disabled")
	}
}

// TestLanguages checks in which language a page is, and that the shop's texts, dates and
// amounts follow it.
func TestLanguages(t *testing.T) {
	s := start(t)
	s.SQL("UPDATE shops SET currency='CHF', language='de'")
	names := fields{"it": "Carta regalo", "de": "Guthabenkarte"}
	program := newProgram(
		s,
		fields{
			"type":                      "prepaid",
			"name":                      "Gift card",
			"initial_balance_cents":     123456,
			"name_localizations":        names,
			"description_localizations": fields{"it": "Vale un anno."},
			"description":               "For a year.",
		},
	)
	card, page := issuePage(s, program, fields{"expires_at": "2026-12-31T23:30:00Z"})
	callTill(s, "POST", "/cards/"+card+"/topups", fields{"amount_cents": 550}).Want(201)
	get := func(query, accept string) *servertest.Reply {
		return fetch(s, "GET", page+query, "", "Accept", "text/html", "Accept-Language", accept)
	}
	for _, c := range []struct{ query, accept, lang, text string }{
		{"", "", "de", "Guthabenkarte"},
		{"", "xx,ja;q=0.9", "de", "1.240,06\u00a0CHF"},
		{"", "fr-CH, it;q=0.8", "fr", "Gift card"},
		{"?lang=it", "fr", "it", "Carta regalo"},
		{"?lang=it", "fr", "it", "Vale un anno."},
		{"?lang=xx", "pt", "pt", "Carregamento"},
		{"?lang=", "es", "es", "Recarga"},
	} {
		p := get(c.query, c.accept).Want(200)
		checkPage(p)
		if !strings.Contains(string(p.Body), `<html lang="`+c.lang+`"`) {
			t.Errorf("%q with %q is in another language than %s", c.query, c.accept, c.lang)
		}
		checkText(p, c.text)
	}
	// The end of the card is in the shop's time zone, Europe/Rome.
	checkText(get("?lang=es", ""), "1 ene 2027")
	checkText(get("?lang=de", ""), "1. Jan. 2027")
	// Pages that a page leads to have the language that its URL names.
	it := string(get("?lang=it", "").Body)
	for _, path := range []string{"/install?lang=it", "/manifest.webmanifest?lang=it"} {
		if !strings.Contains(it, page[len(s.Origin):]+path) {
			t.Errorf("the page does not lead to %s", path)
		}
	}
	r := fetch(
		s,
		"POST",
		page+"/install?lang=it",
		"platform=apple", "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html",
	).Want(303)
	if r.Header.Get("Location") != page[len(s.Origin):]+"?lang=it" {
		t.Errorf("Location %q", r.Header.Get("Location"))
	}
	// The pages of errors are translated too: no word of the English one is left.
	s.Control("POST", "/cards/"+card+"/archive", fields{})
	for _, unknown := range []string{"", "ja"} { // a browser that knows no language of the page: the shop's
		checkText(get("", unknown).Want(410), "Diese Karte kann nicht gezeigt werden")
	}
	for _, lang := range web.Locales[1:] {
		p := get("?lang="+lang, "").Want(410)
		checkPage(p)
		for _, english := range []string{"This card", "Ask the shop"} {
			if strings.Contains(pageText(p), english) {
				t.Errorf("%s: %s", lang, pageText(p))
			}
		}
	}
}

// TestAnyHost checks that a server answers the pages of cards under any Host, unlike the
// dashboard.
func TestAnyHost(t *testing.T) {
	t.Parallel()
	db := t.TempDir() + "/test.db"
	s := servertest.Start(t, func(c *app.Config) { c.DB = db })
	_, page := issuePage(s, s.ProgramIDs["standard"], fields{})
	s.Stop()
	served := servertest.Start(t, func(c *app.Config) { c.DB, c.Dev = db, nil })
	for path, status := range map[string]int{page[len(s.Origin):]: 200, "/sw.js": 200, "/dashboard": 403} {
		req := require.Must(http.NewRequest(http.MethodGet, served.Origin+path, nil))
		req.Host = "cards.elsewhere.example"
		resp := require.Must(served.HTTP.Do(req))
		resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, status)
		}
	}
}

// TestAskAboutData sends the forms about the holder's data, each once, and closes what they ask for.
func TestAskAboutData(t *testing.T) {
	s := start(t)
	_, page := issuePage(s, s.ProgramIDs["standard"], fields{"holder_name": "Ada"})
	path := strings.TrimPrefix(page, s.Origin)
	ask := func(pairs ...string) *servertest.Reply {
		form := url.Values{}
		for i := 0; i < len(pairs); i += 2 {
			form.Set(pairs[i], pairs[i+1])
		}
		return send(s, path+"/ask", form, "")
	}
	checkText(readPage(s, page).Want(200), "Correct my data", "Erase my card")
	s.Unchanged(func() {
		ask("kind", "correction").Want(400)
		ask("kind", "correction", "correction", strings.Repeat("x", 501)).Want(400)
		ask("kind", "other").Want(400)
		send(s, "/c/"+strings.Repeat("0", 26)+"/ask", url.Values{"kind": {"erasure"}}, "").Want(404)
	})
	ask("kind", "correction", "correction", "My name is <b>Ida</b>").Want(303)
	ask("kind", "erasure").Want(303)
	s.Unchanged(func() { ask("kind", "erasure").Want(409) })
	p := readPage(s, page).Want(200)
	checkPage(p)
	checkText(p, "you asked the shop to correct your data", "you asked the shop to erase your card")
}
