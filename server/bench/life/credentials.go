package main

import (
	"slices"
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

// loseTill revokes a till, and adds a new one in its place.
func (y *year) loseTill() error {
	l := y.shop.locations[y.rand.IntN(len(y.shop.locations))]
	i := y.rand.IntN(len(l.tills))
	lost := l.tills[i]
	if err := y.need(y.control(), "POST", "/devices/"+lost.ID+"/revoke", nil, nil); err != nil {
		return err
	}
	m := y.someMember(func(m *member) bool { return m.shop == y.shop })
	y.ask(lost.api, "POST", "/cards/"+m.card+"/stamps", map[string]any{"count": 1}, "401 unauthenticated")
	l.tills = slices.Delete(slices.Clone(l.tills), i, i+1)
	return y.addTill(l, lost.name+" again")
}
