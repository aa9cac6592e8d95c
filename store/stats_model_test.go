package store

import (
	"cmp"
	"slices"
	"time"
)

// These methods compute the expected statistics from the model's rows by the documented rules,
// without the store's code.

// dates returns the last n days up to today in the shop's calendar. It uses noon, which every day
// has, and includes dates that a zone skipped.
func (y *year) dates(n int) (list []string) {
	today := y.date(y.model.now)
	noon, err := time.Parse(time.DateOnly, today)
	if err != nil {
		y.Fatal(err)
	}
	for i := range n {
		list = append(list, noon.AddDate(0, 0, i-n+1).Format(time.DateOnly))
	}
	return list
}

func (y *year) local(at Time) time.Time {
	zone, err := time.LoadLocation(y.zone)
	if err != nil {
		y.Fatal(err)
	}
	return at.Std().In(zone)
}

func (y *year) date(at Time) string { return y.local(at).Format(time.DateOnly) }

func (y *year) byDay(n int, counts map[string]int64) *[]DayCount {
	list := []DayCount{}
	for _, d := range y.dates(n) {
		list = append(list, DayCount{d, counts[d]})
	}
	return &list
}

func (y *year) byLocation(counts map[int]int64) *[]PlaceCount {
	list := []PlaceCount{}
	for i, k := range y.tills {
		if counts[i] != 0 {
			list = append(list, PlaceCount{k.location, "", counts[i]})
		}
	}
	for i := range list {
		for _, l := range y.where() {
			if l.ID == list[i].LocationID {
				list[i].LocationName = l.Name
			}
		}
	}
	slices.SortFunc(list, func(a, b PlaceCount) int {
		return cmp.Or(cmp.Compare(a.LocationName, b.LocationName), cmp.Compare(y.f.key(KindLocation, a.LocationID), y.f.key(KindLocation, b.LocationID)))
	})
	return &list
}

// where returns the locations.
func (y *year) where() (list []Location) {
	y.f.view(func(v *View) error {
		list = check(v.Locations(y.f.a, PageQuery{})).Data
		return nil
	})
	return list
}

// counted returns the rows that count: not reversed, and neither reversals nor expiries.
func (y *year) counted(of func(*simProgram) bool) (list []*simRow) {
	for _, r := range y.model.rows {
		if of(r.card.chain.program) && !r.reversed && r.kind != "reversal" && r.kind != "expiry" {
			list = append(list, r)
		}
	}
	return list
}

// countedAt returns the time at which the sums by time count a row.
func (r *simRow) countedAt() Time {
	if r.occurred.Valid {
		return r.occurred.V
	}
	return r.at
}

// sums are the figures of some programs.
type sums struct {
	active, stamps, redemptions, completed, open, balance, up, spent, uses int64
}

func (y *year) sum(of func(*simProgram) bool) (s sums) {
	for _, h := range y.model.chains {
		if !of(h.program) {
			continue
		}
		for _, c := range h.cards {
			if c.status(y.model.now) == StatusActive && !h.erased {
				s.active++
			}
			switch {
			case c.done[c.cycle] || c.stamps == 0:
			case c.isComplete():
				s.completed++
			default:
				s.open++
			}
			if !c.archived && !h.erased {
				s.balance += c.value
			}
			s.completed += int64(len(c.done))
		}
	}
	for _, r := range y.counted(of) {
		switch r.kind {
		case "stamp":
			s.stamps += r.stamps.V
		case "redemption":
			s.redemptions++
		case "topup":
			s.up += r.value.V
		case "spend":
			s.spent -= r.value.V
		case "access", "discount":
			s.uses++
		}
	}
	return s
}

func ratio(a, b float64) *float64 {
	if b == 0 {
		return nil
	}
	q := a / b
	return &q
}

