package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html"
)

// editProgram changes the texts of a program and of a prize, until a card of it is on a phone.
func (o *office) editProgram(time.Time, int) func() {
	p, b := o.shop.programs[o.rand.IntN(len(o.shop.programs))], o.people["manager"]
	at, text := "/dashboard/program/"+p.ID, fmt.Sprintf("As of week %d.", o.rand.IntN(100))
	return func() {
		form := b.get(at + "/edit")
		if form == nil {
			return
		}
		if strings.Contains(string(form.body), "The design stays as it is") {
			b.fetch("POST", at+"/edit", "name=Another", "409")
			o.count("dashboard: program refused, a card is on a phone")
			return
		}
		if form.form(at+"/edit").fill("description", text).send("303") != nil {
			o.write(b, "program", done{change: change{Subject: p.ID}})
		}
		if len(p.prizes) == 0 {
			return
		}
		prize := at + "/prize/" + p.prizes[0].ID
		if b.change(prize, map[string]string{"description": text}) != nil {
			o.write(b, "prize", done{change: change{Subject: p.prizes[0].ID}})
		}
	}
}

// suspend suspends a program for an hour, in which tills refuse its cards.
func (o *office) suspend(day time.Time, slot int) func() {
	p, b := o.shop.programs[o.rand.IntN(len(o.shop.programs))], o.person()
	at := "/dashboard/program/" + p.ID
	o.later(day, slot+2, func(o *office, _ time.Time, _ int) func() {
		return func() {
			if b.change(at+"/unsuspend", nil) != nil {
				o.write(b, "unsuspend", done{change: change{Subject: p.ID}})
			}
		}
	})
	return func() {
		if b.change(at+"/suspend", nil) != nil {
			o.write(b, "suspend", done{change: change{Subject: p.ID}})
		}
	}
}

// closeLocation disables a location for an hour.
func (o *office) closeLocation(day time.Time, slot int) func() {
	l, b := o.shop.locations[o.rand.IntN(len(o.shop.locations))], o.person()
	at := "/dashboard/location/" + l.ID
	o.later(day, slot+2, func(o *office, _ time.Time, _ int) func() {
		return func() {
			if b.press(at, at+"/enable") != nil {
				o.write(b, "enable", done{change: change{Subject: l.ID}})
			}
		}
	})
	return func() {
		if b.change(at+"/disable", nil) != nil {
			o.write(b, "disable", done{change: change{Subject: l.ID}})
		}
	}
}

// hireStaff adds a person for the tills, and disables the one before.
func (o *office) hireStaff(time.Time, int) func() {
	b, name := o.people["manager"], fmt.Sprintf("Temp %d", 1+len(o.hired))
	pin := fmt.Sprint(240000 + o.rand.IntN(9999))
	o.hired = append(o.hired, name)
	return func() {
		if !b.signIn() { // for a recent proof
			return
		}
		if b.change("/dashboard/new/staff", map[string]string{"name": name, "pin": pin}) == nil {
			return
		}
		o.write(b, "staff", done{Staff: &name})
		list := b.get("/dashboard/staff")
		if list == nil || len(o.hired) < 2 {
			return
		}
		before := o.hired[len(o.hired)-2]
		id := list.staffID(before)
		if b.change("/dashboard/staff/"+id+"/disable", nil) != nil {
			o.write(b, "staff disabled", done{Staff: &before, change: change{Subject: id}})
		}
	}
}

// staffID returns the id of a member of staff on the page of all.
func (p *page) staffID(name string) string {
	row := p.find(func(n *html.Node) bool { return n.Data == "tr" && strings.HasPrefix(text(n)+" ", name+" ") })
	if row == nil {
		p.fault("%s does not list %s", p.path, name)
		return ""
	}
	for n := range row.Descendants() {
		if to := attr(n, "href") + attr(n, "action"); strings.HasPrefix(to, "/dashboard/staff/") {
			return strings.Split(to, "/")[3]
		}
	}
	return ""
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
			p := b.change("/dashboard/webhook/"+r.Webhook+"/rotate", nil, 200)
			if p == nil {
				return
			}
			if secret := secretPattern.FindString(text(p.root)); secret != "" {
				r.Secrets = append(r.Secrets, secret)
				o.write(b, "secret", done{change: change{Subject: r.Webhook}})
				return
			}
			r.Lost = append(r.Lost, o.now)
			o.count("dashboard: secret not shown again")
		}
		o.fault("the page of a new secret does not show it")
	}
}

// view has the viewer look at pages, and try what a viewer and a manager must not do.
func (o *office) view(time.Time, int) func() {
	found := o.pick(1, func(m *member) bool { return true })
	if found == nil {
		return nil
	}
	m, b := found[0], o.people["viewer"]
	return func() {
		for _, path := range []string{"/dashboard", "/dashboard/cards", "/dashboard/programs", "/dashboard/statistics",
			cardPath(m)} {
			if p := b.get(path); p != nil && strings.Contains(string(p.body), m.email()) {
				o.fault("%s shows the viewer %s", path, m.email())
			}
		}
		program, location := "/dashboard/program/"+m.program.ID, "/dashboard/location/"+o.shop.locations[0].ID
		for _, path := range []string{"/lock", "/unlock", "/archive", "/adjust", "/erase", "/contact", "/edit"} {
			b.forbidden("POST", cardPath(m)+path)
		}
		for _, path := range []string{program + "/edit", program + "/suspend", program + "/delete", program + "/enrolment",
			location + "/disable",
			location + "/pin", "/dashboard/new/staff", "/dashboard/cards/change", "/dashboard/new/key", "/dashboard/people/invite",
			"/dashboard/settings"} {
			b.forbidden("POST", path)
		}
		b.forbidden("POST", "/dashboard/webhook/"+o.receivers[0].Webhook+"/rotate")
		for _, path := range []string{"/dashboard/keys", "/dashboard/people", "/dashboard/export", "/dashboard/activity", program + "/edit",
			cardPath(m) + "/adjust"} {
			b.forbidden("GET", path)
		}
		o.people["manager"].forbidden("GET", "/dashboard/new/key")
		o.people["manager"].forbidden("POST", "/dashboard/people/invite")
		o.people["manager"].forbidden("POST", "/dashboard/webhook/"+o.receivers[0].Webhook+"/rotate")
	}
}

// forbidden does what a person must not do.
func (b *browser) forbidden(method, path string) {
	var body any
	if method == "POST" {
		body = ""
	}
	if b.fetch(method, path, body, "403") != nil {
		b.count("dashboard: forbidden to the " + b.role)
	}
}
