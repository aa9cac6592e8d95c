package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/server/wire"
	"punchcard/store"
)

const cardsPath = "/dashboard/cards"

// cardListPages are the pages of all cards. card.go and those beside it have the pages of
// one.
var cardListPages = []binding{
	page(cardsPath, showCards),
}

// cardsPage is the list of cards.
type cardsPage struct {
	web.Frame
	Actions  []web.Action
	Filter   *web.Form
	Programs []web.Option
	Statuses []web.Option
	Seen     []web.Option
	Filtered bool
	Cards    []cardRow
	Pager    web.Pager
	Now      time.Time
	Empty    web.Action // what to do if there is no card yet
}

// cardRow is a card in the list.
type cardRow struct {
	store.FoundCard
	Name     string // of the holder, or what else is known
	Known    string // what is known besides the name
	Progress string
	State    web.Badge
}

func showCards(v *visit) error {
	q := v.r.URL.Query()
	q.Del("done")
	p := cardsPage{Frame: v.frame(web.Text("Cards"), cardsPath), Filter: v.newForm(q), Now: v.Kernel.Store().Now().Std()}
	p.Filter.ID = "filter"
	for _, name := range []string{"q", "program_id", "status", "seen", "prize_due"} {
		p.Filtered = p.Filtered || q.Get(name) != ""
	}
	list, err := read[store.Page[store.FoundCard]](v, operation.SearchCards, filterInput{v, searchFields(q, v.Kernel.Store().Now())})
	if err != nil && !v.faultyFilter(p.Filter, err) {
		return err
	}
	for _, c := range list.Data {
		p.Cards = append(p.Cards, v.cardRow(c))
	}
	programs, err := v.programs()
	if err != nil {
		return err
	}
	published := false
	p.Programs = []web.Option{{Value: "", Label: v.print.T("All programs")}}
	for _, program := range programs {
		p.Programs = append(p.Programs, web.Option{Value: program.ID, Label: program.Name})
		published = published || program.Active
	}
	p.Statuses = v.statusOptions()
	p.Seen = v.seenOptions()
	p.Pager = v.pager(len(p.Cards), list.NextCursor)
	p.Actions, p.Empty = v.cardsActions(q, published)
	return v.render(v.status(), "cards", p)
}

// cardsActions returns what can be done with cards, and what to do where there is none.
func (v *visit) cardsActions(q url.Values, published bool) (actions []web.Action, empty web.Action) {
	if v.allows(kernel.Owner) {
		path := "/dashboard/cards.csv"
		if filter := nonEmpty(q, exportFilters...); len(filter) > 0 {
			path += "?" + filter.Encode()
		}
		actions = append(actions, web.Action{Label: v.print.T("Export"), Path: path, Icon: "download"})
	}
	if !v.allows(kernel.Manager) {
		return actions, empty
	}
	if !published {
		return actions, web.Action{Label: v.print.T("Programs"), Path: "/dashboard/programs", Kind: "primary"}
	}
	issue := web.Action{Label: v.print.T("Issue a card"), Path: "/dashboard/new/card", Icon: "plus", Kind: "primary"}
	return append(actions, web.Action{Label: v.print.T("Print cards"), Path: "/dashboard/print/cards", Icon: "print"}, issue), issue
}

// faultyFilter adds what is wrong with a filter to its form. It reports false if the error
// is about something else.
func (v *visit) faultyFilter(f *web.Form, err error) bool {
	e := kernel.AsError(err, kernel.StatusOf)
	if e.Status != http.StatusBadRequest || len(e.Details) == 0 {
		return false
	}
	v.formStatus = e.Status
	for _, d := range e.Details {
		f.Errors[d.Field] = v.problem(d)
	}
	return true
}

// cardRow returns a card as the list shows it.
func (v *visit) cardRow(c store.FoundCard) cardRow {
	row := cardRow{FoundCard: c, Name: v.cardName(c.HolderName, c.HolderEmail, c.ExternalRef), State: v.statusBadge(c.Status)}
	var known []string
	for _, text := range []string{c.HolderEmail.V, c.ExternalRef.V} {
		if text != "" && text != row.Name {
			known = append(known, text)
		}
	}
	row.Known = strings.Join(known, " · ")
	row.Progress = v.progress(c.ProgramType, c.StampsCount, c.TotalStamps, c.CurrentValue)
	return row
}

