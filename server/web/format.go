package web

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// at returns a time in the printer's zone. It takes a time.Time, a pointer to one or what
// has a method Std, and reports whether there is a time at all.
func (p *Printer) at(t any) (time.Time, bool) {
	var at time.Time
	switch t := t.(type) {
	case time.Time:
		at = t
	case *time.Time:
		if t == nil {
			return at, false
		}
		at = *t
	case interface{ Std() time.Time }:
		at = t.Std()
	default:
		return at, false
	}
	if p.location != nil {
		at = at.In(p.location)
	}
	return at, !at.IsZero()
}

// Date returns a day, such as 22 Nov 2026.
func (p *Printer) Date(t time.Time) string { return p.format(t, p.locale.date) }

// Day returns a date of a calendar, such as 2026-11-22, as Date returns a day.
func (p *Printer) Day(date string) string {
	t, _ := time.Parse(time.DateOnly, date) // it is valid
	return p.In(time.UTC).Date(t)
}

// Birthday returns a day without a year, such as 02-29, as DayMonth does, and nothing for an empty text.
func (p *Printer) Birthday(date string) string {
	t, _ := time.Parse(time.DateOnly, "2000-"+date) // a leap year
	return p.In(time.UTC).DayMonth(t)
}

// LongDate returns a day with its weekday, such as Sunday, 22 November 2026.
func (p *Printer) LongDate(t time.Time) string { return p.format(t, p.locale.longDate) }

// DayMonth returns a day without its year, such as 22 Nov.
func (p *Printer) DayMonth(t time.Time) string { return p.format(t, p.locale.dayMonth) }

// Time returns the time of day, such as 14:32.
func (p *Printer) Time(t time.Time) string { return p.format(t, "{t}") }

// DateTime returns a day and a time of day, such as 22 Nov 2026, 14:32.
func (p *Printer) DateTime(t time.Time) string { return p.format(t, p.locale.date+", {t}") }

// Moment returns a day and a time of day with seconds, such as 22 Nov 2026 14:32:07.
func (p *Printer) Moment(t time.Time) string { return p.format(t, p.locale.date+" {c}") }

// format returns a pattern with the parts of a time in its placeholders: {d} day, {m} month, {s} short
// month, {y} year, {w} weekday, {t} time of day, {c} the same with seconds. It returns nothing for the zero time.
func (p *Printer) format(t time.Time, pattern string) string {
	t, ok := p.at(t)
	if !ok {
		return ""
	}
	return strings.NewReplacer(
		"{d}", strconv.Itoa(t.Day()),
		"{m}", p.locale.months[t.Month()-1],
		"{s}", p.ShortMonth(t.Month()),
		"{y}", strconv.Itoa(t.Year()),
		"{w}", p.Weekday(t.Weekday()),
		"{t}", t.Format("15:04"),
		"{c}", t.Format(time.TimeOnly),
	).Replace(pattern)
}

// Weekday returns the name of a weekday.
func (p *Printer) Weekday(d time.Weekday) string { return p.locale.weekdays[d] }

// ShortWeekday returns the abbreviation of a weekday, such as Mon.
func (p *Printer) ShortWeekday(d time.Weekday) string { return p.locale.shortDays[d] }

// ShortMonth returns the abbreviation of a month, such as Nov.
func (p *Printer) ShortMonth(m time.Month) string { return p.locale.shortMonths[m-1] }

// Ago returns how long before now a time was, such as "3 minutes ago"; after a week it
// returns the day.
func (p *Printer) Ago(t, now time.Time) string {
	switch d := now.Sub(t); {
	case d < 0:
		return p.DateTime(t)
	case d < time.Minute:
		return p.T("just now")
	case d < time.Hour:
		return p.T("{0} minute ago|{0} minutes ago", int(d/time.Minute))
	case d < 24*time.Hour:
		return p.T("{0} hour ago|{0} hours ago", int(d/time.Hour))
	case d < 7*24*time.Hour:
		return p.T("{0} day ago|{0} days ago", int(d/(24*time.Hour)))
	}
	return p.Date(t)
}

