package main

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// suspend suspends a program for an hour, in which tills refuse its cards.
func (o *office) suspend(day time.Time, slot int) func() {
	b, at := o.person(), "/dashboard/program/"+o.shop.programs[o.rand.IntN(len(o.shop.programs))].ID
	return o.forAnHour(day, slot, "program suspended", func() *page { return b.change(at+"/suspend", nil) },
		func() *page { return b.change(at+"/unsuspend", nil) })
}

// closeLocation disables a location for an hour.
func (o *office) closeLocation(day time.Time, slot int) func() {
	b, at := o.person(), "/dashboard/location/"+o.shop.locations[o.rand.IntN(len(o.shop.locations))].ID
	return o.forAnHour(day, slot, "location disabled", func() *page { return b.change(at+"/disable", nil) },
		func() *page { return b.press(at, at+"/enable", nil) })
}

// forAnHour does something, and plans that it is undone an hour later.
func (o *office) forAnHour(day time.Time, slot int, what string, do, undo func() *page) func() {
	o.later(day, slot+2, func(*office, time.Time, int) func() { return func() { undo() } })
	return func() {
		if do() != nil {
			o.count("dashboard: " + what)
		}
	}
}

var secretPattern = regexp.MustCompile(`whsec_[A-Za-z0-9+/=_-]{20,}`)

// rotateSecret gives a webhook a new secret, which its receiver accepts from then on.
func (o *office) rotateSecret(time.Time, int) func() {
	own := slices.DeleteFunc(slices.Clone(o.receivers), func(r *receiver) bool { return r.Shop != o.shop.ID || r.Until != nil })
	r, b := own[o.rand.IntN(len(own))], o.people["owner"]
	return func() {
		if !b.signIn() { // for a recent proof
			return
		}
		// A form that is sent again after a crash has no secret to show.
		for range 3 {
			p := b.change("/dashboard/webhook/"+r.Webhook+"/rotate", nil, "200")
			if p == nil {
				return
			}
			if secret := secretPattern.FindString(text(p.root)); secret != "" {
				r.Secrets = append(r.Secrets, secret)
				o.count("dashboard: secret")
				return
			}
			r.Lost = append(r.Lost, o.now)
			o.count("dashboard: secret not shown again")
		}
		o.fault("the page of a new secret does not show it")
	}
}

// view has the viewer look at pages, which must not show whose cards there are.
func (o *office) view(time.Time, int) func() {
	found := o.pick(1, func(m *member) bool { return true })
	if found == nil {
		return nil
	}
	m, b := found[0], o.people["viewer"]
	return func() {
		for _, path := range []string{"/dashboard", "/dashboard/cards", "/dashboard/programs", "/dashboard/statistics", cardPath(m)} {
			if p := b.get(path); p != nil && strings.Contains(string(p.body), m.email()) {
				o.fault("%s shows the viewer %s", path, m.email())
			}
		}
	}
}
