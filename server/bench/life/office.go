package main

import (
	"math/rand/v2"
	"slices"
	"time"
)

// change is what lines of answers.jsonl about changes that are no visits have besides.
type change struct {
	Subject     string     `json:"subject,omitempty"` // id of what was changed; of a card, that of the instance
	DeltaStamps *int64     `json:"delta_stamps,omitempty"`
	DeltaCents  *int64     `json:"delta_cents,omitempty"`
	ExpiresAt   *time.Time `json:"expires_at,omitempty"`
}

// office is what the people of the shop do in the dashboard, beside the visits.
type office struct {
	*year
	rand    *rand.Rand
	people  map[string]*browser
	plan    map[time.Time][]task // of the days of a week
	busy    map[*member]bool     // those who come today
	known   map[string]bool      // rows of the ledger that are in a line
	locked  []*member
	limited []*member // whose cards have an end
}

// task is something that is done in a half hour of a day.
type task struct {
	slot   int
	choose choice
}

// choice returns what is done in a half hour, nil for nothing. No client is busy when it chooses members.
type choice func(o *office, day time.Time, slot int) func()

// works are what the office does, and how often in a week.
var works = []struct {
	times  int
	choose choice
}{
	{2, (*office).lock},
	{2, (*office).unlock},
	{1, (*office).archive},
	{4, (*office).adjust},
	{1, (*office).giveStamps},
	{2, (*office).limit},
	{1, (*office).extend},
	{2, (*office).merge},
	{3, (*office).noteContact},
	{1, (*office).suspend},
	{1, (*office).closeLocation},
	{1, (*office).rotateSecret},
	{2, (*office).view},
	{1, (*office).askAssistant},
}

// lastTask is the last half hour in which something may begin that ends an hour later.
const lastTask = slots - 4

func newOffice(y *year) *office {
	o := &office{year: y, rand: rand.New(rand.NewPCG(y.seed, 7)), plan: map[time.Time][]task{}, known: map[string]bool{}}
	o.people = map[string]*browser{}
	for _, role := range []string{"owner", "manager", "viewer"} {
		o.people[role] = y.newBrowser(role, "dashboard")
	}
	return o
}

// morning learns who comes today and, on the first day of a week, plans the week.
func (o *office) morning(day time.Time, visits *[slots][]visit) {
	o.busy = map[*member]bool{}
	for _, list := range visits {
		for _, v := range list {
			o.busy[v.m] = true
		}
	}
	delete(o.plan, day.AddDate(0, 0, -1))
	if day.Weekday() != time.Monday {
		return
	}
	for _, w := range works {
		for range w.times {
			o.later(day.AddDate(0, 0, o.rand.IntN(6)), o.rand.IntN(lastTask), w.choose)
		}
	}
}

// later plans something for a half hour.
func (o *office) later(day time.Time, slot int, choose choice) {
	o.plan[day] = append(o.plan[day], task{slot, choose})
}

// due returns what is done in a half hour, one thing after the other.
func (o *office) due(day time.Time, slot int) (list []func()) {
	for _, t := range o.plan[day] {
		if t.slot != slot {
			continue
		}
		if do := t.choose(o, day, slot); do != nil {
			list = append(list, do)
		}
	}
	return list
}

// person returns the browser of the owner or the manager.
func (o *office) person() *browser {
	if o.rand.IntN(3) == 0 {
		return o.people["owner"]
	}
	return o.people["manager"]
}

// pick returns members of the shop with a card, of a number that is there, for which ok is true.
func (o *office) pick(n int, ok func(*member) bool) (list []*member) {
	for range 40 * n {
		m := o.members[o.rand.IntN(len(o.members))]
		if m.card != "" && !m.gone && m.shop == o.shop && !slices.Contains(list, m) && ok(m) {
			if list = append(list, m); len(list) == n {
				break
			}
		}
	}
	return list
}

// collects reports whether a member's card collects stamps.
func (m *member) collects() bool { return m.program.Type == "standard" || m.program.Type == "private" }

// write writes a line about a change of a person.
func (o *office) write(kind string, line done) {
	line.At, line.Shop, line.Face, line.Kind = o.now, o.shop.ID, "dashboard", kind
	if line.Rows == nil {
		line.Rows = []row{}
	}
	o.answers.write(line)
	o.count("dashboard: " + kind)
}

// adjustments returns the rows of corrections that are in no line yet. They may be of younger cards than the one that was corrected.
func (o *office) adjustments() (rows []row) {
	var all struct{ Data []row }
	path := "/transactions?type=adjustment&limit=100&from=" + o.now.Format(time.RFC3339)
	r, ok := o.ask(o.shop.api, "GET", path, nil, "200")
	if !ok {
		return nil
	}
	if err := r.decode(&all); err != nil {
		o.fault("%s: %v", path, err)
	}
	for _, t := range slices.Backward(all.Data) {
		if !o.known[t.ID] {
			o.known[t.ID] = true
			rows = append(rows, t)
		}
	}
	return rows
}

// wait gets the page of something that goes on until it does not say so any more.
func (b *browser) wait(path string, goesOn func(text string) bool) *page {
	for range 500 {
		p := b.get(path)
		if p == nil || !goesOn(text(p.root)) {
			return p
		}
		time.Sleep(20 * time.Millisecond)
	}
	b.fault("%s does not end", path)
	return nil
}

// cardPath returns the path of the page of a member's card.
func cardPath(m *member) string { return "/dashboard/card/" + m.first }
