package store

import (
	"cmp"
	"math"
	"time"

	"punchcard/store/event"
)

// The sources of cards.
const (
	SourceAPI           = "api"
	SourceCounter       = "counter"
	SourceWebEnrollment = "web_enrollment"
	SourceImport        = "import"
)

const issueSQL = `SELECT s.live_cards, (SELECT ifnull(max(id), 0)+1 FROM cards) FROM programs p JOIN shops s ON s.id=p.shop_id
	WHERE p.id=? AND p.shop_id=? AND p.deleted_at IS NULL`

// IssueCard issues a card of a published program and makes its install link.
func (tx *Tx) IssueCard(a Access, programID string, f CardFields, source string) (out IssuedCard, err error) {
	return tx.issue(a, programID, f, source, counterIssue{})
}

// CounterFields is the body of issuing a card at a till.
type CounterFields struct {
	HolderFields
	ExternalRef Opt[string] `json:"external_ref" min:"1" max:"255" format:"line" doc:"One live card per program."`
	AmountCents Opt[int64]  `json:"amount_cents" min:"1" max:"100000000" doc:"With what a prepaid card begins; without it, with the program's initial_balance_cents. Other programs do not take it. No reversal takes it back: archive the card."`
	Once
}

// counterIssue is what the issue of a card at a till has beside its fields. Cards that are
// issued elsewhere have the zero value, or a reference and a phone number alone.
type counterIssue struct {
	location  Null[int64]
	reference Null[string]
	phone     Opt[string]
	amount    Opt[int64]
}

// IssueAtCounter issues a card at a till. It is active at once.
func (tx *Tx) IssueAtCounter(till Till, programID string, f CounterFields) (out IssuedCard, err error) {
	if err = tx.checkUnused(till.Shop, f.Once); err != nil {
		return out, err
	}
	a := Access{Shop: till.Shop, Restricted: true, Locations: []int64{till.Location}}
	return tx.issue(a, programID, CardFields{HolderName: f.HolderName, HolderEmail: f.HolderEmail, ExternalRef: f.ExternalRef},
		SourceCounter, counterIssue{Some(till.Location), f.reference(), f.Phone, f.AmountCents})
}

// CustomerFields are CardFields with what only people of the shop give.
type CustomerFields struct {
	CardFields
	PhoneField
}

// IssueToCustomer is IssueCard for a person of the shop.
func (tx *Tx) IssueToCustomer(a Access, programID string, f CustomerFields) (out IssuedCard, err error) {
	return tx.issue(a, programID, f.CardFields, SourceAPI, counterIssue{phone: f.Phone})
}

