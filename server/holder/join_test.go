package holder_test

import (
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

const formType = "application/x-www-form-urlencoded"

// letIn lets customers make cards of a program at an address.
func letIn(s *servertest.Server, program, slug string, f store.EnrolmentFields) {
	s.T.Helper()
	f.Enabled, f.Slug = store.Given(true), store.Given(slug)
	if !f.MaxCards.Set {
		f.MaxCards = store.Given[int64](100_000)
	}
	enrol(s, program, f)
}

// enrol sets how customers make cards of a program.
func enrol(s *servertest.Server, program string, f store.EnrolmentFields) {
	s.T.Helper()
	shop := require.Must(s.App.Store.ResolveShop(""))
	in := kernel.Args{Params: map[string]string{"id": program}, Fields: f}
	k := kernel.New(s.App.Store, kernel.Config{})
	require.Must(kernel.Do[store.Enrolment](s.T.Context(), k, kernel.OperatorCaller("test", shop), operation.UpdateEnrolment, in))
}

// send sends a form as a browser does, from an address.
func send(s *servertest.Server, path string, form url.Values, from string) *servertest.Reply {
	s.T.Helper()
	h := []string{"Content-Type", formType, "Accept", "text/html"}
	if from != "" {
		h = append(h, "X-Forwarded-For", from)
	}
	return fetch(s, "POST", s.Origin+path, form.Encode(), h...)
}

var hiddenInput = regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`)

// filled returns the hidden fields of a page's form and further fields, given as name, value pairs.
func filled(p *servertest.Reply, pairs ...string) url.Values {
	form := url.Values{}
	for _, m := range hiddenInput.FindAllStringSubmatch(string(p.Body), -1) {
		form.Set(m[1], m[2])
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// TestJoin makes a card by the form, and checks that the form leads to the card's page, that it makes
// one card if it is sent twice, and that it has the person's language.
func TestJoin(t *testing.T) {
	s := start(t)
	letIn(s, s.ProgramIDs["standard"], "coffee", store.EnrolmentFields{
		Name:       store.Given("required"),
		Phone:      store.Given("required"),
		Consent:    store.Given("We keep your name & email."),
		PrivacyURL: store.Given("https://example.com/privacy"),
	})
	var p *servertest.Reply
	s.Unchanged(func() {
		p = readPage(s, s.Origin+"/join/coffee").Want(200)
		checkText(
			p, "Coffee card", "Caffè Centrale", "0 of 10 stamps", "Croissant 5 stamps", "Your name", "Email address", "Phone number",
			"We keep your name & email.", "I agree to this", "Privacy notice",
		)
		checkStyles(p)
	})
	form := filled(p, "name", "Ada Lovelace", "email", "ada@example.com", "phone", "06 1234 5678", "consent", "true")
	to := send(s, "/join/coffee", form, "").Want(303).Header.Get("Location")
	page := readPage(s, s.Origin+to).Want(200)
	checkText(page, "Ada Lovelace", "0 of 10 stamps")
	if strings.Contains(string(page.Body), "12345678") {
		t.Error("the card's page shows the phone number")
	}
	if again := send(s, "/join/coffee", form, "").Want(303).Header.Get("Location"); again != to {
		t.Errorf("the same form leads to %q, want %q", again, to)
	}
	if got := s.Call("GET", "/cards?phone=%2B390612345678", nil).Want(200); got.At("data.0.holder_name") != "Ada Lovelace" ||
		got.At("data.0.status") != "invited" ||
		len(got.At("data").([]any)) != 1 {
		t.Errorf("%s", got.Body)
	}
	// The same person gets another card: nobody learns that there is one.
	again := filled(readPage(s, s.Origin+"/join/coffee"), "name", "Ada Lovelace", "email", "ada@example.com", "phone", "+39 06 12345678",
		"consent", "true")
	if other := send(s, "/join/coffee", again, "").Want(303).Header.Get("Location"); other == to {
		t.Error("another form leads to the same card")
	}
	// A till accepts the code of the page.
	callTill(s, "POST", "/cards/"+pageCode(page)+"/stamps", fields{"count": 1}).Want(201)
	// The form and the card's page have the language of the browser, or the one that a URL names.
	german := fetch(s, "GET", s.Origin+"/join/coffee", "", "Accept", "text/html", "Accept-Language", "de").Want(200)
	checkText(german, "Holen Sie sich Ihre Karte", "0 von 10 Stempeln")
	form = filled(german, "name", "Bea", "phone", "0612345678", "consent", "true")
	to = send(s, "/join/coffee?lang=fr", form, "").Want(303).Header.Get("Location")
	if !strings.HasSuffix(to, "?lang=fr") {
		t.Errorf("leads to %q", to)
	}
}

// TestJoinRefusals checks that the page of a refused form says what is wrong with which field, and
// that the form makes no card.
func TestJoinRefusals(t *testing.T) {
	s := start(t)
	program := s.ProgramIDs["standard"]
	required := store.Given("required")
	letIn(s, program, "coffee", store.EnrolmentFields{Name: required, Email: required, Phone: required, Consent: store.Given("Yes?")})
	p := readPage(s, s.Origin+"/join/coffee").Want(200)
	good := filled(p, "name", "Ada", "email", "ada@example.com", "phone", "0612345678", "consent", "true")
	s.Unchanged(func() {
		for _, c := range []struct{ field, value, says string }{
			{"name", "", "Your name: Fill in this field."},
			{"name", "a\nb", "Your name: Write this on one line"},
			{"name", strings.Repeat("x", 201), "Your name: Enter at most 200 characters."},
			{"email", "", "Email address: Fill in this field."},
			{"email", "ada", "Email address: Enter an email address"},
			{"phone", "", "Phone number: Fill in this field."},
			{"phone", "12", "Phone number: Enter the phone number with +"},
			{"consent", "", "I agree to this: A card can only be made if you agree."},
			{"consent_version", "7", "The text has changed."},
			{"form", "short", "This form has changed. Open the page again."},
			{"website", "https://spam.example", "A field that people do not see was filled in."},
			{"external_ref", "m-1", "This form has changed. Open the page again."},
		} {
			form := maps.Clone(good)
			form.Set(c.field, c.value)
			r := send(s, "/join/coffee", form, "").Want(400)
			checkPage(r)
			checkText(r, c.says)
			if c.field != "name" && !strings.Contains(string(r.Body), `value="Ada"`) {
				t.Errorf("%s: the name is not in the form any more", c.field)
			}
		}
		checkText(
			send(s, "/join/coffee", url.Values{"email": {"ada"}}, "").Want(400),
			"Your name: Fill in this field.",
			"Email address: Enter an email address",
			"I agree to this: The text has changed.",
		)
		send(s, "/join/coffee", url.Values{"name": {strings.Repeat("x", 5000)}}, "").Want(413)
		fetch(s, "POST", s.Origin+"/join/coffee", "%zz", "Content-Type", formType, "Accept", "text/html").Want(400)
		fetch(s, "POST", s.Origin+"/join/coffee", good.Encode(), "Content-Type", formType, "Sec-Fetch-Site", "cross-site").Want(403)
		for _, slug := range []string{"none", "COFFEE", "coffee%2F", "..%2Fcoffee", "%F0%9F%99%82"} {
			checkText(readPage(s, s.Origin+"/join/"+slug).Want(404), "There is no such page")
			send(s, "/join/"+slug, good, "").Want(404)
		}
		fetch(s, "GET", s.Origin+"/join/none", "", "Accept", "application/json").Want(404, "not_found")
	})
	enrol(s, program, store.EnrolmentFields{Enabled: store.Given(false)})
	missing := func(slug string) string {
		r := readPage(s, s.Origin+"/join/"+slug).Want(404)
		return strings.ReplaceAll(string(r.Body), r.Header.Get("X-Request-Id"), "")
	}
	if off := missing("coffee"); off != missing("none") {
		t.Errorf("a form that is off differs from one that never was: %s", off)
	}
	// Fields that are not asked for are refused.
	off := store.Given("off")
	enrol(s, program, store.EnrolmentFields{
		Enabled: store.Given(true), Name: off, Email: off, Phone: off, Consent: store.Opt[string]{Set: true, Null: true},
	})
	p = readPage(s, s.Origin+"/join/coffee").Want(200)
	for _, label := range []string{"Your name", "Email address", "Phone number"} {
		if strings.Contains(pageText(p), label) {
			t.Errorf("the form asks for %s", label)
		}
	}
	send(s, "/join/coffee", filled(p, "name", "Ada"), "").Want(400)
	send(s, "/join/coffee", filled(p), "").Want(303)
	// Suspended, the form says so.
	s.Call("POST", "/programs/"+program+"/suspend", fields{}).Want(200)
	const closed = "No cards can be made here at the moment."
	checkText(readPage(s, s.Origin+"/join/coffee").Want(200), closed)
	checkText(send(s, "/join/coffee", filled(p, "form", "another-key-of-a-form"), "").Want(409), closed)
}

// TestJoinHostileNames checks that what customers fill in is shown as text.
func TestJoinHostileNames(t *testing.T) {
	s := start(t)
	letIn(s, s.ProgramIDs["standard"], "coffee", store.EnrolmentFields{
		Consent: store.Given("<script>alert(1)</script>"), PrivacyURL: store.Given("https://example.com/?a=\"><b>"),
	})
	p := readPage(s, s.Origin+"/join/coffee").Want(200)
	evil := `</title></style><script>alert(1)</script><img src=x onerror="x">"'&{{.}}`
	again := send(s, "/join/coffee", filled(p, "name", evil, "email", evil), "").Want(400)
	page := readPage(
		s,
		s.Origin+send(s, "/join/coffee", filled(p, "name", evil, "consent", "true"), "").Want(303).Header.Get("Location"),
	).Want(200)
	for _, r := range []*servertest.Reply{p, again, page} {
		for _, raw := range []string{"<script>", "<img", `onerror="`, "</style><"} {
			if strings.Contains(string(r.Body), raw) {
				t.Errorf("%s got into the page", raw)
			}
		}
		checkStyles(r)
	}
	checkText(page, evil)
}

// trustLoopback makes the tests' own address that of a trusted proxy, so that a header says
// where a request comes from.
func trustLoopback(c *app.Config) {
	c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
}

// TestJoinsOfAnAddress checks that a form makes at most thirty cards an hour for the address that a proxy names.
func TestJoinsOfAnAddress(t *testing.T) {
	s := start(t, trustLoopback)
	letIn(s, s.ProgramIDs["standard"], "coffee", store.EnrolmentFields{})
	for range 30 {
		send(s, "/join/coffee", url.Values{}, "192.0.2.1").Want(303)
	}
	s.Unchanged(func() {
		if r := send(s, "/join/coffee", url.Values{}, "192.0.2.1").Want(429); r.Header.Get("Retry-After") == "" {
			t.Error("the refusal does not say when to try again")
		}
	})
	send(s, "/join/coffee", url.Values{}, "192.0.2.2").Want(303)
}
