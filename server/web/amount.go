package web

import (
	"strconv"
	"strings"
)

// maxAmount is the number of digits that ParseAmount reads before the decimal sign.
const maxAmount = 12

// Amount returns an amount in the smallest units of a currency as a person types it into
// a field, such as 12.50 for 1250 EUR.
func (p *Printer) Amount(cents int64, currency string) string {
	whole, fraction := splitAmount(strconv.FormatInt(cents, 10), currency)
	if fraction == "" {
		return whole
	}
	return whole + p.locale.decimal + fraction
}

// splitAmount returns the digits of an amount before and after the decimal sign.
func splitAmount(digits, currency string) (whole, fraction string) {
	decimals := decimalsOf(currency)
	for len(digits) <= decimals {
		digits = "0" + digits
	}
	point := len(digits) - decimals
	return digits[:point], digits[point:]
}

// ParseAmount returns what a person typed as an amount in the smallest units of a
// currency. Both 12.50 and 12,50 are 1250 EUR. It takes no thousands separators, which
// one person's decimal sign is.
func ParseAmount(text, currency string) (cents int64, ok bool) {
	decimals := decimalsOf(currency)
	whole, fraction, _ := strings.Cut(strings.Replace(strings.TrimSpace(text), ",", ".", 1), ".")
	if whole == "" || len(whole) > maxAmount || len(fraction) > decimals || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, false
	}
	cents, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	return cents, err == nil
}

func decimalsOf(currency string) int {
	if decimals, ok := currencyDecimals[currency]; ok {
		return decimals
	}
	return 2
}
