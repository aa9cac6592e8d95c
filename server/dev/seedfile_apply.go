package dev

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"punchcard/store"
)

// SeedClock is a clock that Apply moves, backwards too.
type SeedClock interface {
	Now() time.Time
	Set(time.Time)
}

// Apply writes the seed into a store whose Options.Now is the clock. The
// clock's time at the call is the start: Apply sets it to the time of each
// thing that happens and back to the start at the end, also after an error.
//
// The store must be a fresh one to which nothing was written yet, by nobody:
// its time never runs backwards, so that a write of today would keep all that
// the seed has from being older. The origin of the ready line is left empty;
// see Ready.At. After an error, one line per mistake as with ParseSeed, the
// store is half filled and of no use.
func (s *SeedFile) Apply(st *store.Store, clock SeedClock) (*Ready, error) {
	now := clock.Now()
	defer clock.Set(now)
	a := &application{st: st, start: store.TimeOf(now), ids: map[string]string{}, shops: map[*seedShop]int64{}, tills: map[string]int64{}}
	steps, err := s.plan(a, a.start)
	if err != nil {
		return nil, err
	}
	if err := st.View(0, func(v *store.View) error {
		shops, err := v.Shops()
		if err == nil && len(shops) > 0 {
			err = fmt.Errorf("%s: has shops already; a seed fills an empty database only", st.Path())
		}
		return err
	}); err != nil {
		return nil, err
	}
	for _, x := range steps {
		clock.Set(x.at.Std())
		err := st.Write(context.Background(), store.Write{Actor: x.actor(), Do: func(tx *store.Tx) error {
			if tx.Now != x.at {
				return errLate
			}
			tx.Limits = store.DefaultLimits() // a seed is the same whatever the deployment allows
			tx.Limits.InstallLinkTTL = st.Limits().InstallLinkTTL
			return x.do(tx)
		}})
		if errors.Is(err, errLate) {
			return nil, fmt.Errorf("%s: %w", st.Path(), err)
		}
		if err != nil {
			return nil, s.refusal(x, err)
		}
	}
	r, err := readyLine(st)
	if err != nil {
		return nil, err
	}
	r.Refs = map[string]string{}
	for ref, of := range s.refs {
		r.Refs[ref] = a.ids[of.path]
	}
	return r, nil
}

var errLate = errors.New("the database was written to before the seed, or its clock is not the seed's")

// application is a seed on its way into one store.
type application struct {
	st    *store.Store
	start store.Time
	ids   map[string]string // public, by path in the file
	shops map[*seedShop]int64
	tills map[string]int64 // devices, by the path of their location
}

// system and operates are who does what no till does.
func system() store.Actor   { return store.Actor{Type: "system"} }
func operates() store.Actor { return store.Actor{Type: "user", Name: "seed"} }

// counter is the till of a location, or the system where there is none.
func (a *application) counter(l *entry[locationFields]) func() store.Actor {
	return func() store.Actor {
		if l == nil {
			return system()
		}
		return store.Actor{Type: "device", Key: a.tills[l.path]}
	}
}

func (a *application) at(s *seedShop, l *entry[locationFields]) store.At {
	key, _ := a.st.Key(store.KindLocation, a.ids[l.path])
	return store.At{Shop: a.shops[s], Location: key, Device: a.tills[l.path]}
}

// idsOf are the public ids of entries, as a field takes them.
func idsOf[F any](a *application, list []*entry[F]) (ids store.Opt[[]string]) {
	for _, e := range list {
		ids.V, ids.Set = append(ids.V, a.ids[e.path]), true
	}
	return ids
}

// inside has a refusal name the part of the step's entry that it is about.
func inside(part string, err error) error {
	refused, ok := store.AsError(err)
	if !ok {
		return err
	}
	list := refused.Details
	if len(list) == 0 {
		list = []store.Detail{{Message: refused.Message}}
	}
	for i := range list {
		list[i].Field = join(part, list[i].Field)
	}
	return store.Invalid(list...)
}

// open makes a shop with its locations, tills, keys and programs.
func (a *application) open(tx *store.Tx, s *seedShop, demo bool) error {
	key, made, err := tx.CreateShop(s.F.ShopFields)
	if err != nil {
		return err
	}
	a.shops[s], a.ids[s.path] = key, made.ID
	part := func(path string, err error) error { return inside(strings.TrimPrefix(path, s.path+"."), err) }
	for i, l := range s.locations {
		if err := a.locate(tx, s, l, demo && i == 0); err != nil {
			return part(l.path, err)
		}
	}
	if demo {
		if err := demoKeys(tx, key, a.ids[s.locations[0].path]); err != nil {
			return err
		}
	}
	for _, k := range s.keys {
		f := k.F.KeyFields
		f.Secret = k.F.Secret.V
		f.LocationIDs = idsOf(a, k.locations)
		made, _, err := tx.CreateKey(key, f)
		if err != nil {
			return part(k.path, err)
		}
		a.ids[k.path] = made.ID
	}
	for _, g := range s.programs {
		if err := a.program(tx, key, g); err != nil {
			return part(g.path, err)
		}
	}
	return nil
}

