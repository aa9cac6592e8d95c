package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// cardOf returns the id of the card in a path.
func cardOf(path string) string { return strings.Split(path, "/")[3] }

// changeCard follows the link of a card's page to a form, which may be that of a younger card, fills it in and writes a line.
func (o *office) changeCard(b *browser, m *member, kind string, fields []string, line done) {
	at := b.link(cardPath(m), "/"+kind)
	if at == "" {
		o.count("dashboard: " + kind + " not offered")
		return
	}
	p := b.change(at, fields, "409", "422") // 409: a redemption at a till has archived it meanwhile
	if !p.is(303) {
		if p != nil {
			o.count("dashboard: " + kind + " refused")
		}
		return
	}
	if kind == "adjust" {
		line.Rows = o.adjustments()
		o.checkDelta(kind, line)
	}
	line.Card, line.Subject = m.card, cardOf(at)
	o.write(kind, line)
}

// lock locks a card, whose member may come while it is locked.
func (o *office) lock(time.Time, int) func() {
	found := o.pick(1, func(m *member) bool { return !slices.Contains(o.locked, m) })
	if found == nil {
		return nil
	}
	m, b := found[0], o.person()
	o.locked = append(o.locked, m)
	return func() {
		o.changeCard(b, m, "lock", nil, done{})
	}
}

// unlock unlocks the card that has been locked longest.
func (o *office) unlock(time.Time, int) func() {
	if len(o.locked) < 3 {
		return nil
	}
	m, b := o.locked[0], o.person()
	o.locked = o.locked[1:]
	if m.gone {
		return nil
	}
	return func() {
		if at := b.link(cardPath(m), "/unlock"); at == "" {
			o.count("dashboard: unlock not offered")
		} else if b.press(cardPath(m), at, nil) != nil {
			o.write("unlock", done{Card: m.card, change: change{Subject: cardOf(at)}})
		}
	}
}

// archive archives a card whose member does not come today.
func (o *office) archive(time.Time, int) func() {
	found := o.pick(1, func(m *member) bool { return !o.busy[m] })
	if found == nil {
		return nil
	}
	m, b := found[0], o.person()
	m.gone = true
	return func() {
		o.changeCard(b, m, "archive", nil, done{})
	}
}

// adjust corrects a balance or stamps, also while the member pays.
func (o *office) adjust(time.Time, int) func() {
	found := o.pick(1, func(m *member) bool { return m.collects() || m.program.Type == "prepaid" })
	if found == nil {
		return nil
	}
	m, b, n := found[0], o.person(), int64(o.rand.IntN(7)-3)
	if n >= 0 {
		n++
	}
	fields := []string{"reason", "Counted again"}
	line := done{}
	if m.collects() {
		fields = append(fields, "stamps", fmt.Sprint(n))
		line.DeltaStamps = &n
	} else {
		n *= 55
		fields = append(fields, "amount_cents", fmt.Sprintf("%.2f", float64(n)/100))
		line.DeltaCents = &n
	}
	return func() {
		o.changeCard(b, m, "adjust", fields, line)
	}
}

// checkDelta checks that the rows of a correction add up to it.
func (o *office) checkDelta(kind string, line done) {
	var stamps, cents int64
	for _, t := range line.Rows {
		if t.StampsDelta != nil {
			stamps += *t.StampsDelta
		}
		if t.ValueDelta != nil {
			cents += *t.ValueDelta
		}
	}
	if line.DeltaStamps != nil && stamps != *line.DeltaStamps || line.DeltaCents != nil && cents != *line.DeltaCents {
		o.fault("%s of %s: the rows are %+v", kind, line.Card, line.Rows)
	}
}

// run changes many cards at once, and returns its page at the end.
func (o *office) run(b *browser, action string, members []*member, fields ...string) *page {
	q := url.Values{"action": {action}}
	for _, m := range members {
		q.Add("card_ids", m.first)
	}
	p := b.change("/dashboard/cards/change?"+q.Encode(), fields)
	if p == nil {
		return nil
	}
	path, _, _ := strings.Cut(p.location(), "?")
	return b.wait(path, func(text string) bool { return strings.Contains(text, "Running") })
}

var changedPattern = regexp.MustCompile(`Changed (\d+) Not changed`)

