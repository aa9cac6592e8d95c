package store

// PeriodQuery is the query of the report of a period.
type PeriodQuery struct {
	From      Opt[string] `json:"from" format:"date" doc:"First day, YYYY-MM-DD, of the shop's calendar. Default: 29 days before to."`
	To        Opt[string] `json:"to" format:"date" doc:"Last day, inclusive. Default: today. The span is at most 366 days."`
	ProgramID Opt[string] `json:"program_id" doc:"Only this program."`
}

// PeriodReport is what happened in a period, by day and by location.
type PeriodReport struct {
	From      string           `json:"from" format:"date"`
	To        string           `json:"to" format:"date" doc:"Inclusive."`
	Timezone  string           `json:"timezone"`
	Total     PeriodSums       `json:"total"`
	Days      []PeriodDay      `json:"days" doc:"Every day is present."`
	Locations []PeriodLocation `json:"locations" doc:"Those at which there was something, by name."`
	Hours     []HourCount      `json:"hours" doc:"Stamps by hour of the week, of all time; cells that are not zero."`
}

// PeriodSums are the sums of a part of a period, without what was reversed.
type PeriodSums struct {
	Activity      int64 `json:"activity" doc:"Rows of the ledger that are neither reversed nor reversals or expiries."`
	Stamps        int64 `json:"stamps"`
	NewCards      int64 `json:"new_cards" doc:"Overflow cards left out."`
	Redemptions   int64 `json:"redemptions"`
	ToppedUpCents int64 `json:"topped_up_cents"`
	SpentCents    int64 `json:"spent_cents"`
}

func (s *PeriodSums) add(o PeriodSums) {
	s.Activity += o.Activity
	s.Stamps += o.Stamps
	s.NewCards += o.NewCards
	s.Redemptions += o.Redemptions
	s.ToppedUpCents += o.ToppedUpCents
	s.SpentCents += o.SpentCents
}

// PeriodDay is the part of a period of one day.
type PeriodDay struct {
	Date string `json:"date" format:"date"`
	PeriodSums
}

// PeriodLocation is the part of a period of one location. New cards count at none.
type PeriodLocation struct {
	LocationID   string `json:"location_id"`
	LocationName string `json:"location_name"`
	PeriodSums
}

var periodSums = `sum(activity) AS activity, sum(stamps) AS stamps, sum(cards) AS cards, sum(redemptions) AS redemptions,
	sum(topped_up) AS topped_up, sum(spent) AS spent`

func (r *rows) periodSums() (s PeriodSums) {
	r.scan(&s.Activity, &s.Stamps, &s.NewCards, &s.Redemptions, &s.ToppedUpCents, &s.SpentCents)
	return s
}

// hours returns the stamps by hour of the week of the programs that cond selects.
func (v *View) hours(cond string, args ...any) []HourCount {
	return collect(
		v,
		func(r *rows) HourCount { return HourCount{r.int(), r.int(), r.int()} },
		"SELECT weekday, hour, sum(stamps) FROM hour_counts WHERE "+
			cond+" GROUP BY weekday, hour HAVING sum(stamps)<>0 ORDER BY weekday, hour",
		args...)
}

// Period returns what happened in a period.
func (v *View) Period(shop int64, q PeriodQuery) (p PeriodReport, err error) {
	v.snapshot()
	sh := v.shop(shop)
	from, to, err := span(q.From, q.To, v.today(sh), summaryDays)
	if err != nil {
		return p, err
	}
	cond, args := v.sumsOf(shop, q.ProgramID)
	p.Hours = v.hours(cond, args...)
	args = append(args, from, to)
	p.From, p.To, p.Timezone, p.Days = Date(from), Date(to), sh.Timezone, make([]PeriodDay, 0, to-from+1)
	for d := from; d <= to; d++ {
		p.Days = append(p.Days, PeriodDay{Date: Date(d)})
	}
	for r := range v.each("SELECT day, "+periodSums+" FROM day_counts WHERE "+cond+" AND day>=? AND day<=? GROUP BY day", args...) {
		d := &p.Days[r.int()-from]
		d.PeriodSums = r.periodSums()
		p.Total.add(d.PeriodSums)
	}
	p.Locations = collect(v, func(r *rows) PeriodLocation {
		return PeriodLocation{v.ID(KindLocation, r.int()), r.str(), r.periodSums()}
	}, "SELECT l.id, l.name, d.activity, d.stamps, d.cards, d.redemptions, d.topped_up, d.spent FROM (SELECT location_id, "+periodSums+`
		FROM day_counts WHERE `+cond+` AND day>=? AND day<=? GROUP BY location_id HAVING sum(activity)<>0) d
			JOIN locations l ON l.id=d.location_id ORDER BY l.name, l.id`, args...)
	return p, v.failed
}
