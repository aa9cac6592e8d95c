package seed

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"punchcard/store"
)

// hours are the relative numbers of visits by counter and hour. The first counter is open every day,
// an hour later at weekends; the second one, at the station, is closed on Sundays.
var hours = [2][24]int{
	{7: 8, 8: 12, 9: 9, 10: 6, 11: 5, 12: 8, 13: 10, 14: 5, 15: 4, 16: 5, 17: 6, 18: 4},
	{6: 7, 7: 12, 8: 12, 9: 5, 10: 3, 11: 3, 12: 7, 13: 8, 14: 4, 15: 3, 16: 4, 17: 8, 18: 8, 19: 4},
}

// weekdays are the relative numbers of visits of those who prefer a counter, by day of the week,
// Sunday first.
var weekdays = [2][7]float64{
	{0.7, 0.8, 0.9, 1, 1, 1.25, 1.5},
	{0.3, 1.1, 1.1, 1.15, 1.1, 1.1, 0.5},
}

// newGuests is how many guests get a card during a history, unless it is shorter than two months.
const newGuests = 540

// plan returns the visits of a day in their order. None is after the end of the history. Each day
// brings new guests, and of all others so many as their habits and the weekday say.
func (h *history) plan(from time.Time, day int) (visits []visit) {
	weekday := from.Weekday()
	joining := min(newGuests/float64(h.days), 9) * (weekdays[0][weekday] + h.rng.Float64() - 0.5)
	for n := int(joining + h.rng.Float64()); n > 0; n-- {
		h.guests = append(h.guests, h.newGuest(day))
	}
	for _, g := range h.guests {
		if g.card != "" && (day > g.last || h.rng.Float64() >= g.weekly/7*weekdays[g.home][weekday]) {
			continue
		}
		at := g.home
		if h.rng.IntN(8) == 0 {
			at = 1 - at
		}
		if weekday == time.Sunday {
			at = 0
		}
		visits = append(visits, visit{store.TimeOf(h.moment(from, at)), at, g})
	}
	slices.SortStableFunc(visits, func(a, b visit) int { return cmp.Compare(a.at, b.at) })
	if day == h.days-1 {
		return beforeEnd(visits, store.TimeOf(from), store.TimeOf(h.now))
	}
	return visits
}

// beforeEnd returns the visits of the last day that are not after end. Before the shop opens, and
// shortly after, these would be too few for the page Today to show something, so the first visits
// of the day then come in the two hours before end.
func beforeEnd(visits []visit, midnight, end store.Time) []visit {
	n, _ := slices.BinarySearchFunc(visits, end+1, func(v visit, t store.Time) int { return cmp.Compare(v.at, t) })
	if n >= 5 {
		return visits[:n]
	}
	visits = visits[:min(12, len(visits))]
	begin := max(midnight, end.Add(-2*time.Hour))
	for i := range visits {
		visits[i].at = begin + (end-begin)*store.Time(i+1)/store.Time(len(visits)+1)
	}
	return visits
}

// moment returns a time of the day at which a counter is open.
func (h *history) moment(from time.Time, at int) time.Time {
	table, later, all := hours[at], 0, 0
	if d := from.Weekday(); at == 0 && (d == time.Saturday || d == time.Sunday) {
		later = 1
	}
	for _, n := range table {
		all += n
	}
	hour, rest := 0, h.rng.IntN(all)
	for rest >= table[hour] {
		rest -= table[hour]
		hour++
	}
	return time.Date(from.Year(), from.Month(), from.Day(), hour+later, h.rng.IntN(60), h.rng.IntN(60), 0, from.Location())
}

// newGuest returns somebody who gets a card on a day. A sixth are regulars; a third of the others
// stay away after some weeks.
func (h *history) newGuest(day int) *guest {
	g := &guest{home: min(h.rng.IntN(5)/3, 1), last: h.days, weekly: 0.3 + h.rng.Float64()}
	if h.rng.IntN(6) == 0 {
		g.weekly = 3 + 2.5*h.rng.Float64()
	} else if h.rng.IntN(3) == 0 {
		g.last = day + h.rng.IntN(30)
	}
	switch n := h.rng.IntN(20); {
	case n < 11:
		g.program = store.ProgramStandard
	case n < 14:
		g.program = store.ProgramPrivate
	case n < 16:
		g.program = store.ProgramDiscount
	case n < 17:
		g.program = store.ProgramAccess
	default:
		g.program = store.ProgramPrepaid
	}
	return g
}

// serve books the visits of a day. Each begins at its time, or after the one before it.
func (h *history) serve(tx *store.Tx, visits []visit) error {
	for _, v := range visits {
		tx.Now = max(tx.Now, v.at)
		c := &h.counters[v.counter]
		c.Staff = c.staff[0]
		if v.at.Std().In(store.Zone(demoTimezone)).Hour() >= 13 {
			c.Staff = c.staff[1]
		}
		tx.Actor = c.actor()
		if v.card == "" {
			if err := h.issue(tx, c, v.guest); err != nil {
				return err
			}
		}
		if err := h.buy(tx, c, v.guest); err != nil {
			return err
		}
		c.used = tx.Now
	}
	return nil
}

