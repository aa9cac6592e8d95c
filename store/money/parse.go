package money

import (
	"strconv"
	"strings"
)

// maxAmount is the number of digits that Parse reads before the decimal sign.
const maxAmount = 12

// Parse returns what a person typed as an amount in the smallest units of a
// currency. Both 12.50 and 12,50 are 1250 EUR. It takes no thousands separators, which
// one person's decimal sign is.
func Parse(text, code string) (cents int64, ok bool) {
	decimals := Decimals(code)
	whole, fraction, _ := strings.Cut(strings.Replace(strings.TrimSpace(text), ",", ".", 1), ".")
	if whole == "" || len(whole) > maxAmount || len(fraction) > decimals || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, false
	}
	cents, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", decimals-len(fraction)), 10, 64)
	return cents, err == nil
}
