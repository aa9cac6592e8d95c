package wire

import (
	"math"
	"strconv"

	"punchcard/store"
	"punchcard/store/event"
)

// escapes are the escape sequences of JSON strings in answers.
var escapes = event.NewEscapes("\n\r\t")

// AppendString appends s as a JSON string. It escapes only what JSON requires, and
// replaces invalid UTF-8 by U+FFFD.
func AppendString(b []byte, s string) []byte { return escapes.AppendString(b, s) }

// appendTime appends the same as t.Append, without interpreting a layout: times
// take the longest part of encoding most responses.
func appendTime(b []byte, t store.Time) []byte {
	std := t.Std()
	year, month, day := std.Date()
	if year < 0 || year > 9999 {
		return t.Append(b)
	}
	hour, minute, second := std.Clock()
	ms := std.Nanosecond() / 1e6
	b = append(b, digit(year/1000), digit(year/100), digit(year/10), digit(year), '-')
	b = append(b, digit(int(month)/10), digit(int(month)), '-', digit(day/10), digit(day), 'T')
	b = append(b, digit(hour/10), digit(hour), ':', digit(minute/10), digit(minute), ':')
	return append(b, digit(second/10), digit(second), '.', digit(ms/100), digit(ms/10), digit(ms), 'Z')
}

// digit returns the last decimal digit of n.
func digit(n int) byte { return '0' + byte(n%10) }

// appendFloat appends the shortest number that is parsed as f again, without an
// exponent if it is an integer. NaN and infinities, which JSON lacks, become null.
func appendFloat(b []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	format := byte('f')
	if a := math.Abs(f); a != 0 && a < 1e-6 {
		format = 'e'
	}
	return strconv.AppendFloat(b, f, format, -1, bits)
}
