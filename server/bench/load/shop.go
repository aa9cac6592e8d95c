package main

import (
	"errors"

	"punchcard/server/dev/seed"
	"punchcard/store"
)

// face is one of the server's APIs, or its pages, and a credential for it.
type face struct{ base, bearer, cookie string }

var (
	office = face{"/api/public/v1", seed.APIKey, ""}
	till   = face{"/till/v1", seed.TillToken, ""}
)

// shop is the demo shop.
type shop struct {
	program        string // id of the stamp card
	prepaidProgram string
	prizes         []struct{ ID string } // the lower prize, and those of a full card
}

// makeShop creates the file with the demo shop.
func (l *load) makeShop() error {
	st, err := store.Open(l.server.db, store.Options{})
	if err != nil {
		return err
	}
	ready, err := seed.Demo(st, "")
	if err == nil {
		l.program, l.prepaidProgram = ready.ProgramIDs[store.ProgramStandard], ready.ProgramIDs[store.ProgramPrepaid]
	}
	return errors.Join(err, st.Close())
}

// readShop reads the prizes of the stamp card.
func (l *load) readShop() error {
	program := struct {
		Prizes *[]struct{ ID string }
	}{&l.prizes}
	return l.conn.call(request{face: office, path: "/programs/" + l.program}, &program)
}
