package holder_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"punchcard/server/app"
	"punchcard/server/dev/seed"
	"punchcard/server/qr"
	"punchcard/store"
)

type fields = map[string]any

type server struct {
	t *testing.T
	*seed.Ready
	store *store.Store
}

type reply struct {
	t      *testing.T
	status int
	header http.Header
	body   string
}

// start serves a new dev database whose clock stands still.
func start(t *testing.T) *server {
	t.Helper()
	a, err := app.Start(app.Config{DB: filepath.Join(t.TempDir(), "test.db"), Listen: "127.0.0.1:0", Limits: app.DefaultLimits(),
		Dev: &app.Dev{Clock: app.NewClock(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC))}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		if err := a.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &server{t, a.Ready, a.Store}
}

func (s *server) fetch(method, url, body string, headers ...string) *reply {
	s.t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	if !strings.HasPrefix(resp.Header.Get("X-Request-Id"), "req_") {
		s.t.Errorf("%s %s has no request id", method, url)
	}
	return &reply{s.t, resp.StatusCode, resp.Header, string(b)}
}

// call makes a JSON request with a bearer token.
func (s *server) call(token, method, url string, body any) *reply {
	s.t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.fetch(method, url, string(raw), "Authorization", "Bearer "+token, "Content-Type", "application/json")
}

func (s *server) rest(method, path string, body fields) *reply {
	s.t.Helper()
	return s.call(s.APIKey, method, s.BaseURL+path, body)
}

func (s *server) till(method, path string, body fields) *reply {
	s.t.Helper()
	return s.call(s.TillToken, method, s.Origin+"/till/v1"+path, body)
}

func (s *server) control(path string, body fields) *reply {
	s.t.Helper()
	r := s.call("", "POST", s.Origin+"/dev"+path, body)
	if r.status >= 300 {
		s.t.Fatalf("%s: %d %s", path, r.status, r.body)
	}
	return r
}

func (s *server) page(link string) *reply {
	s.t.Helper()
	return s.fetch("GET", link, "", "Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")
}

func (r *reply) want(status int, code string) *reply {
	r.t.Helper()
	if r.status != status || (code != "" && r.str("error.code") != code) {
		r.t.Fatalf("%d, want %d %s: %.1000s", r.status, status, code, r.body)
	}
	return r
}

func (r *reply) str(path string) string {
	var v any
	json.Unmarshal([]byte(r.body), &v)
	for _, p := range strings.Split(path, ".") {
		m, _ := v.(map[string]any)
		v = m[p]
	}
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

// program makes a published program.
func (s *server) program(f fields) string {
	s.t.Helper()
	id := s.rest("POST", "/programs", f).want(201, "").str("id")
	s.rest("POST", "/programs/"+id+"/publish", fields{}).want(200, "")
	return id
}

// issue makes a card and its link.
func (s *server) issue(program string, f fields) (card, link string) {
	s.t.Helper()
	r := s.rest("POST", "/programs/"+program+"/cards", f).want(201, "")
	return r.str("id"), r.str("install_url")
}

// dump is all that the file says of cards, ledger, events and audit.
func (s *server) dump() string {
	s.t.Helper()
	var b bytes.Buffer
	for _, path := range []string{"/cards?limit=100", "/transactions?limit=100", "/programs?limit=100"} {
		b.WriteString(s.rest("GET", path, nil).want(200, "").body)
	}
	b.WriteString(s.call("", "GET", s.Origin+"/dev/audit", nil).want(200, "").body)
	return b.String()
}

func (s *server) untouched(do func()) {
	s.t.Helper()
	before := s.dump()
	do()
	if after := s.dump(); before != after {
		s.t.Errorf("something was written:\n%s\n%s", before, after)
	}
}

var (
	markup = regexp.MustCompile(`(?s)<style>.*?</style>|<[^>]*>`)
	space  = regexp.MustCompile(`\s+`)
	typed  = regexp.MustCompile(`<code class="code">(.*?)</code>`)
)

// text is what a reader sees.
func (r *reply) text() string {
	return space.ReplaceAllString(html.UnescapeString(markup.ReplaceAllString(r.body, " ")), " ")
}

func (r *reply) says(parts ...string) {
	r.t.Helper()
	for _, p := range parts {
		if !strings.Contains(r.text(), p) {
			r.t.Errorf("the page does not say %q: %s", p, r.text())
		}
	}
}

func (r *reply) code() string {
	r.t.Helper()
	m := typed.FindStringSubmatch(r.body)
	if m == nil {
		r.t.Fatalf("no code: %s", r.body)
	}
	return html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m[1], ""))
}

