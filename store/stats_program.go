package store

import (
	"errors"
	"slices"
	"time"
)

// DayCount is the count of one day in the shop's time zone.
type DayCount struct {
	Date  string `json:"date" format:"date"`
	Count int64  `json:"count"`
}

// PlaceCount is the count of one location. The OpenAPI document has this name.
type PlaceCount struct {
	LocationID   string `json:"location_id"`
	LocationName string `json:"location_name"`
	Count        int64  `json:"count"`
}

// HourCount is the count of one hour of the week in the shop's time zone.
type HourCount struct {
	DayOfWeek int64 `json:"day_of_week" min:"0" doc:"0 is Sunday."`
	Hour      int64 `json:"hour" min:"0"`
	Count     int64 `json:"count"`
}

// Platforms are the numbers of chains with a live installed card, by platform.
type Platforms struct {
	Apple  int64 `json:"apple"`
	Google int64 `json:"google"`
}

// ProgramStats are a program's statistics. Each is computed by itself, and is
// null if that failed: null means unavailable, never zero.
type ProgramStats struct {
	ActiveCards          *int64        `json:"active_cards"`
	TotalStampsAwarded   *int64        `json:"total_stamps_awarded" doc:"Without reversed ones, like every sum here."`
	PrizesRedeemed       *int64        `json:"prizes_redeemed"`
	CompletionRate       *float64      `json:"completion_rate" doc:"Completed cycles, of these and the cards with a stamp in an open cycle; null also where there are none. A full card on which nothing is left to claim counts as completed."`
	CardsByDay           *[]DayCount   `json:"cards_by_day" doc:"The last 90 days, today included, every day present. Overflow cards are left out of all cards_by_…"`
	StampsByDay          *[]DayCount   `json:"stamps_by_day"`
	CardsByLocation      *[]PlaceCount `json:"cards_by_location" doc:"A card counts where it was issued at a counter or first accepted at a till; one never presented counts nowhere."`
	StampsByLocation     *[]PlaceCount `json:"stamps_by_location"`
	StampsByHourDow      *[]HourCount  `json:"stamps_by_hour_dow" doc:"Of all time, cells that are not zero."`
	PlatformSplit        *Platforms    `json:"platform_split" doc:"Live installed cards by the device family of the latest installation; a card and those it overflowed into count once."`
	AvgDaysBetweenStamps *float64      `json:"avg_days_between_stamps" doc:"Null also where no card was stamped twice."`
	Timezone             string        `json:"timezone" doc:"All days and hours are the shop's."`
}

// AnalyticsSummary contains the main figures of a shop.
type AnalyticsSummary struct {
	ActiveLocations int64 `json:"active_locations"`
	ActivePrograms  int64 `json:"active_programs"`
	Activity30d     int64 `json:"activity_30d" doc:"Rows of the ledger of the last 30 days, today included, that are neither reversed nor reversals or expiries."`
	NewCards30d     int64 `json:"new_cards_30d" doc:"Overflow cards left out."`
}

// ActivityHeatmap contains the activity of each day from one to another.
type ActivityHeatmap struct {
	From string     `json:"from" format:"date"`
	To   string     `json:"to" format:"date" doc:"Inclusive."`
	Days []DayCount `json:"days" doc:"Every day is present."`
}

// CardTypeCount is the number of active cards of one program type.
type CardTypeCount struct {
	Type     string `json:"type" enum:"standard,private,discount,access,prepaid"`
	Count    int64  `json:"count" doc:"Active cards."`
	LabelKey string `json:"label_key"`
	Color    string `json:"color"`
}

// CardTypeDistribution contains the counts of all five program types.
type CardTypeDistribution struct {
	Distribution []CardTypeCount `json:"distribution"`
}

// DayValue is the value of one day.
type DayValue struct {
	Date  string `json:"date" format:"date"`
	Value int64  `json:"value"`
}

// CardStats are the figures of all programs of one type.
type CardStats struct {
	CardType      string              `json:"card_type" enum:"standard,private,discount,access,prepaid"`
	KPIs          map[string]*float64 `json:"kpis" doc:"Null where unavailable, or a ratio over nothing."`
	ActivityByDay *[]DayValue         `json:"activity_by_day" doc:"The last 90 days, today included, every day present."`
	Timezone      string              `json:"timezone"`
}

// The numbers of days that statistics cover, today included.
const (
	shownDays   = 90
	summaryDays = 30
)

// requireWholeShop refuses a key that is restricted to locations, for figures
// that cannot be split by location.
func requireWholeShop(a Access) error {
	if a.Restricted {
		return refuse(LocationScopeUnsupported, "A location-restricted key cannot read this: it is not made of transactions alone.")
	}
	return nil
}

