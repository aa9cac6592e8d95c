package dashboard

import (
	"net/http"
	"net/url"
	"time"

	"punchcard/server/kernel"
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
	Shop      string
	Where     string // the location, or that it is all of them
	Report    store.DayReport
	Failed    bool // the filter is not valid, so there is no report
	Earlier   string
	Later     string // path of the day after; empty: it is not over yet
	Tiles     []tile
	Types     []typeRow
	Tills     []sumRow
	Staff     []sumRow // empty if nobody was signed in at a till
	Programs  []sumRow
	Prepaid   bool
	Uses      bool // a discount or a pass was used
	Printed   time.Time
	Currency  string
}

// typeRow is a type of rows of the ledger.
type typeRow struct {
	Name     string
	Rows     int64
	Reversed int64
	Amount   string // stamps or money
}

// sumRow is a till or a program.
type sumRow struct {
	Name string
	Path string // empty: no link
	store.ReportSums
}

func showReport(v *visit) error {
	q := v.r.URL.Query()
	p := reportPage{Frame: v.frame(web.Text("Day report"), todayPath), Shop: v.shop().Name, Currency: v.shop().Currency}
	now := v.Kernel.Store().Now().Std().In(v.zone())
	p.Printed = now
	values := url.Values{"day": {now.Format(time.DateOnly)}}
	for _, name := range []string{"day", "location_id"} {
		if q.Get(name) != "" {
			values.Set(name, q.Get(name))
		}
	}
	p.Filter = v.newForm(values)
	p.Filter.ID = "filter"
	locations, err := read[store.Page[store.Location]](v, operation.ListLocations, filterInput{v, url.Values{"limit": {"100"}}})
	if err != nil {
		return err
	}
	p.Where = v.print.T("All locations")
	p.Locations = []web.Option{{Value: "", Label: p.Where}}
	for _, l := range locations.Data {
		name := v.locationName(l.Name)
		p.Locations = append(p.Locations, web.Option{Value: l.ID, Label: name})
		if l.ID == values.Get("location_id") {
			p.Where = name
		}
	}
	fields := store.DayReportQuery{Date: store.Given(values.Get("day"))}
	if values.Get("location_id") != "" {
		fields.LocationID = store.Given(values.Get("location_id"))
	}
	p.Report, err = read[store.DayReport](v, operation.GetDayReport, kernel.Args{Fields: fields})
	if err != nil {
		if !v.faultyFilter(p.Filter, err) {
			return err
		}
		p.Filter.Errors["day"] = p.Filter.Errors["date"]
		p.Failed = true
		return v.render(v.status(), "report", p)
	}
	v.fillReport(&p, now.Format(time.DateOnly))
	return v.render(http.StatusOK, "report", p)
}

// fillReport adds what the page shows of a report.
func (v *visit) fillReport(p *reportPage, today string) {
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
	if d.Date < today {
		p.Later = at(day.AddDate(0, 0, 1))
	}
	p.Uses = d.Total.Uses > 0
	p.Prepaid = d.Prepaid != store.PrepaidReport{}
	p.Tiles = []tile{
		{Label: v.print.T("Stamps"), Value: v.print.Number(d.Total.Stamps)},
		{Label: v.print.T("Redemptions"), Value: v.print.Number(d.Total.Redemptions)},
		{Label: v.print.T("New cards"), Value: v.print.Number(d.NewCards)},
		{Label: v.print.T("Taken back"), Value: v.print.Number(d.Total.Reversals)},
	}
	for _, t := range d.ByType {
		row := typeRow{Name: v.print.T(reportTypes[t.Type]), Rows: t.Rows, Reversed: t.ReversedRows, Amount: "–"}
		switch {
		case t.Type == store.TransactionStamp, t.Type == store.TransactionReversal && t.ValueCents == 0 && t.Stamps != 0:
			row.Amount = v.print.T("{0} stamp|{0} stamps", t.Stamps)
		case t.ValueCents != 0:
			row.Amount = v.money(t.ValueCents)
		}
		p.Types = append(p.Types, row)
	}
	for _, t := range d.ByDevice {
		name := t.DeviceName.V
		if !t.DeviceID.Valid {
			name = v.print.T("Made on these pages")
		}
		p.Tills = append(p.Tills, sumRow{Name: v.locationName(t.LocationName) + " · " + name, ReportSums: t.ReportSums})
	}
	for _, m := range d.ByStaff {
		name := m.StaffName.V
		if !m.StaffID.Valid {
			name = v.print.T("Nobody signed in")
		}
		p.Staff = append(p.Staff, sumRow{Name: name, ReportSums: m.ReportSums})
	}
	for _, r := range d.ByProgram {
		p.Programs = append(p.Programs, sumRow{Name: r.ProgramName, Path: "/dashboard/program/" + r.ProgramID, ReportSums: r.ReportSums})
	}
}

// reportTypes are the names of the types of rows.
var reportTypes = map[string]string{
	store.TransactionStamp:      web.Text("Stamping"),
	store.TransactionRedemption: web.Text("Prize redeemed"),
	store.TransactionReversal:   web.Text("Taken back"),
	store.TransactionExpiry:     web.Text("Card expired"),
	store.TransactionTopUp:      web.Text("Topped up"),
	store.TransactionSpend:      web.Text("Spent from the card"),
	store.TransactionDiscount:   web.Text("Discount used"),
	store.TransactionAccess:     web.Text("Visit"),
}
