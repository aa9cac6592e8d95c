package store

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"punchcard/store/phone"
)

// Contact is what a shop knows about the holder of a card beside the card. The cards that
// overflowed from one another share it.
type Contact struct {
	Phone    Null[string] `json:"phone" doc:"E.164, such as +390612345678."`
	Birthday Null[string] `json:"birthday" doc:"MM-DD. 29 February counts as the 28th in years that have none."`
	Codes    []string     `json:"codes" viewer:"hidden" doc:"Barcodes of earlier plastic cards, by which tills find the card too. UPC-A is kept as EAN-13."`
}

// PhoneField is a part of every body that takes a phone number.
type PhoneField struct {
	Phone Opt[string] `json:"phone" min:"1" max:"64" format:"line" patch:"nullable" doc:"Of the holder, with the country's code or as it is written in the shop's country_code."`
}

// ContactPatch is the body of PATCH /cards/{id}/contact.
type ContactPatch struct {
	PhoneField
	Birthday Opt[string]   `json:"birthday" pattern:"^(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$" words:"must be a month and a day, such as 02-29" patch:"nullable" doc:"MM-DD."`
	Codes    Opt[[]string] `json:"codes" max:"5" doc:"All barcodes that the card is to have: of each 1 to 64 printable ASCII characters, unique in the shop."`
}

// HolderContact is a Contact with what only the people of the shop see.
type HolderContact struct {
	Contact
	Note        Null[string] `json:"note"`
	MemberSince Null[string] `json:"member_since" doc:"Date in the system from which the card was imported."`
}

// HolderContactPatch is a ContactPatch with the note.
type HolderContactPatch struct {
	ContactPatch
	Note Opt[string] `json:"note" min:"1" max:"500" patch:"nullable" doc:"For the people of the shop."`
}

// Contact returns the contact of a card's chain.
func (v *View) Contact(a Access, id string) (Contact, error) {
	c, err := v.HolderContact(a, id)
	return c.Contact, err
}

// HolderContact returns the contact of a card's chain with what only the people of the shop see.
func (v *View) HolderContact(a Access, id string) (c HolderContact, err error) {
	v.snapshot()
	var root int64
	sql, args := a.restrict("SELECT ifnull(c.root_id, c.id) FROM cards c JOIN programs p ON p.id=c.program_id WHERE c.id=? "+
		"AND c.shop_id=? AND c.deleted_at IS NULL", v.keyOrNone(KindCard, id), a.Shop)
	if err = v.find("card", into(&root), sql, args...); err != nil {
		return c, err
	}
	return v.contact(root), v.failed
}

// contact returns the contact of the chain of a root.
func (q *queries) contact(root int64) (c HolderContact) {
	q.one(into(&c.Phone, &c.Birthday, &c.Note, &c.MemberSince),
		"SELECT ifnull(phone, ''), ifnull(birthday, ''), ifnull(note, ''), ifnull(member_since, '') FROM contacts WHERE card_id=?", root)
	c.Codes = q.foreignCodes(root)
	return c
}

// UpdateContact changes the fields of a contact that f sets. If f sets none, it changes nothing, in
// every state of the card. An archived card is refused. No event is fired.
func (tx *Tx) UpdateContact(a Access, id string, f ContactPatch) (Contact, error) {
	c, err := tx.UpdateHolderContact(a, id, HolderContactPatch{ContactPatch: f})
	return c.Contact, err
}

// UpdateHolderContact is UpdateContact with what only the people of the shop see.
func (tx *Tx) UpdateHolderContact(a Access, id string, f HolderContactPatch) (contact HolderContact, err error) {
	country := tx.cachedShop(a.Shop).CountryCode
	if _, faults := f.apply(HolderContact{}, country); faults != nil {
		return contact, Invalid(faults...)
	}
	c, err := tx.card(a, id)
	if err != nil {
		return contact, err
	}
	tx.touchCard(c.key)
	old := tx.contact(c.root)
	if !namesAnyField(&f) {
		return old, tx.failed
	}
	if c.Status == StatusArchived {
		return contact, refuse(Conflict, "The card is archived.")
	}
	contact, _ = f.apply(old, country)
	if reflect.DeepEqual(contact, old) {
		return old, tx.failed
	}
	if err = tx.setContact(a.Shop, c.root, old, contact); err != nil {
		return contact, err
	}
	tx.audit(a.Shop, "card.contact", KindCard, c.key)
	tx.cardChanged(c.root)
	return contact, tx.failed
}

// apply returns a contact with the fields that f sets. A phone number is read as of the shop's country. The faults are
// those of f, whatever the old contact is.
func (f HolderContactPatch) apply(old HolderContact, country Null[string]) (c HolderContact, faults []Detail) {
	c = old
	c.Phone, c.Birthday, c.Note = f.Phone.Apply(old.Phone), f.Birthday.Apply(old.Birthday), f.Note.Apply(old.Note)
	if f.Phone.Set && c.Phone.Valid {
		c.Phone, faults = parsePhone(country, c.Phone.V)
	}
	// 2000 was a leap year.
	if _, err := time.Parse(time.DateOnly, "2000-"+c.Birthday.V); c.Birthday.Valid && err != nil {
		faults = append(faults, Detail{"birthday", "invalid_value", "must be a day that the month has"})
	}
	if f.Codes.Set {
		var more []Detail
		c.Codes, more = parseForeignCodes(f.Codes.V)
		faults = append(faults, more...)
	}
	return c, faults
}

// setContact stores a contact in place of an old one, as far as they differ. It refuses a code that another card has.
func (tx *Tx) setContact(shop, root int64, old, c HolderContact) error {
	for _, code := range old.Codes {
		if !slices.Contains(c.Codes, code) {
			tx.exec("DELETE FROM foreign_codes WHERE shop_id=? AND barcode=?", shop, code)
		}
	}
	for _, code := range c.Codes {
		if !slices.Contains(old.Codes, code) {
			if err := tx.addForeignCode(shop, root, code); err != nil {
				return err
			}
		}
	}
	if c.Codes = old.Codes; reflect.DeepEqual(c, old) {
		return tx.failed
	}
	tx.exec(`INSERT INTO contacts (card_id, shop_id, phone, phone_key, birthday, note, member_since) VALUES (?1,?2,?3,?4,?5,?6,?7)
		ON CONFLICT (card_id) DO UPDATE SET phone=?3, phone_key=?4, birthday=?5, note=?6, member_since=?7`,
		root, shop, c.Phone, Null[string]{phoneKey(c.Phone.V), c.Phone.Valid}, c.Birthday, c.Note, c.MemberSince)
	return tx.failed
}

// phoneKey returns the digits of a phone number, the last one first.
func phoneKey(number string) string {
	digits := []byte(strings.TrimPrefix(number, "+"))
	slices.Reverse(digits)
	return string(digits)
}

// parsePhone returns a phone number as E.164, read as of a country, or of none.
func parsePhone(country Null[string], text string) (number Null[string], faults []Detail) {
	if e164, ok := phone.Parse(text, country.V); ok {
		return Some(e164), nil
	}
	rule := fmt.Sprintf("must be a phone number of the country %s, or one with its country's code, such as +390612345678", country.V)
	if !country.Valid {
		rule = "must be a phone number with its country's code, such as +390612345678; the shop has no country_code"
	}
	return number, []Detail{{"phone", "invalid_format", rule}}
}
