package dashboard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const activityPath = "/dashboard/activity"

// activityPages are the pages of the audit log.
var activityPages = []binding{page(activityPath, showActivity)}

// activityPage is the audit log. activity_words.go has its words.
type activityPage struct {
	web.Frame
	Filter   *web.Form
	Who      []web.Option
	Actions  []web.Option
	Filtered bool
	Rows     []activityRow
	Pager    web.Pager
}

// activityRow is a row of the audit log as the page shows it.
type activityRow struct {
	store.Activity
	Actor  subject
	What   string
	Target subject
	Facts  []web.Fact
}

// subject is somebody or something with the page about it.
type subject struct {
	Name string
	Path string // empty: no page
	Kind string // what it is, where the name does not say it
}

func showActivity(v *visit) error {
	q := v.r.URL.Query()
	p := activityPage{Frame: v.frame("Activity", activityPath), Filter: v.filter(q), Actions: v.actionOptions()}
	p.Filtered = len(nonEmpty(q, "who", "action", "from", "to")) > 0
	rows, pager, err := list[store.Activity](v, operation.ListActivity, v.activityFields(q), p.Filter)
	if err != nil {
		return err
	}
	p.Pager = pager
	for _, field := range []string{"actor_type", "actor_id"} {
		if problem, ok := p.Filter.Errors[field]; ok {
			delete(p.Filter.Errors, field)
			p.Filter.Errors["who"] = problem
		}
	}
	p.Rows = each(rows, v.activityRow)
	if p.Who, err = v.actorOptions(q.Get("who")); err != nil {
		return err
	}
	return v.render("activity", p)
}

// activityFields returns the fields of ListActivity that the page's query asks for: who is
// a kind of actor or the id of one, and days are those of the shop.
func (v *visit) activityFields(q url.Values) url.Values {
	fields := nonEmpty(q, "action", "cursor")
	if who := q.Get("who"); strings.Contains(strings.ReplaceAll(who, "api_key", "key"), "_") {
		fields.Set("actor_id", who)
	} else if who != "" {
		fields.Set("actor_type", who)
	}
	for name, days := range map[string]int{"from": 0, "to": 1} {
		if q.Get(name) == "" {
			continue
		}
		day, err := time.ParseInLocation(time.DateOnly, q.Get(name), v.zone())
		if err != nil {
			fields.Set(name, q.Get(name)) // the operation refuses it
			continue
		}
		fields.Set(name, store.TimeOf(day.AddDate(0, 0, days)).String())
	}
	return fields
}

// actorOptions returns the choices of who acts: all of a kind, or one person, key or till.
// chosen is added if it is not among them.
func (v *visit) actorOptions(chosen string) ([]web.Option, error) {
	options := []web.Option{v.option("", "Anybody")}
	for _, t := range actorTypes {
		options = append(options, v.option(t.kind, t.all))
	}
	actors, err := read[operation.List[store.Named]](v, operation.ListActivityActors)
	if err != nil {
		return nil, err
	}
	for _, t := range actorTypes {
		first := true
		for _, n := range actors.Data {
			if n.Type != t.kind {
				continue
			}
			o := web.Option{Value: n.ID.V, Label: n.Name.V}
			if first {
				o.Group, first = v.T(t.all), false
			}
			options = append(options, o)
		}
	}
	if !slices.ContainsFunc(options, func(o web.Option) bool { return o.Value == chosen }) {
		options = append(options, itself(chosen))
	}
	return options, nil
}

// actionOptions returns the choices of what was done: all about a subject, or one action.
func (v *visit) actionOptions() []web.Option {
	options := []web.Option{v.option("", "Anything")}
	for _, g := range actionGroups {
		options = append(options, web.Option{Value: g.family + ".", Label: v.T(g.all), Group: v.T(g.label)})
		for _, a := range actionWords {
			if strings.HasPrefix(a.action, g.family+".") {
				options = append(options, v.option(a.action, a.text))
			}
		}
	}
	return options
}

func (v *visit) activityRow(a store.Activity) activityRow {
	row := activityRow{Activity: a, What: v.actionText(a.Action), Actor: v.actor(a.By, a.Actor.Name.V), Target: v.target(a)}
	if row.Target.Name == row.Actor.Name && a.Target.ID == a.By.ID {
		row.Target = subject{} // a person about their own account
	}
	var detail map[string]any
	d := json.NewDecoder(bytes.NewReader(a.Detail))
	d.UseNumber()
	if d.Decode(&detail) != nil {
		return row
	}
	for _, name := range slices.Sorted(maps.Keys(detail)) {
		row.Facts = append(row.Facts, v.detailFact(name, detail[name]))
	}
	return row
}

// partyName returns the name of who made a write.
func (v *visit) partyName(n store.Named) string {
	switch {
	case n.Type == "":
		return ""
	case n.Type == "user" && !n.ID.Valid:
		return v.T("At the command line")
	}
	return v.actor(n, "").Name
}

// actor returns who made a write. account is that of a person at the command line.
func (v *visit) actor(n store.Named, account string) subject {
	s := subject{Name: n.Name.V}
	for _, t := range actorTypes {
		if t.kind == n.Type {
			s.Kind = v.T(t.one)
		}
	}
	switch n.Type {
	case "user":
		if !n.ID.Valid {
			s.Name, s.Kind = cmp.Or(account, v.T("Operator")), v.T("At the command line")
		}
		s.Path = v.personPath(n)
	case "api_key":
		s.Path = v.keyLink(n)
	case "device":
		s.Path = tillsPath
	}
	if s.Name == "" {
		s.Name, s.Kind = s.Kind, ""
	}
	return s
}

// personPath returns where a person is looked up. The page of people is for owners.
func (v *visit) personPath(n store.Named) string {
	switch {
	case !n.ID.Valid:
		return ""
	case v.allows(kernel.Owner):
		return "/dashboard/people"
	}
	return activityPath + "?who=" + n.ID.V
}

// keyLink returns the page of a key, which is for owners.
func (v *visit) keyLink(n store.Named) string {
	if n.ID.Valid && v.allows(kernel.Owner) {
		return keyPath(n.ID.V)
	}
	return ""
}

// target returns what a write is about.
func (v *visit) target(a store.Activity) subject {
	n := a.Target
	s := subject{Name: n.Name.V}
	deleted := strings.HasSuffix(a.Action, ".delete")
	switch id := n.ID.V; n.Kind {
	case store.KindUser:
		s.Path = v.personPath(n)
	case store.KindKey:
		s.Path = v.keyLink(n)
	case store.KindDevice:
		s.Path = tillsPath
	case store.KindLocation:
		s.Path, s.Name = locationPath(id), v.locationName(s.Name)
	case store.KindProgram:
		s.Path = "/dashboard/program/" + id
	case store.KindPrize:
		s.Path = "/dashboard/program/" + n.Parent.V
		deleted = !n.Parent.Valid
	case store.KindCard:
		s.Path, s.Name = "/dashboard/card/"+id, v.cardName(s.Name)
	case store.KindTransaction:
		s.Path, s.Name = "/dashboard/card/"+n.Parent.V, v.cardName(s.Name)
	case store.KindWebhook:
		s.Path, s.Name = webhookPath(id), shortURL(s.Name)
	}
	if deleted {
		s.Path = ""
	}
	return s
}
