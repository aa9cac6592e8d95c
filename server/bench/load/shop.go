package main

import (
	"encoding/json"
	"fmt"
)

// The stamp card: full at ten, with a lower prize, and repeating.
const (
	total = 10
	lower = 5
)

const api, tillAPI = "/api/public/v1", "/till/v1"

// shop has the credentials and ids of the shop.
type shop struct {
	office   string   // a key's secret
	tills    []string // device tokens, alternately of two locations
	standard string   // programs
	prepaid  string
	prizes   [2]string // ids of the lower prize and that of a full card
	webhook  string
}

// makeFile creates the database and the shop with commands, before the server runs.
func makeFile(s *server) (*shop, error) {
	var made struct{ ID, Key, Token string }
	if err := s.command(&made, "shop", "create", "--name", "Caffè Centrale", "--timezone", "Europe/Rome"); err != nil {
		return nil, err
	}
	var locations []string
	for _, name := range []string{"Centrale", "Stazione"} {
		if err := s.command(&made, "location", "create", "--name", name, "--address", "Via Roma 1", "--city", "Torino", "--postal-code", "10121", "--country-code", "IT"); err != nil {
			return nil, err
		}
		locations = append(locations, made.ID)
	}
	if err := s.command(&made, "key", "create", "--name", "Office"); err != nil {
		return nil, err
	}
	sh := &shop{office: made.Key}
	for i := range 4 {
		if err := s.command(&made, "device", "create", "--location", locations[i%2], "--name", fmt.Sprintf("Till %d", i+1)); err != nil {
			return nil, err
		}
		sh.tills = append(sh.tills, made.Token)
	}
	return sh, nil
}

// open creates the programs and prizes.
func (sh *shop) open(s *server) error {
	create := func(path, body string) (id string, err error) {
		var made struct{ ID string }
		err = s.call(sh.office, "POST", api+path, body, &made)
		return made.ID, err
	}
	for _, p := range []struct {
		id   *string
		body string
	}{
		{&sh.standard, `{"type":"standard","name":"Coffee","total_stamps":10,"repeat_after_reset":true,"icon_key":"coffee"}`},
		{&sh.prepaid, `{"type":"prepaid","name":"Prepaid","initial_balance_cents":500}`},
	} {
		var err error
		if *p.id, err = create("/programs", p.body); err != nil {
			return err
		}
		if _, err = create("/programs/"+*p.id+"/publish", ""); err != nil {
			return err
		}
	}
	for i, body := range []string{`{"threshold":5,"name":"Croissant"}`, `{"threshold":10,"name":"Free coffee"}`} {
		var err error
		if sh.prizes[i], err = create("/programs/"+sh.standard+"/prizes", body); err != nil {
			return err
		}
	}
	return nil
}

// subscribe creates the webhook, which gets every event.
func (sh *shop) subscribe(s *server, r *receiver) error {
	var made struct{ ID, Secret string }
	body, err := json.Marshal(map[string]any{"url": r.url, "events": []string{"*"}})
	if err != nil {
		return err
	}
	if err := s.call(sh.office, "POST", api+"/programs/"+sh.standard+"/webhooks", string(body), &made); err != nil {
		return err
	}
	sh.webhook, r.secret = made.ID, []byte(made.Secret)
	return nil
}
