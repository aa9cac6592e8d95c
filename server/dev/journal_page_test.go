package dev_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestJournalOfPages checks that requests outside of the APIs are recorded without anything secret, and
// are listed with kind=page.
func TestJournalOfPages(t *testing.T) {
	r := start(t)
	made := r.Post(cardsPath(r), nil).Want(201)
	link := made.Str("install_url")
	token := link[strings.LastIndexByte(link, '/')+1:]
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/", "", "GET / 200"},
		{"GET", "/healthz", "", "GET /healthz 200"},
		{"HEAD", "/docs", "", "HEAD /docs 200"},
		{"GET", "/i/" + token + "?token=" + token, "", "GET /i/… 200"},
		{"POST", "/i/" + token + "/install", "platform=apple", "POST /i/…/install 303 to /c/…"},
		{"GET", "/dashboard?q=" + token, "", "GET /dashboard 303 to /sign-in"},
		{"POST", "/sign-in", "email=owner%40demo.test&password=secret-" + token, "POST /sign-in "},
		{"GET", "/files/" + token, "", "GET /files/… 404"},
		{"GET", "/api/public/v10/me", "", "GET /api/public/…/me 404"},
	} {
		got := r.Fetch(
			c.method,
			r.Origin+c.path,
			[]byte(c.body),
			http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Cookie": {"punchcard=" + token},
				"Origin": {r.Origin}, "Referer": {r.Origin + "/i/" + token}, "Accept": {"text/html"}},
		)
		list := readJournal(r, "?kind=page&limit=1").Data
		if len(list) != 1 {
			t.Fatalf("%s %s: %d entries", c.method, c.path, len(list))
		}
		e := list[0]
		text := fmt.Sprint(e.Method, " ", e.Path, " ", e.Response.Status)
		if to := e.Response.Headers["Location"]; to != "" {
			text += " to " + to
		}
		if !strings.HasPrefix(text, c.want) || e.Response.Status != got.Status || e.Kind != "page" ||
			e.RequestID == nil || *e.RequestID != got.Header.Get("X-Request-Id") || e.Query != "" ||
			string(e.Request.Body) != "null" || string(e.Response.Body) != "null" ||
			e.Request.Headers["Accept"] != "text/html" {
			t.Errorf("%s %s %d is recorded as %s %+v", c.method, c.path, got.Status, text, e)
		}
		if whole := string(callControl(r, "GET", "/requests?kind=page", nil).Body); strings.Contains(whole, token) ||
			strings.Contains(whole, "secret-") {
			t.Errorf("%s %s: the journal has a secret: %s", c.method, c.path, whole)
		}
	}
	count := len(readJournal(r, "?kind=page").Data)
	for _, path := range []string{"/dev/clock", "/dev/none", "/assets/none.css", "/sw.js", "/till/sw.js"} {
		send(r, "GET", r.Origin+path, nil)
	}
	wantEntries(r, "?kind=page", count)
	r.Control("POST", "/cards/"+made.Str("id")+"/delete", nil)
	wantEntries(r, "?kind=page&path=/i/**", 0)
	r.Control("DELETE", "/requests", nil)
	wantEntries(r, "?kind=request", 0)
}

// TestJournalFilters checks which entries the filters of the journal choose, in what order.
func TestJournalFilters(t *testing.T) {
	r := start(t)
	r.Get("/me") // after which the harness has the document
	r.Control("DELETE", "/requests", nil)
	card := r.Post(cardsPath(r), nil).NewID()
	send(r, "GET", r.Origin+"/healthz", nil).Want(200)
	r.Get("/cards/" + card).Want(200)
	callTill(r, "GET", "/cards/"+card, nil).Want(200)
	r.Get("/cards").Want(200)
	rest, till := "/api/public/v1", "/till/v1"
	for query, want := range map[string][]string{
		"": {rest + cardsPath(r), rest + "/cards/" + card, till + "/cards/" + card, rest + "/cards"},
		"kind=request": {
			rest + cardsPath(r), "/healthz", rest + "/cards/" + card, till + "/cards/" + card, rest + "/cards",
		},
		"kind=request&limit=3":                {rest + "/cards/" + card, till + "/cards/" + card, rest + "/cards"},
		"kind=request&limit=4&path=/**":       {"/healthz", rest + "/cards/" + card, till + "/cards/" + card, rest + "/cards"},
		"path=/cards/*":                       {rest + "/cards/" + card, till + "/cards/" + card},
		"path=/cards/*&limit=1":               {till + "/cards/" + card},
		"path=/cards/*&kind=rest":             {rest + "/cards/" + card},
		"path=" + rest + "/cards/*":           {rest + "/cards/" + card},
		"path=/till/**":                       {till + "/cards/" + card},
		"path=/cards":                         {rest + "/cards"},
		"method=post":                         {rest + cardsPath(r)},
		"method=GET&path=/programs/**":        nil,
		"kind=page&method=GET&path=/healthz":  {"/healthz"},
		"kind=page&method=HEAD&path=/healthz": nil,
		"path=/healthz":                       nil,
	} {
		var have []string
		for _, e := range readJournal(r, "?"+query).Data {
			have = append(have, e.Path)
		}
		if fmt.Sprint(have) != fmt.Sprint(want) {
			t.Errorf("%s: %q, want %q", query, have, want)
		}
	}
	for query, want := range map[string][]string{
		"kind=pages":                        {"kind invalid_value"},
		"path=cards":                        {"path invalid_format"},
		"path=/card*":                       {"path invalid_format"},
		"path=/a%3Fb":                       {"path invalid_format"},
		"path=":                             {"path invalid_value"},
		"method=BREW":                       {"method invalid_value"},
		"kind=delivery&method=GET":          {"method not_allowed"},
		"kind=delivery&path=/x":             {"path not_allowed"},
		"limit=0":                           {"limit too_small"},
		"limit=0&method=BREW&path=x&kind=x": {"limit too_small", "kind invalid_value", "method invalid_value", "path invalid_format"},
	} {
		callControl(r, "GET", "/requests?"+query, nil).Invalid(want...)
	}
	// A request whose target is no path.
	req, _ := http.NewRequest("OPTIONS", r.Origin, nil)
	req.URL.Opaque = "*"
	if resp, err := r.HTTP.Do(req); err == nil {
		resp.Body.Close()
	}
	if list := readJournal(r, "?kind=page&limit=1").Data; len(list) != 1 || list[0].Method != "OPTIONS" || list[0].Path != "…" {
		t.Errorf("%+v", list)
	}
}
