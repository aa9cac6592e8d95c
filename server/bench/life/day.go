package main

import (
	"fmt"
	"sync"
	"time"
)

// day goes through the half hours of a day, and does what is due in the night before.
func (y *year) day(date time.Time) error {
	zone := y.shop.zone()
	at := func(hour, minute int) time.Time {
		return time.Date(date.Year(), date.Month(), date.Day(), hour, minute, 0, 0, zone)
	}
	if err := y.advance(at(3, 0)); err != nil {
		return err
	}
	if err := y.night(date); err != nil {
		return err
	}
	y.cutOff()
	plan := y.planDay(date)
	y.office.morning(date, &plan)
	for slot, visits := range plan {
		tasks := y.office.due(date, slot)
		if len(visits)+len(tasks) == 0 {
			continue
		}
		if err := y.advance(at(opening, 30*slot)); err != nil {
			return err
		}
		y.planKills(len(visits))
		y.together(visits, tasks)
		y.kills.at = nil // what the night asks for is not repeated
		if slot == slots/2 {
			y.reconnect()
		}
	}
	if err := y.advance(at(20, 0)); err != nil {
		return err
	}
	y.reconnect()
	return y.ctx.Err()
}

// together performs visits at once, but those of a member in turns. Beside them it performs tasks, one after the other.
func (y *year) together(visits []visit, tasks []func()) {
	var wait sync.WaitGroup
	wait.Go(func() {
		for _, do := range tasks {
			do()
		}
	})
	for i := range clients {
		wait.Go(func() {
			for _, v := range visits {
				if v.m.n%clients == i {
					y.perform(v)
				}
			}
		})
	}
	wait.Wait()
}

// clocks is by how much the clocks of tills that had no network differ from that of the server, in turns.
var clocks = []time.Duration{0, 3 * time.Hour, 0, -40 * time.Minute, -26 * time.Hour, 0, -400 * 24 * time.Hour}

// longestDelay is how old a stamp may be that a till sends late.
const longestDelay = 7 * 24 * time.Hour

// cutOff disconnects a till from the network for a morning, on one day of three.
func (y *year) cutOff() {
	if y.rand.IntN(3) > 0 {
		return
	}
	l := y.shop.locations[y.rand.IntN(len(y.shop.locations))]
	t := l.tills[y.rand.IntN(len(l.tills))]
	t.isOffline, t.isOffBy = true, clocks[y.nights%len(clocks)]
	y.count("morning without a network")
}

// reconnect connects all tills again, which then send the stamps that they kept.
func (y *year) reconnect() {
	for _, l := range y.shop.locations {
		for _, t := range l.tills {
			for _, s := range t.offline {
				y.sendLate(t, s)
			}
			t.isOffline, t.offline = false, nil
		}
	}
}

// sendLate sends a stamp that a till kept, those of each second member twice. The till has the time of its own clock. If the
// server refuses that as too old, the till sends the stamp without a time.
func (y *year) sendLate(t *till, s late) {
	c := visitor{year: y, visit: visit{m: s.m, till: t}}
	told := s.at.Add(t.isOffBy)
	body := map[string]any{"count": s.count, "client_reference": s.reference, "occurred_at": told.Format(time.RFC3339)}
	occurred, at := &told, told
	switch {
	case told.After(y.now): // which counts as now
		occurred, at = &y.now, y.now
		y.count("stamp of a till whose clock is fast")
	case told.Before(y.now.Add(-longestDelay)):
		y.ask(t.api, "POST", "/cards/"+s.m.card+"/stamps", body, "400 validation_failed", "422 location_disabled")
		delete(body, "occurred_at")
		occurred, at = nil, y.now
		y.count("stamp of a till whose clock is a year behind")
	case t.isOffBy < 0:
		y.count("stamp of a till whose clock is slow")
	}
	for again := range 1 + s.m.n%2 {
		r, ok := y.ask(t.api, "POST", "/cards/"+s.m.card+"/stamps", body, refusals...)
		if !ok || r.status != 201 {
			y.count("late stamp refused: " + r.code())
			return
		}
		if again == 0 {
			y.keep(kept{at, t, s.m, "/cards/" + s.m.card + "/stamps", body, c.record("stamp", r, nil, occurred)})
		}
	}
}

// night does what happens while the shop is closed.
func (y *year) night(date time.Time) error {
	if date.Day() == 1 && date.After(y.from) {
		if err := y.askFigures(); err != nil {
			return fmt.Errorf("figures: %w", err)
		}
	}
	if date.Weekday() == time.Monday {
		y.assistant.report()
	}
	// What follows is later than the figures, so that they can be counted again.
	if err := y.advance(y.now.Add(time.Second)); err != nil {
		return err
	}
	return y.rareEvents(date)
}
