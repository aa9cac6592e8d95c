package main

import (
	"fmt"
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

// rotateMCPKey makes a key for an assistant and rotates it at once, without a grace.
func (y *year) rotateMCPKey() error {
	var old, now madeKey
	if err := y.need(y.control(), "POST", "/keys", map[string]any{"name": "Assistant", "class": "mcp"}, &old); err != nil {
		return err
	}
	if err := y.need(y.control(), "POST", "/keys/"+old.ID+"/rotate", map[string]any{"grace_hours": 0}, &now); err != nil {
		return err
	}
	hello := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": map[string]any{"protocolVersion": "2025-06-18",
		"capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "life", "version": "1"}}}
	for key, want := range map[string]string{old.Key: "401", now.Key: "200"} {
		y.ask(bearer("mcp", "/mcp", key).with("Accept", "application/json, text/event-stream"), "POST", "", hello, want)
	}
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

// guessPINs signs a member of staff in with wrong PINs until the till is locked.
func (y *year) guessPINs() error {
	at, e := y.shop.locations[0].tills[0].api, y.shop.staff[0]
	signIn := func(pin string, want ...string) {
		y.ask(at, "POST", "/session", map[string]any{"staff_id": e.ID, "pin": pin}, want...)
	}
	for n := range 5 {
		signIn(fmt.Sprint(9000+n), "401 invalid_credentials")
		y.count("wrong PIN")
	}
	signIn(e.pin, "429 rate_limited")
	if err := y.advance(y.now.Add(2 * time.Minute)); err != nil {
		return err
	}
	signIn(e.pin, "201")
	return nil
}

// suspend suspends the subscription of the shop for an hour.
func (y *year) suspend() error {
	set := func(state string) error {
		return y.need(y.control(), "PATCH", "/shops/"+y.shop.ID, map[string]any{"subscription_state": state}, nil)
	}
	if err := set("suspended"); err != nil {
		return err
	}
	if err := y.advance(y.now.Add(time.Hour)); err != nil {
		return err
	}
	m := y.someMember(func(m *member) bool { return m.shop == y.shop })
	body := map[string]any{"count": 1, "client_reference": fmt.Sprintf("00000000-0000-4000-a000-%012x", y.rand.Uint64N(1<<48))}
	y.ask(m.shop.locations[0].tills[0].api, "POST", "/cards/"+m.card+"/stamps", body, "422 subscription_suspended")
	y.ask(y.shop.api, "POST", "/programs/"+m.program.ID+"/cards", map[string]any{"holder_name": "Nobody"}, "402 subscription_suspended")
	return set("active")
}
