package store

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// startIn returns a till of a new shop in a time zone, at a time.
func startIn(t *testing.T, zone, at string) till {
	c := &clock{}
	c.set(t, at)
	f := start(t, Options{Now: c.now})
	f.clock = c
	f.inZone(zone)
	return f.till()
}

func (c *clock) set(t testing.TB, at string) {
	when := check(time.Parse(time.RFC3339, at))
	c.ms.Store(when.UnixMilli())
}

func (f *fixture) inZone(zone string) {
	f.updateShop(ShopFields{Timezone: set(zone)})
}

func (f *fixture) statistics(program string) ProgramStats {
	return view(f, func(v *View) (ProgramStats, error) { return v.ProgramStats(f.a, program) })
}

// someDays returns the days of a list that are not zero.
func someDays(list *[]DayCount) (some []DayCount) {
	for _, d := range *list {
		if d.Count != 0 {
			some = append(some, d)
		}
	}
	return some
}

// zoneCases are times in time zones, as their clocks show them.
var zoneCases = []struct {
	name, zone string
	at         []string
}{
	{
		"a day of 23 hours", "Europe/Rome",
		[]string{
			"2026-03-28T23:59:59+01:00", "2026-03-29T00:00:00+01:00", "2026-03-29T01:59:59+01:00",
			"2026-03-29T03:00:00+02:00", "2026-03-29T23:59:59+02:00", "2026-03-30T00:00:00+02:00",
		},
	},
	{
		"a day of 25 hours", "Europe/Rome",
		[]string{
			"2026-10-24T23:59:59+02:00", "2026-10-25T00:00:00+02:00", "2026-10-25T02:30:00+02:00",
			"2026-10-25T02:30:00+01:00", "2026-10-25T23:59:59+01:00", "2026-10-26T00:00:00+01:00",
		},
	},
	{
		"a quarter off with summer time", "Pacific/Chatham",
		[]string{
			"2026-04-05T00:00:00+13:45", "2026-04-05T03:44:59+13:45", "2026-04-05T02:45:00+12:45",
			"2026-04-05T23:59:59+12:45", "2026-04-06T00:00:00+12:45",
		},
	},
	{
		"clocks put back half an hour", "Australia/Lord_Howe",
		[]string{
			"2026-04-04T23:59:59+11:00", "2026-04-05T01:45:00+11:00", "2026-04-05T01:45:00+10:30",
			"2026-04-05T02:00:00+10:30", "2026-04-06T00:00:00+10:30",
		},
	},
	{
		"clocks put forward half an hour", "Australia/Lord_Howe",
		[]string{
			"2026-10-04T00:00:00+10:30", "2026-10-04T01:59:59+10:30", "2026-10-04T02:30:00+11:00",
			"2026-10-04T23:59:59+11:00", "2026-10-05T00:00:00+11:00",
		},
	},
	{
		"a date that was skipped", "Pacific/Apia",
		[]string{"2011-12-29T00:00:00-10:00", "2011-12-29T23:59:59-10:00", "2011-12-31T00:00:00+14:00", "2012-01-01T00:00:00+14:00"},
	},
}

