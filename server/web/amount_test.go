package web

import (
	"testing"

	"punchcard/store/money"
)

func TestParseAmount(t *testing.T) {
	for _, c := range []struct {
		text, currency string
		want           int64
	}{
		{"12.50", "EUR", 1250}, {"12,5", "EUR", 1250}, {" 12 ", "EUR", 1200}, {"0.05", "EUR", 5}, {"3.", "EUR", 300},
		{"500", "JPY", 500}, {"1.234", "KWD", 1234},
		{"", "EUR", -1}, {".5", "EUR", -1}, {"1.234", "EUR", -1}, {"1,234.50", "EUR", -1}, {"-1", "EUR", -1},
		{"+1", "EUR", -1}, {"1e3", "EUR", -1}, {"5.0", "JPY", -1}, {"1234567890123", "EUR", -1}, {"x", "EUR", -1},
	} {
		got, ok := money.Parse(c.text, c.currency)
		if ok != (c.want >= 0) || ok && got != c.want {
			t.Errorf("%q %s: %d %t, want %d", c.text, c.currency, got, ok, c.want)
		}
		if !ok {
			continue
		}
		for _, lang := range Locales {
			if again, ok := money.Parse(PrinterFor(lang).Amount(got, c.currency), c.currency); !ok || again != got {
				t.Errorf("%d %s in %s: read again as %d %t", got, c.currency, lang, again, ok)
			}
		}
	}
}
