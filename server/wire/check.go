package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"punchcard/store"
)

// checkText checks a string and adds at most one detail: for its length, else for
// its value, else for its format. A line without a visible character is too short.
// path is the path of the field.
func (r *rule) checkText(path, s string, lim Limits, out *details) {
	switch minimum, maximum := r.min, r.upper(lim); {
	case minimum.set && runesBelow(s, minimum.whole):
		out.add(path, CodeTooShort, cmp.Or(r.words, "must have at least "+minimum.text+" "+plural(minimum, "character")))
	case maximum.set && int64(len(s)) > maximum.whole && int64(utf8.RuneCountInString(s)) > maximum.whole:
		out.add(path, CodeTooLong, cmp.Or(r.words, "must be at most "+maximum.text+" "+plural(maximum, "character")))
	case r.enum != nil && !slices.Contains(r.enum, s):
		out.add(path, CodeInvalidValue, "must be one of "+strings.Join(r.enum, ", "))
	case r.pattern != nil && !r.pattern.MatchString(s):
		out.add(path, CodeInvalidFormat, r.words)
	case r.format == oneLine && isBlank(s):
		out.add(path, CodeTooShort, "must have a visible character")
	case r.format != "":
		f, code := formats[r.format], CodeInvalidFormat
		if (r.format == httpsURL || r.format == targetURL) && (isURL(s) || hasOtherScheme(s)) {
			code = CodeInvalidValue
		}
		if !f.valid(s) {
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
	compare := func(b bound) int { return cmp.Or(over, cmp.Compare(n, b.whole)) }
	r.checkNumber(compare, over, "must be at least -9223372036854775808", "must be at most 9223372036854775807", lim, out)
}

// checkFloat checks whether f is within the bounds. An infinity stands for a number
// out of the range of a float64.
func (r *rule) checkFloat(f float64, lim Limits, out *details) {
	const outOfRange = "must be a number that a 64-bit float can hold"
	over := 0
	if math.IsInf(f, 0) {
		over = cmp.Compare(f, 0)
	}
	r.checkNumber(func(b bound) int { return cmp.Compare(f, b.float) }, over, outOfRange, outOfRange, lim, out)
}

// checkNumber checks whether a number is within the bounds. compare compares the number
// with a bound. If over is -1 or 1, the number is below or above the range of its type;
// tooSmall and tooLarge are the messages for that.
func (r *rule) checkNumber(compare func(bound) int, over int, tooSmall, tooLarge string, lim Limits, out *details) {
	minimum, maximum := r.min, r.upper(lim)
	switch {
	case r.above.set && compare(r.above) <= 0:
		out.add(r.name, CodeTooSmall, "must be greater than "+r.above.text)
	case minimum.set && compare(minimum) < 0:
		out.add(r.name, CodeTooSmall, "must be at least "+minimum.text)
	case maximum.set && compare(maximum) > 0:
		out.add(r.name, CodeTooLarge, "must be at most "+maximum.text)
	case over < 0:
		out.add(r.name, CodeTooSmall, tooSmall)
	case over > 0:
		out.add(r.name, CodeTooLarge, tooLarge)
	}
}

// parseWhole parses a JSON number, such as 3, 3.0 or 30e-1. whole is false if it
// has a fractional part or is another JSON value. over is -1 or 1 if it is below or
// above the range of an int64; n is the nearest int64 then.
func parseWhole(literal string) (n int64, over int, whole bool) {
	if n, err := strconv.ParseInt(literal, 10, 64); err == nil {
		return n, 0, true
	}
	digits, negative := strings.CutPrefix(literal, "-")
	digits, exponent := cutExponent(digits)
	integer, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(integer+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(significant) - len(fraction)
	switch {
	case significant == "":
		return 0, 0, true
	case exponent < 0:
		return 0, 0, false
	case negative:
		significant = "-" + significant
	}
	// A number of twenty digits is out of range, so no more zeros need be added.
	n, err := strconv.ParseInt(significant+strings.Repeat("0", min(exponent, 19)), 10, 64)
	if err != nil {
		over = cmp.Compare(n, 0) // 0 for a text that is no number
	}
	return n, over, err == nil || over != 0
}

// cutExponent splits 12e3 into 12 and 3. It limits the exponent to ten million, as
// no body is long enough for a greater one to make a difference.
func cutExponent(s string) (string, int) {
	const limit = 10_000_000
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return s, 0
	}
	n, _ := strconv.Atoi(s[i+1:]) // the nearest int if out of range
	return s[:i], max(-limit, min(limit, n))
}

// Validate validates the struct that fields points to, whose fields must all be
// store.Opt, by the rules of DecodeBody. It is for values that the program itself
// makes. It returns nil if they are valid, and otherwise the details in the order of
// the struct.
func Validate(fields any, mode Mode, lim Limits) []Detail {
	p, v := target(fields, lim)
	var out details
	for _, r := range p.rules {
		field := r.in(v)
		set, null := field.FieldByName("Set").Bool(), field.FieldByName("Null").Bool()
		if null && mode == Create { // the same as an absent field
			field.SetZero()
			set = false
		}
		switch {
		case !set && mode == Create && r.required:
			out.add(r.name, CodeRequired, "is required")
		case !set:
		case mode == Patch && r.patch == notAllowed:
			out.add(r.name, CodeNotAllowed, "cannot be changed after creation")
		case null && r.patch == "":
			out.add(r.name, CodeInvalidType, "must not be null")
		case null:
		default:
			r.check(field.Addr().Interface(), lim, &out)
		}
	}
	return out.list
}

// check validates the value of the store.Opt to which field points.
func (r *rule) check(field any, lim Limits, out *details) {
	switch opt := field.(type) {
	case *store.Opt[string]:
		r.checkString(r.name, opt.V, lim, out)
	case *store.Opt[int64]:
		r.checkWhole(opt.V, 0, lim, out)
	case *store.Opt[float64]:
		r.checkFloat(opt.V, lim, out)
	case *store.Opt[bool], *store.Opt[store.Time]:
	case *store.Opt[[]byte]:
		if max := r.upper(lim); max.set && int64(len(opt.V)) > max.whole {
			out.add(r.name, CodeTooLarge, "must have at most "+max.text+" bytes")
		}
	case *store.Opt[[]string]:
		r.checkCount(r.count(opt.V), lim, out)
		for i, s := range opt.V {
			checkUTF8(r.name+"."+strconv.Itoa(i), s, out)
		}
	case *store.Opt[map[string]string]:
		for _, key := range slices.Sorted(maps.Keys(opt.V)) {
			path := r.name + "." + key
			if r.keys != nil && !slices.Contains(r.keys, key) {
				out.add(path, CodeUnknownField, "must be one of "+strings.Join(r.keys, ", "))
				continue
			}
			r.checkString(path, opt.V[key], lim, out)
		}
	case *store.Opt[json.RawMessage]:
		opt.V = r.object(opt.V, lim, out)
	default:
		panic(fmt.Sprintf("wire: cannot check field %q of type %s", r.name, reflect.TypeOf(field)))
	}
}

// checkString checks a string that does not come from a JSON body.
func (r *rule) checkString(path, s string, lim Limits, out *details) {
	if checkUTF8(path, s, out) {
		r.checkText(path, s, lim, out)
	}
}

// checkUTF8 checks that s could come from a JSON body, and adds a detail otherwise.
func checkUTF8(path, s string, out *details) bool {
	if utf8.ValidString(s) && !strings.Contains(s, "\x00") {
		return true
	}
	out.add(path, CodeInvalidValue, "must be UTF-8 text without the character U+0000")
	return false
}