// TestDaysAndHoursOfZones checks that a stamp counts for the date and hour of the shop's local
// time, which are those in the strings of zoneCases.
func TestDaysAndHoursOfZones(t *testing.T) {
	t.Parallel()
	for _, c := range zoneCases {
		t.Run(c.name, func(t *testing.T) {
			k := startIn(t, c.zone, c.at[0])
			program, _ := k.ladder(true)
			var days []DayCount
			week := map[HourCount]int64{}
			for i, at := range c.at {
				k.clock.set(t, at)
				card := k.card(program)
				n := int64(i%3 + 1)
				k.stamped(card, n)
				date := at[:10]
				if last := len(days) - 1; last < 0 || days[last].Date != date {
					days = append(days, DayCount{Date: date})
				}
				days[len(days)-1].Count += n
				on := check(time.Parse("2006-01-02T15", at[:13]))
				week[HourCount{DayOfWeek: int64(on.Weekday()), Hour: int64(on.Hour())}] += n

				st := k.statistics(program)
				if got := someDays(st.StampsByDay); !slices.Equal(got, days) || (*st.StampsByDay)[89].Date != date {
					t.Fatalf("at %s the days are %v up to %s, want %v", at, got, (*st.StampsByDay)[89].Date, days)
				}
				for j, d := range *st.StampsByDay { // every date in sequence
					noon, _ := time.Parse(time.DateOnly, date)
					if want := noon.AddDate(0, 0, j-89).Format(time.DateOnly); d.Date != want || (*st.CardsByDay)[j].Date != want {
						t.Fatalf("day %d is %s, want %s", j, d.Date, want)
					}
				}
				sum := map[HourCount]int64{}
				for _, h := range *st.StampsByHourDow {
					sum[HourCount{DayOfWeek: h.DayOfWeek, Hour: h.Hour}] = h.Count
				}
				if len(sum) != len(week) {
					t.Fatalf("at %s the hours are %v, want %v", at, sum, week)
				}
				for h, n := range week {
					if sum[h] != n {
						t.Fatalf("at %s the hours are %v, want %v", at, sum, week)
					}
				}
			}
			k.checkFile()
			before := k.statistics(program)
			for _, zone := range append([]string{"UTC"}, someZones...) {
				k.inZone(zone)
				k.checkFile()
			}
			k.inZone(c.zone)
			k.checkFile()
			if after := k.statistics(program); !slices.Equal(*after.StampsByDay, *before.StampsByDay) ||
				!slices.Equal(*after.StampsByHourDow, *before.StampsByHourDow) ||
				!slices.Equal(*after.CardsByDay, *before.CardsByDay) {
				t.Error("the shop has other days after other zones and back")
			}
		})
	}
}

// TestTodayEndsAtMidnight checks that the last 90 days include today up to its last millisecond.
func TestTodayEndsAtMidnight(t *testing.T) {
	t.Parallel()
	for zone, midnight := range map[string]string{
		"Europe/Rome": "2026-03-30T00:00:00+02:00", "Australia/Lord_Howe": "2026-04-06T00:00:00+10:30",
		"Asia/Kathmandu": "2026-05-02T00:00:00+05:45", "UTC": "2026-05-02T00:00:00Z",
	} {
		t.Run(zone, func(t *testing.T) {
			k := startIn(t, zone, midnight)
			program, _ := k.ladder(true)
			card := k.card(program)
			k.stamped(card, 1) // the first millisecond of a day
			shown := func(want int64, at int) {
				t.Helper()
				st, h, s := k.statistics(program), ActivityHeatmap{}, AnalyticsSummary{}
				k.reads(func(v *View) {
					h = check(v.Heatmap(k.a, HeatmapQuery{}))
					s = check(v.Summary(k.a))
				})
				var sum int64
				for _, d := range *st.StampsByDay {
					sum += d.Count
				}
				if sum != want || want > 0 && (*st.StampsByDay)[89-at].Count != want || h.Days[364-at].Count != 1 {
					t.Errorf("%d days later: %v", at, someDays(st.StampsByDay))
				}
				if recent := int64(min(1, max(0, 30-at))); s.Activity30d != recent || s.NewCards30d != recent {
					t.Errorf("%d days later: %+v", at, s)
				}
			}
			day := Date(Day(k.clock.now().In(Zone(zone))))
			noon, _ := time.Parse(time.DateOnly, day)
			for _, at := range []int{0, 1, 29, 30, 89, 90} {
				next := noon.AddDate(0, 0, at+1)
				end := time.Date(next.Year(), next.Month(), next.Day(), 0, 0, 0, 0, Zone(zone))
				k.clock.ms.Store(end.UnixMilli() - 1)
				shown(map[bool]int64{true: 1, false: 0}[at < 90], at)
				k.clock.move(time.Millisecond)
				shown(map[bool]int64{true: 1, false: 0}[at+1 < 90], at+1)
			}
		})
	}
}