// locate makes a location and a till there, at the first one the demo till.
func (a *application) locate(tx *store.Tx, s *seedShop, l *entry[locationFields], demo bool) error {
	made, err := tx.CreateLocation(a.shops[s], store.LocationFields{LocationPatch: l.F.LocationPatch, StaffPIN: l.F.StaffPIN})
	if err != nil {
		return err
	}
	a.ids[l.path] = made.ID
	name, token := "Till", ""
	if demo {
		name, token = "Demo till", TillToken
	}
	d, _, err := tx.CreateDevice(a.shops[s], made.ID, name, token)
	a.tills[l.path], _ = a.st.Key(store.KindDevice, d.ID)
	return err
}

// program makes a program with its ladder, and publishes it unless it is a
// draft.
func (a *application) program(tx *store.Tx, shop int64, g *seedProgram) error {
	access := store.Access{Shop: shop}
	f := g.F.ProgramFields
	f.ScopedLocationIDs = idsOf(a, g.scope)
	made, err := tx.CreateProgram(access, f)
	if err != nil {
		return err
	}
	a.ids[g.path] = made.ID
	for i, z := range g.prizes {
		prize, err := tx.AddPrize(access, made.ID, z.F.PrizeFields)
		if err != nil {
			return inside(item("prizes", i), err)
		}
		a.ids[z.path] = prize.ID
	}
	if g.F.MinSpendCents.Set {
		if _, err := tx.SetMinSpend(shop, made.ID, g.F.MinSpendCents); err != nil {
			return inside("min_spend_cents", err)
		}
	}
	if !g.F.Draft.V {
		_, err = tx.ProgramAction(access, made.ID, store.Publish)
	}
	return err
}

// issue makes a card, at a counter or over the API, and installs it.
func (a *application) issue(tx *store.Tx, s *seedShop, c *seedCard) (err error) {
	access, program := store.Access{Shop: a.shops[s]}, a.ids[c.program.path]
	f := c.F.CardFields
	f.ExpiresAt = c.expires(a.start)
	var out store.IssuedCard
	if c.counter == nil {
		out, err = tx.IssueCard(access, program, f, store.SourceAPI)
	} else {
		out, err = tx.IssueAtCounter(a.at(s, c.counter), program, store.CounterFields{HolderName: f.HolderName, HolderEmail: f.HolderEmail, ExternalRef: f.ExternalRef})
		if err == nil && f.ExpiresAt.Set { // no till gives one
			_, err = tx.UpdateCard(access, out.ID, store.CardPatch{ExpiresAt: f.ExpiresAt})
		}
	}
	if err != nil {
		return err
	}
	a.ids[c.path] = out.ID
	if c.F.Installed.Set {
		token := out.InstallURL[strings.LastIndexByte(out.InstallURL, '/')+1:]
		_, err = tx.Install(token, store.InstallFields{Platform: c.F.Installed})
	}
	return inside("installed", err)
}

// act does what happened at a till.
func (a *application) act(tx *store.Tx, s *seedShop, x *seedActivity) (err error) {
	var out store.Stamped
	at, f := a.at(s, x.at()), x.F
	card := ""
	if x.card != nil {
		card = a.ids[x.card.path]
	}
	switch {
	case f.Stamp.Set:
		out, err = tx.Stamp(at, card, store.StampFields{Count: f.Stamp, SpendCents: f.SpendCents, Metadata: f.Metadata})
	case f.Redeem.Set:
		out, err = tx.Redeem(at, card, store.RedeemFields{PrizeID: set(a.ids[x.prize.path]), Metadata: f.Metadata})
	case f.TopUp.Set:
		out, err = tx.TopUp(at, card, store.AmountFields{AmountCents: f.TopUp, Metadata: f.Metadata})
	case f.Spend.Set:
		out, err = tx.Spend(at, card, store.AmountFields{AmountCents: f.Spend, Metadata: f.Metadata})
	case f.Use.Set:
		out, err = tx.Use(at, card, f.Metadata)
	case f.Reverse.Set:
		out, err = tx.Reverse(at, a.ids[x.reverses.path], f.Metadata)
	}
	a.ids[x.path] = out.Transaction.ID
	return err
}

func (a *application) lock(tx *store.Tx, s *seedShop, c *seedCard) error {
	_, err := tx.SetCardLocked(a.shops[s], a.ids[c.path], true)
	return err
}

func (a *application) subscribe(tx *store.Tx, s *seedShop, w *seedWebhook) error {
	f := w.F.WebhookFields
	f.LocationIDs = idsOf(a, w.locations)
	for _, g := range w.programs {
		f.ProgramIDs = set(append(f.ProgramIDs.V, a.ids[g.path]))
	}
	tx.CheckedTarget = f.URL.V // whether it can be reached is checked at each delivery
	made, err := tx.CreateWebhook(store.Access{Shop: a.shops[s]}, a.ids[w.program.path], f)
	a.ids[w.path] = made.ID
	return err
}
