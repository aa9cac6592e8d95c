package wire

import (
	"slices"
	"strings"

	"punchcard/store"
)

// Detail describes an offending field of a request.
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

// Sentence returns the message of a detail as a sentence, whose subject is the
// field. Messages are predicates, such as "must be at most 5", or whole sentences
// already; without a field they are sentences that lack capital and period.
func Sentence(d Detail) string {
	switch {
	case strings.HasSuffix(d.Message, "."):
		return d.Message
	case d.Field == "":
		return strings.ToUpper(d.Message[:1]) + d.Message[1:] + "."
	}
	return d.Field + " " + d.Message + "."
}

// maxFieldName is the maximum length of a field name in a detail, in characters.
const maxFieldName = 100

// details collects at most store.MaxDetails details.
type details struct{ list []Detail }

func (d *details) full() bool { return len(d.list) >= store.MaxDetails }

func (d *details) add(field, code, message string) {
	if !d.full() {
		d.list = append(d.list, Detail{Field: capName(field), Code: code, Message: message})
	}
}

// Join appends the details of further rules to those of a body, up to
// store.MaxDetails. It leaves out a field if list has a detail for the field or for a
// part of it.
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

// capName shortens a field name, which may come from the caller.
func capName(name string) string {
	n := 0
	for i := range name {
		if n == maxFieldName {
			return name[:i] + "…"
		}
		n++
	}
	return name
}
