package e2e

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"time"

	"punchcard/server/servertest"
)

// dayStats has the fields of a program's statistics.
type dayStats struct {
	ActiveCards        int64    `json:"active_cards"`
	TotalStampsAwarded int64    `json:"total_stamps_awarded"`
	PrizesRedeemed     int64    `json:"prizes_redeemed"`
	CompletionRate     *float64 `json:"completion_rate"`
	CardsByDay         []dated  `json:"cards_by_day"`
	StampsByDay        []dated  `json:"stamps_by_day"`
	StampsByLocation   []struct {
		LocationID   string `json:"location_id"`
		LocationName string `json:"location_name"`
		Count        int64
	} `json:"stamps_by_location"`
	StampsByHourDow []struct {
		DayOfWeek int64 `json:"day_of_week"`
		Hour      int64
		Count     int64
	} `json:"stamps_by_hour_dow"`
	Average  *float64 `json:"avg_days_between_stamps"`
	Timezone string
}

type dated struct {
	Date  string
	Count int64
}

// nonZeroDays returns the days whose value is not zero. The list must have n days.
func (d *day) nonZeroDays(what string, list []dated, n int) map[string]int64 {
	d.t.Helper()
	if len(list) != n {
		d.t.Errorf("%s: %d days, want %d", what, len(list), n)
	}
	m := map[string]int64{}
	for _, x := range list {
		if x.Count != 0 {
			m[x.Date] = x.Count
		}
	}
	return m
}

// activeCards counts the cards that are listed as active.
func (d *day) activeCards(program string) (n int64) {
	for cursor := ""; ; {
		var page struct {
			Data       []stampedCard
			NextCursor *string `json:"next_cursor"`
		}
		d.api.Get("/cards?limit=100&status=active&program_id=" + program + cursor).Want(200).Decode(&page)
		n += int64(len(page.Data))
		if page.NextCursor == nil {
			return n
		}
		cursor = "&cursor=" + *page.NextCursor
	}
}

// programSums are what the statistics of a program must have, according to the ledger.
type programSums struct {
	stamps, prizes            int64
	byDay, byLocation, byHour map[string]int64
	gaps                      int64         // between one stamp of a card and the next
	between                   time.Duration // of all gaps
}

var rome = must(time.LoadLocation("Europe/Rome"))

// romeTime returns the time of a row in the shop's time zone.
func romeTime(r ledgerRow) time.Time { return must(time.Parse(time.RFC3339, r.CreatedAt)).In(rome) }

// sumRows returns the sums of a program. The rows are newest first.
func sumRows(rows []ledgerRow, program string) programSums {
	s := programSums{byDay: map[string]int64{}, byLocation: map[string]int64{}, byHour: map[string]int64{}}
	newest, oldest := map[string]time.Time{}, map[string]time.Time{} // stamps by card
	for _, r := range rows {
		switch {
		case r.ProgramID != program:
		case r.Type == "redemption":
			s.prizes++
		case r.Type == "stamp":
			at := romeTime(r)
			s.stamps += *r.StampsDelta
			s.byDay[at.Format(time.DateOnly)] += *r.StampsDelta
			s.byLocation[r.LocationName+" "+r.LocationID] += *r.StampsDelta
			s.byHour[fmt.Sprint(int(at.Weekday()), at.Hour())] += *r.StampsDelta
			if newest[r.CardID].IsZero() {
				newest[r.CardID] = at
			} else {
				s.gaps++
			}
			oldest[r.CardID] = at
		}
	}
	for card, at := range newest {
		s.between += at.Sub(oldest[card])
	}
	return s
}

// statistics compares the statistics with the ledger and returns those that are the same in every
// run.
func (d *day) statistics(rows []ledgerRow) (lines []string) {
	counted := filterRows(rows, func(r ledgerRow) bool { return r.ReversedAt == nil && r.Type != "reversal" && r.Type != "expiry" })
	d.api.Get("/programs/none/stats").Want(404, "not_found")
	for kind, id := range d.programs {
		lines = append(lines, d.programFigures(kind, id, counted))
	}
	d.checkActivity(counted)
	return append(lines, d.prepaidFigures(counted))
}

