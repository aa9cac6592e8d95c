package dev

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"punchcard/store"
)

// An erased card leaves no trace in the journal and the mailbox: their lists leave
// out, and drop, the entries and messages about cards that were erased meanwhile, by
// whichever process.

// cardIDs matches what may be a card's id, anywhere in a text.
var cardIDs = regexp.MustCompile(`\bcrd_[0-9a-z]{26}\b`)

// subject is what a request is about.
type subject struct {
	cards   []int64 // keys, each once
	persons []person
}

// person has those fields of a query or body by which the store finds a holder's cards.
type person struct {
	ExternalRef string `json:"external_ref"`
	HolderEmail string `json:"holder_email"`
}

// subject returns the cards that the path or the answer of a request names, and
// those that have the external_ref or holder_email of its query or body. The answer to
// a list names many.
func (rec *recording) subject() (s subject) {
	e := &rec.entry
	texts := splitPath(rec.path)
	for _, body := range [][]byte{e.Request.Body, e.Response.Body, rec.lost} {
		for _, id := range cardIDs.FindAll(body, -1) {
			texts = append(texts, string(id))
		}
	}
	query, _ := url.ParseQuery(e.Query)
	var body person
	json.Unmarshal(e.Request.Body, &body) // what is not such an object names nobody
	for _, p := range []person{{query.Get("external_ref"), query.Get("holder_email")}, body} {
		if p != (person{}) {
			s.persons = append(s.persons, p)
		}
	}
	rec.j.store.View(0, func(v *store.View) (err error) {
		if s.cards, err = v.CardsNamed(texts); err != nil {
			return err
		}
		for _, p := range s.persons {
			more, err := v.CardsOf(p.ExternalRef, p.HolderEmail)
			if err != nil {
				return err
			}
			s.cards = append(s.cards, more...)
		}
		return nil
	})
	slices.Sort(s.cards)
	s.cards = slices.Compact(s.cards)
	return s
}

// matches reports whether two persons have an external_ref or holder_email in common.
func (p person) matches(o person) bool {
	return p.ExternalRef != "" && p.ExternalRef == o.ExternalRef || p.HolderEmail != "" && strings.EqualFold(p.HolderEmail, o.HolderEmail)
}

// erasedCards returns the set of the cards that were erased.
func erasedCards(st *store.Store) (map[int64]bool, error) {
	erased := map[int64]bool{}
	keys, err := store.Read(st, (*store.View).ErasedCards)
	for _, key := range keys {
		erased[key] = true
	}
	return erased, err
}

// dropErased drops the requests about cards that were erased, and those about no card
// that name the same person, such as a search before the card was issued.
func (r *ring) dropErased(erased map[int64]bool) {
	var persons []person
	r.drop(func(s subject) bool {
		drop := slices.ContainsFunc(s.cards, func(key int64) bool { return erased[key] })
		if drop {
			persons = append(persons, s.persons...)
		}
		return drop
	})
	r.drop(func(s subject) bool {
		return len(s.cards) == 0 && slices.ContainsFunc(s.persons, func(p person) bool { return slices.ContainsFunc(persons, p.matches) })
	})
}

// drop drops the entries whose subject meets a condition.
func (r *ring) drop(condition func(subject) bool) {
	r.list = slices.DeleteFunc(r.list, func(e record) bool {
		drop := condition(e.about)
		if drop {
			r.size -= e.size
		}
		return drop
	})
}

// dropErased drops the messages about cards that were erased.
func (m *Mailbox) dropErased(st *store.Store, erased map[int64]bool) {
	m.mail = slices.DeleteFunc(m.mail, func(msg store.Mail) bool {
		key, _ := st.Key(store.KindCard, msg.CardID)
		return erased[key]
	})
}