// local returns the time of the read or write in the zone of a shop.
func (q *queries) local(sh Shop) time.Time { return q.Now.Std().In(Zone(sh.Timezone)) }

// today returns the number of the current day by the calendar of a shop.
func (q *queries) today(sh Shop) int64 { return Day(q.local(sh)) }

// available returns what read returns. If read fails it logs the error and
// returns nil, so that the other figures are answered all the same.
func available[T any](v *View, what string, read func() T) *T {
	if v.failed != nil {
		return nil
	}
	out := read()
	if v.failed != nil {
		v.s.opts.Log.Error("a statistic is unavailable", "statistic", what, "error", v.failed)
		v.failed = nil
		return nil
	}
	return &out
}

// ProgramStats returns a program's statistics.
func (v *View) ProgramStats(a Access, id string) (st ProgramStats, err error) {
	if err := requireWholeShop(a); err != nil {
		return st, err
	}
	v.snapshot()
	p, err := v.program(a, id)
	if err != nil {
		return st, err
	}
	sh := v.shop(a.Shop)
	st.Timezone = sh.Timezone
	today := v.today(sh)

	count := func(what, column string) *int64 {
		return available(v, what, func() int64 { return v.programCount(p.key, column) })
	}
	byDay := func(column string) *[]DayCount {
		return available(v, column+"_by_day", func() []DayCount { return v.byDay(column, "program_id=?", today-shownDays+1, today, p.key) })
	}
	byLocation := func(column string) *[]PlaceCount {
		return available(v, column+"_by_location", func() []PlaceCount { return v.byLocation(column, p.key) })
	}
	st.ActiveCards = available(v, "active_cards", func() int64 { return v.activeCards(p.key) })
	st.TotalStampsAwarded, st.PrizesRedeemed = count("total_stamps_awarded", "stamps"), count("prizes_redeemed", "redemptions")
	st.CompletionRate = v.ratio("completion_rate", "SELECT completed, completed+open_cards FROM program_counts WHERE program_id=?", 1,
		p.key)
	st.CardsByDay, st.StampsByDay = byDay("cards"), byDay("stamps")
	st.CardsByLocation, st.StampsByLocation = byLocation("cards"), byLocation("stamps")
	st.StampsByHourDow = available(v, "stamps_by_hour_dow", func() []HourCount { return v.hours("program_id=?", p.key) })
	st.PlatformSplit = available(v, "platform_split", func() Platforms { return v.platforms(p.key) })
	st.AvgDaysBetweenStamps = v.ratio("avg_days_between_stamps", "SELECT span_ms, gaps FROM program_counts WHERE program_id=?",
		24*60*60*1000, p.key)
	return st, v.failed
}

var errNoCounts = errors.New("there is no row of counts")

// programCounts reads columns of a program's row of counts, which must exist, into variables.
func (v *View) programCounts(program int64, cols string, to ...any) {
	if !v.one(into(to...), "SELECT "+cols+" FROM program_counts WHERE program_id=?", program) {
		v.fail(errNoCounts)
	}
}

// programCount returns a column of a program's row of counts.
func (v *View) programCount(program int64, column string) (n int64) {
	v.programCounts(program, column, &n)
	return n
}

// ratio returns the first column of a row divided by unit and by the second
// column, nil if the second column is 0 or the figure, what, is unavailable.
func (v *View) ratio(what, sql string, unit float64, args ...any) *float64 {
	var numerator, denominator int64
	q := available(v, what, func() float64 {
		if !v.one(into(&numerator, &denominator), sql, args...) {
			v.fail(errNoCounts)
		}
		return float64(numerator) / unit / float64(denominator)
	})
	if denominator == 0 {
		return nil
	}
	return q
}

// byDay returns the sums of a column of day_counts for every day from one to
// another. cond selects programs and locations.
func (v *View) byDay(column, cond string, from, to int64, args ...any) []DayCount {
	list := make([]DayCount, 0, to-from+1)
	for d := from; d <= to; d++ {
		list = append(list, DayCount{Date: Date(d)})
	}
	for r := range v.each("SELECT day, sum("+column+") FROM day_counts WHERE "+cond+" AND day>=? AND day<=? GROUP BY day",
		append(slices.Clone(args), from, to)...) {
		day := r.int()
		list[day-from].Count = r.int()
	}
	return list
}

func (v *View) byLocation(column string, program int64) []PlaceCount {
	return collect(v, func(r *rows) PlaceCount { return PlaceCount{v.ID(KindLocation, r.int()), r.str(), r.int()} },
		"SELECT c.location_id, l.name, c."+column+` FROM place_counts c JOIN locations l ON l.id=c.location_id
		WHERE c.program_id=? AND c.`+column+"<>0 ORDER BY l.name, l.id", program)
}
