package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/web"
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
	Filter    *web.Form
	Programs  []web.Option
	Statuses  []web.Option
	Seen      []web.Option
	Filtered  bool
	Searched  bool         // by a text
	Total     string       // how many cards pass the filter; empty: they are not counted
	Export    string       // path of the export of the filter, which has no text
	Hidden    []web.Option // the filter, for the form that chooses cards
	Changes   []web.Option
	Cards     []cardRow
	Pager     web.Pager
	Now       time.Time
	Published bool // cards can be issued
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
	p := cardsPage{
		Frame:    v.frame("Cards", cardsPath),
		Filter:   v.filter(q),
		Statuses: v.statusOptions(),
		Seen:     v.seenOptions(),
		Filtered: len(nonEmpty(q, append([]string{"q", "sort"}, exportFilters...)...)) > 0,
		Searched: strings.TrimSpace(q.Get("q")) != "",
		Export:   cardsPath + ".csv",
		Hidden:   hiddenFilter(q),
		Changes:  v.changeOptions(),
		Now:      v.now().Std(),
	}
	if filter := nonEmpty(q, exportFilters...); len(filter) > 0 {
		p.Export += "?" + filter.Encode()
	}
	fields := v.searchFields(q)
	cards, pager, err := list[store.FoundCard](v, operation.SearchCards, fields, p.Filter)
	if err != nil {
		return err
	}
	p.Cards, p.Pager = each(cards, v.cardRow), pager
	if !p.Searched && len(p.Filter.Errors) == 0 {
		fields.Del("cursor")
		total, err := read[store.Total](v, operation.CountCards, v.query(fields))
		if err != nil {
			return err
		}
		p.Total = v.cardTotal(total)
	}
	programs, err := v.programs()
	if err != nil {
		return err
	}
	p.Programs = v.programFilter(programs)
	p.Published = slices.ContainsFunc(programs, func(p store.Program) bool { return p.Active })
	return v.render("cards", p)
}

// hiddenFilter returns the inputs with the filter of the list for another form.
func hiddenFilter(q url.Values) (hidden []web.Option) {
	for _, name := range exportFilters {
		if value := q.Get(name); value != "" {
			hidden = append(hidden, web.Option{Value: name, Label: value})
		}
	}
	return hidden
}

// cardTotal says how many cards there are.
func (v *visit) cardTotal(t store.Total) string {
	if t.More {
		return v.T("More than {0} card|More than {0} cards", t.N)
	}
	return v.T("{0} card in total|{0} cards in total", t.N)
}

// faultyFilter adds what is wrong with a filter to its form. It reports false if the error
// is about something else, or there is no form.
func (v *visit) faultyFilter(f *web.Form, err error) bool {
	e := kernel.AsError(err, kernel.StatusOf)
	if f == nil || e.Status != http.StatusBadRequest || len(e.Details) == 0 {
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
	row := cardRow{FoundCard: c, Name: v.cardName(c.HolderName.V, c.HolderEmail.V, c.ExternalRef.V), State: v.statusBadge(c.Status)}
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
		return v.money(value.V)
	case store.CollectsStamps(programType) && total.Valid:
		return v.T("{0} of {1}", stamps, total.V)
	}
	return ""
}

// cardName returns how a card is called: by the first that is known of it, such as its holder's
// name.
func (v *visit) cardName(known ...string) string {
	return cmp.Or(cmp.Or(known...), v.T("Card without a name"))
}

// holder returns how a card is called.
func (v *visit) holder(c store.CardDetail) string {
	return v.cardName(c.HolderName.V, c.HolderEmail.V, c.ExternalRef.V)
}

// cardStatus is a status of cards, with its badge.
type cardStatus struct {
	status string
	name   web.Text
	tone   string
}

// statuses are those of cards, in the order of the filter.
var statuses = []cardStatus{
	{store.StatusActive, "Active", "good"},
	{store.StatusInvited, "Invited", "info"},
	{store.StatusLocked, "Locked", "warn"},
	{store.StatusExpired, "Expired", ""},
	{store.StatusArchived, "Archived", ""},
}

// statusBadge returns the badge of a card's status.
func (v *visit) statusBadge(status string) web.Badge {
	for _, s := range statuses {
		if s.status == status {
			return v.badge(s.name, s.tone)
		}
	}
	return web.Badge{}
}

func (v *visit) statusOptions() []web.Option {
	return append([]web.Option{v.option("", "Every status")},
		each(statuses, func(s cardStatus) web.Option { return v.option(s.status, s.name) })...)
}

// seenOptions are the choices of the filter by the last visit: within so many days or, below 0, not since.
func (v *visit) seenOptions() []web.Option {
	list := []web.Option{v.option("", "At any time")}
	for _, days := range []int{1, 7, 30, -14, -30, -90, -180, -365} {
		label := v.T("In the last day|In the last {0} days", days)
		if days < 0 {
			label = v.T("Not for {0} day|Not for {0} days", -days)
		}
		list = append(list, web.Option{Value: strconv.Itoa(days), Label: label})
	}
	return list
}

// searchFields returns the fields of SearchCards that the page's query asks for. A choice of
// the last use becomes days of the shop's calendar.
// A search by text and archived cards have an order of their own.
func (v *visit) searchFields(q url.Values) url.Values {
	fields := nonEmpty(q)
	for _, name := range []string{"seen", "done", "birthday"} {
		fields.Del(name)
	}
	if strings.TrimSpace(q.Get("q")) != "" || q.Get("status") == store.StatusArchived {
		fields.Del("sort")
	}
	if q.Get("birthday") != "" && v.allows(kernel.Manager) {
		fields.Set("birthday_month", strconv.Itoa(int(v.local().Month())))
	}
	days, err := strconv.Atoi(q.Get("seen"))
	switch {
	case err != nil || days < -3650 || days > 3650:
	case days > 0:
		fields.Set("seen_from", store.TimeOf(v.local().AddDate(0, 0, 1-days)).String())
	case days < 0:
		fields.Set("not_seen_days", strconv.Itoa(-days))
	}
	return fields
}

// programs returns all programs of the shop, newest first.
func (v *visit) programs() ([]store.Program, error) {
	return readAll[store.Program](v, operation.ListPrograms)
}

// programFilter returns the choices of a filter by program.
func (v *visit) programFilter(programs []store.Program) []web.Option {
	return append([]web.Option{v.option("", "All programs")}, each(programs, programOption)...)
}

// programOption returns a program as a choice.
func programOption(p store.Program) web.Option { return web.Option{Value: p.ID, Label: p.Name} }
