package dashboard

import (
	"net/url"
	"time"

	"punchcard/server/operation"
	"punchcard/server/web"
	"punchcard/store"
)

const moneyPath = statisticsPath + "/money"

// moneyPages are the money on prepaid cards, for the books.
var moneyPages = []binding{
	page(moneyPath, showMoney),
	page(moneyPath+".csv", func(v *visit) error {
		m, err := v.moneyReport(v.filter(nonEmpty(v.r.URL.Query(), "month")))
		if err != nil {
			return err
		}
		v.download("text/csv; charset=utf-8", "money-"+m.Month+".csv")
		return m.WriteCSV(v.w)
	}),
}

// moneyPage is the page of the money of a month.
type moneyPage struct {
	web.Frame
	Tabs     []web.NavItem
	Filter   *web.Form
	Months   []web.Option
	Failed   bool // the month is not valid, so there is no report
	Report   store.MoneyReport
	Download string
}

// moneyMonths is how many months the page offers. Others are given in its address.
const moneyMonths = 36

func showMoney(v *visit) error {
	p := moneyPage{
		Frame:  v.frame("Statistics", statisticsPath),
		Tabs:   v.statisticsTabs(moneyPath),
		Filter: v.filter(nonEmpty(v.r.URL.Query(), "month")),
	}
	v.compress = true
	now := v.local()
	for n := range moneyMonths {
		at := time.Date(now.Year(), now.Month()-time.Month(n), 1, 0, 0, 0, 0, time.UTC)
		p.Months = append(p.Months, web.Option{Value: at.Format("2006-01"), Label: v.ShortMonth(at.Month()) + at.Format(" 2006")})
	}
	var err error
	if p.Report, err = v.moneyReport(p.Filter); err != nil {
		if !v.faultyFilter(p.Filter, err) {
			return err
		}
		p.Failed = true
		return v.render("statistics_money", p)
	}
	p.Download = moneyPath + ".csv?" + url.Values{"month": {p.Report.Month}}.Encode()
	return v.render("statistics_money", p)
}

// moneyReport reads the report of the month of a filter.
func (v *visit) moneyReport(filter *web.Form) (store.MoneyReport, error) {
	return read[store.MoneyReport](v, operation.GetMoneyReport, v.with(store.MoneyQuery{Month: given(filter, "month")}))
}

// HasMoney reports whether there was any money.
func (p moneyPage) HasMoney() bool { return p.Report.Total != store.MoneySums{} }
