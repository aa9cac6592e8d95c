package holder_test

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"punchcard/server/qr"
	"punchcard/server/servertest"
)

var (
	markup = regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]*>`)
	space  = regexp.MustCompile(`\s+`)
	typed  = regexp.MustCompile(`<code>(.*?)</code>`)
)

// TestPage checks what the pages of cards of each type show, before and after actions at a till.
func TestPage(t *testing.T) {
	s := start(t)
	card, link := issueCard(s, s.ProgramIDs["standard"], fields{"holder_name": "Ada Lovelace"})
	s.Unchanged(func() {
		p := readPage(s, link).Want(200)
		checkPage(p)
		checkText(
			p, "Caffè Centrale", "Coffee card", "Ada Lovelace", "0 of 10 stamps", "5 more for Croissant",
			"Free coffee 10 stamps", "Slice of cake", "Show this code at the till", "I keep it on my iPhone",
			"Ten coffees", "Where it is valid",
		)
	})
	// The QR code has the card's code, and below it is the short code. A till accepts both.
	p := readPage(s, link)
	code, short := s.Codes(link)
	if shown := pageCode(p); len(shown) != 9 || strings.ToLower(strings.ReplaceAll(shown, "-", "")) != short {
		t.Errorf("the page shows %q for %q", shown, short)
	}
	if strings.Contains(string(p.Body), card) || strings.Contains(string(p.Body), code) {
		t.Error("the page has the card's id or the text of the QR code")
	}
	callTill(s, "GET", "/cards/"+pageCode(p), nil).Want(200)
	svg, err := qr.SVG(code)
	if err != nil || !strings.Contains(string(p.Body), svg) {
		t.Errorf("the picture is not of %q", code)
	}
	callTill(s, "POST", "/cards/"+code+"/stamps", fields{"count": 6}).Want(201)
	p = readPage(s, link)
	if n := strings.Count(string(p.Body), `<li class="on">`); n != 6 || strings.Count(string(p.Body), "<li></li>") != 4 {
		t.Errorf("%d stamps are drawn as awarded", n)
	}
	checkText(p, "6 of 10 stamps", "4 more for Free coffee", "Croissant Ready", "History 6 stamps")
	prize := regexp.MustCompile(`prz_\w+`).FindString(string(callTill(s, "GET", "/cards/"+card, nil).Body))
	callTill(s, "POST", "/cards/"+card+"/redemptions", fields{"prize_id": prize}).Want(201)
	checkText(readPage(s, link), "Croissant Redeemed", "Prize redeemed: Croissant")
	callTill(s, "POST", "/cards/"+card+"/stamps", fields{"count": 6}).Want(201)
	checkText(readPage(s, link), "2 of 10 stamps", "3 more for Croissant", "Earlier card, 10 stamps Croissant Redeemed Free coffee Ready")

	for kind, c := range map[string]struct {
		f    fields
		says []string
	}{
		"discount": {fields{"expires_at": "2026-12-31T12:00:00Z"}, []string{"Friends, 10% off", "10 % off", "Valid until 31 Dec 2026"}},
		"access":   {fields{}, []string{"Reading room"}},
		"prepaid":  {fields{}, []string{"Prepaid card", "€0.00 Balance"}},
	} {
		card, link := issueCard(s, s.ProgramIDs[kind], c.f)
		p := readPage(s, link).Want(200)
		checkPage(p)
		checkText(p, c.says...)
		if strings.Contains(pageText(p), "stamp") {
			t.Errorf("%s: %s", kind, pageText(p))
		}
		if kind == "prepaid" {
			callTill(s, "POST", "/cards/"+card+"/topups", fields{"amount_cents": 1205}).Want(201)
			checkText(readPage(s, link), "€12.05 Balance", "Top-up", "+€12.05")
		}
	}
	// Up to sixty stamps are drawn; more are shown as a bar.
	for _, n := range []int{60, 61} {
		card, link := issueCard(s, newProgram(s, fields{"type": "standard", "name": "Many", "total_stamps": n, "icon_key": "x"}), fields{})
		callTill(s, "POST", "/cards/"+card+"/stamps", fields{"count": 30}).Want(201)
		p := readPage(s, link)
		checkText(p, fmt.Sprintf("30 of %d stamps", n))
		if strings.Count(string(p.Body), `<li class="on">`) != map[int]int{60: 30, 61: 0}[n] ||
			strings.Contains(string(p.Body), `<rect width="49%"`) != (n == 61) {
			t.Errorf("%d: %s", n, p.Body)
		}
	}
}

// TestHostile checks that texts of holders and shops are shown as text, whatever
// they contain.
func TestHostile(t *testing.T) {
	s := start(t)
	evil := `</title></style><script>alert(1)</script><img src=x onerror="x">"'&{{.}}`
	id := newProgram(
		s,
		fields{
			"type":            "standard",
			"name":            evil,
			"description":     evil,
			"total_stamps":    5,
			"icon_key":        "x",
			"brand_color_hex": "#abcdef",
			"bg_color_hex":    "#FFFFFF",
			"text_color_hex":  "#fffffe",
		},
	)
	s.Call("POST", "/programs/"+id+"/prizes", fields{"threshold": 5, "name": evil, "description": evil}).Want(201)
	_, link := issueCard(s, id, fields{"holder_name": evil})
	p := readPage(s, link).Want(200)
	for _, raw := range []string{"<script", "<img", "onerror=\"", "</style><"} {
		if strings.Contains(string(p.Body), raw) {
			t.Errorf("%s got into the page", raw)
		}
	}
	if n := strings.Count(pageText(p), evil); n != 7 { // title, name, holder, next prize, prize, its description, description
		t.Errorf("the page has the text %d times: %s", n, pageText(p))
	}
	checkStyles(p)
	// A text colour without contrast is replaced.
	if !strings.Contains(string(p.Body), `<style>.card{--bg:#FFFFFF;--ink:#111111;--brand:#abcdef;--on-brand:#111111}`) {
		t.Errorf("%s", p.Body)
	}
}