// issue issues a card.
func (tx *Tx) issue(a Access, programID string, f CardFields, source string, at counterIssue) (out IssuedCard, err error) {
	counter := at.location
	details := f.Check(tx.Now)
	var contact HolderContact
	if at.phone.Set {
		var faults []Detail
		contact.Phone, faults = parsePhone(tx.cachedShop(a.Shop).CountryCode, at.phone.V)
		details = append(details, faults...)
	}
	if details != nil {
		return out, Invalid(details...)
	}
	key := tx.keyOrNone(KindProgram, programID)
	var live, card int64 // the card's key is needed for the install link, which the INSERT writes too
	if err = tx.find("program", into(&live, &card), issueSQL, key, a.Shop); err != nil {
		return out, err
	}
	p := tx.cachedProgram(a.Shop, key)
	balance, welcome := p.InitialBalanceCents, p.welcomeStamps
	if amount := at.amount.Value(); amount.Valid {
		if balance = amount; p.Type != ProgramPrepaid {
			return out, InvalidField("amount_cents", "not_allowed", "is for cards of prepaid programs only")
		}
	}
	card = max(card, tx.s.floors["cards"]+1)
	if err = tx.checkIssueLocations(a, key, counter.Valid); err != nil {
		return out, err
	}
	switch {
	case p.SuspendedAt.Valid:
		return out, refuse(Unprocessable, "The program is suspended; no cards can be issued.")
	case !p.PublishedAt.Valid:
		return out, refuse(Unprocessable, "The program is not published; no cards can be issued.")
	case source == SourceWebEnrollment && balance.V > 0:
		return out, errGivesMoney
	}
	if err = tx.checkMaxCards(a.Shop, tx.cachedShop(a.Shop).MaxCards, live); err != nil {
		return out, err
	}
	if err = tx.checkExternalRef(a.Shop, key, 0, f.ExternalRef.Value()); err != nil {
		return out, err
	}
	if err = tx.requireMailServer(f.SendEmail); err != nil {
		return out, err
	}
	expires := f.ExpiresAt.Value()
	if !expires.Valid {
		expires = tx.defaultExpiry(p.DefaultExpireAfterDays)
	}
	out = IssuedCard{ID: tx.ID(KindCard, card), ProgramID: programID, ExternalRef: f.ExternalRef.Value(), HolderName: f.HolderName.Value(),
		HolderEmail: f.HolderEmail.Value(), ExpiresAt: expires}
	token := tx.makeInstallLink(&out, a.Shop, card, at.reference)
	tx.exec(`INSERT INTO cards (id, shop_id, program_id, source, external_ref, holder_name, holder_email, email_key, current_value,
		initial_value, expires_at, activated_at, first_location_id, install_hash, install_expires_at, live, created_at, updated_at,
		client_reference, stamps_count, opening_stamps, opening_left)
		VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?9,?10,?11,?12,?13,?14,1,?15,?15,?16,?17,?17,?17)`,
		card, a.Shop, key, source, out.ExternalRef, out.HolderName, out.HolderEmail, emailKey(out.HolderEmail), balance, expires,
		Null[Time]{tx.Now, counter.Valid}, counter, Hash(token), out.InstallURLExpiresAt, tx.Now, at.reference, welcome)
	if contact.Phone.Valid {
		tx.fail(tx.setContact(a.Shop, card, HolderContact{}, contact))
	}
	tx.countIssued(a.Shop, key)
	t := totals{balance: balance.V, open: oneIf(welcome > 0)}
	if counter.Valid {
		tx.countLocation(key, counter.V)
		t.active = 1
	}
	tx.counts.addTotals(key, t)
	tx.emit(pendingEvent{name: event.CardAdded, shop: a.Shop, program: key, card: card, location: counter.V})
	tx.sendMail(out, a.Shop, card, token, p.Name, f.SendEmail)
	tx.audit(a.Shop, "card.issue", KindCard, card)
	return out, tx.failed
}

// countIssued counts a new chain of a program.
func (tx *Tx) countIssued(shop, program int64) {
	tx.countNewCard()
	tx.exec("UPDATE shops SET live_cards=live_cards+1 WHERE id=?", shop)
	tx.counts.addBucket(bucket{shop, program, int64(tx.Now) / quarterHour, noLocation}, PeriodSums{NewCards: 1})
}

// checkIssueLocations refuses a till or a restricted key if the program's cards work
// at none of its locations.
func (tx *Tx) checkIssueLocations(a Access, program int64, till bool) error {
	if !a.Restricted {
		return nil
	}
	n := tx.number("SELECT count(*) FROM programs p WHERE p.id=? AND "+withinRestriction, program, jsonKeys(a.Locations))
	switch {
	case n > 0:
		return nil
	case till:
		return refuse(Unprocessable, "The program's cards do not work at this location.")
	}
	return refuse(Unauthorized, "This key is restricted to locations where the program's cards do not work.")
}

// defaultExpiry returns now plus the program's default number of days, or null.
func (tx *Tx) defaultExpiry(days Null[int64]) Null[Time] {
	if !days.Valid {
		return Null[Time]{}
	}
	return Some(tx.Now.Add(time.Duration(days.V) * 24 * time.Hour))
}

func checkFuture(at Opt[Time], now Time) (details []Detail) {
	if at.Set && !at.Null && at.V <= now {
		return []Detail{{"expires_at", "must_be_future", "must be in the future"}}
	}
	return nil
}

// Check validates the fields of a new card against the time and each other.
func (f CardFields) Check(now Time) []Detail {
	return append(checkFuture(f.ExpiresAt, now), checkSendEmail(f.SendEmail, f.HolderEmail.Value())...)
}

// Check validates the changes of a card against the time.
func (f CardPatch) Check(now Time) []Detail { return checkFuture(f.ExpiresAt, now) }

// Check validates the fields of a reissue against the time.
func (f ReissueFields) Check(now Time) []Detail { return checkFuture(f.ExpiresAt, now) }