// GroupCode returns a code as people read it out: in capitals and groups of four, such as
// K7QM-2X9P.
func GroupCode(code string) string {
	var groups []string
	for group := range slices.Chunk([]byte(strings.ToUpper(code)), 4) {
		groups = append(groups, string(group))
	}
	return strings.Join(groups, "-")
}

// Number returns an integer with groups of three digits, such as 12,345.
func (p *Printer) Number(n int64) string {
	sign, digits := splitSign(strconv.FormatInt(n, 10))
	return sign + p.groupDigits(digits)
}

// splitSign returns the sign of a number as it is written in texts, and the rest.
func splitSign(number string) (sign, rest string) {
	if rest, ok := strings.CutPrefix(number, "-"); ok {
		return "−", rest
	}
	return "", number
}

func (p *Printer) groupDigits(digits string) string {
	if len(digits) < p.locale.groupAt {
		return digits
	}
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteString(p.locale.group)
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Decimal returns a number with a number of decimals, such as 4.2, or with as many as it has if
// decimals is -1.
func (p *Printer) Decimal(x float64, decimals int) string {
	if decimals >= 0 {
		x = Round(x, decimals)
	}
	sign, digits := splitSign(strconv.FormatFloat(x, 'f', decimals, 64))
	whole, fraction, ok := strings.Cut(digits, ".")
	text := sign + p.groupDigits(whole)
	if ok {
		text += p.locale.decimal + fraction
	}
	return text
}

// Round returns a number rounded to a number of decimals. A half is rounded away from zero, and it is a
// half in decimal: 8.345 is 835%, although as a float64 it may be a little less than 834.5%.
func Round(x float64, decimals int) float64 {
	scale := math.Pow10(decimals)
	return math.Round(math.Round(x*scale*1e6)/1e6) / scale
}

// Percent returns a share of one as a percentage without decimals, such as 12%.
func (p *Printer) Percent(share float64) string {
	return p.Decimal(100*share, 0) + p.locale.percentSpace + "%"
}

// Bytes returns a size in the unit that suits it, such as 1.2 GB.
func (p *Printer) Bytes(n int64) string {
	const kilo = 1000.0
	size, unit := float64(n)/kilo, "kB"
	for _, larger := range []string{"MB", "GB", "TB"} {
		if size < kilo {
			break
		}
		size, unit = size/kilo, larger
	}
	decimals := 0
	if size < 10 && n > 0 {
		decimals = 1
	}
	return p.Decimal(size, decimals) + nbsp + unit
}

// Duration returns a time span in its largest unit, such as 3 days.
func (p *Printer) Duration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return p.T("{0} day|{0} days", int64(d/day))
	case d >= 2*time.Hour || d == time.Hour:
		return p.T("{0} hour|{0} hours", int64(d/time.Hour))
	}
	return p.T("{0} minute|{0} minutes", int64(d/time.Minute))
}

// Money returns an amount in the smallest units of a currency (ISO 4217), such as
// €12.50 for 1250 EUR.
func (p *Printer) Money(cents int64, currency string) string {
	return p.money(cents, currency, false)
}

// ShortMoney returns an amount as Money does, but without decimals if they are zero.
func (p *Printer) ShortMoney(cents int64, currency string) string {
	return p.money(cents, currency, true)
}

func (p *Printer) money(cents int64, currency string, short bool) string {
	sign, digits := splitSign(strconv.FormatInt(cents, 10))
	whole, fraction := splitAmount(digits, currency)
	amount := p.groupDigits(whole)
	if fraction != "" && !(short && strings.Trim(fraction, "0") == "") {
		amount += p.locale.decimal + fraction
	}
	mark, known := currencySigns[currency]
	if !known {
		mark = currency
	}
	switch {
	case !p.locale.moneyBefore:
		return sign + amount + nbsp + mark
	case known:
		return sign + mark + amount
	}
	return sign + mark + nbsp + amount
}
