package dashboard

import (
	"net/url"
	"time"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const reportPath = "/dashboard/report"

// reportPages are the report of a day.
var reportPages = []binding{
	page(reportPath, showReport),
}

// reportPage is the page of the report of a day.
type reportPage struct {
	web.Frame
	Sub       string
	Filter    *web.Form
	Locations []web.Option
	Where     string // the location, or that it is all of them
	Report    store.DayReport
	Failed    bool // the filter is not valid, so there is no report
	Earlier   string
	Later     string // path of the day after; empty: it is not over yet
	Tiles     []tile
	Types     []typeRow
	Prepaid   bool
	Printed   time.Time
}

// typeRow is a type of rows of the ledger.
type typeRow struct {
	store.TypeReport
	Name   string
	Amount string // stamps or money
}

func showReport(v *visit) error {
	p := reportPage{Frame: v.frame("Day report", todayPath), Printed: v.local()}
	values := nonEmpty(v.r.URL.Query(), "day", "location_id")
	if !values.Has("day") {
		values.Set("day", v.today())
	}
	p.Filter = v.filter(values)
	locations, err := v.locations()
	if err != nil {
		return err
	}
	p.Where = v.T("All locations")
	p.Locations = []web.Option{{Value: "", Label: p.Where}}
	for _, l := range locations {
		name := v.locationName(l.Name)
		p.Locations = append(p.Locations, web.Option{Value: l.ID, Label: name})
		if l.ID == values.Get("location_id") {
			p.Where = name
		}
	}
	fields := store.DayReportQuery{Date: store.Given(values.Get("day")), LocationID: given(p.Filter, "location_id")}
	p.Report, err = read[store.DayReport](v, operation.GetDayReport, v.with(fields))
	switch {
	case err == nil:
		v.fillReport(&p)
	case v.faultyFilter(p.Filter, err):
		p.Filter.Errors["day"] = p.Filter.Errors["date"]
		p.Failed = true
	default:
		return err
	}
	return v.render("report", p)
}

// fillReport adds what the page shows of a report.
func (v *visit) fillReport(p *reportPage) {
	d, day := p.Report, dayAt(p.Report.Date)
	p.Sub = v.calendar().LongDate(day)
	at := func(t time.Time) string {
		q := url.Values{"day": {t.Format(time.DateOnly)}}
		if d.LocationID.Valid {
			q.Set("location_id", d.LocationID.V)
		}
		return reportPath + "?" + q.Encode()
	}
	p.Earlier = at(day.AddDate(0, 0, -1))
	if d.Date < v.today() {
		p.Later = at(day.AddDate(0, 0, 1))
	}
	p.Prepaid = d.Prepaid != store.PrepaidReport{}
	p.Tiles = []tile{
		v.tile("Stamps", v.Number(d.Total.Stamps)),
		v.tile("Redemptions", v.Number(d.Total.Redemptions)),
		v.tile("New cards", v.Number(d.NewCards)),
		v.tile("Reversals", v.Number(d.Total.Reversals)),
	}
	for _, t := range d.ByType {
		row := typeRow{t, v.T(ledgerTypes[t.Type].text), "–"}
		switch {
		case t.Type == store.TransactionAdjustment && t.Stamps != 0 && t.ValueCents != 0:
			row.Amount = v.T("{0} stamp|{0} stamps", t.Stamps) + " · " + v.money(t.ValueCents)
		case t.Type == store.TransactionAdjustment && t.ValueCents == 0, t.Type == store.TransactionStamp,
			t.Type == store.TransactionReversal && t.ValueCents == 0 && t.Stamps != 0:
			row.Amount = v.T("{0} stamp|{0} stamps", t.Stamps)
		case t.ValueCents != 0:
			row.Amount = v.money(t.ValueCents)
		}
		p.Types = append(p.Types, row)
	}
}
