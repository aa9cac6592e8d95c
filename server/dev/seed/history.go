package seed

import (
	"fmt"
	"math/rand/v2"
	"time"

	"punchcard/store"
)

// DefaultHistory is the number of days of dev --history.
const DefaultHistory = 90

// DemoWithHistory creates the demo shop in an empty store, on the first of so many days of the
// shop's calendar that end with the day of the clock, and fills it with their business. It books
// everything by the rules of the till at its own time, as [File.Apply] does, so the same holds for
// the store, the clock and an error. Equal days and clocks give equal rows.
func DemoWithHistory(st *store.Store, clock Clock, days int) (*Ready, error) {
	now := clock.Now()
	defer clock.Set(now)
	first := midnight(now.In(store.Zone(demoTimezone)), 1-days)
	if store.TimeOf(first) < earliest {
		return nil, store.InvalidField("days", "invalid_value", "must not lead to a day before 1990")
	}
	clock.Set(first)
	ready, err := Demo(st, "")
	if err != nil {
		return nil, err
	}
	h := &history{
		st:       st,
		shop:     ready.shop,
		programs: ready.ProgramIDs,
		now:      now,
		days:     days,
		rng:      rand.New(rand.NewPCG(1, 0)),
	}
	if err := h.open(ready.LocationIDs); err != nil {
		return nil, err
	}
	for day := range days {
		visits := h.plan(midnight(first, day), day)
		clock.Set(midnight(first, day))
		if err := h.write(func(tx *store.Tx) error { return h.serve(tx, visits) }); err != nil {
			return nil, err
		}
	}
	clock.Set(now)
	return ready, h.write(func(tx *store.Tx) error {
		uses := map[store.Actor]store.Time{}
		for _, c := range h.counters {
			uses[c.actor()] = c.used
		}
		return tx.NoteUses(uses)
	})
}

// midnight returns the beginning of the day that is so many days after t, in the zone of t.
func midnight(t time.Time, days int) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, t.Location())
}

// history makes up the business of the demo shop.
type history struct {
	st       *store.Store
	shop     int64
	programs map[string]string // ids by type
	prizes   []store.Prize     // of the coffee card: one for five stamps, two for ten
	now      time.Time         // when the history ends
	days     int
	rng      *rand.Rand
	counters [2]counter
	guests   []*guest
	issued   int // cards
}

// counter is a till with its staff of the morning and of the afternoon.
type counter struct {
	store.Till
	staff [2]store.Staff
	used  store.Time // when it made its last request
}

func (c *counter) actor() store.Actor { return store.Actor{Type: "device", Key: c.Device} }

// guest is a person with a card.
type guest struct {
	program, card string  // type of the program, and id of the card, which is empty before the first visit
	home          int     // the counter that the person prefers
	weekly        float64 // visits a week
	last          int     // the day of the history after which the person does not come any more
	stamps        int64   // on the card
	croissant     bool    // has had the prize for five stamps since the last one for ten
	balance       int64   // cents
}

// visit is a visit of a guest.
type visit struct {
	at      store.Time
	counter int
	*guest
}

// write makes a write.
func (h *history) write(do func(*store.Tx) error) error {
	if err := write(h.st, do); err != nil {
		return fmt.Errorf("the history of the demo shop: %w", err)
	}
	return nil
}

// open adds a till at the second location, and staff at both, whose PIN is 2468.
func (h *history) open(locations []string) error {
	pin := store.HashStaffPIN(store.Some("2468"))
	tokens := []string{TillToken, ""}
	staff := [2][2]store.StaffMember{}
	if err := h.write(func(tx *store.Tx) (err error) {
		till := store.NewDevice{LocationID: locations[1], Name: "Station till", AcceptsCardIDs: true}
		if _, tokens[1], err = tx.CreateDevice(h.shop, till); err != nil {
			return err
		}
		for at, names := range [2][2]string{{"Giulia", "Marco"}, {"Sara", "Paolo"}} {
			for shift, name := range names {
				if staff[at][shift], err = tx.CreateStaff(h.shop,
					store.StaffPatch{Name: store.Given(name), LocationIDs: store.Given(locations[at : at+1])}, pin); err != nil {
					return err
				}
			}
		}
		return nil
	}); err != nil {
		return err
	}
	for at, token := range tokens {
		id, err := h.st.IdentifyTill(store.Hash(token))
		if err != nil {
			return err
		}
		h.counters[at].Till = id.Till
		for shift, m := range staff[at] {
			key, _ := h.st.Key(store.KindStaff, m.ID)
			h.counters[at].staff[shift] = store.Staff{Key: key, Name: m.Name}
		}
	}
	return h.st.View(0, func(v *store.View) error {
		p, err := v.Program(store.Access{Shop: h.shop}, h.programs[store.ProgramStandard])
		h.prizes = p.Prizes
		return err
	})
}