// TestInstall installs a card by the page's form and by JSON.
func TestInstall(t *testing.T) {
	s := start(t)
	form := func(link, body string) *servertest.Reply {
		return fetch(s, "POST", link+"/install", body, "Content-Type", formType, "Accept", "text/html")
	}
	inJSON := func(link, body string) *servertest.Reply {
		return fetch(s, "POST", link+"/install", body, "Content-Type", "application/json")
	}
	_, fresh := issueCard(s, s.ProgramIDs["access"], fields{})
	s.Unchanged(func() {
		for _, bad := range []string{
			"", "platform=", "platform=nokia", "platform=Apple", "platform=%zz", "x=" + strings.Repeat("y", 5000),
		} {
			checkPage(form(fresh, bad).Want(400))
		}
		for body, details := range map[string]string{
			"": "required", "{}": "required", `{"platform":null}`: "required", `{"platform":"nokia"}`: "invalid_value",
			`{"platform":1}`: "invalid_type", `{"platform":"apple","x":1}`: "unknown_field", "[": "",
		} {
			if r := inJSON(fresh, body).Want(400, "validation_failed"); !strings.Contains(string(r.Body), details) {
				t.Errorf("%s: %s", body, r.Body)
			}
		}
		// Everybody can send this, so only a small body is read.
		if r := inJSON(fresh, strings.Repeat(" ", 4<<10+1)).Want(413, "bad_request"); !strings.Contains(string(r.Body), "4 KiB") {
			t.Errorf("%s", r.Body)
		}
		fetch(s, "POST", fresh+"/install", "apple", "Content-Type", "text/plain").Want(415, "bad_request")
		fetch(s, "POST", fresh+"/install", `{"platform":"nokia"}`, "Accept", "text/html").Want(400)
	})
	for _, c := range []struct {
		platform string
		form     bool
	}{{"apple", true}, {"google", true}, {"apple", false}, {"google", false}} {
		program := newProgram(s, servertest.Programs["access"])
		card, link := issueCard(s, program, fields{"holder_name": "Ada"})
		page := s.Origin + pageOf(s, link)
		install := func(platform string) {
			if c.form {
				if r := form(link, "platform="+platform).Want(303); s.Origin+r.Header.Get("Location") != page {
					t.Errorf("Location %q", r.Header.Get("Location"))
				}
				return
			}
			r := inJSON(link, `{"platform":"`+platform+`"}`).Want(200)
			want := `{"card_url":"` + page + `","platform":"` + c.platform + `","installed_at":"2026-03-01T09:00:00.000Z"}`
			if string(r.Body) != want {
				t.Errorf("%s, want %s", r.Body, want)
			}
		}
		install(c.platform)
		if got := s.Call("GET", "/cards/"+card, nil).Want(200); got.Str("status") != "active" || got.Str("installed_at") == "" {
			t.Errorf("%s", got.Body)
		}
		if got := s.Call("GET", "/programs/"+program, nil).At("has_installed_cards"); got != true {
			t.Errorf("has_installed_cards %v", got)
		}
		// Repeated, on any platform, it changes nothing.
		s.Unchanged(func() { install("apple"); install("google") })
		if r := readPage(s, link).Want(303); s.Origin+r.Header.Get("Location") != page {
			t.Errorf("a used link leads to %q", r.Header.Get("Location"))
		}
		p := readPage(s, page).Want(200)
		checkPage(p)
		checkText(p, "You told the shop")
		if strings.Contains(string(p.Body), "/install") {
			t.Error("an installed card still asks to be installed")
		}
	}
}

