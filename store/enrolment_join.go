package store

import (
	"fmt"
	"net/netip"
	"time"
)

// The limits of the forms at which customers make cards: for one address, and for all
// cards of one program in an hour of the clock.
var joinAddressRule = attemptRule{name: "join_address", max: 30, window: time.Hour, lock: time.Hour, longest: time.Hour}

const (
	joinsPerHour = 300
	joinHour     = time.Hour
)

// JoinPage is the form at which customers make cards of a program.
type JoinPage struct {
	Closed     bool // it makes no cards now
	Shop       Shop
	Program    Program
	LogoHash   Null[string]
	Texts      Localized
	Prizes     []Prize
	PrizeTexts map[string]Localized
	Enrolment        // Name, Email, Phone, Consent and PrivacyURL
	Version    int64 // of the last two; 0: there is neither
	URL        string
	Mails      bool // the links of lost cards can be mailed
}

// JoinPage returns the form with an address.
func (v *View) JoinPage(slug string) (j JoinPage, err error) {
	v.snapshot()
	e, err := v.enrolmentBySlug(slug)
	if err == nil {
		j, err = v.joinPage(&e)
	}
	return j, err
}

// Poster returns the form of a program for a poster that leads to it, also where it is
// off, but not before it has an address.
func (v *View) Poster(shop int64, id string) (j JoinPage, err error) {
	v.snapshot()
	e, err := v.enrolmentOf(shop, id)
	if err != nil {
		return j, err
	}
	if !e.Slug.Valid {
		return j, refuse(Conflict, "The form for new cards has no address yet.")
	}
	j, err = v.joinPage(&e)
	return j, err
}

// joinPage reads what a form and its posters show.
func (v *View) joinPage(e *enrolment) (j JoinPage, err error) {
	j = JoinPage{
		Closed:    e.closed(),
		Shop:      v.shop(e.shop),
		Enrolment: e.Enrolment,
		Version:   e.consent,
		URL:       v.joinURL(e.shop, e.Slug.V),
		Mails:     v.s.mails(),
	}
	p, err := v.program(Access{Shop: e.shop}, v.ID(KindProgram, e.program))
	if err != nil {
		return j, err
	}
	j.Program, j.Prizes = p.Program, p.Prizes
	j.LogoHash, j.Texts, j.PrizeTexts = v.programTexts(e.program)
	return j, v.failed
}

// programTexts returns the logo of a program and the translations of its texts and of
// those of its prizes.
func (v *View) programTexts(program int64) (logo Null[string], texts Localized, prizes map[string]Localized) {
	v.one(into(&logo, &texts.Names, &texts.Descriptions),
		"SELECT ifnull(logo_hash, ''), name_localizations, description_localizations FROM programs WHERE id=?", program)
	prizes = map[string]Localized{}
	for r := range v.each("SELECT id, name_localizations, description_localizations FROM prizes WHERE program_id=?", program) {
		var id string
		var texts Localized
		r.scan(v.into(KindPrize, &id), &texts.Names, &texts.Descriptions)
		prizes[id] = texts
	}
	return logo, texts, prizes
}

// JoinFields is what a customer fills in.
type JoinFields struct {
	Name  Opt[string] `json:"name" min:"1" max:"200" format:"line"`
	Email Opt[string] `json:"email" format:"email" min:"1" max:"254"`
	PhoneField
	Consent        Opt[bool]   `json:"consent"`
	ConsentVersion Opt[int64]  `json:"consent_version" doc:"That the form showed."`
	Form           Opt[string] `json:"form" min:"16" max:"64" format:"line" doc:"Random key of the form, so that one that is sent twice makes one card."`
	Website        Opt[string] `json:"website" doc:"Must be empty. People do not see it, and programs that fill in every field do."`
}

// JoinedCard is a card that a customer made.
type JoinedCard struct {
	PageToken string `json:"page_token"`
}