// giveStamps gives stamps to a selection of cards.
func (o *office) giveStamps(time.Time, int) func() {
	members, b, n := o.pick(20, (*member).collects), o.person(), int64(1+o.rand.IntN(2))
	if members == nil {
		return nil
	}
	return func() {
		p := o.run(b, "goodwill", members, "stamps", fmt.Sprint(n), "reason", "Thank you for waiting")
		if p == nil {
			return
		}
		given := int64(0)
		for _, t := range o.adjustments() {
			given += *t.StampsDelta
			o.write("adjust", done{Card: t.CardID, Rows: []row{t}, change: change{DeltaStamps: t.StampsDelta}})
		}
		if changed := changedPattern.FindStringSubmatch(text(p.root)); changed == nil || fmt.Sprint(given/n) != changed[1] {
			o.fault("%d stamps were given, %d to each of %q cards", given, n, changed)
		}
	}
}

// limit gives a card an end, which a phone that has it does not allow.
func (o *office) limit(day time.Time, _ int) func() {
	found := o.pick(1, func(m *member) bool { return !slices.Contains(o.limited, m) })
	if found == nil {
		return nil
	}
	m, b, end := found[0], o.person(), day.AddDate(0, 0, 10+o.rand.IntN(60))
	return func() {
		at := b.link(cardPath(m), "/edit")
		if at == "" {
			o.count("dashboard: expire not offered")
			return
		}
		p := b.get(at)
		if p == nil {
			return
		}
		f := p.form("")
		if !f.fields.Has("expires_at") {
			o.count("dashboard: expire refused, the card is on a phone")
			return
		}
		if f.fill("expires_at", end.Format(time.DateOnly)).send("303") != nil {
			o.limited = append(o.limited, m)
			o.expires(m, end)
		}
	}
}

// extend gives those of a selection of cards that end earlier a later end.
func (o *office) extend(day time.Time, _ int) func() {
	members, end := slices.Clone(o.limited), day.AddDate(0, 2, 0)
	members = slices.DeleteFunc(members, func(m *member) bool { return m.gone })
	if len(members) < 4 {
		return nil
	}
	members, o.limited = members[:2], members[2:]
	b := o.person()
	return func() {
		if o.run(b, "extend", members, "expires_at", end.Format(time.DateOnly)) == nil {
			return
		}
		for _, m := range members {
			o.expires(m, end)
		}
	}
}

// expires writes a line about the end of a card, and checks that it is that of a day unless it was later.
func (o *office) expires(m *member, day time.Time) {
	r, ok := o.ask(o.shop.api, "GET", "/cards/"+m.first, nil, "200")
	var is struct {
		ExpiresAt *time.Time `json:"expires_at"`
	}
	if !ok || json.Unmarshal(r.body, &is) != nil {
		return
	}
	want := time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, o.shop.zone()).Add(-time.Millisecond)
	if is.ExpiresAt == nil || is.ExpiresAt.Before(want) {
		o.fault("the card %s ends at %v, not at %v", m.first, is.ExpiresAt, want)
	}
	o.write("expire", done{Card: m.card, change: change{ExpiresAt: is.ExpiresAt}})
}

// merge merges two cards of a program whose members do not come today.
func (o *office) merge(time.Time, int) func() {
	found := o.pick(1, func(m *member) bool { return !o.busy[m] && (m.collects() || m.program.Type == "prepaid") })
	if found == nil {
		return nil
	}
	stays, b := found[0], o.person()
	found = o.pick(1, func(m *member) bool { return m != stays && !o.busy[m] && m.program == stays.program })
	if found == nil {
		return nil
	}
	goes := found[0]
	return func() {
		p := b.get(cardPath(stays) + "/merge/" + goes.first)
		if p == nil {
			return
		}
		f := p.form("")
		if f.fields == nil {
			o.count("dashboard: merge refused")
			return
		}
		if f.fill("yes", "true").send("303") == nil {
			return
		}
		goes.gone = true
		o.write("merge", done{Card: goes.card, Rows: o.adjustments()})
	}
}

// noteContact writes down a phone number, or a note.
func (o *office) noteContact(time.Time, int) func() {
	found := o.pick(1, func(m *member) bool { return !m.imported })
	if found == nil {
		return nil
	}
	m, b := found[0], o.person()
	m.hasNumber = true
	fields := []string{"phone", m.number(), "birthday", fmt.Sprintf("%02d-%02d", 1+m.n%12, 1+m.n%28), "note", "Asks for oat milk"}
	return func() {
		o.changeCard(b, m, "contact", fields, done{})
	}
}
