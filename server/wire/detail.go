package wire

import (
	"slices"
	"strings"
	"unicode/utf8"

	"punchcard/store"
)

// Detail is one offending field of a request.
type Detail = store.Detail

// The codes of a Detail; there are no others.
const (
	CodeRequired          = "required"
	CodeUnknownField      = "unknown_field"
	CodeInvalidType       = "invalid_type"
	CodeInvalidFormat     = "invalid_format"
	CodeInvalidValue      = "invalid_value"
	CodeTooShort          = "too_short"
	CodeTooLong           = "too_long"
	CodeTooSmall          = "too_small"
	CodeTooLarge          = "too_large"
	CodeTooMany           = "too_many"
	CodeMustBeFuture      = "must_be_future"
	CodeNotAllowed        = "not_allowed"
	CodeNotPublic         = "not_public"
	CodeUnresolvable      = "unresolvable"
	CodeMutuallyExclusive = "mutually_exclusive"
)

// maxFieldName is the most characters of a field name that came from outside.
const maxFieldName = 100

// details collects what is wrong with a request, up to store.MaxDetails.
type details struct{ list []Detail }

func (d *details) full() bool { return len(d.list) >= store.MaxDetails }

func (d *details) add(field, code, message string) {
	if !d.full() {
		d.list = append(d.list, Detail{Field: capName(field), Code: code, Message: message})
	}
}

// Join adds to the details of a body what further rules found in it: nothing
// on a field that is reported already, it or a part of it, and not more than
// one answer holds.
func Join(list []Detail, more ...Detail) []Detail {
	out := details{list}
	for _, d := range more {
		name := capName(d.Field)
		if !slices.ContainsFunc(list, func(have Detail) bool { return have.Field == name || strings.HasPrefix(have.Field, name+".") }) {
			out.add(d.Field, d.Code, d.Message)
		}
	}
	return out.list
}

// capName keeps a caller's own name from filling the answer.
func capName(name string) string {
	if len(name) <= maxFieldName || utf8.RuneCountInString(name) <= maxFieldName {
		return name
	}
	n := 0
	for i := range name {
		if n == maxFieldName {
			return name[:i] + "…"
		}
		n++
	}
	return name
}
