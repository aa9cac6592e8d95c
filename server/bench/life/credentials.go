package main

import (
	"slices"
	"strings"
	"time"
)

// madeKey is a key with its secret.
type madeKey struct{ ID, Key string }

// ownKey makes a key for the shop's system, which has used the public one of the fixture.
func (y *year) ownKey() error {
	body := map[string]any{"name": "Shop system", "class": "api"}
	if err := y.need(y.control(), "POST", "/keys", body, &y.shopKey); err != nil {
		return err
	}
	y.shop.api = bearer("rest", y.shop.api.base, y.shopKey.Key)
	return nil
}

// rotateKey gives the shop's system a new key. The old one works for another day.
func (y *year) rotateKey() error {
	old := y.shop.api
	if err := y.need(y.control(), "POST", "/keys/"+y.shopKey.ID+"/rotate", map[string]any{"grace_hours": 24}, &y.shopKey); err != nil {
		return err
	}
	y.shop.api = bearer("rest", old.base, y.shopKey.Key)
	y.ask(old, "GET", "/me", nil, "200")
	y.ask(y.shop.api, "GET", "/me", nil, "200")
	y.after(2, func() error {
		y.ask(old, "GET", "/me", nil, "401 unauthenticated")
		return nil
	})
	return nil
}

// changeZone moves the shop to another zone.
func (y *year) changeZone() error {
	const to = "Europe/Lisbon"
	if err := y.advance(y.now.Add(time.Minute)); err != nil { // figures of this night were asked for in the zone of before
		return err
	}
	if err := y.need(y.control(), "PATCH", "/shops/"+y.shop.ID, map[string]any{"timezone": to}, nil); err != nil {
		return err
	}
	y.shop.zones = append(y.shop.zones, zone{y.now, to})
	return nil
}

// loseTill revokes a till, and pairs a new one by a code.
func (y *year) loseTill() error {
	l := y.shop.locations[y.rand.IntN(len(y.shop.locations))]
	i := y.rand.IntN(len(l.tills))
	lost := l.tills[i]
	if err := y.need(y.control(), "POST", "/devices/"+lost.ID+"/revoke", nil, nil); err != nil {
		return err
	}
	y.ask(lost.api, "GET", "/me", nil, "401 unauthenticated")
	m := y.someMember(func(m *member) bool { return m.shop == y.shop })
	y.ask(lost.api, "POST", "/cards/"+m.card+"/stamps", map[string]any{"count": 1}, "401 unauthenticated")

	var pairing struct{ Code string }
	body := map[string]any{"location_id": l.ID, "name": lost.name + " again", "accept_card_ids": true}
	if err := y.need(y.control(), "POST", "/pairings", body, &pairing); err != nil {
		return err
	}
	page := face{name: "page", header: map[string]string{"Origin": y.server.origin(), "Sec-Fetch-Site": "same-origin"}}
	r, ok := y.ask(page, "POST", "/till/pair", map[string]any{"code": pairing.Code}, "204")
	if !ok {
		return nil
	}
	cookie, _, _ := strings.Cut(r.header.Get("Set-Cookie"), ";")
	next := &till{name: lost.name + " again"}
	next.api = face{name: "till", base: lost.api.base, header: page.header}.with("Cookie", cookie).with("Content-Type", "application/json")
	var me struct{ Device struct{ ID string } }
	if err := y.need(next.api, "GET", "/me", nil, &me); err != nil {
		return err
	}
	next.ID = me.Device.ID
	l.tills = slices.Clone(l.tills)
	l.tills[i] = next
	return nil
}
