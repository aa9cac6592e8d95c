package web

import (
	"testing"
	"time"
)

// TestT checks the placeholders and forms of texts.
func TestT(t *testing.T) {
	en, fr, it := PrinterFor("en"), PrinterFor("fr"), PrinterFor("it")
	const cards = "{0} card|{0} cards"
	for _, c := range []struct{ got, want string }{
		{en.T("Save"), "Save"},
		{en.T("{1} of {0}", 12345, "x"), "x of 12,345"},
		{en.T("{0} {0}", "a"), "a a"},
		{en.T("{2} {x} { {0}", "a"), "{2} {x} { a"},
		{en.T("{0}", "{1}", "no"), "{1}"}, // an argument is never read as a text
		{en.T(cards, 0), "0 cards"},
		{en.T(cards, 1), "1 card"},
		{en.T(cards, int64(1200)), "1,200 cards"},
		{fr.T(cards, 0), "0 card"},
		{fr.T(cards, 2), "2 cards"},
		{it.T(cards, 1), "1 card"}, // not in the table
		{it.T("Cancel"), "Annulla"},
		{it.T("{0} day ago|{0} days ago", 1), "1 giorno fa"},
		{it.T("{0} day ago|{0} days ago", 3), "3 giorni fa"},
		{en.T("Card of {0}.", "محمد"), "Card of \u2068محمد\u2069."},
		{en.T("Card of {0}.", "a\u202eb"), "Card of \u2068a\u202eb\u2069."},
		{PrinterFor("xx").T("Cancel"), "Cancel"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestFormats checks dates, numbers and amounts in all languages. The values are those of
// the Unicode Common Locale Data Repository, except German and Portuguese dates, which
// name the month, and the sign of negative numbers, which is a minus.
func TestFormats(t *testing.T) {
	at := time.Date(2026, 11, 22, 14, 5, 0, 0, time.UTC)
	want := map[string][]string{
		"en": {
			"22 Nov 2026", "Sunday, 22 November 2026", "22 Nov", "22 Nov 2026, 14:05", "1,234",
			"1,234,567", "12%", "€1,250.50", "−€5.00", "¥1,250", "CHF\u00a012.50", "€12", "€12.05", "4.2",
		},
		"it": {
			"22 nov 2026", "domenica 22 novembre 2026", "22 nov", "22 nov 2026, 14:05", "1234",
			"1.234.567", "12%", "1250,50\u00a0€", "−5,00\u00a0€", "1250\u00a0¥", "12,50\u00a0CHF", "12\u00a0€",
			"12,05\u00a0€", "4,2",
		},
		"es": {
			"22 nov 2026", "domingo, 22 de noviembre de 2026", "22 nov", "22 nov 2026, 14:05",
			"1234", "1.234.567", "12\u00a0%", "1250,50\u00a0€", "−5,00\u00a0€", "1250\u00a0¥", "12,50\u00a0CHF",
			"12\u00a0€", "12,05\u00a0€", "4,2",
		},
		"fr": {
			"22 nov. 2026", "dimanche 22 novembre 2026", "22 nov.", "22 nov. 2026, 14:05",
			"1\u202f234", "1\u202f234\u202f567", "12\u202f%", "1\u202f250,50\u00a0€", "−5,00\u00a0€",
			"1\u202f250\u00a0¥", "12,50\u00a0CHF", "12\u00a0€", "12,05\u00a0€", "4,2",
		},
		"de": {
			"22. Nov. 2026", "Sonntag, 22. November 2026", "22. Nov.", "22. Nov. 2026, 14:05", "1.234",
			"1.234.567", "12\u00a0%", "1.250,50\u00a0€", "−5,00\u00a0€", "1.250\u00a0¥", "12,50\u00a0CHF", "12\u00a0€",
			"12,05\u00a0€", "4,2",
		},
		"pt": {
			"22 nov. 2026", "domingo, 22 de novembro de 2026", "22 nov.", "22 nov. 2026, 14:05",
			"1234", "1\u00a0234\u00a0567", "12%", "1250,50\u00a0€", "−5,00\u00a0€", "1250\u00a0¥", "12,50\u00a0CHF",
			"12\u00a0€", "12,05\u00a0€", "4,2",
		},
	}
	for _, lang := range Locales {
		p := PrinterFor(lang)
		for i, got := range []string{
			p.Date(at), p.LongDate(at), p.DayMonth(at), p.DateTime(at), p.Number(1234), p.Number(1234567), p.Percent(0.12),
			p.Money(125050, "EUR"), p.Money(-500, "EUR"), p.Money(1250, "JPY"), p.Money(1250, "CHF"),
			p.ShortMoney(1200, "EUR"), p.ShortMoney(1205, "EUR"), p.Decimal(4.2, 1),
		} {
			if got != want[lang][i] {
				t.Errorf("%s: got %q, want %q", lang, got, want[lang][i])
			}
		}
	}
}

// TestSmallAmounts checks that an amount has all its decimals.
func TestSmallAmounts(t *testing.T) {
	p := PrinterFor("en")
	for _, c := range []struct {
		cents    int64
		currency string
		want     string
	}{{0, "EUR", "€0.00"}, {7, "EUR", "€0.07"}, {-7, "EUR", "−€0.07"}, {1, "KWD", "KWD\u00a00.001"}, {100, "USD", "$1.00"},
		{-9223372036854775808, "JPY", "−¥9,223,372,036,854,775,808"}} {
		if got := p.Money(c.cents, c.currency); got != c.want {
			t.Errorf("%d %s is %q, want %q", c.cents, c.currency, got, c.want)
		}
	}
}

// TestZone checks that dates are shown in the zone of the printer, and that there is no
// text for no time.
func TestZone(t *testing.T) {
	at := time.Date(2026, 11, 22, 23, 30, 0, 0, time.UTC)
	p := PrinterFor("en")
	rome := p.In(time.FixedZone("CET", 3600))
	for got, want := range map[string]string{
		rome.DateTime(at): "23 Nov 2026, 00:30",
		p.DateTime(at):    "22 Nov 2026, 23:30",
		p.Date(time.Time{}) + rome.Date(time.Time{}): "",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestAgo checks the texts for the time that has passed.
func TestAgo(t *testing.T) {
	now := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	p := PrinterFor("en")
	for d, want := range map[time.Duration]string{
		0: "just now", time.Minute: "1 minute ago", 59 * time.Minute: "59 minutes ago", time.Hour: "1 hour ago",
		47 * time.Hour: "1 day ago", 7 * 24 * time.Hour: "15 Nov 2026", -time.Minute: "22 Nov 2026, 14:01",
	} {
		if got := p.Ago(now.Add(-d), now); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// TestMatch checks the choice of a language.
func TestMatch(t *testing.T) {
	for header, want := range map[string]string{
		"": "", "de": "de", "DE-at": "de", "ja,it;q=0.3,fr;q=0.7": "fr", "fr;q=0,it;q=0.1": "it", "ja": "", "*": "en", "ja, *;q=0.5": "en",
		"es;q=2": "es", "es;q=x,pt": "", "pt-BR,pt;q=0.9,en;q=0.8": "pt", "en;q=0.8, de;q=0.8": "en", ";;;,,=": "", "de;level=1": "",
	} {
		if got := Match(header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

// TestChangeOf checks how two figures are compared.
func TestChangeOf(t *testing.T) {
	p := PrinterFor("en")
	for _, c := range []struct {
		now, before int64
		want        Change
	}{{112, 100, Change{"+12%", "good"}}, {88, 100, Change{"−12%", ""}}, {5, 5, Change{"±0%", ""}}, {5, 0, Change{}},
		{0, 0, Change{"±0%", ""}}, {1869, 200, Change{"+835%", "good"}}, {401, 200, Change{"+101%", "good"}}, {199, 200, Change{"−1%", ""}},
		{403, 200, Change{"+102%", "good"}}, {200329, 200000, Change{"+0%", "good"}}} {
		if got := p.ChangeOf(c.now, c.before); got != c.want {
			t.Errorf("%d after %d: %v, want %v", c.now, c.before, got, c.want)
		}
	}
}

// TestLocales checks that every language has a name for each month and each weekday.
func TestLocales(t *testing.T) {
	for language, l := range localeOf {
		if len(l.months) != 12 || len(l.shortMonths) != 12 || len(l.weekdays) != 7 || len(l.shortDays) != 7 {
			t.Errorf("%s has the months %q and %q, and the weekdays %q and %q", language, l.months, l.shortMonths, l.weekdays, l.shortDays)
		}
	}
}
