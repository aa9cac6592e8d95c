package dashboard

import (
	"html/template"
	"net/url"
	"strconv"
	"time"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/server/wire"
	"punchcard/store"
)

const (
	statisticsPath = "/dashboard/statistics"
	typesPath      = statisticsPath + "/types"
)

// statisticsPages are the statistics of the shop and of a program.
var statisticsPages = []binding{
	page(statisticsPath, showStatistics),
	page(typesPath, shows(operation.GetCardTypes, showTypes)),
	page(programAt+"/statistics", shows(operation.GetProgram, showProgramStatistics)),
}

// statisticsPage is the page of the shop's statistics.
type statisticsPage struct {
	web.Frame
	Tabs     []web.NavItem
	Sub      string
	Filter   *web.Form
	Choices  statisticsChoices
	Custom   bool // the dates are typed
	Against  bool // so is the beginning of the second period
	Failed   bool // the choices are not valid, so there are no figures
	Filtered bool
	Tiles    []tile
	First    template.HTML   // the chart of stamps
	Beside   []template.HTML // charts that share a row
	Money    []tile          // what was paid to and with cards; nil: nothing
	ByMoney  []template.HTML
	Year     template.HTML
}

// statisticsChoices are those of the filter.
type statisticsChoices struct {
	Periods, Compare, Programs []web.Option
}

// The periods of the filter, in days up to today; "custom" is from one day to another.
var periods = []int{1, 7, 30, 90, 365}

const (
	defaultPeriod = "30"
	customPeriod  = "custom"
	compareBefore = "before"
	compareYear   = "year"
	compareNone   = "none"
)

func showStatistics(v *visit) error {
	q := v.r.URL.Query()
	p := statisticsPage{
		Frame:    v.frame("Statistics", statisticsPath),
		Tabs:     v.statisticsTabs(statisticsPath),
		Filter:   v.statisticsFilter(q),
		Filtered: len(q) > 0,
	}
	v.compress = true
	p.Custom, p.Against = p.Filter.Value("period") == customPeriod, p.Filter.Value("compare") == customPeriod
	programs, err := v.programs()
	if err != nil {
		return err
	}
	p.Choices = v.statisticsChoices(programs)
	now, before, err := v.periods(p.Filter)
	if err != nil {
		if !v.faultyFilter(p.Filter, err) {
			return err
		}
		p.Failed = true
		return v.render("statistics", p)
	}
	p.Sub = v.span(now)
	if before != nil {
		p.Sub = v.T("{0}, compared with {1}", v.span(now), v.span(*before))
	}
	v.addFigures(&p, now, before)
	p.Beside = append(p.Beside, v.locationChart(now), v.hourChart(now.Hours))
	if p.Year, err = v.yearChart(p.Filter); err != nil {
		return err
	}
	return v.render("statistics", p)
}

// statisticsTabs are the pages of the shop's statistics.
func (v *visit) statisticsTabs(current string) []web.NavItem {
	return []web.NavItem{
		v.tab("By day", statisticsPath, current == statisticsPath),
		v.tab("By type of card", typesPath, current == typesPath),
		v.tab("For the books", moneyPath, current == moneyPath),
	}
}

// statisticsFilter returns the filter with its defaults.
func (v *visit) statisticsFilter(q url.Values) *web.Form {
	values := nonEmpty(q, "period", "compare", "program_id", "from", "to", "compare_from")
	for name, otherwise := range map[string]string{"period": defaultPeriod, "compare": compareBefore} {
		if !values.Has(name) {
			values.Set(name, otherwise)
		}
	}
	return v.filter(values)
}

func (v *visit) statisticsChoices(programs []store.Program) (c statisticsChoices) {
	for _, days := range periods {
		label := v.T("Last {0} day|Last {0} days", days)
		switch days {
		case 1:
			label = v.T("Today")
		case 365:
			label = v.T("Last year")
		}
		c.Periods = append(c.Periods, web.Option{Value: strconv.Itoa(days), Label: label})
	}
	c.Periods = append(c.Periods, v.option(customPeriod, "From … to …"))
	c.Compare = []web.Option{
		v.option(compareBefore, "The period before"),
		v.option(compareYear, "A year before"),
		v.option(customPeriod, "Another period"),
		v.option(compareNone, "Nothing"),
	}
	c.Programs = v.programFilter(programs)
	return c
}

// periods reads the period that the filter asks for, and the one that it is compared
// with; nil: none.
func (v *visit) periods(f *web.Form) (now store.PeriodReport, before *store.PeriodReport, err error) {
	q := store.PeriodQuery{ProgramID: given(f, "program_id")}
	days, known := strconv.Atoi(f.Value("period"))
	if known == nil && days > 0 && days <= 366 {
		today := v.local()
		q.To = store.Given(today.Format(time.DateOnly))
		q.From = store.Given(today.AddDate(0, 0, 1-days).Format(time.DateOnly))
	} else {
		q.From, q.To = given(f, "from"), given(f, "to")
	}
	if now, err = v.period(q); err != nil {
		return now, nil, err
	}
	from, to := dayAt(now.From), dayAt(now.To)
	length := int(to.Sub(from).Hours()/24) + 1
	switch f.Value("compare") {
	case compareNone:
		return now, nil, nil
	case compareYear:
		from = from.AddDate(-1, 0, 0)
	case customPeriod:
		if f.Value("compare_from") == "" {
			return now, nil, nil
		}
		if from, err = time.Parse(time.DateOnly, f.Value("compare_from")); err != nil {
			return now, nil, store.InvalidField("compare_from", wire.CodeInvalidFormat, "must be a date such as 2026-01-31")
		}
	default:
		from = from.AddDate(0, 0, -length)
	}
	q.From, q.To = store.Given(from.Format(time.DateOnly)), store.Given(from.AddDate(0, 0, length-1).Format(time.DateOnly))
	second, err := v.period(q)
	return now, &second, err
}

// given returns what a field of a filter contains.
func given(f *web.Form, name string) (o store.Opt[string]) {
	if f.Value(name) != "" {
		o = store.Given(f.Value(name))
	}
	return o
}

func (v *visit) period(q store.PeriodQuery) (store.PeriodReport, error) {
	return read[store.PeriodReport](v, operation.GetPeriod, v.with(q))
}

// dayAt returns the beginning of a day in UTC, in which days have 24 hours.
func dayAt(date string) time.Time {
	t, _ := time.Parse(time.DateOnly, date) // a faulty one is the zero time
	return t
}

// calendar returns the printer for days without a time, such as those of statistics.
func (v *visit) calendar() *web.Printer { return v.In(time.UTC) }

// span returns a period in words.
func (v *visit) span(p store.PeriodReport) string {
	if p.From == p.To {
		return v.Day(p.From)
	}
	return v.T("{0} to {1}", v.Day(p.From), v.Day(p.To))
}
