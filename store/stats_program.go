package store

import (
	"errors"
	"slices"
)

// DayCount is a day's number, of the shop's calendar.
type DayCount struct {
	Date  string `json:"date" format:"date"`
	Count int64  `json:"count"`
}

// PlaceCount is a location's number.
type PlaceCount struct {
	LocationID   string `json:"location_id"`
	LocationName string `json:"location_name"`
	Count        int64  `json:"count"`
}

// HourCount is an hour of the week's number, of the shop's clock.
type HourCount struct {
	DayOfWeek int64 `json:"day_of_week" min:"0" doc:"0 is Sunday."`
	Hour      int64 `json:"hour" min:"0"`
	Count     int64 `json:"count"`
}

// Platforms are the installed cards by device family.
type Platforms struct {
	Apple  int64 `json:"apple"`
	Google int64 `json:"google"`
}

// ProgramStats are a program's statistics (spec Program statistics). Each is
// computed by itself and null where that failed: null means unavailable, never
// zero.
type ProgramStats struct {
	ActiveCards          *int64        `json:"active_cards"`
	TotalStampsAwarded   *int64        `json:"total_stamps_awarded" doc:"Without reversed ones, like every sum here."`
	PrizesRedeemed       *int64        `json:"prizes_redeemed"`
	CompletionRate       *float64      `json:"completion_rate" doc:"Completed cycles, of these and the cards with a stamp in an open cycle; null also where there are none."`
	CardsByDay           *[]DayCount   `json:"cards_by_day" doc:"The last 90 days, today included, every day present. Overflow cards are left out of all cards_by_…"`
	StampsByDay          *[]DayCount   `json:"stamps_by_day"`
	CardsByLocation      *[]PlaceCount `json:"cards_by_location" doc:"A card counts where it was issued at a counter or first presented."`
	StampsByLocation     *[]PlaceCount `json:"stamps_by_location"`
	StampsByHourDow      *[]HourCount  `json:"stamps_by_hour_dow" doc:"Of all time, cells that are not zero."`
	PlatformSplit        *Platforms    `json:"platform_split" doc:"Installed cards."`
	AvgDaysBetweenStamps *float64      `json:"avg_days_between_stamps" doc:"Null also where no card was stamped twice."`
	Timezone             string        `json:"timezone" doc:"All days and hours are the shop's."`
}

// AnalyticsSummary is the shop at a glance (spec Other analytics shapes).
type AnalyticsSummary struct {
	ActiveLocations int64 `json:"active_locations"`
	ActivePrograms  int64 `json:"active_programs"`
	Activity30d     int64 `json:"activity_30d" doc:"Rows of the ledger of the last 30 days, today included, that are neither reversed nor reversals or expiries."`
	NewCards30d     int64 `json:"new_cards_30d" doc:"Overflow cards left out."`
}

// ActivityHeatmap is the activity of each day of a span.
type ActivityHeatmap struct {
	From string     `json:"from" format:"date"`
	To   string     `json:"to" format:"date" doc:"Inclusive."`
	Days []DayCount `json:"days" doc:"Every day is present."`
}

// CardTypeCount is one type of the distribution.
type CardTypeCount struct {
	Type     string `json:"type" enum:"standard,private,discount,access,prepaid"`
	Count    int64  `json:"count" doc:"Active cards."`
	LabelKey string `json:"label_key"`
	Color    string `json:"color"`
}

// CardTypeDistribution are all five types, in the order of the spec.
type CardTypeDistribution struct {
	Distribution []CardTypeCount `json:"distribution"`
}

// DayValue is a day's value.
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

// The spans of days that statistics show.
const (
	shownDays   = 90
	summaryDays = 30
)

// wholeShop refuses a key that may see some locations only: these figures
// cannot be told apart by location.
func requireWholeShop(a Access) error {
	if a.Restricted {
		return refuse(LocationScopeUnsupported, "A location-restricted key cannot read this: it is not made of transactions alone.")
	}
	return nil
}

// today is the number of the present day in a shop's calendar.
func (v *View) today(zone string) int64 { return Day(v.Now.Std().In(Zone(zone))) }

// available is what a sub-query gave, or nil where it failed: the other figures
// are answered all the same.
func available[T any](v *View, what string, read func() (*T, error)) *T {
	out, err := read()
	if err != nil {
		v.s.opts.Log.Error("a statistic is unavailable", "statistic", what, "error", err)
		return nil
	}
	return out
}

