package main

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// shop is a shop with what its people use.
type shop struct {
	ID        string
	name      string
	zones     []zone
	api       face // with all scopes
	locations []*location
	programs  []*program
}

// zone is the zone of a shop from a time on.
type zone struct {
	From time.Time `json:"from"`
	Zone string    `json:"zone"`
}

// location is a location with its tills.
type location struct {
	ID    string
	Name  string
	tills []*till
}

// till is a device at a location.
type till struct {
	ID        string
	name      string
	api       face
	isOffline bool          // it has no network
	isOffBy   time.Duration // its clock is later than that of the server

	mu      sync.Mutex
	offline []late // stamps that it gave meanwhile
}

// program is a program with its prizes.
type program struct {
	ID, Type string
	prizes   []prize
}

// shares is how many of a hundred members have a card of a type.
var shares = map[string]int{"standard": 55, "private": 10, "prepaid": 15, "access": 10, "discount": 10}

type prize struct {
	ID        string
	Threshold int
}

// openShop makes a shop of the demo shop, whose people and wallets exist, and a neighbour.
func (y *year) openShop() (err error) {
	change := map[string]any{"name": y.shop.name, "timezone": "Europe/Rome", "included_locations": 3}
	if err := y.need(y.control(), "PATCH", "/shops/"+y.shop.ID, change, nil); err != nil {
		return err
	}
	y.neighbour = &shop{name: "Next Door", zones: []zone{{y.now, "Europe/London"}}}
	made := map[string]any{"name": y.neighbour.name, "timezone": "Europe/London", "api_addon": true}
	var there struct {
		ShopID string `json:"shop_id"`
		APIKey string `json:"api_key"`
	}
	if err := y.need(y.control(), "POST", "/shops", made, &there); err != nil {
		return err
	}
	y.neighbour.ID, y.neighbour.api = there.ShopID, bearer("rest", "/api/public/v1", there.APIKey)
	if err := y.sell(y.neighbour); err != nil {
		return err
	}
	if err := errors.Join(y.furnish(y.shop, 3, 2), y.furnish(y.neighbour, 1, 1), y.openSold()); err != nil {
		return err
	}
	y.openForms()
	y.assistant = &assistant{year: y, face: bearer("mcp", "/mcp", y.server.ready.MCPKey)}
	return errors.Join(y.listen(), y.importMembers())
}

// sell makes the program of a shop that has none.
func (y *year) sell(s *shop) error {
	var made struct{ ID string }
	body := map[string]any{"type": "standard", "name": "Tea", "total_stamps": 10, "repeat_after_reset": true, "icon_key": "coffee"}
	if err := y.need(s.api, "POST", "/programs", body, &made); err != nil {
		return err
	}
	prize := map[string]any{"threshold": 10, "name": "A pot of tea"}
	if err := y.need(s.api, "POST", "/programs/"+made.ID+"/prizes", prize, nil); err != nil {
		return err
	}
	return y.need(s.api, "POST", "/programs/"+made.ID+"/publish", nil, nil)
}

// furnish gives a shop so many locations with so many tills each, and reads its programs.
func (y *year) furnish(s *shop, locations, tills int) error {
	var there struct{ Data []*location }
	if err := y.need(s.api, "GET", "/locations", nil, &there); err != nil {
		return err
	}
	s.locations = there.Data
	for i := range locations {
		if i >= len(s.locations) {
			l := &location{}
			body := map[string]any{"shop_id": s.ID, "name": fmt.Sprint(s.name, " ", i+1)}
			if err := y.need(y.control(), "POST", "/locations", body, l); err != nil {
				return err
			}
			s.locations = append(s.locations, l)
		}
		for n := range tills {
			if err := y.addTill(s.locations[i], fmt.Sprintf("Till %d.%d", i+1, n+1)); err != nil {
				return err
			}
		}
	}
	var all struct{ Data []*program }
	if err := y.need(s.api, "GET", "/programs", nil, &all); err != nil {
		return err
	}
	for _, p := range all.Data {
		if p.Type == "standard" || p.Type == "private" {
			var ladder struct{ Data []prize }
			if err := y.need(s.api, "GET", "/programs/"+p.ID+"/prizes", nil, &ladder); err != nil {
				return err
			}
			p.prizes = ladder.Data
		}
	}
	for i, p := range all.Data {
		if n := slices.IndexFunc(s.programs, func(known *program) bool { return known.ID == p.ID }); n >= 0 {
			*s.programs[n] = *p
			all.Data[i] = s.programs[n] // members have it
		}
	}
	s.programs = all.Data
	return nil
}

// addTill pairs a device with a location.
func (y *year) addTill(l *location, name string) error {
	var made struct{ ID, Token string }
	body := map[string]any{"location_id": l.ID, "name": name, "accept_card_ids": true}
	if err := y.need(y.control(), "POST", "/devices", body, &made); err != nil {
		return err
	}
	l.tills = append(l.tills, &till{ID: made.ID, name: name, api: bearer("till", "/till/v1", made.Token)})
	return nil
}

// zone returns the zone of the shop at present.
func (s *shop) zone() *time.Location {
	z, err := time.LoadLocation(s.zones[len(s.zones)-1].Zone)
	if err != nil {
		panic(err) // the zones are in this program
	}
	return z
}
