package web

import (
	"strconv"

	"punchcard/store/money"
)

// Amount returns an amount in the smallest units of a currency as a person types it into
// a field, such as 12.50 for 1250 EUR.
func (p *Printer) Amount(cents int64, code string) string {
	whole, fraction := splitAmount(strconv.FormatInt(cents, 10), code)
	if fraction == "" {
		return whole
	}
	return whole + p.locale.decimal + fraction
}

// splitAmount returns the digits of an amount before and after the decimal sign.
func splitAmount(digits, code string) (whole, fraction string) {
	decimals := money.Decimals(code)
	for len(digits) <= decimals {
		digits = "0" + digits
	}
	point := len(digits) - decimals
	return digits[:point], digits[point:]
}
