// Package money writes amounts, which are integers in the smallest units of a currency.
package money

import (
	"fmt"
	"strconv"
)

// decimals are those of currencies that do not have two (ISO 4217).
var decimals = map[string]int{
	"BHD": 3, "CLP": 0, "IQD": 3, "ISK": 0, "JOD": 3, "JPY": 0, "KRW": 0, "KWD": 3, "LYD": 3, "OMR": 3,
	"PYG": 0, "RWF": 0, "TND": 3, "UGX": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
}

// Decimals returns the number of decimals of a currency.
func Decimals(currency string) int {
	if n, ok := decimals[currency]; ok {
		return n
	}
	return 2
}

// Decimal returns an amount as a decimal number with a point, such as -12.50 for -1250 EUR.
func Decimal(amount int64, currency string) string {
	n := Decimals(currency)
	if n == 0 {
		return strconv.FormatInt(amount, 10)
	}
	sign, digits := "", strconv.FormatInt(amount, 10)
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	digits = fmt.Sprintf("%0*s", n+1, digits)
	return sign + digits[:len(digits)-n] + "." + digits[len(digits)-n:]
}
