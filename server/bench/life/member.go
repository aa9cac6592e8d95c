package main

import (
	"fmt"
	"time"
)

// member is a customer with one card, which may have become a chain of several instances.
type member struct {
	n           int
	shop        *shop
	program     *program
	faceOfIssue string
	regular     bool   // comes back again and again
	platform    string // of the phone that gets the card; empty for none
	card        string // id of the instance that takes the next stamp; empty before the card is issued
	first       string // id of the first instance
	gone        bool   // erased, or archived
	cents       int64  // balance according to the last answer
	phone       *phone // nil if none has the card
	install     string // link by which the card gets onto a phone
	imported    bool
	hasNumber   bool   // the shop knows the phone number
	code        string // of an earlier card, which tills take too
}

var firstNames = []string{"Ada", "Bruno", "Chiara", "Dario", "Elena", "Fabio", "Giulia", "Hugo", "Irene", "Jonas", "Katia", "Luca"}

// name returns the name of the member, which nobody else has.
func (m *member) name() string {
	return fmt.Sprintf("%s Zanottini-%05d", firstNames[m.n%len(firstNames)], m.n)
}

// email returns the address of the member.
func (m *member) email() string { return fmt.Sprintf("zan%05d@members.example", m.n) }

// number returns the phone number of the member, which not all are asked for.
func (m *member) number() string { return fmt.Sprintf("+393331%06d", m.n) }

// words returns what the shop knows of the member and nobody else has.
func (m *member) words() []string {
	list := []string{m.name(), m.email()}
	if m.hasNumber {
		list = append(list, m.number())
	}
	if m.code != "" {
		list = append(list, m.code)
	}
	return list
}

// newMember plans the next member.
func (y *year) newMember() *member {
	m := &member{n: len(y.members), regular: y.rand.IntN(3) == 0}
	if m.shop = y.shop; m.n%100 == 99 {
		m.shop = y.neighbour
	}
	share := y.rand.IntN(100)
	for _, p := range m.shop.programs {
		if m.program = p; share < shares[p.Type] {
			break
		}
		share -= shares[p.Type]
	}
	m.faceOfIssue = []string{"till", "till", "rest", "rest", "enrol"}[y.rand.IntN(5)]
	if m.shop == y.neighbour && m.faceOfIssue == "enrol" {
		m.faceOfIssue = "rest" // it has no form
	}
	if m.shop == y.shop && y.platforms < maxPhones {
		switch y.rand.IntN(400) {
		case 0:
			m.platform = "apple"
		case 1:
			m.platform = "google"
		}
	}
	if m.platform != "" {
		y.platforms++
	}
	y.members = append(y.members, m)
	return m
}

// visit is the visit of a member in a half hour of a day.
type visit struct {
	m    *member
	slot int // half hours since the opening
	till *till
	seed uint64 // of what happens in the visit
}

// slots is how many half hours a location is open.
const slots = 24

// maxPhones is how many phones the fixture may have.
const maxPhones = 50

// opening is the hour at which the shop opens, in its zone.
const opening = 7

// planDay plans the visits of a day: those of new members, and those of regulars, who come twice a month.
func (y *year) planDay(day time.Time) (visits [slots][]visit) {
	add := func(m *member) {
		// Mornings and lunch are busy.
		slot := min(y.rand.IntN(slots), y.rand.IntN(slots))
		l := m.shop.locations[y.rand.IntN(len(m.shop.locations))]
		visits[slot] = append(visits[slot], visit{m, slot, l.tills[y.rand.IntN(len(l.tills))], y.rand.Uint64()})
	}
	days := float64(y.options.members) / 365
	for range int(days) + oneIf(y.rand.Float64() < days-float64(int(days))) {
		y.newMember()
	}
	if day.Weekday() == time.Sunday {
		return visits
	}
	for _, m := range y.members {
		switch {
		case m.gone:
		case m.card == "", m.regular && y.rand.IntN(13) == 0, y.rand.IntN(400) == 0:
			add(m)
		}
	}
	return visits
}

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
