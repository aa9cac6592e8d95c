package store

import (
	"errors"
	"slices"
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

// today returns the number of the current day in a time zone.
func (v *View) today(zone string) int64 { return Day(v.Now.Std().In(Zone(zone))) }

// available returns what read returns. If read fails it logs the error and
// returns nil, so that the other figures are answered all the same.
func available[T any](v *View, what string, read func() (*T, error)) *T {
	out, err := read()
	if err != nil {
		v.s.opts.Log.Error("a statistic is unavailable", "statistic", what, "error", err)
		return nil
	}
	return out
}

// ProgramStats returns a program's statistics.
func (v *View) ProgramStats(a Access, id string) (st ProgramStats, err error) {
	if err := requireWholeShop(a); err != nil {
		return st, err
	}
	err = v.snapshot(func() error {
		p, err := v.s.program(v.conn, a, id)
		if err != nil {
			return err
		}
		sh, err := v.s.shop(v.conn, a.Shop)
		if err != nil {
			return err
		}
		st.Timezone = sh.Timezone
		today := v.today(sh.Timezone)

		st.ActiveCards = available(v, "active_cards", func() (*int64, error) { return v.activeCards(p.key) })
		st.TotalStampsAwarded = available(v, "total_stamps_awarded", func() (*int64, error) { return v.programCount(p.key, "stamps") })
		st.PrizesRedeemed = available(v, "prizes_redeemed", func() (*int64, error) { return v.programCount(p.key, "redemptions") })
		st.CompletionRate = available(v, "completion_rate", func() (*float64, error) {
			return v.ratio("SELECT completed, completed+open_cards FROM program_counts WHERE program_id=?", 1, p.key)
		})
		st.CardsByDay = available(v, "cards_by_day", func() (*[]DayCount, error) { return v.byDay("cards", "program_id=?", today-shownDays+1, today, p.key) })
		st.StampsByDay = available(v, "stamps_by_day", func() (*[]DayCount, error) { return v.byDay("stamps", "program_id=?", today-shownDays+1, today, p.key) })
		st.CardsByLocation = available(v, "cards_by_location", func() (*[]PlaceCount, error) { return v.byLocation("cards", p.key) })
		st.StampsByLocation = available(v, "stamps_by_location", func() (*[]PlaceCount, error) { return v.byLocation("stamps", p.key) })
		st.StampsByHourDow = available(v, "stamps_by_hour_dow", func() (*[]HourCount, error) { return v.byHour(p.key) })
		st.PlatformSplit = available(v, "platform_split", func() (*Platforms, error) { return v.platforms(p.key) })
		st.AvgDaysBetweenStamps = available(v, "avg_days_between_stamps", func() (*float64, error) {
			return v.ratio("SELECT span_ms, gaps FROM program_counts WHERE program_id=?", 24*60*60*1000, p.key)
		})
		return nil
	})
	return st, err
}

var errNoCounts = errors.New("there is no row of counts")

// programCounts reads columns of a program's row of counts, which must exist.
func (v *View) programCounts(scan func(*rows), program int64, cols ...string) error {
	ok, err := v.one(scan, "SELECT "+columns(cols...)+" FROM program_counts WHERE program_id=?", program)
	if err == nil && !ok {
		err = errNoCounts
	}
	return err
}

// programCount returns a column of a program's row of counts.
func (v *View) programCount(program int64, column string) (*int64, error) {
	var n int64
	err := v.programCounts(func(r *rows) { n = r.int() }, program, column)
	return &n, err
}

// ratio returns the first column of a row divided by unit and by the second
// column, nil if the second column is 0.
func (v *View) ratio(sql string, unit float64, args ...any) (*float64, error) {
	var numerator, denominator int64
	ok, err := v.one(func(r *rows) { numerator, denominator = r.int(), r.int() }, sql, args...)
	if err != nil || !ok {
		return nil, errors.Join(err, errNoCounts)
	}
	if denominator == 0 {
		return nil, nil
	}
	q := float64(numerator) / unit / float64(denominator)
	return &q, nil
}

// byDay returns the sums of a column of day_counts for every day from one to
// another. cond selects programs and locations.
func (v *View) byDay(column, cond string, from, to int64, args ...any) (*[]DayCount, error) {
	list := make([]DayCount, 0, to-from+1)
	for d := from; d <= to; d++ {
		list = append(list, DayCount{Date: Date(d)})
	}
	r := v.query("SELECT day, sum("+column+") FROM day_counts WHERE "+cond+" AND day>=? AND day<=? GROUP BY day", append(slices.Clone(args), from, to)...)
	for r.next() {
		day := r.int()
		list[day-from].Count = r.int()
	}
	return &list, r.close()
}

func (v *View) byLocation(column string, program int64) (*[]PlaceCount, error) {
	counts, err := list(v.conn, func(r *rows) PlaceCount { return PlaceCount{v.s.ID(KindLocation, r.int()), r.str(), r.int()} }, "SELECT c.location_id, l.name, c."+column+" FROM place_counts c JOIN locations l ON l.id=c.location_id WHERE c.program_id=? AND c."+column+"<>0 ORDER BY l.name, l.id", program)
	return &counts, err
}

func (v *View) byHour(program int64) (*[]HourCount, error) {
	hours, err := list(v.conn, func(r *rows) HourCount { return HourCount{r.int(), r.int(), r.int()} }, "SELECT weekday, hour, stamps FROM hour_counts WHERE program_id=? AND stamps<>0 ORDER BY weekday, hour", program)
	return &hours, err
}
