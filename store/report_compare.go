package store

import (
	"cmp"
	"math"
)

// CompareQuery names two periods, of which the second is compared with the first.
type CompareQuery struct {
	From        Opt[string] `json:"from" req:"true" format:"date" doc:"First day, YYYY-MM-DD, of the shop's calendar."`
	To          Opt[string] `json:"to" req:"true" format:"date" doc:"Last day, inclusive. The span is at most 366 days."`
	CompareFrom Opt[string] `json:"compare_from" format:"date" doc:"First day of the period to compare with. Default: as many whole weeks before from as the period is long, so that weekdays match."`
	CompareTo   Opt[string] `json:"compare_to" format:"date" doc:"Last day of it. Default: as long as the other period."`
	Weekday     Opt[int64]  `json:"weekday" min:"0" max:"6" doc:"Only this day of the week; 0 is Sunday."`
	ProgramID   Opt[string] `json:"program_id" doc:"Only this program."`
	LocationID  Opt[string] `json:"location_id" doc:"Only this location."`
}

// ComparedPeriod is one of two periods.
type ComparedPeriod struct {
	From          string      `json:"from" format:"date"`
	To            string      `json:"to" format:"date"`
	Days          int64       `json:"days" doc:"That are counted."`
	IncludesToday bool        `json:"includes_today" doc:"The last day has not ended."`
	Activity      int64       `json:"activity"`
	Stamps        int64       `json:"stamps"`
	NewCards      Null[int64] `json:"new_cards" doc:"Null for a location: new cards count at none."`
	Redemptions   int64       `json:"redemptions"`
	ToppedUpCents int64       `json:"topped_up_cents"`
	SpentCents    int64       `json:"spent_cents"`
}

// Difference is how a figure of the first period differs from that of the second.
type Difference struct {
	Absolute int64         `json:"absolute"`
	Percent  Null[float64] `json:"percent" doc:"To one decimal; null where the other figure is 0."`
}

// Comparison compares two periods.
type Comparison struct {
	Timezone string                `json:"timezone"`
	Period   ComparedPeriod        `json:"period"`
	With     ComparedPeriod        `json:"compared_with"`
	Change   map[string]Difference `json:"change"`
}

// periods returns the days of both periods.
func (q CompareQuery) periods() (a, b [2]int64, err error) {
	a = [2]int64{dayOf(q.From.V), dayOf(q.To.V)}
	length := a[1] - a[0] + 1
	weeks := (length + 6) / 7 * 7
	b[0] = a[0] - weeks
	if q.CompareFrom.Set {
		b[0] = dayOf(q.CompareFrom.V)
	}
	b[1] = b[0] + length - 1
	if q.CompareTo.Set {
		b[1] = dayOf(q.CompareTo.V)
	}
	const last = "the last day"
	return a, b, cmp.Or(checkSpan("from", a[0], a[1], last), checkSpan("compare_from", b[0], b[1], last))
}

// ComparePeriods compares two periods by the maintained sums. For a restricted key they
// are those of its locations.
func (v *View) ComparePeriods(a Access, q CompareQuery) (c Comparison, err error) {
	v.snapshot()
	sh := v.shop(a.Shop)
	first, second, err := q.periods()
	if err != nil {
		return c, err
	}
	cond, args := v.sumsOf(a.Shop, q.ProgramID)
	atLocation := a.Restricted || q.LocationID.Set
	if q.LocationID.Set {
		key, _, err := v.location(a, q.LocationID.V)
		if err != nil {
			return c, err
		}
		cond, args = cond+" AND location_id=?", append(args, key)
	} else if a.Restricted {
		cond, args = cond+" AND location_id IN (SELECT value FROM json_each(?))", append(args, jsonKeys(a.Locations))
	}
	if q.Weekday.Set { // 1970-01-01 was a Thursday
		cond, args = cond+" AND (day+4)%7=?", append(args, q.Weekday.V)
	}
	today := v.today(sh)
	c.Timezone = sh.Timezone
	c.Period = v.comparedPeriod(first, today, q.Weekday, atLocation, cond, args)
	c.With = v.comparedPeriod(second, today, q.Weekday, atLocation, cond, args)
	c.Change = c.Period.changes(c.With)
	return c, v.failed
}

func (v *View) comparedPeriod(days [2]int64, today int64, weekday Opt[int64], atLocation bool, cond string, args []any) (p ComparedPeriod) {
	p = ComparedPeriod{From: Date(days[0]), To: Date(days[1])}
	for d := days[0]; d <= min(days[1], today); d++ {
		if !weekday.Set || (d+4)%7 == weekday.V {
			p.Days++
			p.IncludesToday = p.IncludesToday || d == today
		}
	}
	v.one(
		into(&p.Activity, &p.Stamps, &p.NewCards, &p.Redemptions, &p.ToppedUpCents, &p.SpentCents),
		`SELECT ifnull(sum(activity), 0), ifnull(sum(stamps), 0), ifnull(sum(cards), 0), ifnull(sum(redemptions), 0),
		ifnull(sum(topped_up), 0), ifnull(sum(spent), 0) FROM day_counts WHERE `+cond+" AND day>=? AND day<=?",
		append(append([]any{}, args...), days[0], days[1])...)
	if atLocation {
		p.NewCards = Null[int64]{}
	}
	return p
}

// changes returns how the figures of p differ from those of with.
func (p ComparedPeriod) changes(with ComparedPeriod) map[string]Difference {
	change := map[string]Difference{}
	for name, n := range map[string][2]int64{
		"activity": {p.Activity, with.Activity}, "stamps": {p.Stamps, with.Stamps}, "redemptions": {p.Redemptions, with.Redemptions},
		"topped_up_cents": {p.ToppedUpCents, with.ToppedUpCents}, "spent_cents": {p.SpentCents, with.SpentCents},
		"new_cards": {p.NewCards.V, with.NewCards.V}} {
		if name == "new_cards" && !p.NewCards.Valid {
			continue
		}
		d := Difference{Absolute: n[0] - n[1]}
		if n[1] != 0 {
			d.Percent = Some(math.Round(float64(d.Absolute)/float64(n[1])*1000) / 10)
		}
		change[name] = d
	}
	return change
}
