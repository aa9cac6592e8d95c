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
func (s *simulation) dates(n int) (list []string) {
	today := s.date(s.model.now)
	noon := check(time.Parse(time.DateOnly, today))
	for i := range n {
		list = append(list, noon.AddDate(0, 0, i-n+1).Format(time.DateOnly))
	}
	return list
}

func (s *simulation) local(at Time) time.Time {
	zone := check(time.LoadLocation(s.zone))
	return at.Std().In(zone)
}

func (s *simulation) date(at Time) string { return s.local(at).Format(time.DateOnly) }

func (s *simulation) byDay(n int, counts map[string]int64) *[]DayCount {
	list := []DayCount{}
	for _, d := range s.dates(n) {
		list = append(list, DayCount{d, counts[d]})
	}
	return &list
}

func (s *simulation) byLocation(counts map[int]int64) *[]PlaceCount {
	list := []PlaceCount{}
	for i, k := range s.tills {
		if counts[i] != 0 {
			list = append(list, PlaceCount{k.location, "", counts[i]})
		}
	}
	for i := range list {
		for _, l := range s.where() {
			if l.ID == list[i].LocationID {
				list[i].LocationName = l.Name
			}
		}
	}
	slices.SortFunc(list, func(a, b PlaceCount) int {
		return cmp.Or(
			cmp.Compare(a.LocationName, b.LocationName),
			cmp.Compare(s.f.key(KindLocation, a.LocationID), s.f.key(KindLocation, b.LocationID)),
		)
	})
	return &list
}

// where returns the locations.
func (s *simulation) where() (list []Location) {
	s.f.reads(func(v *View) {
		list = check(v.Locations(s.f.a, PageQuery{})).Data
	})
	return list
}

// counted returns the rows that count: not reversed, and neither reversals nor expiries nor adjustments.
func (s *simulation) counted(of func(*simProgram) bool) (list []*simRow) {
	for _, r := range s.model.rows {
		if of(r.card.chain.program) && !r.reversed && r.kind != "reversal" && r.kind != "expiry" && r.kind != "adjustment" {
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

func (s *simulation) sum(of func(*simProgram) bool) (n sums) {
	for _, h := range s.model.chains {
		if !of(h.program) {
			continue
		}
		for _, c := range h.cards {
			if c.status(s.model.now) == StatusActive && !h.erased {
				n.active++
			}
			switch {
			case c.done[c.cycle] || c.stamps == 0:
			case c.isComplete():
				n.completed++
			default:
				n.open++
			}
			if !c.archived && !h.erased {
				n.balance += c.value
			}
			n.completed += int64(len(c.done))
		}
	}
	for _, r := range s.counted(of) {
		switch r.kind {
		case "stamp":
			n.stamps += r.stamps.V
		case "redemption":
			n.redemptions++
		case "topup":
			n.up += r.value.V
		case "spend":
			n.spent -= r.value.V
		case "access", "discount":
			n.uses++
		}
	}
	return n
}

func ratio(a, b float64) *float64 {
	if b == 0 {
		return nil
	}
	q := a / b
	return &q
}

func (s *simulation) programStats(p *simProgram) ProgramStats {
	of := func(q *simProgram) bool { return q == p }
	sum := s.sum(of)
	st := ProgramStats{ActiveCards: &sum.active, TotalStampsAwarded: &sum.stamps, PrizesRedeemed: &sum.redemptions,
		CompletionRate: ratio(float64(sum.completed), float64(sum.completed+sum.open)), StampsByHourDow: &[]HourCount{}, Timezone: s.zone}
	cards, stamps := map[string]int64{}, map[string]int64{}
	cardsAt, stampsAt := map[int]int64{}, map[int]int64{}
	for _, h := range s.model.chains {
		if of(h.program) {
			cards[s.date(h.made)]++
			if h.firstLocation >= 0 {
				cardsAt[h.firstLocation]++
			}
		}
	}
	var week [7][24]int64
	first, last, n := map[*simCard]Time{}, map[*simCard]Time{}, map[*simCard]int{}
	for _, r := range s.counted(of) {
		if r.kind != "stamp" {
			continue
		}
		at := s.local(r.countedAt())
		stamps[s.date(r.countedAt())] += r.stamps.V
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
	st.CardsByDay, st.StampsByDay = s.byDay(90, cards), s.byDay(90, stamps)
	st.CardsByLocation, st.StampsByLocation = s.byLocation(cardsAt), s.byLocation(stampsAt)
	st.PlatformSplit = &Platforms{}
	for _, h := range s.model.chains {
		switch {
		case !of(h.program) || !h.installed || h.erased || h.expired(s.model.now) || len(h.live()) == 0:
		case h.platform == "apple":
			st.PlatformSplit.Apple++
		default:
			st.PlatformSplit.Google++
		}
	}
	return st
}

// activity returns the number of counted rows by day, of a location or, if it is negative, of all.
func (s *simulation) activity(of func(*simProgram) bool, location int) map[string]int64 {
	counts := map[string]int64{}
	for _, r := range s.counted(of) {
		if location < 0 || r.location == location {
			counts[s.date(r.countedAt())]++
		}
	}
	return counts
}

func every(*simProgram) bool { return true }

func (s *simulation) heatmap(location int) ActivityHeatmap {
	dates := s.dates(365)
	return ActivityHeatmap{dates[0], dates[364], *s.byDay(365, s.activity(every, location))}
}

func (s *simulation) cardStats(kind string) CardStats {
	of := func(p *simProgram) bool { return p.kind == kind }
	sum := s.sum(of)
	st := CardStats{CardType: kind, KPIs: map[string]*float64{}, ActivityByDay: &[]DayValue{}, Timezone: s.zone}
	put := func(name string, n int64) { f := float64(n); st.KPIs[name] = &f }
	put("active_cards", sum.active)
	switch kind {
	case "discount":
		put("uses", sum.uses)
	case "access":
		put("entries", sum.uses)
	case "prepaid":
		put("balance_cents", sum.balance)
		put("topped_up_cents", sum.up)
		put("spent_cents", sum.spent)
	default:
		put("stamps_awarded", sum.stamps)
		put("prizes_redeemed", sum.redemptions)
		st.KPIs["completion_rate"] = ratio(float64(sum.completed), float64(sum.completed+sum.open))
	}
	for _, d := range *s.byDay(90, s.activity(of, -1)) {
		*st.ActivityByDay = append(*st.ActivityByDay, DayValue{d.Date, d.Count})
	}
	return st
}

func (s *simulation) summary() (a AnalyticsSummary) {
	a.ActiveLocations = int64(len(s.where()))
	for _, p := range s.programs {
		if !p.suspended {
			a.ActivePrograms++
		}
	}
	cards := map[string]int64{}
	for _, h := range s.model.chains {
		cards[s.date(h.made)]++
	}
	for _, d := range *s.byDay(30, s.activity(every, -1)) {
		a.Activity30d += d.Count
	}
	for _, d := range *s.byDay(30, cards) {
		a.NewCards30d += d.Count
	}
	return a
}
