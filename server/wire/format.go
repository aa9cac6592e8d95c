package wire

import (
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"punchcard/store"
)

// format is a named rule for strings.
type format struct {
	check func(string) (code string) // returns "" if the string is valid
	words string                     // message for other strings
	// schemaFormat and schemaPattern are the rule in a JSON Schema.
	schemaFormat, schemaPattern string
}

var formats = map[string]*format{
	"email":     {orFormat(isEmail), "must be an email address", "email", ""},
	"url":       {orFormat(isURL), "must be an absolute http or https URL without user info", "uri", ""},
	"https-url": {checkHTTPS, "must be an absolute https URL without user info", "uri", "^[Hh][Tt][Tt][Pp][Ss]://"},
	"date-time": {orFormat(isTime), "must be an RFC 3339 date-time with an offset", "date-time", ""},
	"date":      {orFormat(isDate), "must be a calendar date in the form YYYY-MM-DD", "date", ""},
	"hex-color": {orFormat(isColor), "must be a colour in the form #RRGGBB", "", "^#[0-9A-Fa-f]{6}$"},
	"country":   {orFormat(isCountry), "must be two letters from A to Z", "", "^[A-Z]{2}$"},
}

// orFormat returns a check with the code invalid_format.
func orFormat(ok func(string) bool) func(string) string {
	return func(s string) string {
		if ok(s) {
			return ""
		}
		return CodeInvalidFormat
	}
}

// isEmail reports whether s is a mail address: a dot-atom local part of at most 64
// bytes and a host name of at least two labels, in any script, together at most 254
// bytes. It refuses quoted local parts and address literals, to which hardly any
// mail server delivers.
func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at > 64 || len(s) > 254 || !utf8.ValidString(s) {
		return false
	}
	for atom := range strings.SplitSeq(s[:at], ".") {
		if atom == "" || strings.ContainsFunc(atom, func(c rune) bool {
			return !isWord(c) && !strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", c)
		}) {
			return false
		}
	}
	labels := strings.Split(s[at+1:], ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.ContainsFunc(label, func(c rune) bool { return c != '-' && !isWord(c) }) {
			return false
		}
	}
	return len(labels) > 1
}

func isURL(s string) bool { return scheme(s) != "" }

// checkHTTPS returns invalid_value for an http URL and invalid_format for anything
// else that is not an https URL.
func checkHTTPS(s string) string {
	switch scheme(s) {
	case "https":
		return ""
	case "http":
		return CodeInvalidValue
	}
	return CodeInvalidFormat
}

// scheme returns http or https if s is an absolute URL with a host and without user
// info, and "" otherwise.
func scheme(s string) string {
	if strings.ContainsFunc(s, func(c rune) bool { return c == ' ' || c == '\\' || !unicode.IsPrint(c) }) {
		return ""
	}
	u, err := url.Parse(s)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return ""
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return ""
		}
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return u.Scheme
}

func isColor(s string) bool {
	return len(s) == 7 && s[0] == '#' && strings.Trim(s[1:], "0123456789abcdefABCDEF") == ""
}

func isCountry(s string) bool {
	return len(s) == 2 && 'A' <= s[0] && s[0] <= 'Z' && 'A' <= s[1] && s[1] <= 'Z'
}

func isDate(s string) bool {
	t, err := time.Parse(time.DateOnly, s)
	return err == nil && len(s) == len(time.DateOnly) && t.Year() >= 1
}

func isTime(s string) bool {
	_, ok := parseTime(s)
	return ok
}

// parseTime parses an RFC 3339 date-time with an offset and up to nine decimals, and
// truncates it to milliseconds. The year must be from 1 to 9999, also in UTC. Leap
// seconds are refused, since unix time cannot represent them.
func parseTime(s string) (store.Time, bool) {
	const shape = "0000-00-00T00:00:00"
	if len(s) <= len(shape) {
		return 0, false
	}
	for i := range len(shape) {
		c, want := s[i], shape[i]
		if want == '0' && !isDigit(rune(c)) || want != '0' && c != want && (want != 'T' || c != 't') {
			return 0, false
		}
	}
	rest := s[len(shape):]
	nanos := 0
	if rest[0] == '.' {
		n := 1
		for n < len(rest) && isDigit(rune(rest[n])) {
			n++
		}
		if n < 2 || n > 10 {
			return 0, false
		}
		nanos = number((rest[1:n] + "00000000")[:9])
		rest = rest[n:]
	}
	offset, ok := parseOffset(rest)
	year, month, day := number(s[:4]), time.Month(number(s[5:7])), number(s[8:10])
	hour, minute, second := number(s[11:13]), number(s[14:16]), number(s[17:19])
	if !ok || year < 1 || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	t := time.Date(year, month, day, hour, minute, second, nanos, time.UTC)
	if t.Month() != month || t.Day() != day {
		return 0, false
	}
	t = t.Add(-offset)
	return store.TimeOf(t), t.Year() >= 1 && t.Year() <= 9999
}

// parseOffset parses Z, z, or an offset such as +02:00.
func parseOffset(s string) (time.Duration, bool) {
	if s == "Z" || s == "z" {
		return 0, true
	}
	if len(s) != 6 || s[0] != '+' && s[0] != '-' || s[3] != ':' ||
		!isDigit(rune(s[1])) || !isDigit(rune(s[2])) || !isDigit(rune(s[4])) || !isDigit(rune(s[5])) {
		return 0, false
	}
	hour, minute := number(s[1:3]), number(s[4:6])
	d := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute
	if s[0] == '-' {
		d = -d
	}
	return d, hour <= 23 && minute <= 59
}

// number returns the value of a few decimal digits.
func number(s string) int {
	n := 0
	for _, c := range []byte(s) {
		n = n*10 + int(c-'0')
	}
	return n
}

func isDigit(c rune) bool { return '0' <= c && c <= '9' }

// isWord reports whether c is a letter, digit or mark of any script. It refuses
// invisible characters and those that change the direction of writing.
func isWord(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c)
}
