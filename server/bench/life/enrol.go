package main

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// consent is what people agree to who make their own card.
const consent = "Bar Lux keeps my name and my address for this card."

// slug returns the end of the address of a program's form for new cards.
func slug(p *program) string { return "bar-lux-" + p.Type }

// openForms opens the public forms of all programs of the shop.
func (y *year) openForms() {
	b := y.office.people["manager"]
	for _, p := range y.shop.programs {
		fields := map[string]string{"enroll": "true", "enroll_slug": slug(p), "enroll_max_cards": "1000000", "enroll_name": "required",
			"enroll_email": "required", "enroll_phone": "off", "enroll_consent": consent}
		if b.change("/dashboard/program/"+p.ID+"/enrolment", fields) != nil {
			y.office.write(b, "enrolment", done{change: change{Subject: p.ID}})
		}
	}
}

// elsewhere returns a client with an address of its own on the network.
func elsewhere(last byte) *http.Client {
	from := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, last)}}
	return &http.Client{Transport: &http.Transport{DialContext: from.DialContext}, CheckRedirect: stay, Timeout: time.Minute}
}

// closedForm is what the public form says while no cards can be made.
const closedForm = "No cards can be made here at the moment."

// enrol makes the member's card at the public form, as a browser does. Some people forget to agree at first. It
// returns the page of the new card, nil if there is none.
func (y *year) enrol(m *member, client *http.Client) *page {
	b := y.newBrowser("", "enrol")
	b.face.client = client
	p := b.get("/join/" + slug(m.program))
	if p == nil {
		return nil
	}
	f := p.form("")
	if f.fields == nil && strings.Contains(text(p.root), closedForm) {
		y.count("card refused: the form is closed")
		return nil
	}
	f.fill("name", m.name(), "email", m.email())
	if m.n%10 == 0 {
		if p = f.send("400"); p == nil {
			return nil
		}
		if strings.Contains(text(p.root), closedForm) { // meanwhile
			y.count("card refused: the form is closed")
			return nil
		}
		if !strings.Contains(text(p.root), "A card can only be made if you agree.") {
			y.fault("the form does not say what is missing: %.600s", text(p.root))
		}
		f = p.form("")
		y.count("form for a new card corrected")
	}
	p = f.fill("consent", "true").send("303", "400", "409", "429")
	if !p.is(http.StatusSeeOther) {
		if p != nil {
			if p.status == http.StatusBadRequest && !strings.Contains(text(p.root), closedForm) {
				y.fault("the form refuses %s: %.600s", m.name(), text(p.root))
			}
			y.count(fmt.Sprintf("card refused: %d by the form", p.status))
		}
		return nil
	}
	return b.get(p.location())
}

// issueByForm issues the member's card at the public form. It notes what the shop's system then says of the card.
func (y *year) issueByForm(m *member, client *http.Client) bool {
	card := y.enrol(m, client)
	if card == nil {
		return false
	}
	r, ok := y.ask(y.shop.api, "GET", "/cards?limit=2&holder_email="+url.QueryEscape(m.email()), nil, "200")
	var found struct {
		Data []struct {
			issued
			StampsCount  int64  `json:"stamps_count"`
			CurrentValue *int64 `json:"current_value"`
		}
	}
	if !ok || r.decode(&found) != nil || len(found.Data) != 1 {
		y.fault("after the form the cards of %s are %s", m.email(), r.body)
		return false
	}
	made := found.Data[0].issued
	made.Stamps, made.Value = found.Data[0].StampsCount, found.Data[0].CurrentValue
	m.card, m.first = made.ID, made.ID
	y.count("card issued: enrol")
	y.answers.write(done{At: y.now, Shop: m.shop.ID, Face: "enrol", Kind: "issue", Card: made.ID, Rows: []row{}, Issued: &made})
	y.keepOpen(m, card)
	return true
}

// bots sends forms to the public page as programs do that do not read it. No card may come of it.
func (o *office) bots(time.Time, int) func() {
	p := o.shop.programs[o.rand.IntN(len(o.shop.programs))]
	return func() {
		path, f := "/join/"+slug(p), face{name: "enrol", client: elsewhere(66)}
		defer f.client.CloseIdleConnections()
		own := f.with("Origin", o.server.origin())
		right := url.Values{"name": {"Bot"}, "email": {"bot@bots.example"}, "consent": {"true"}, "form": {"0123456789abcdef"}}
		change := func(pairs ...string) string {
			v := url.Values{}
			for name := range right {
				v.Set(name, right.Get(name))
			}
			for i := 0; i < len(pairs); i += 2 {
				v.Set(pairs[i], pairs[i+1])
			}
			return v.Encode()
		}
		for range 5 {
			for _, try := range []struct {
				face face
				path string
				body any
				want string
			}{
				{own, path, "", "400"},
				{own, path, change(), "400"}, // without the version of the text
				{own, path, change("consent_version", "999999"), "400"},
				{own, path, change("consent_version", "1", "website", "https://bots.example"), "400"},
				{own, path, change("consent_version", "1", "form", "short"), "400"},
				{own, path, change("consent_version", "1", "email", "no address"), "400"},
				{own, path, change("consent_version", "1", "phone", "+393331234567"), "400"},
				{own, path, change("consent_version", "1", "external_ref", "m-1"), "400"},
				{own, path, change("consent_version", "1", "name", strings.Repeat("x", 5000)), "413 bad_request"},
				{own, path, map[string]any{"name": "Bot"}, "400"},
				{own, path + "-2", change("consent_version", "1"), "404 not_found"},
				{f.with("Origin", "https://bots.example"), path, change("consent_version", "1"), "403 unauthorized"},
				{f.with("Sec-Fetch-Site", "cross-site"), path, change("consent_version", "1"), "403 unauthorized"},
			} {
				if _, ok := o.ask(try.face, "POST", try.path, try.body, try.want); ok {
					o.count("form of a bot refused: " + try.want)
				}
			}
		}
	}
}

// classOf is how many people come at once in a school class, of which the form serves maxJoins from one network in an hour.
const (
	classOf  = 33
	maxJoins = 30
)

// class returns the enrolments of a school class in the network of the shop, once a month.
func (o *office) class(day time.Time, _ int) func() {
	if day.Month() == o.classMonth {
		return nil
	}
	o.classMonth = day.Month()
	members := make([]*member, classOf)
	for i := range members {
		members[i] = o.newMember()
		members[i].shop, members[i].program, members[i].faceOfIssue = o.shop, o.shop.programs[0], "enrol"
	}
	return func() {
		client, served := elsewhere(67), 0
		defer client.CloseIdleConnections()
		for _, m := range members {
			served += oneIf(o.issueByForm(m, client))
		}
		if served > maxJoins {
			o.fault("the form made %d cards for one network in an hour, want at most %d", served, maxJoins)
		}
		o.count("school class")
	}
}
