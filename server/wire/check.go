package wire

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// checkText checks a string and adds at most one detail: for its length, else for
// its value, else for its format. path is the path of the field.
func (r *rule) checkText(path, s string, lim Limits, out *details) {
	switch minimum, maximum := r.min, r.upper(lim); {
	case minimum.set && runesBelow(s, minimum.whole):
		out.add(path, CodeTooShort, "must have at least "+minimum.text+" "+plural(minimum, "character"))
	case maximum.set && int64(len(s)) > maximum.whole && int64(utf8.RuneCountInString(s)) > maximum.whole:
		out.add(path, CodeTooLong, "must be at most "+maximum.text+" "+plural(maximum, "character"))
	case r.enum != nil && !slices.Contains(r.enum, s):
		out.add(path, CodeInvalidValue, "must be one of "+strings.Join(r.enum, ", "))
	case r.pattern != nil && !r.pattern.MatchString(s):
		out.add(path, CodeInvalidFormat, "must match the pattern "+r.pattern.String())
	case r.format != "":
		f := formats[r.format]
		if code := f.check(s); code != "" {
			out.add(path, code, f.words)
		}
	}
}

// runesBelow reports whether s has fewer than n characters.
func runesBelow(s string, n int64) bool {
	return int64(len(s)) < n || int64(utf8.RuneCountInString(s)) < n
}

// plural returns the unit of a bound, in the plural unless the bound is 1.
func plural(b bound, unit string) string {
	if b.whole == 1 {
		return unit
	}
	return unit + "s"
}

// checkCount checks the length n of an array.
func (r *rule) checkCount(n int, lim Limits, out *details) {
	switch minimum, maximum := r.min, r.upper(lim); {
	case minimum.set && int64(n) < minimum.whole:
		out.add(r.name, CodeTooShort, "must have at least "+minimum.text+" "+plural(minimum, "item"))
	case maximum.set && int64(n) > maximum.whole:
		out.add(r.name, CodeTooMany, "must have at most "+maximum.text+" "+plural(maximum, "item"))
	}
}

// checkWhole checks whether n is within the bounds. over is -1 if the number is
// below the range of an int64 and 1 if it is above; n has no meaning then.
func (r *rule) checkWhole(n int64, over int, lim Limits, out *details) {
	minimum, maximum := r.min, r.upper(lim)
	below := func(b bound, strict bool) bool {
		return b.set && over <= 0 && (over < 0 || n < b.whole || strict && n == b.whole)
	}
	switch {
	case below(r.above, true):
		out.add(r.name, CodeTooSmall, "must be greater than "+r.above.text)
	case below(minimum, false):
		out.add(r.name, CodeTooSmall, "must be at least "+minimum.text)
	case maximum.set && over >= 0 && (over > 0 || n > maximum.whole):
		out.add(r.name, CodeTooLarge, "must be at most "+maximum.text)
	case over < 0:
		out.add(r.name, CodeTooSmall, fmt.Sprintf("must be at least %d", math.MinInt64))
	case over > 0:
		out.add(r.name, CodeTooLarge, fmt.Sprintf("must be at most %d", math.MaxInt64))
	}
}

// checkFloat checks whether f is within the bounds. An infinity stands for a number
// out of the range of a float64.
func (r *rule) checkFloat(f float64, lim Limits, out *details) {
	minimum, maximum := r.min, r.upper(lim)
	switch {
	case r.above.set && f <= r.above.float:
		out.add(r.name, CodeTooSmall, "must be greater than "+r.above.text)
	case minimum.set && f < minimum.float:
		out.add(r.name, CodeTooSmall, "must be at least "+minimum.text)
	case maximum.set && f > maximum.float:
		out.add(r.name, CodeTooLarge, "must be at most "+maximum.text)
	case math.IsInf(f, -1):
		out.add(r.name, CodeTooSmall, "must be a number that a 64-bit float can hold")
	case math.IsInf(f, 1):
		out.add(r.name, CodeTooLarge, "must be a number that a 64-bit float can hold")
	}
}

// parseWhole parses a JSON number, such as 3, 3.0 or 30e-1. whole is false if it
// has a fractional part. over is -1 or 1 if it is below or above the range of an
// int64; n is the nearest int64 then.
func parseWhole(literal string) (n int64, over int, whole bool) {
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return n, 0, true
	}
	digits, negative := strings.CutPrefix(literal, "-")
	digits, exponent := cutExponent(digits)
	integer, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(integer+fraction, "0")
	exponent -= len(fraction)
	significant := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(significant)
	sign, side, end := "", 1, int64(math.MaxInt64)
	if negative {
		sign, side, end = "-", -1, math.MinInt64
	}
	switch {
	case significant == "":
		return 0, 0, true
	case exponent < 0:
		return 0, 0, false
	case len(significant)+exponent > 19:
		return end, side, true
	}
	n, err := strconv.ParseInt(sign+significant+strings.Repeat("0", exponent), 10, 64)
	if err != nil {
		return end, side, true
	}
	return n, 0, true
}

// cutExponent splits 12e3 into 12 and 3. It limits the exponent to ten million, as
// no body is long enough for a greater one to make a difference.
func cutExponent(s string) (string, int) {
	const most = 10_000_000
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return s, 0
	}
	n, err := strconv.Atoi(s[i+1:])
	if err != nil && strings.HasPrefix(s[i+1:], "-") {
		n = -most
	} else if err != nil {
		n = most
	}
	return s[:i], max(-most, min(most, n))
}