// ProgramStats are a program's figures (GET /programs/{id}/stats).
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
		one := func(column string) func() (*int64, error) {
			return func() (*int64, error) {
				return v.count("SELECT "+column+" FROM program_counts WHERE program_id=?", p.key)
			}
		}
		st.ActiveCards = available(v, "active_cards", func() (*int64, error) { return v.activeCards(p.key) })
		st.TotalStampsAwarded = available(v, "total_stamps_awarded", one("stamps"))
		st.PrizesRedeemed = available(v, "prizes_redeemed", one("redemptions"))
		st.CompletionRate = available(v, "completion_rate", func() (*float64, error) {
			return v.ratio("SELECT "+columns("completed", "completed+open_cards")+" FROM program_counts WHERE program_id=?", 1, p.key)
		})
		st.CardsByDay = available(v, "cards_by_day", func() (*[]DayCount, error) { return v.byDay("cards", "program_id=?", today-shownDays+1, today, p.key) })
		st.StampsByDay = available(v, "stamps_by_day", func() (*[]DayCount, error) { return v.byDay("stamps", "program_id=?", today-shownDays+1, today, p.key) })
		st.CardsByLocation = available(v, "cards_by_location", func() (*[]PlaceCount, error) { return v.byLocation("cards", p.key) })
		st.StampsByLocation = available(v, "stamps_by_location", func() (*[]PlaceCount, error) { return v.byLocation("stamps", p.key) })
		st.StampsByHourDow = available(v, "stamps_by_hour_dow", func() (*[]HourCount, error) { return v.byHour(p.key) })
		st.PlatformSplit = available(v, "platform_split", func() (*Platforms, error) { return v.platforms(p.key) })
		st.AvgDaysBetweenStamps = available(v, "avg_days_between_stamps", func() (*float64, error) {
			return v.ratio("SELECT "+columns("span_ms", "gaps")+" FROM program_counts WHERE program_id=?", 24*60*60*1000, p.key)
		})
		return nil
	})
	return st, err
}

var errNoCounts = errors.New("there is no row of counts")

// figure is a single number that must be there.
func (v *View) count(sql string, args ...any) (*int64, error) {
	var n int64
	ok, err := v.one(func(r *rows) { n = r.int() }, sql, args...)
	if err == nil && !ok {
		err = errNoCounts
	}
	return &n, err
}

// ratio divides the two columns of a row, each unit of the result being so many
// of the dividend's; nil over nothing.
func (v *View) ratio(sql string, unit float64, args ...any) (*float64, error) {
	var above, below int64
	ok, err := v.one(func(r *rows) { above, below = r.int(), r.int() }, sql, args...)
	if err != nil || !ok {
		return nil, errors.Join(err, errNoCounts)
	}
	if below == 0 {
		return nil, nil
	}
	q := float64(above) / unit / float64(below)
	return &q, nil
}

// byDay sums a column of day_counts from one day to another, every day
// present. cond selects programs and places.
func (v *View) byDay(column, cond string, from, to int64, args ...any) (*[]DayCount, error) {
	list := make([]DayCount, 0, to-from+1)
	for d := from; d <= to; d++ {
		list = append(list, DayCount{Date: Date(d)})
	}
	r := v.query("SELECT "+columns("day", "sum("+column+")")+" FROM day_counts WHERE "+cond+" AND day>=? AND day<=? GROUP BY day", append(slices.Clone(args), from, to)...)
	for r.next() {
		day := r.int()
		list[day-from].Count = r.int()
	}
	return &list, r.close()
}

func (v *View) byLocation(column string, program int64) (*[]PlaceCount, error) {
	list := []PlaceCount{}
	r := v.query("SELECT "+columns("c.location_id", "l.name", "c."+column)+" FROM place_counts c JOIN locations l ON l.id=c.location_id WHERE c.program_id=? AND c."+column+"<>0 ORDER BY l.name, l.id", program)
	for r.next() {
		list = append(list, PlaceCount{v.s.ID(KindLocation, r.int()), r.str(), r.int()})
	}
	return &list, r.close()
}

func (v *View) byHour(program int64) (*[]HourCount, error) {
	list := []HourCount{}
	r := v.query("SELECT "+columns("weekday", "hour", "stamps")+" FROM hour_counts WHERE program_id=? AND stamps<>0 ORDER BY weekday, hour", program)
	for r.next() {
		list = append(list, HourCount{r.int(), r.int(), r.int()})
	}
	return &list, r.close()
}

func (v *View) platforms(program int64) (*Platforms, error) {
	var p Platforms
	ok, err := v.one(func(r *rows) { p.Apple, p.Google = r.int(), r.int() }, "SELECT "+columns("apple", "google")+" FROM program_counts WHERE program_id=?", program)
	if err == nil && !ok {
		err = errNoCounts
	}
	return &p, err
}
