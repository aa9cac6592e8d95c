package wire

import (
	"math"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"punchcard/store"
)

// DecodeQuery decodes a query string into the struct that dst points to, whose
// fields must be store.Opt of string, bool, int64, float64 or store.Time, and
// validates it. It ignores unknown parameters; a known one that is empty or repeated
// is invalid_value. It returns nil if the query is valid, and otherwise a detail for
// each offending parameter, in the order of the struct.
//
// An integer out of the range of an int64 is decoded as the nearest int64 if the
// field has no bound on that side, so that an operation can clamp a page size of any
// magnitude.
func DecodeQuery(q url.Values, dst any, lim Limits) []Detail {
	p, v := target(dst, lim)
	var out details
	for _, r := range p.rules {
		switch values := q[r.name]; {
		case len(values) == 0 && r.required:
			out.add(r.name, CodeRequired, "is required")
		case len(values) == 0:
		case len(values) > 1:
			out.add(r.name, CodeInvalidValue, "must not be repeated")
		case values[0] == "":
			out.add(r.name, CodeInvalidValue, "must not be empty")
		default:
			r.parse(values[0], r.in(v), lim, &out)
		}
	}
	return out.list
}

// parse parses a parameter, which is not empty, into the store.Opt in field.
func (r *rule) parse(s string, field reflect.Value, lim Limits, out *details) {
	switch opt := field.Addr().Interface().(type) {
	case *store.Opt[string]:
		opt.Set, opt.V = true, s
		r.checkString(r.name, s, lim, out)
	case *store.Opt[bool]:
		if r.expect(s == "true" || s == "false", "must be true or false", out) {
			opt.Set, opt.V = true, s == "true"
		}
	case *store.Opt[int64]:
		if r.expect(isInteger(s), "must be a whole number", out) {
			n, over, _ := parseWhole(s)
			if over > 0 && !r.upper(lim).set || over < 0 && !r.min.set && !r.above.set {
				over = 0
			}
			opt.Set, opt.V = true, n
			r.checkWhole(n, over, lim, out)
		}
	case *store.Opt[float64]:
		f, err := strconv.ParseFloat(s, 64)
		plain := strings.Trim(s, "+-.0123456789eE") == "" // not 0x1p-2, 1_000, NaN
		if r.expect(plain && (err == nil || math.IsInf(f, 0)), "must be a number", out) {
			opt.Set, opt.V = true, f+0 // -0 becomes 0
			r.checkFloat(f, lim, out)
		}
	case *store.Opt[store.Time]:
		if opt.V, opt.Set = parseTime(s); !opt.Set {
			out.add(r.name, CodeInvalidFormat, formats["date-time"].words)
		}
	default:
		panic("wire: parameter " + strconv.Quote(r.name) + " cannot be of type " + r.typ.String())
	}
}

// isInteger reports whether s is an optional minus sign and digits. A plus sign
// means a space in a query.
func isInteger(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}