// progress returns how far a card is, or its balance; empty for cards that have neither.
func (v *visit) progress(programType string, stamps int64, total, value store.Null[int64]) string {
	switch {
	case value.Valid:
		return v.print.Money(value.V, v.shop().Currency)
	case store.CollectsStamps(programType) && total.Valid:
		return v.print.T("{0} of {1}", stamps, total.V)
	}
	return ""
}

// cardName returns how a card is called: by its holder's name, or what else is known.
func (v *visit) cardName(name, email, ref store.Null[string]) string {
	if known := cmp.Or(name.V, email.V, ref.V); known != "" {
		return known
	}
	return v.print.T("Card without a name")
}

// statusBadge returns the badge of a card's status.
func (v *visit) statusBadge(status string) web.Badge {
	b := web.Badge{Label: v.print.T(statusNames[status])}
	switch status {
	case store.StatusActive:
		b.Tone = "good"
	case store.StatusInvited:
		b.Tone = "info"
	case store.StatusLocked:
		b.Tone = "warn"
	}
	return b
}

var statusNames = map[string]string{
	store.StatusActive:   web.Text("Active"),
	store.StatusInvited:  web.Text("Invited"),
	store.StatusLocked:   web.Text("Locked"),
	store.StatusExpired:  web.Text("Expired"),
	store.StatusArchived: web.Text("Archived"),
}

func (v *visit) statusOptions() []web.Option {
	list := []web.Option{{Value: "", Label: v.print.T("Every status")}}
	for _, status := range []string{store.StatusActive, store.StatusInvited, store.StatusLocked, store.StatusExpired, store.StatusArchived} {
		list = append(list, web.Option{Value: status, Label: v.print.T(statusNames[status])})
	}
	return list
}

// The choices of the filter by the last use: within so many days, or not since.
var (
	seenWithin = []int{1, 7, 30}
	notSeenFor = []int{14, 30, 90, 180, 365}
)

func (v *visit) seenOptions() []web.Option {
	list := []web.Option{{Value: "", Label: v.print.T("At any time")}}
	for _, days := range seenWithin {
		list = append(list, web.Option{Value: strconv.Itoa(days), Label: v.print.T("In the last day|In the last {0} days", days)})
	}
	for _, days := range notSeenFor {
		list = append(list, web.Option{Value: strconv.Itoa(-days), Label: v.print.T("Not for {0} day|Not for {0} days", days)})
	}
	return list
}

// searchFields returns the fields of SearchCards that the page's query asks for. A choice of
// the last use becomes a time, or days of the shop's calendar.
func searchFields(q url.Values, now store.Time) url.Values {
	fields := url.Values{}
	for name, values := range q {
		if values[0] != "" && name != "seen" {
			fields[name] = values[:1]
		}
	}
	days, err := strconv.Atoi(q.Get("seen"))
	switch {
	case err != nil || days < -3650 || days > 3650:
	case days > 0:
		fields.Set("seen_from", now.Add(-time.Duration(days)*24*time.Hour).String())
	case days < 0:
		fields.Set("not_seen_days", strconv.Itoa(-days))
	}
	return fields
}

// filterInput is the input of a list with fields that a page has made.
type filterInput struct {
	*visit
	fields url.Values
}

func (in filterInput) Param(name string) string { return in.params.ByName(name) }

func (in filterInput) IdempotencyKey() (*kernel.IdempotencyKey, error) { return nil, nil }

func (in filterInput) Decode(dst any, _ wire.Mode, lim wire.Limits) ([]store.Detail, error) {
	return wire.DecodeQuery(in.fields, dst, lim), nil
}

// programs returns the newest programs of the shop, for choices.
func (v *visit) programs() ([]store.Program, error) {
	list, err := read[store.Page[store.Program]](v, operation.ListPrograms, filterInput{v, url.Values{"limit": {"100"}}})
	return list.Data, err
}