// check validates the fields against what the form asks for. Fields that it does not ask
// for are refused.
func (e *enrolment) check(f JoinFields) (details []Detail) {
	for _, field := range []struct {
		name, rule string
		given      bool
	}{{"name", e.Name, f.Name.Set}, {"email", e.Email, f.Email.Set}, {"phone", e.Phone, f.Phone.Set}} {
		switch {
		case field.rule == FieldRequired && !field.given:
			details = append(details, Detail{field.name, "required", "is required"})
		case field.rule == FieldOff && field.given:
			details = append(details, Detail{field.name, "not_allowed", "is not asked for"})
		}
	}
	switch {
	case e.consent != 0 && f.ConsentVersion.Or(0) != e.consent:
		details = append(details, Detail{"consent", "invalid_value", "is for another text than the one below: read it and agree again"})
	case e.Consent.Valid && !f.Consent.Or(false):
		details = append(details, Detail{"consent", "required", "is required"})
	}
	if f.Website.Set {
		details = append(details, Detail{"website", "not_allowed", "must be empty"})
	}
	return details
}

// Join makes a card for a customer at the form of a slug, which was sent from an address of the network. It
// never looks whether there is a card with the email or the phone number, so nobody can find that out.
func (tx *Tx) Join(slug string, f JoinFields, from netip.Addr) (out JoinedCard, err error) {
	e, err := tx.enrolmentBySlug(slug)
	if err != nil {
		return out, err
	}
	details := e.check(f)
	if f.Phone.Set && e.Phone != FieldOff {
		_, faults := parsePhone(tx.cachedShop(e.shop).CountryCode, f.Phone.V)
		details = append(details, faults...)
	}
	if details != nil {
		return out, Invalid(details...)
	}
	reference := Null[string]{fmt.Sprintf("join %d %s", e.program, f.Form.V), f.Form.Set}
	if out, found := tx.joinedBefore(&e, reference); found || tx.failed != nil {
		return out, tx.failed
	}
	if e.closed() {
		return out, errClosed
	}
	if err = tx.limitJoins(&e, from); err != nil {
		return out, err
	}
	fields := CardFields{HolderName: f.Name, HolderEmail: f.Email}
	at := counterIssue{reference: reference, phone: f.Phone}
	c, err := tx.issue(Access{Shop: e.shop}, tx.ID(KindProgram, e.program), fields, SourceWebEnrollment, at)
	if refusal, ok := AsError(err); ok &&
		refusal.Code == Unprocessable { // the shop has as many cards as it may have, which is not for everybody to know
		err = errClosed
	}
	if err != nil {
		return out, err
	}
	root, _ := tx.Key(KindCard, c.ID)
	if e.consent != 0 {
		tx.exec("UPDATE cards SET consent_version=?, consent_at=? WHERE id=?", e.consent, tx.Now, root)
	}
	tx.exec("UPDATE enrolments SET cards=cards+1, hour=?, hour_cards=? WHERE program_id=?", e.hour, e.hourCards+1, e.program)
	return JoinedCard{tx.s.pageToken(root, 0)}, tx.failed
}

var errClosed = refuse(Conflict, "No cards can be made here at the moment. Ask the shop for one.")

// joinedBefore returns the card that the same form has made. Its link is that of the new
// card, which a reissue ends.
func (tx *Tx) joinedBefore(e *enrolment, reference Null[string]) (out JoinedCard, found bool) {
	if !reference.Valid {
		return out, false
	}
	root := tx.number("SELECT id FROM cards WHERE shop_id=? AND client_reference=? AND program_id=?", e.shop, reference.V, e.program)
	if root == 0 {
		return out, false
	}
	return JoinedCard{tx.s.pageToken(root, 0)}, true
}

// limitJoins counts a card for the address and the program, or refuses it.
func (tx *Tx) limitJoins(e *enrolment, at netip.Addr) error {
	if hour := int64(tx.Now) / joinHour.Milliseconds(); hour != e.hour {
		e.hour, e.hourCards = hour, 0
	}
	if e.hourCards >= joinsPerHour {
		end := Time((e.hour + 1) * joinHour.Milliseconds())
		return tooMany("Too many cards were made here within the hour. Try again later.", tx.Now, end)
	}
	network := tx.s.addressSubject(joinAddressRule, "join address", at)
	if until := tx.countAll(network); until > 0 {
		return tooMany("Too many cards were made from your connection. Try again later.", tx.Now, until)
	}
	return tx.failed
}

// tooMany refuses what was done too often, until a time.
func tooMany(message string, now, until Time) error {
	e := refuse(RateLimited, "%s", message)
	e.RetryAfter = until.Std().Sub(now.Std())
	return e
}