// TestLinks checks invalid links, as a page and as JSON.
func TestLinks(t *testing.T) {
	s := start(t)
	card, link := issueCard(s, s.ProgramIDs["standard"], fields{})
	token := link[strings.LastIndex(link, "/")+1:]
	at := s.Origin + "/i/"
	for _, forged := range []string{
		"x", token[:51], token + "0", strings.ToUpper(token), token[1:] + token[:1], token[26:] + token[:26], strings.Repeat("0", 52),
		card, url.PathEscape("../" + token[3:]), "%F0%9F%99%82",
	} {
		checkRefused(s, at+forged, 404, "not_found", "No such card")
	}
	// The right card with other random bits, like an earlier link.
	_, other := issueCard(s, s.ProgramIDs["access"], fields{})
	checkRefused(s, at+token[:26]+other[len(other)-26:], 410, "gone", "replaced")

	newer := s.Call("POST", "/cards/"+card+"/install-link", fields{}).Want(200).Str("install_url")
	checkRefused(s, link, 410, "gone", "replaced")
	readPage(s, newer).Want(200)
	again := s.Call("POST", "/cards/"+card+"/reissue", fields{}).Want(200).Str("install_url")
	checkRefused(s, newer, 410, "gone", "replaced")
	readPage(s, again).Want(200)
	foreign := fetch(s, "POST", again+"/install", "platform=apple", "Accept", "text/html", "Sec-Fetch-Site", "cross-site",
		"Content-Type", "application/x-www-form-urlencoded").Want(403)
	if checkText(foreign, foreign.Header.Get("X-Request-Id")); !strings.Contains(string(foreign.Body),
		`<a href="`+strings.TrimPrefix(again, s.Origin)+`">Open the page of the card</a>`) {
		t.Errorf("the page of a refused form has no way back: %s", foreign.Body)
	}

	s.Control("POST", "/cards/"+card+"/lock", fields{})
	checkRefused(s, again, 409, "conflict", "locked")
	s.Control("POST", "/cards/"+card+"/unlock", fields{})
	readPage(s, again).Want(200)
	s.Control("POST", "/cards/"+card+"/archive", fields{})
	checkRefused(s, again, 410, "gone", "This card has ended. Ask the shop for a new one.")

	mortal, link := issueCard(s, s.ProgramIDs["access"], fields{"expires_at": "2026-03-02T09:00:00Z"})
	s.Advance("23h59m59s")
	readPage(s, link).Want(200)
	s.Advance("1s")
	checkRefused(s, link, 409, "card_expired", "expired")
	s.Control("POST", "/cards/"+mortal+"/delete", fields{})
	checkRefused(s, link, 404, "not_found", "No such card")

	// A link is valid for thirty days.
	_, link = issueCard(s, s.ProgramIDs["access"], fields{})
	s.Advance("719h59m59s")
	readPage(s, link).Want(200)
	s.Advance("1s")
	checkRefused(s, link, 410, "gone", "This link has expired")
	if r := fetch(s, "DELETE", link, ""); r.Status != 405 || r.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("%d %s", r.Status, r.Header)
	}
}