// checkMaxCards refuses a further live card if the shop has maxCards already. live
// is the shop's counter, which includes cards that have expired since they were
// counted. These do not count here; when the limit is met, up to 500 of them are
// taken off the counter.
func (tx *Tx) checkMaxCards(shop int64, maxCards Null[int64], live int64) error {
	if !maxCards.Valid || live < maxCards.V {
		return nil
	}
	const due = " FROM cards WHERE shop_id=? AND live=1 AND expires_at IS NOT NULL AND expires_at<=?"
	n := tx.number("SELECT count(*)"+due, shop, tx.Now)
	if live-n >= maxCards.V {
		return refuse(Unprocessable, "The shop has %d live cards, which is its maximum.", live-n)
	}
	swept := tx.exec("UPDATE cards SET live=0 WHERE id IN (SELECT id"+due+" LIMIT 500)", shop, tx.Now)
	tx.exec("UPDATE shops SET live_cards=live_cards-? WHERE id=?", swept, shop)
	return nil
}

// checkExternalRef refuses a second live card with the same external_ref in a
// program. root is the chain that may have it, or 0.
func (tx *Tx) checkExternalRef(shop, program, root int64, ref Null[string]) error {
	if !ref.Valid {
		return nil
	}
	n := tx.number(
		`SELECT count(*) FROM cards WHERE shop_id=? AND external_ref=? AND program_id=? AND archived_at IS NULL AND deleted_at IS NULL
		AND (expires_at IS NULL OR expires_at>?) AND ifnull(root_id, id)<>?`, shop, ref.V, program, tx.Now, root)
	if n > 0 {
		return refuse(Conflict, "This external_ref already has a live card in the program.")
	}
	return nil
}

// makeInstallLink makes a new install link for a chain and returns its token, which
// follows from the reference if there is one. The earlier link ends when the caller
// stores the hash of the token.
func (tx *Tx) makeInstallLink(out *IssuedCard, shop, root int64, reference Null[string]) (token string) {
	tx.touchCard(root)
	if reference.Valid {
		token = tx.s.referencedInstallToken(root, reference.V)
	} else {
		token = tx.newInstallToken(root)
	}
	out.InstallURL = installURL(cmp.Or(tx.cachedShop(shop).PublicURL.V, tx.s.opts.PublicURL), token)
	out.InstallURLExpiresAt = tx.Now.Add(tx.Limits.InstallLinkTTL)
	return token
}

// issued returns the card without its install link.
func (c *card) issued() IssuedCard {
	return IssuedCard{
		ID:          c.ID,
		ProgramID:   c.ProgramID,
		ExternalRef: c.ExternalRef,
		HolderName:  c.HolderName,
		HolderEmail: c.HolderEmail,
		ExpiresAt:   c.ExpiresAt,
	}
}

// replaceInstallLink makes a new install link for an existing card, stores it and,
// if send is true, mails it.
func (tx *Tx) replaceInstallLink(shop int64, c card, send Opt[bool]) (out IssuedCard, err error) {
	out = c.issued()
	token := tx.makeInstallLink(&out, shop, c.root, Null[string]{})
	tx.exec("UPDATE cards SET install_hash=?, install_expires_at=? WHERE id=?", Hash(token), out.InstallURLExpiresAt, c.root)
	tx.deleteMail(c.root)
	tx.sendMail(out, shop, c.root, token, c.ProgramName, send)
	return out, tx.failed
}

// makeLive counts an expired chain as live again, if max_cards and its external_ref
// allow it.
func (tx *Tx) makeLive(shop int64, c card, ref Null[string]) error {
	if err := tx.checkExternalRef(shop, c.program, c.root, ref); err != nil {
		return err
	}
	if err := tx.checkRoom(shop); err != nil {
		return err
	}
	tx.setLive(shop, c.root, true)
	return nil
}

// checkRoom refuses a further live card if the shop has as many as it may have.
func (tx *Tx) checkRoom(shop int64) error {
	max, live := Null[int64]{}, int64(math.MaxInt64)
	tx.one(into(&max, &live), "SELECT max_cards, live_cards FROM shops WHERE id=?", shop)
	return tx.checkMaxCards(shop, max, live)
}

// setLive adds a chain to its shop's live cards or takes it off, unless that was
// done before.
func (tx *Tx) setLive(shop, root int64, live bool) {
	n := tx.exec("UPDATE cards SET live=?2 WHERE id=?1 AND live<>?2", root, live)
	if !live {
		n = -n
	}
	tx.exec("UPDATE shops SET live_cards=live_cards+? WHERE id=?", n, shop)
}