// programFigures compares the statistics of a program with the counted rows of the ledger and
// returns a line about those that are the same in every run.
func (d *day) programFigures(kind, id string, counted []ledgerRow) (line string) {
	d.firstLocation.Get("/programs/"+id+"/stats").Want(403, "location_scope_unsupported")
	d.otherShop.Get("/programs/"+id+"/stats").Want(404, "not_found")
	var st dayStats
	d.api.Get("/programs/" + id + "/stats").Want(200).Decode(&st)
	want := sumRows(counted, id)
	locations, hours := map[string]int64{}, map[string]int64{}
	for _, p := range st.StampsByLocation {
		locations[p.LocationName+" "+p.LocationID] = p.Count
	}
	for _, h := range st.StampsByHourDow {
		hours[fmt.Sprint(h.DayOfWeek, h.Hour)] = h.Count
	}
	active, issued := d.activeCards(id), int64(0)
	for _, p := range d.cardHolders {
		if p.id != "" && p.program == kind {
			issued++
		}
	}
	var cards int64
	for _, k := range d.nonZeroDays("cards_by_day", st.CardsByDay, 90) {
		cards += k
	}
	if st.ActiveCards != active || st.TotalStampsAwarded != want.stamps || st.PrizesRedeemed != want.prizes || cards != issued || st.Timezone != "Europe/Rome" {
		d.t.Errorf("%s: %d active cards, %d stamps, %d prizes, %d cards, in %s; the ledger has %d, %d, %d, %d", kind, st.ActiveCards, st.TotalStampsAwarded, st.PrizesRedeemed, cards, st.Timezone, active, want.stamps, want.prizes, issued)
	}
	if days := d.nonZeroDays("stamps_by_day", st.StampsByDay, 90); !maps.Equal(days, want.byDay) || !maps.Equal(locations, want.byLocation) || !maps.Equal(hours, want.byHour) {
		d.t.Errorf("%s: stamps %v %v %v; the ledger has %v %v %v", kind, days, locations, hours, want.byDay, want.byLocation, want.byHour)
	}
	if average := want.between.Hours() / 24 / float64(want.gaps); want.gaps == 0 != (st.Average == nil) || want.gaps > 0 && math.Abs(*st.Average-average) > 1e-9 {
		d.t.Errorf("%s: %v days between stamps, the ledger has %v", kind, st.Average, average)
	}
	line = fmt.Sprintf("%s: %d active, %d stamps, %d prizes, %d cards", kind, active, want.stamps, want.prizes, issued)
	if st.CompletionRate != nil {
		line += fmt.Sprint(", completed ", *st.CompletionRate)
	}
	return line
}

// checkActivity compares the heat maps and the summary with the counted rows of the ledger.
func (d *day) checkActivity(counted []ledgerRow) {
	heat := func(c *servertest.Client, query string) map[string]int64 {
		var h struct{ Days []dated }
		c.Get("/analytics/heatmap" + query).Want(200).Decode(&h)
		return d.nonZeroDays("heatmap", h.Days, 365)
	}
	activity := func(of func(ledgerRow) bool) map[string]int64 {
		m := map[string]int64{}
		for _, r := range filterRows(counted, of) {
			m[romeTime(r).Format(time.DateOnly)]++
		}
		return m
	}
	firstLocation := func(r ledgerRow) bool { return r.LocationID == d.locations[0] }
	coffee := d.programs["standard"]
	for what, figures := range map[string][2]map[string]int64{
		"the shop":                        {heat(d.api, ""), activity(func(ledgerRow) bool { return true })},
		"a program":                       {heat(d.api, "?program_id="+coffee), activity(func(r ledgerRow) bool { return r.ProgramID == coffee })},
		"a location":                      {heat(d.firstLocation, ""), activity(firstLocation)},
		"a program at a location":         {heat(d.firstLocation, "?program_id="+coffee), activity(func(r ledgerRow) bool { return firstLocation(r) && r.ProgramID == coffee })},
		"another shop":                    {heat(d.otherShop, ""), {}},
		"a program, read by another shop": {heat(d.otherShop, "?program_id="+coffee), {}},
	} {
		if !reflect.DeepEqual(figures[0], figures[1]) {
			d.t.Errorf("activity of %s is %v, the ledger has %v", what, figures[0], figures[1])
		}
	}
	var s struct {
		Activity30d int64 `json:"activity_30d"`
		NewCards30d int64 `json:"new_cards_30d"`
	}
	d.api.Get("/analytics/summary").Want(200).Decode(&s)
	if s.Activity30d != int64(len(counted)) || s.NewCards30d != int64(len(d.cardHolders)) {
		d.t.Errorf("%+v; the ledger has %d rows and %d cards", s, len(counted), len(d.cardHolders))
	}
}

// prepaidFigures compares the figures of prepaid cards with the ledger.
func (d *day) prepaidFigures(counted []ledgerRow) string {
	var balance, up, spent float64
	for _, p := range d.cardHolders {
		if p.program == "prepaid" {
			balance += float64(p.value)
		}
	}
	for _, r := range counted {
		switch r.Type {
		case "topup":
			up += float64(*r.ValueDelta)
		case "spend":
			spent -= float64(*r.ValueDelta)
		}
	}
	var st struct{ KPIs map[string]float64 }
	d.api.Get("/analytics/card-types/prepaid").Want(200).Decode(&st)
	if k := st.KPIs; k["balance_cents"] != balance || k["topped_up_cents"] != up || k["spent_cents"] != spent {
		d.t.Errorf("prepaid: %v; the ledger has %v, %v, %v", k, balance, up, spent)
	}
	return fmt.Sprintf("prepaid: %v cents on cards, %v topped up, %v spent", balance, up, spent)
}
