package store

import "strings"

// Whether the form at which customers make a card asks for a field.
const (
	FieldRequired = "required"
	FieldOptional = "optional"
	FieldOff      = "off"
)

// Enrolment says how the customers of a shop make cards of a program themselves.
type Enrolment struct {
	Enabled        bool         `json:"enroll"`
	Slug           Null[string] `json:"enroll_slug" doc:"The end of the form's address."`
	URL            Null[string] `json:"enroll_url" doc:"Of the form; null: it has no address yet."`
	Name           string       `json:"enroll_name" enum:"required,optional,off"`
	Email          string       `json:"enroll_email" enum:"required,optional,off"`
	Phone          string       `json:"enroll_phone" enum:"required,optional,off"`
	Consent        Null[string] `json:"enroll_consent" doc:"What the customer has to agree to."`
	PrivacyURL     Null[string] `json:"enroll_privacy_url" doc:"Of the privacy notice."`
	ConsentVersion int64        `json:"enroll_consent_version" doc:"Counts the changes of the two."`
	MaxCards       Null[int64]  `json:"enroll_max_cards" doc:"Cards that the form may ever make."`
	Cards          int64        `json:"enroll_cards" doc:"Cards that it has made."`
}

// EnrolmentFields is the body of changing an Enrolment.
type EnrolmentFields struct {
	Enabled    Opt[bool]   `json:"enroll" doc:"Lets customers make cards themselves; needs enroll_slug and enroll_max_cards, given now or before."`
	Slug       Opt[string] `json:"enroll_slug" min:"3" max:"64" pattern:"^[a-z0-9]+(-[a-z0-9]+)*$" words:"must be lower-case letters from a to z and digits, with single hyphens between them" doc:"Unique on the server."`
	Name       Opt[string] `json:"enroll_name" enum:"required,optional,off" doc:"Default optional."`
	Email      Opt[string] `json:"enroll_email" enum:"required,optional,off" doc:"Default optional. Without an email a lost card cannot be found."`
	Phone      Opt[string] `json:"enroll_phone" enum:"required,optional,off" doc:"Default off. It is read as of the shop's country_code."`
	Consent    Opt[string] `json:"enroll_consent" min:"1" max:"2000" patch:"nullable" doc:"What the customer has to agree to; null: nothing."`
	PrivacyURL Opt[string] `json:"enroll_privacy_url" format:"url" max:"2048" patch:"nullable" doc:"Of the privacy notice; null: none."`
	MaxCards   Opt[int64]  `json:"enroll_max_cards" min:"1" max:"1000000" doc:"Cards that the form may ever make."`
}

// enrolment is a row of enrolments with what its consent says.
type enrolment struct {
	Enrolment            // without URL and ConsentVersion
	program, shop        int64
	consent              int64 // version that the form shows; 0: there is none
	hour, hourCards      int64
	published, suspended bool
	money                bool   // cards begin with money
	subscription         string // of the shop
}

const enrolmentSQL = `SELECT e.program_id, p.shop_id, e.enabled, e.slug, e.name_field, e.email_field, e.phone_field, e.consent,
	ifnull(c.text, ''), ifnull(c.privacy_url, ''), e.max_cards, e.cards, e.hour, e.hour_cards,` +
	" p.published_at IS NOT NULL, p.suspended_at IS NOT NULL, ifnull(p.initial_balance_cents, 0)>0, s.subscription_state" +
	` FROM enrolments e JOIN programs p ON p.id=e.program_id JOIN shops s ON s.id=p.shop_id LEFT
		JOIN consents c ON c.program_id=e.program_id AND c.version=e.consent WHERE p.deleted_at IS NULL AND `

func (e *enrolment) scan(r *rows) {
	r.scan(&e.program, &e.shop, &e.Enabled, &e.Slug, &e.Name, &e.Email, &e.Phone, &e.consent, &e.Consent, &e.PrivacyURL, &e.MaxCards,
		&e.Cards, &e.hour, &e.hourCards, &e.published, &e.suspended, &e.money, &e.subscription)
}

// closed reports whether the form makes no cards now. It makes none that begin with money, which
// a file of an earlier version may allow.
func (e *enrolment) closed() bool {
	return !e.Enabled || !e.published || e.suspended || e.money || e.Cards >= e.MaxCards.V || HasEnded(e.subscription)
}

// enrolmentBySlug returns the enrolment whose form has an address. One that is off is refused
// like one that does not exist.
func (q *queries) enrolmentBySlug(slug string) (e enrolment, err error) {
	err = q.find("page", e.scan, enrolmentSQL+"e.slug=?", slug)
	if err == nil {
		err = q.closing(e.shop).Refuse(false)
	}
	if err == nil && !e.Enabled {
		err = notFound("page")
	}
	return e, err
}

// enrolmentOf returns the enrolment of a program, or what it is before it is first set.
func (q *queries) enrolmentOf(shop int64, id string) (e enrolment, err error) {
	p, err := q.program(Access{Shop: shop}, id)
	if err != nil {
		return e, err
	}
	if !q.one(e.scan, enrolmentSQL+"e.program_id=?", p.key) {
		unset := Enrolment{Name: FieldOptional, Email: FieldOptional, Phone: FieldOff}
		e = enrolment{Enrolment: unset, program: p.key, money: p.InitialBalanceCents.V > 0}
	}
	return e, q.failed
}

