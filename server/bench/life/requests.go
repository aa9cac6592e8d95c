package main

import (
	"slices"
	"strings"
)

// erasure is a line of erased.jsonl: a person who was erased, with words that must not be found afterwards.
type erasure struct {
	Card  string   `json:"card"`
	Words []string `json:"words"`
}

// pathOf returns the path of a link.
func (y *year) pathOf(link string) string { return strings.TrimPrefix(link, y.server.origin()) }

// someMember returns a member with a card who fulfils a condition, nil if there is none.
func (y *year) someMember(is func(*member) bool) *member {
	for range 1000 {
		if len(y.members) == 0 {
			break
		}
		if m := y.members[y.rand.IntN(len(y.members))]; m.card != "" && !m.gone && is(m) {
			return m
		}
	}
	return nil
}

// eraseMember erases somebody who has asked for it.
func (y *year) eraseMember() {
	m := y.someMember(func(m *member) bool {
		// An import with many stamps makes a second card, whose id no answer had.
		return m.shop == y.shop && !(m.imported && m.collects() && m.openingStamps() > 5)
	})
	if m == nil {
		return
	}
	if _, ok := y.ask(y.control(), "POST", "/cards/"+m.card+"/delete", nil, "204"); !ok {
		return
	}
	m.gone = true
	y.count("erased by request")
	y.erased.write(erasure{m.card, m.words()})
	y.answers.write(done{At: y.now, Shop: m.shop.ID, Face: "command", Kind: "erase", Card: m.card})
	y.ask(y.shop.api, "GET", "/cards/"+m.card, nil, "404 not_found")
	y.ask(m.shop.locations[0].tills[0].api, "GET", "/cards/"+m.card, nil, "404 not_found")
}

// loseCard reissues the card of somebody who has lost it. The install link of before ends.
func (y *year) loseCard() {
	m := y.someMember(func(m *member) bool {
		return m.shop == y.shop && m.phone == nil && m.install != "" &&
			!slices.Contains(y.office.locked, m) // which the reissue would unlock
	})
	if m == nil {
		return
	}
	page := face{name: "page"}
	r, ok := y.ask(y.control(), "POST", "/cards/"+m.card+"/reissue", map[string]any{}, "200", "409 conflict", "422 unprocessable_entity")
	if !ok || r.status != 200 {
		y.count("reissue refused: " + r.code())
		return
	}
	var made struct {
		InstallURL string `json:"install_url"`
	}
	if err := r.decode(&made); err != nil {
		y.fault("reissue: %v", err)
		return
	}
	y.answers.write(done{At: y.now, Shop: m.shop.ID, Face: "command", Kind: "reissue", Card: m.card})
	y.count("card reissued")
	y.ask(page, "GET", y.pathOf(m.install), nil, "410 gone", "404 not_found")
	y.ask(page, "GET", y.pathOf(made.InstallURL), nil, "200", "303")
	m.install = made.InstallURL
}