// safe holds a page to what every page of the holder's must be.
func (r *reply) safe() {
	r.t.Helper()
	csp := r.header.Get("Content-Security-Policy")
	for _, p := range []string{"default-src 'none'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(csp, p) {
			r.t.Errorf("CSP %q lacks %s", csp, p)
		}
	}
	r.styled()
	if strings.Contains(csp, "script-src") || regexp.MustCompile(`(?i)<script|\son\w+=|javascript:|<iframe|<link|src=|url\(|@import`).MatchString(r.body) {
		r.t.Errorf("the page loads or runs something: %q %s", csp, r.body)
	}
	for name, want := range map[string]string{"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"} {
		if r.header.Get(name) != want {
			r.t.Errorf("%s: %q", name, r.header.Get(name))
		}
	}
	if strings.Contains(r.body, "ZgotmplZ") {
		r.t.Error("a value was not fit for its place in the page")
	}
}

// styled: a page's style is what the policy has the hashes of, and nothing else.
func (r *reply) styled() {
	r.t.Helper()
	csp := r.header.Get("Content-Security-Policy")
	_, allowed, _ := strings.Cut(csp, "style-src ")
	var have []string
	for _, m := range regexp.MustCompile(`(?s)<style[^>]*>(.*?)</style>`).FindAllStringSubmatch(r.body, -1) {
		sum := sha256.Sum256([]byte(m[1]))
		have = append(have, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	if len(have) == 0 || strings.Join(have, " ") != allowed || strings.Contains(csp, "unsafe") || regexp.MustCompile(`(?i)<[^>]*\sstyle=`).MatchString(r.body) {
		r.t.Errorf("the page's styles are %s, the policy is %s: %s", have, csp, r.body)
	}
}

func TestPage(t *testing.T) {
	s := start(t)
	card, link := s.issue(s.ProgramIDs["standard"], fields{"holder_name": "Ada Lovelace"})
	s.untouched(func() {
		p := s.page(link).want(200, "")
		p.safe()
		p.says("Caffè Centrale", "Coffee card", "Ada Lovelace", "0 of 10 stamps", "5 more for Croissant", "Free coffee 10 stamps", "Slice of cake", "Show this code at the till", "Keep it on my iPhone", "Ten coffees")
	})
	// The QR code holds what a till takes.
	p := s.page(link)
	code := p.code()
	svg, err := qr.SVG(code)
	if err != nil || !strings.Contains(p.body, svg) {
		t.Errorf("the picture is not of %q", code)
	}
	s.till("POST", "/cards/"+code+"/stamps", fields{"count": 6}).want(201, "")
	p = s.page(link)
	if n := strings.Count(p.body, `<li class="on">`); n != 6 || strings.Count(p.body, "<li></li>") != 4 {
		t.Errorf("%d stamps are drawn as given", n)
	}
	p.says("6 of 10 stamps", "4 more for Free coffee", "Croissant Ready")
	prize := regexp.MustCompile(`prz_\w+`).FindString(s.till("GET", "/cards/"+card, nil).body)
	s.till("POST", "/cards/"+card+"/redemptions", fields{"prize_id": prize}).want(201, "")
	s.page(link).says("Croissant Redeemed")
	s.till("POST", "/cards/"+card+"/stamps", fields{"count": 6}).want(201, "")
	s.page(link).says("2 of 10 stamps", "3 more for Croissant", "Earlier card, 10 stamps Croissant Redeemed Free coffee Ready")

	for kind, c := range map[string]struct {
		f    fields
		says []string
	}{
		"discount": {fields{"expires_at": "2026-12-31T12:00:00Z"}, []string{"Friends, 10% off", "10 % off", "Valid until 31 December 2026"}},
		"access":   {fields{}, []string{"Reading room"}},
		"prepaid":  {fields{}, []string{"Prepaid card", "0.00 Balance"}},
	} {
		card, link := s.issue(s.ProgramIDs[kind], c.f)
		p := s.page(link).want(200, "")
		p.safe()
		p.says(c.says...)
		if strings.Contains(p.text(), "stamps") {
			t.Errorf("%s: %s", kind, p.text())
		}
		if kind == "prepaid" {
			s.till("POST", "/cards/"+card+"/topups", fields{"amount_cents": 1205}).want(201, "")
			s.page(link).says("12.05 Balance")
		}
	}
	// Sixty are drawn, more are a bar.
	for _, n := range []int{60, 61} {
		card, link := s.issue(s.program(fields{"type": "standard", "name": "Many", "total_stamps": n, "icon_key": "x"}), fields{})
		s.till("POST", "/cards/"+card+"/stamps", fields{"count": 30}).want(201, "")
		p := s.page(link)
		p.says(fmt.Sprintf("30 of %d stamps", n))
		if strings.Count(p.body, `<li class="on">`) != map[int]int{60: 30, 61: 0}[n] || strings.Contains(p.body, "width:49%") != (n == 61) {
			t.Errorf("%d: %s", n, p.body)
		}
	}
}

// TestHostile: a holder's or shop's text is text, whatever is in it.
func TestHostile(t *testing.T) {
	s := start(t)
	evil := `</title></style><script>alert(1)</script><img src=x onerror="x">"'&{{.}}`
	id := s.program(fields{"type": "standard", "name": evil, "description": evil, "total_stamps": 5, "icon_key": "x", "brand_color_hex": "#abcdef", "bg_color_hex": "#FFFFFF", "text_color_hex": "#fffffe"})
	s.rest("POST", "/programs/"+id+"/prizes", fields{"threshold": 5, "name": evil, "description": evil}).want(201, "")
	_, link := s.issue(id, fields{"holder_name": evil})
	p := s.page(link).want(200, "")
	for _, raw := range []string{"<script", "<img", "onerror=\"", "</style><"} {
		if strings.Contains(p.body, raw) {
			t.Errorf("%s got into the page", raw)
		}
	}
	if n := strings.Count(p.text(), evil); n != 7 { // title, name, holder, next prize, prize, its description, description
		t.Errorf("the text is there %d times: %s", n, p.text())
	}
	p.styled()
	// Text that could not be read on its ground gives way.
	if !strings.Contains(p.body, `<style>.card{--bg:#FFFFFF;--ink:#111111;--brand:#abcdef;--on-brand:#111111}`) {
		t.Errorf("%s", p.body)
	}
	for _, bad := range []string{"red", "#fff", "#12345g", "#FFFFFF;background:url(//x)", `#FFFFFF"><script>`} {
		s.rest("PATCH", "/programs/"+id, fields{"brand_color_hex": bad}).want(400, "validation_failed")
	}
}

// TestInstall by the page's form and by a program.
func TestInstall(t *testing.T) {
	s := start(t)
	form := func(link, body string) *reply {
		return s.fetch("POST", link+"/install", body, "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
	}
	for _, c := range []struct {
		platform string
		form     bool
	}{{"apple", true}, {"google", true}, {"apple", false}, {"google", false}} {
		program := s.program(fields{"type": "access", "name": "A", "access_image_url": "https://example.com/a.png"})
		card, link := s.issue(program, fields{"holder_name": "Ada", "external_ref": "m-1"})
		s.untouched(func() {
			for _, bad := range []string{"", "platform=", "platform=nokia", "platform=Apple", "platform=%zz", "x=" + strings.Repeat("y", 5000)} {
				r := form(link, bad).want(400, "")
				r.safe()
			}
			for body, details := range map[string]string{"": "required", "{}": "required", `{"platform":null}`: "required", `{"platform":"nokia"}`: "invalid_value", `{"platform":1}`: "invalid_type", `{"platform":"apple","x":1}`: "unknown_field", "[": ""} {
				r := s.fetch("POST", link+"/install", body, "Content-Type", "application/json").want(400, "validation_failed")
				if !strings.Contains(r.body, details) {
					t.Errorf("%s: %s", body, r.body)
				}
			}
			// Anybody may send this: little of it is read.
			if r := s.fetch("POST", link+"/install", strings.Repeat(" ", 4<<10+1), "Content-Type", "application/json").want(413, "bad_request"); !strings.Contains(r.body, "4 KiB") {
				t.Errorf("%s", r.body)
			}
			s.fetch("POST", link+"/install", "apple", "Content-Type", "text/plain").want(415, "bad_request")
			s.fetch("POST", link+"/install", `{"platform":"nokia"}`, "Accept", "text/html").want(400, "")
		})
		// Until then all may be changed.
		s.rest("PATCH", "/cards/"+card, fields{"holder_name": "Bea"}).want(200, "")
		s.rest("PATCH", "/programs/"+program, fields{"name": "B"}).want(200, "")

		install := func(platform string) *reply {
			if c.form {
				r := form(link, "platform="+platform).want(303, "")
				if r.header.Get("Location") != strings.TrimPrefix(link, s.Origin) {
					t.Errorf("Location %q", r.header.Get("Location"))
				}
				return r
			}
			r := s.fetch("POST", link+"/install", `{"platform":"`+platform+`"}`, "Content-Type", "application/json").want(200, "")
			if r.str("id") != card || r.str("status") != "active" || r.str("installed_at") != "2026-03-01T09:00:00.000Z" {
				t.Errorf("%s", r.body)
			}
			return r
		}
		install(c.platform)
		s.rest("GET", "/cards/"+card, nil).want(200, "")
		if got := s.rest("GET", "/cards/"+card, nil); got.str("status") != "active" || got.str("installed_at") == "" {
			t.Errorf("%s", got.body)
		}
		if got := s.rest("GET", "/programs/"+program, nil).str("has_installed_cards"); got != "true" {
			t.Errorf("has_installed_cards %s", got)
		}
		// Again, on whatever phone: no change.
		s.untouched(func() { install("apple"); install("google") })
		p := s.page(link).want(200, "")
		p.safe()
		p.says("This card is on your phone")
		if strings.Contains(p.body, "<form") {
			t.Error("an installed card still asks to be installed")
		}
		// The holder's fields and the program are frozen.
		for _, f := range []fields{{"holder_name": "Cid"}, {"holder_name": "Bea"}, {"holder_email": "a@example.com"}, {"expires_at": nil}} {
			s.rest("PATCH", "/cards/"+card, f).want(409, "card_locked")
		}
		s.rest("PATCH", "/cards/"+card, fields{"external_ref": "m-2"}).want(200, "")
		s.rest("PATCH", "/programs/"+program, fields{"name": "C"}).want(409, "program_has_installed_cards")
		s.rest("POST", "/cards/"+card+"/install-link", fields{}).want(409, "card_locked")
	}
}

// TestLinks that lead nowhere, for a person and for a program alike.
func TestLinks(t *testing.T) {
	s := start(t)
	gone := func(link string, status int, code, message string) {
		t.Helper()
		s.untouched(func() {
			for _, accept := range []string{"text/html", "application/json", ""} {
				h := []string{}
				if accept != "" {
					h = []string{"Accept", accept}
				}
				for _, r := range []*reply{s.fetch("GET", link, "", h...), s.fetch("POST", link+"/install", "platform=apple", append(h, "Content-Type", "application/x-www-form-urlencoded")...)} {
					if accept == "text/html" {
						r.want(status, "").safe()
						r.says("This card cannot be shown", message)
					} else if r.want(status, code); r.str("error.request_id") != r.header.Get("X-Request-Id") || !strings.Contains(r.str("error.message"), message) {
						t.Errorf("%s", r.body)
					}
				}
			}
			s.fetch("POST", link+"/install", `{"platform":"apple"}`, "Content-Type", "application/json").want(status, code)
		})
	}
	card, link := s.issue(s.ProgramIDs["standard"], fields{})
	token := link[strings.LastIndex(link, "/")+1:]
	at := s.Origin + "/i/"
	for _, forged := range []string{"x", token[:51], token + "0", strings.ToUpper(token), token[1:] + token[:1], token[26:] + token[:26], strings.Repeat("0", 52), card, url.PathEscape("../" + token[3:]), "%F0%9F%99%82"} {
		gone(at+forged, 404, "not_found", "No such card")
	}
	// The right card, other random bits: as a link of before.
	_, other := s.issue(s.ProgramIDs["access"], fields{})
	gone(at+token[:26]+other[len(other)-26:], 410, "gone", "replaced")

	newer := s.rest("POST", "/cards/"+card+"/install-link", fields{}).want(200, "").str("install_url")
	gone(link, 410, "gone", "replaced")
	s.page(newer).want(200, "")
	again := s.rest("POST", "/cards/"+card+"/reissue", fields{}).want(200, "").str("install_url")
	gone(newer, 410, "gone", "replaced")
	s.page(again).want(200, "")

	s.control("/cards/"+card+"/lock", fields{})
	gone(again, 409, "conflict", "locked")
	s.control("/cards/"+card+"/unlock", fields{})
	s.page(again).want(200, "")
	s.control("/cards/"+card+"/archive", fields{})
	gone(again, 410, "gone", "ended")

	mortal, link := s.issue(s.ProgramIDs["access"], fields{"expires_at": "2026-03-02T09:00:00Z"})
	s.control("/clock", fields{"advance": "23h59m59s"})
	s.page(link).want(200, "")
	s.control("/clock", fields{"advance": "1s"})
	gone(link, 409, "card_expired", "expired")
	s.control("/cards/"+mortal+"/delete", fields{})
	gone(link, 404, "not_found", "No such card")

	// A link lives for thirty days, to the second.
	_, link = s.issue(s.ProgramIDs["access"], fields{})
	s.control("/clock", fields{"advance": "719h59m59s"})
	s.page(link).want(200, "")
	s.control("/clock", fields{"advance": "1s"})
	gone(link, 410, "gone", "This link has expired")
	if r := s.fetch("DELETE", link, ""); r.status != 405 || r.header.Get("Allow") != "GET" {
		t.Errorf("%d %s", r.status, r.header)
	}
}