// TestChangeOfZone checks that another zone recounts all days and hours in one transaction with the
// stamps around it, and that a change that is rolled back, or of another shop, changes nothing.
func TestChangeOfZone(t *testing.T) {
	k := startIn(t, "Europe/Rome", "2026-03-29T23:30:00+02:00")
	other := k.shop(ShopFields{Timezone: set("Asia/Kathmandu")})
	program, _ := k.ladder(true)
	theirs := k.in(other).program(stamps("Theirs"))
	k.in(other).card(theirs)
	card := k.card(program)
	stamp := write(func(tx *Tx) error { return errorOf(tx.Stamp(k.device, card, StampFields{})) })
	move := func(zone string, then error) Write {
		return Write{Actor: operator, Do: func(tx *Tx) error {
			_, err := tx.UpdateShop(k.a.Shop, ShopFields{Timezone: set(zone)}, "")
			return errors.Join(err, then)
		}}
	}
	days := func(want string, hour int64, n int64) {
		t.Helper()
		k.checkFile()
		st := k.statistics(program)
		if got := someDays(st.StampsByDay); len(got) != 1 || got[0] != (DayCount{want, n}) || len(*st.StampsByHourDow) != 1 ||
			(*st.StampsByHourDow)[0].Hour != hour {
			t.Errorf("%v %v, want %s at %d", got, *st.StampsByHourDow, want, hour)
		}
		if n := k.number(
			"SELECT count(*) FROM day_counts WHERE day=(SELECT min(day) FROM day_counts WHERE program_id=?1) AND program_id=?1 AND cards=1",
			k.key(KindProgram, theirs),
		); n != 1 {
			t.Error("the other shop's days changed")
		}
	}
	k.group(stamp)
	days("2026-03-29", 23, 1)
	before := k.dump()
	for _, err := range k.group(move("Asia/Kolkata", errors.New("taken back"))) {
		if err == nil {
			t.Error("the change was made")
		}
	}
	if after := k.dump(); after != before {
		t.Errorf("a change that was rolled back changed rows: %s", firstDifference(before, after))
	}
	k.group(stamp, move("Asia/Kolkata", nil), stamp)
	days("2026-03-30", 3, 3)
	k.group(move("UTC", nil), stamp, move("America/New_York", errors.New("taken back")), stamp)
	days("2026-03-29", 21, 5)
	k.group(stamp, move("Asia/Tokyo", nil), stamp, move("Europe/Rome", nil), stamp)
	days("2026-03-29", 23, 8)
	if st := k.statistics(program); st.Timezone != "Europe/Rome" {
		t.Errorf("timezone %q", st.Timezone)
	}
	for _, none := range []string{"Europe/Atlantis", "", "Local", "../UTC"} {
		refused(t, k.do(move(none, nil).Do), ValidationFailed)
	}
	days("2026-03-29", 23, 8)
}

// TestZonesAreInTheBinary checks that time zones do not depend on the machine.
func TestZonesAreInTheBinary(t *testing.T) {
	t.Parallel()
	exe := check(os.Executable())
	b := check(os.ReadFile(exe))
	if !bytes.Contains(b, []byte("time/tzdata.loadFromEmbeddedTZData")) {
		t.Error("the binary does not contain the time zones")
	}
	if z := Zone("Europe/Atlantis"); z != time.UTC {
		t.Errorf("an unknown zone is read as %s", z)
	}
	for _, name := range someZones {
		if z := Zone(name); z.String() != name || strings.Contains(z.String(), "UTC") != (name == "UTC") {
			t.Errorf("%s is read as %s", name, z)
		}
	}
}
