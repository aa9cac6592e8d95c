package dashboard

import (
	"net/url"
	"strings"
	"time"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

// runPages change many cards at once, and show how far that is.
var runPages = []binding{
	form(changePath, showChange, action{
		op:     operation.StartCardRun,
		fields: runFields,
		then: then(func(v *visit, run store.CardRun) error {
			return v.redirect(runPath(run.ID), runStarted)
		}),
	}),
	page(runsPath, shows(operation.ListCardRuns, showRuns)),
	page("/dashboard/run/:id", shows(operation.GetCardRun, showRun)),
	post("/dashboard/run/:id/stop", action{
		op:   operation.StopCardRun,
		to:   "/dashboard/run/:id",
		done: "The change was stopped. Cards that were changed stay so.",
	}),
}

var runStarted = says("run-started", "The cards are being changed.")

const (
	changePath = "/dashboard/cards/change"
	runsPath   = "/dashboard/runs"
)

func runPath(id string) string { return "/dashboard/run/" + id }

// change is something that can be done with many cards.
type change struct {
	Action string
	Name   web.Text // of the action
	Button web.Text
	Text   web.Text // what comes of it
	Danger bool
}

var changes = []change{
	{store.RunLock, "Lock", "Lock the cards", "Tills refuse the cards until you unlock them. Stamps and balances stay.", false},
	{store.RunUnlock, "Unlock", "Unlock the cards", "The cards can be used again.", false},
	{store.RunArchive, "Archive", "Archive the cards",
		"The cards end, and prizes that were not redeemed are lost. Their history stays. This cannot be undone.", true},
	{store.RunExtend, "Later expiry date", "Set the expiry date",
		"Cards that expire earlier get this day; others stay as they are. Cards on a phone keep their date: reissue them.", false},
	{store.RunGoodwill, "Give stamps", "Give the stamps",
		"Each card gets these stamps by an adjustment, also locked ones. They are no visit and count in no statistics.", false},
}

// changeOf returns the change of an action; the first one if there is none.
func changeOf(action string) change {
	for _, c := range changes {
		if c.Action == action {
			return c
		}
	}
	return changes[0]
}

func (v *visit) changeOptions() []web.Option {
	return each(changes, func(c change) web.Option { return v.option(c.Action, c.Name) })
}

// changePage asks before many cards are changed.
type changePage struct {
	web.Frame
	Change    change
	Total     string
	Hidden    []web.Option
	Locations []web.Option
}

// showChange asks before a change of the cards that are ticked, or of all of the filter.
func showChange(v *visit) error {
	q := v.sent()
	ids, all := v.chosenCards(), q.Get("all") == "true" && strings.TrimSpace(q.Get("q")) == "" // a run has no text to search for
	c := changeOf(q.Get("action"))
	p := changePage{Frame: v.narrow(c.Button, cardsPath), Change: c}
	total := store.Total{N: int64(len(ids))}
	hide := func(name, value string) { p.Hidden = append(p.Hidden, web.Option{Value: name, Label: value}) }
	hide("action", c.Action)
	if all {
		hide("all", "true")
		p.Hidden = append(p.Hidden, hiddenFilter(q)...)
		var err error
		if total, err = read[store.Total](v, operation.CountRun, v.query(v.searchFields(nonEmpty(q, exportFilters...)))); err != nil {
			return err
		}
	} else {
		hide("card_ids", strings.Join(ids, " "))
		if len(ids) == 0 && v.form == nil {
			v.shown.Problem = v.T(chooseCards)
		}
	}
	p.Total = v.cardTotal(total)
	if c.Action == store.RunGoodwill {
		var err error
		if p.Locations, err = v.locationOptions(); err != nil {
			return err
		}
	}
	return v.render("card_change", p)
}

// runFields turns the filter of the list or the ticked cards, of which the form has one, into the fields of a run.
func runFields(v *visit, form url.Values) url.Values {
	fields := cardTimes(v, v.searchFields(form))
	fields["card_ids"] = v.chosenCards()
	return fields
}

// runRow is a run as people read it.
type runRow struct {
	store.CardRun
	Name string
	Of   string // how many cards
}

func (v *visit) runRow(r store.CardRun) runRow {
	return runRow{r, v.T(changeOf(r.Action).Name), v.cardTotal(store.Total{N: r.Total, More: r.More})}
}

// runsPage is the list of the changes of many cards.
type runsPage struct {
	web.Frame
	Runs []runRow
	Now  time.Time
}

func showRuns(v *visit, list operation.List[store.CardRun]) error {
	return v.render("card_runs", runsPage{
		Frame: v.frame("Changes of many cards", cardsPath),
		Runs:  each(list.Data, v.runRow),
		Now:   v.now().Std(),
	})
}

// runPage shows how far a change of many cards is, and what it could not do.
type runPage struct {
	web.Frame
	Run      runRow
	Percent  int64
	Refusals []store.RunRefusal // whose messages are sentences
}

func showRun(v *visit, r store.CardRunReport) error {
	p := runPage{v.frame("Change of many cards", cardsPath), v.runRow(r.CardRun), 100, r.Refusals}
	if r.State == store.RunDone {
		p.Flash = "" // that it has begun
	} else {
		p.Percent = min(100, 100*(r.Done+r.Refused)/max(1, r.Total))
	}
	for i, x := range r.Refusals {
		r.Refusals[i].Message = v.Refused(x.Message, v.requestID())
	}
	return v.render("card_run", p)
}