// wait lets some seconds pass, but not beyond the end of the history.
func (h *history) wait(tx *store.Tx, seconds int) {
	end := store.TimeOf(h.now)
	tx.Now = max(tx.Now, min(end, tx.Now.Add(time.Duration(1+h.rng.IntN(seconds))*time.Second)))
}

var (
	firstNames = strings.Fields(
		"Alessia Andrea Anna Bruno Carla Chiara Dario Davide Elena Enrico Federica Filippo Francesca Giorgio Irene Laura Lorenzo " +
			"Luca Marta Matteo Nadia Paola Pietro Simone Valeria",
	)
	lastNames = strings.Fields(
		"Barbieri Bianchi Bruno Colombo Conti Costa Deiana Esposito Ferrari Fontana Gallo Galli Giordano Greco Lombardi Mancini " +
			"Marino Moretti Ricci Rinaldi Rizzo Romano Rossi Russo",
	)
)

// issue gives a guest a card: most get it at the counter, the others by themselves. Most put it on
// their phone.
func (h *history) issue(tx *store.Tx, c *counter, g *guest) error {
	first, last := firstNames[h.issued%len(firstNames)], lastNames[h.issued%len(lastNames)]
	h.issued++
	name, email := store.Given(first+" "+last), store.Opt[string]{}
	if h.rng.IntN(5) < 2 {
		email = store.Given(strings.ToLower(first+"."+last) + "@example.com")
	}
	var card store.IssuedCard
	var err error
	if program := h.programs[g.program]; h.rng.IntN(4) > 0 {
		holder := store.HolderFields{HolderName: name, HolderEmail: email}
		card, err = tx.IssueAtCounter(c.Till, program, store.CounterFields{HolderFields: holder})
	} else {
		fields := store.CardFields{HolderName: name, HolderEmail: email}
		card, err = tx.IssueCard(store.Access{Shop: h.shop}, program, fields, store.SourceWebEnrollment)
	}
	if err != nil {
		return fmt.Errorf("issue: %w", err)
	}
	g.card = card.ID
	h.wait(tx, 40)
	if h.rng.IntN(5) == 0 {
		return nil
	}
	platform := "apple"
	if h.rng.IntN(5) < 2 {
		platform = "google"
	}
	_, err = tx.Install(path.Base(card.InstallURL), store.InstallFields{Platform: store.Given(platform)})
	h.wait(tx, 20)
	return err
}

// buy books what a guest with a card does at the counter. One in a hundred rows is taken back.
func (h *history) buy(tx *store.Tx, c *counter, g *guest) (err error) {
	var done store.Stamped
	switch g.program {
	case store.ProgramDiscount, store.ProgramAccess:
		done, err = tx.Use(c.Till, g.card, store.UseFields{})
	case store.ProgramPrepaid:
		done, err = h.pay(tx, c, g)
	default:
		if err = h.redeem(tx, c, g); err != nil {
			return err
		}
		n := int64(max(1, h.rng.IntN(14)-10)) // one stamp, seldom two or three
		if g.stamps < full {
			n = min(n, full-g.stamps)
		}
		done, err = tx.Stamp(c.Till, g.card, store.StampFields{Count: store.Given(n)})
	}
	g.noteCard(done)
	if err != nil || h.rng.IntN(100) > 0 {
		return err
	}
	h.wait(tx, 60)
	done, err = tx.Reverse(c.Till, done.Transaction.ID, store.UseFields{})
	g.noteCard(done)
	return err
}

// noteCard notes what is on the card after an action.
func (g *guest) noteCard(done store.Stamped) {
	g.stamps, g.balance = done.Card.StampsCount, done.Card.CurrentValue.V
}

// The thresholds of the prizes of the coffee card.
const (
	half = 5
	full = 10
)

// redeem redeems what the guest's card has earned: a croissant, which not everybody takes, and
// one of the two prizes of a full card.
func (h *history) redeem(tx *store.Tx, c *counter, g *guest) error {
	if g.program != store.ProgramStandard || g.stamps < half {
		return nil
	}
	if !g.croissant && h.rng.IntN(2) == 0 {
		if _, err := tx.Redeem(c.Till, g.card, store.RedeemFields{PrizeID: store.Given(h.prizes[0].ID)}); err != nil {
			return err
		}
		g.croissant = true
		h.wait(tx, 20)
	}
	if g.stamps < full {
		return nil
	}
	_, err := tx.Redeem(c.Till, g.card, store.RedeemFields{PrizeID: store.Given(h.prizes[1+min(h.rng.IntN(3), 1)].ID)})
	g.stamps, g.croissant = 0, false
	h.wait(tx, 20)
	return err
}

// pay books a purchase, and a top-up before it if the card has too little money.
func (h *history) pay(tx *store.Tx, c *counter, g *guest) (store.Stamped, error) {
	price := int64(180 + 10*h.rng.IntN(90))
	if g.balance < price {
		amount := []int64{2000, 3000, 5000}[h.rng.IntN(3)]
		if _, err := tx.TopUp(c.Till, g.card, store.AmountFields{AmountCents: store.Given(amount)}); err != nil {
			return store.Stamped{}, err
		}
		h.wait(tx, 20)
	}
	return tx.Spend(c.Till, g.card, store.AmountFields{AmountCents: store.Given(price)})
}