// joinURL returns the URL of the form with an address.
func (q *queries) joinURL(shop int64, slug string) string {
	return q.PublicURLOf(shop) + "/join/" + slug
}

// publicEnrolment returns what people see of an enrolment. version is the newest one of its consents.
func (q *queries) publicEnrolment(e enrolment, version int64) Enrolment {
	out := e.Enrolment
	out.ConsentVersion = version
	if e.Slug.Valid {
		out.URL = Some(q.joinURL(e.shop, e.Slug.V))
	}
	return out
}

func (q *queries) consentVersion(program int64) int64 {
	return q.number("SELECT ifnull(max(version), 0) FROM consents WHERE program_id=?", program)
}

// Enrolment returns how customers make cards of a program themselves.
func (v *View) Enrolment(shop int64, id string) (out Enrolment, err error) {
	v.snapshot()
	e, err := v.enrolmentOf(shop, id)
	return v.publicEnrolment(e, v.consentVersion(e.program)), err
}

// UpdateEnrolment changes how customers make cards of a program themselves, also of a
// frozen program. Cards that exist stay as they are. Cards that begin with money cannot be made by
// customers; see checkBalance.
func (tx *Tx) UpdateEnrolment(shop int64, id string, f EnrolmentFields) (out Enrolment, err error) {
	old, err := tx.enrolmentOf(shop, id)
	if err != nil {
		return out, err
	}
	version := tx.consentVersion(old.program)
	e := old
	merge(&e.Enrolment, f)
	if details := e.missing(); details != nil {
		return out, Invalid(details...)
	}
	if e.Enabled && e.money {
		return out, errGivesMoney
	}
	if e.Slug.V != old.Slug.V && tx.number("SELECT count(*) FROM enrolments WHERE slug=? AND program_id<>?", e.Slug.V, e.program) > 0 {
		return out, refuse(Conflict, "Another form has this address. Choose another one.")
	}
	if e == old {
		return tx.publicEnrolment(e, version), tx.failed
	}
	if e.Consent != old.Consent || e.PrivacyURL != old.PrivacyURL {
		e.consent = 0
		if e.Consent.Valid || e.PrivacyURL.Valid {
			version++
			e.consent = version
			tx.exec("INSERT INTO consents (program_id, version, text, privacy_url, created_at) VALUES (?,?,?,?,?)", e.program, version,
				e.Consent, e.PrivacyURL, tx.Now)
		}
	}
	tx.exec(`INSERT INTO enrolments (program_id, enabled, slug, name_field, email_field, phone_field, consent, max_cards)
		VALUES (?1,?2,?3,?4,?5,?6,?7,?8) ON CONFLICT (program_id) DO UPDATE SET enabled=?2, slug=?3, name_field=?4, email_field=?5,
		phone_field=?6, consent=?7, max_cards=?8`, e.program, e.Enabled, e.Slug, e.Name, e.Email, e.Phone, e.consent, e.MaxCards)
	tx.audit(shop, "program.update_enrolment", KindProgram, e.program)
	return tx.publicEnrolment(e, version), tx.failed
}

// errGivesMoney refuses cards that customers make themselves and that begin with money.
var errGivesMoney = refuse(Unprocessable,
	"Cards of this program begin with money, so customers cannot make them themselves. Set the balance of a new card to 0 first.")

// missing returns details for what an enrolment cannot do without.
func (e *enrolment) missing() (details []Detail) {
	if !e.Slug.Valid {
		details = append(details, Detail{"enroll_slug", "required", "is required"})
	}
	if !e.MaxCards.Valid {
		details = append(details, Detail{"enroll_max_cards", "required", "is required"})
	}
	return details
}

// Consent is what the holder of a card was shown, and had to agree to, when the form at
// /join made the card.
type Consent struct {
	Version    int64        `json:"version"`
	At         Time         `json:"at"`
	Text       Null[string] `json:"text" doc:"What the holder agreed to; null: there was only the link."`
	PrivacyURL Null[string] `json:"privacy_url"`
}

// cardConsent returns the consent of a card, null if it has none.
func (q *queries) cardConsent(card int64) (out *Consent) {
	var c Consent
	if q.one(into(&c.Version, &c.At, &c.Text, &c.PrivacyURL),
		`SELECT c.consent_version, c.consent_at, n.text, n.privacy_url FROM cards c JOIN consents n ON n.program_id=c.program_id
		AND n.version=c.consent_version WHERE c.id=?`, card) {
		out = &c
	}
	return out
}

// SuggestedSlug returns an address for the form of a program with a name, which may be
// taken.
func SuggestedSlug(name string) string {
	words := strings.FieldsFunc(FoldName(name), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9') })
	slug := ""
	for _, word := range words {
		if longer := strings.TrimPrefix(slug+"-"+word, "-"); len(longer) <= 40 {
			slug = longer
		}
	}
	if len(slug) < 3 {
		slug = strings.TrimPrefix(slug+"-card", "-")
	}
	return slug
}
