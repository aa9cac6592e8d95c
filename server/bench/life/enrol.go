package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// consent is what people agree to who make their own card.
const consent = "Bar Lux keeps my name and my address for this card."

// slug returns the end of the address of a program's form for new cards.
func slug(p *program) string { return "bar-lux-" + p.Type }

// openForms opens the public forms of all programs of the shop.
func (y *year) openForms() {
	b := y.office.people["manager"]
	for _, p := range y.shop.programs {
		b.change("/dashboard/program/"+p.ID+"/enrolment", []string{"enroll", "true", "enroll_slug", slug(p), "enroll_max_cards", "1000000",
			"enroll_name", "required", "enroll_email", "required", "enroll_phone", "off", "enroll_consent", consent})
	}
}

// closedForm is what the public form says while no cards can be made.
const closedForm = "No cards can be made here at the moment."

// enrol makes the member's card at the public form, as a browser does. It returns the page of the new card, nil if there is none.
func (y *year) enrol(m *member) *page {
	b := y.newBrowser("", "enrol")
	p := b.get("/join/" + slug(m.program))
	if p == nil {
		return nil
	}
	f := p.form("")
	if f.fields == nil && strings.Contains(text(p.root), closedForm) {
		y.count("card refused: the form is closed")
		return nil
	}
	p = f.fill("name", m.name(), "email", m.email(), "consent", "true").send("303", "409", "429")
	if p.is(http.StatusSeeOther) {
		return b.get(p.location())
	}
	if p != nil {
		y.count(fmt.Sprintf("card refused: %d by the form", p.status))
	}
	return nil
}

// issueByForm issues the member's card at the public form. It notes what the shop's system then says of the card.
func (y *year) issueByForm(m *member) bool {
	card := y.enrol(m)
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