func (y *year) program(p *simProgram) ProgramStats {
	of := func(q *simProgram) bool { return q == p }
	s := y.sum(of)
	st := ProgramStats{ActiveCards: &s.active, TotalStampsAwarded: &s.stamps, PrizesRedeemed: &s.redemptions,
		CompletionRate: ratio(float64(s.completed), float64(s.completed+s.open)), StampsByHourDow: &[]HourCount{}, Timezone: y.zone}
	cards, stamps := map[string]int64{}, map[string]int64{}
	cardsAt, stampsAt := map[int]int64{}, map[int]int64{}
	for _, h := range y.model.chains {
		if of(h.program) {
			cards[y.date(h.made)]++
			if h.firstLocation >= 0 {
				cardsAt[h.firstLocation]++
			}
		}
	}
	var week [7][24]int64
	first, last, n := map[*simCard]Time{}, map[*simCard]Time{}, map[*simCard]int{}
	for _, r := range y.counted(of) {
		if r.kind != "stamp" {
			continue
		}
		at := y.local(r.countedAt())
		stamps[y.date(r.countedAt())] += r.stamps.V
		stampsAt[r.location] += r.stamps.V
		week[at.Weekday()][at.Hour()] += r.stamps.V
		if n[r.card]++; n[r.card] == 1 {
			first[r.card] = r.at
		}
		last[r.card] = r.at
	}
	for day, hours := range week {
		for hour, k := range hours {
			if k != 0 {
				*st.StampsByHourDow = append(*st.StampsByHourDow, HourCount{int64(day), int64(hour), k})
			}
		}
	}
	var between time.Duration
	gaps := 0
	for c, k := range n {
		between += last[c].Std().Sub(first[c].Std())
		gaps += k - 1
	}
	st.AvgDaysBetweenStamps = ratio(float64(between.Milliseconds())/(24*60*60*1000), float64(gaps))
	st.CardsByDay, st.StampsByDay = y.byDay(90, cards), y.byDay(90, stamps)
	st.CardsByLocation, st.StampsByLocation = y.byLocation(cardsAt), y.byLocation(stampsAt)
	st.PlatformSplit = &Platforms{}
	for _, h := range y.model.chains {
		switch {
		case !of(h.program) || !h.installed || h.erased || h.expired(y.model.now) || len(h.live()) == 0:
		case h.platform == "apple":
			st.PlatformSplit.Apple++
		default:
			st.PlatformSplit.Google++
		}
	}
	return st
}

// activity returns the number of counted rows by day, of a location or, if it is negative, of all.
func (y *year) activity(of func(*simProgram) bool, location int) map[string]int64 {
	counts := map[string]int64{}
	for _, r := range y.counted(of) {
		if location < 0 || r.location == location {
			counts[y.date(r.countedAt())]++
		}
	}
	return counts
}

func every(*simProgram) bool { return true }

func (y *year) heatmap(location int) ActivityHeatmap {
	dates := y.dates(365)
	return ActivityHeatmap{dates[0], dates[364], *y.byDay(365, y.activity(every, location))}
}

func (y *year) kind(kind string) CardStats {
	of := func(p *simProgram) bool { return p.kind == kind }
	s := y.sum(of)
	st := CardStats{CardType: kind, KPIs: map[string]*float64{}, ActivityByDay: &[]DayValue{}, Timezone: y.zone}
	put := func(name string, n int64) { f := float64(n); st.KPIs[name] = &f }
	put("active_cards", s.active)
	switch kind {
	case "discount":
		put("uses", s.uses)
	case "access":
		put("entries", s.uses)
	case "prepaid":
		put("balance_cents", s.balance)
		put("topped_up_cents", s.up)
		put("spent_cents", s.spent)
	default:
		put("stamps_awarded", s.stamps)
		put("prizes_redeemed", s.redemptions)
		st.KPIs["completion_rate"] = ratio(float64(s.completed), float64(s.completed+s.open))
	}
	for _, d := range *y.byDay(90, y.activity(of, -1)) {
		*st.ActivityByDay = append(*st.ActivityByDay, DayValue{d.Date, d.Count})
	}
	return st
}

func (y *year) summary() (s AnalyticsSummary) {
	s.ActiveLocations = int64(len(y.where()))
	for _, p := range y.programs {
		if !p.suspended {
			s.ActivePrograms++
		}
	}
	cards := map[string]int64{}
	for _, h := range y.model.chains {
		cards[y.date(h.made)]++
	}
	for _, d := range *y.byDay(30, y.activity(every, -1)) {
		s.Activity30d += d.Count
	}
	for _, d := range *y.byDay(30, cards) {
		s.NewCards30d += d.Count
	}
	return s
}
