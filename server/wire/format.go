package wire

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/http/httpguts"

	"punchcard/store"
)

// format is a named rule for strings.
type format struct {
	valid func(string) bool
	words string // message for strings that are not valid
	// schemaFormat and schemaPattern are the rule in a JSON Schema.
	schemaFormat, schemaPattern string
}

// The formats that have codes of their own beside invalid_format.
const (
	httpsURL  = "https-url"  // invalid_value for a URL with another scheme
	targetURL = "target-url" // the same; http is left to the check of the target
	oneLine   = "line"       // too_short for a text without a visible character
)

var formats = map[string]*format{
	"email":     {isEmail, "must be an email address", "email", ""},
	"url":       {isURL, "must be an absolute http or https URL without user info", "uri", ""},
	httpsURL:    {isHTTPS, "must be an absolute https URL without user info", "uri", "^[Hh][Tt][Tt][Pp][Ss]://"},
	targetURL:   {isURL, "must be an absolute https URL without user info", "uri", ""},
	"date-time": {isTime, "must be an RFC 3339 date-time with an offset", "date-time", ""},
	"date":      {isDate, "must be a calendar date in the form YYYY-MM-DD", "date", ""},
	"hex-color": {isColor, "must be a colour in the form #RRGGBB", "", "^#[0-9A-Fa-f]{6}$"},
	oneLine:     {isLine, "must be one line of text without control and bidirectional formatting characters", "", ""},
	"country":   {isCountry, "must be two letters from A to Z", "", "^[A-Z]{2}$"},
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

func isHTTPS(s string) bool { return scheme(s) == "https" }

// hasOtherScheme reports whether s is a URL with a scheme other than http and https,
// such as ftp: or javascript:. A host with a port has none.
func hasOtherScheme(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Scheme == "http" || u.Scheme == "https" {
		return false
	}
	return u.Opaque == "" || u.Opaque[0] < '0' || u.Opaque[0] > '9'
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

// parseTime parses an RFC 3339 date-time with an offset, and truncates it to
// milliseconds. The year must be from 1 to 9999, also in UTC. Leap
// seconds are refused, since unix time cannot represent them.
func parseTime(s string) (store.Time, bool) {
	s = strings.ToUpper(s) // t and z are allowed
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || t.Year() < 1 {
		return 0, false
	}
	// time.Parse accepts more than RFC 3339 in three places.
	n := len(s)
	oneDigitHour, comma := s[len("2006-01-02T15")] != ':', strings.Contains(s, ",")
	wrongOffset := s[n-1] != 'Z' && (s[n-5:n-3] > "23" || s[n-2:] > "59")
	if oneDigitHour || comma || wrongOffset {
		return 0, false
	}
	t = t.UTC()
	return store.TimeOf(t), t.Year() >= 1 && t.Year() <= 9999
}

// isWord reports whether c is a letter, digit or mark of any script. It refuses
// invisible characters and those that change the direction of writing.
func isWord(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c)
}

// isLine reports whether s is one line of text: it has no control, line-break or
// bidirectional formatting characters.
func isLine(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return unicode.In(c, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control) })
}

// isBlank reports whether s consists of white space, zero-width characters and
// letters that are drawn as nothing.
func isBlank(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool {
		return c != '\u2800' && (unicode.Is(unicode.Bidi_Control, c) ||
			!unicode.In(c, unicode.White_Space, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
	})
}

// ValidateHeaders validates the HTTP headers in a field, and refuses those that
// reserved reports by their lower-case name. reason is the message for them.
func ValidateHeaders(field string, headers map[string]string, reserved func(name string) bool, reason string) (list []Detail) {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lower := strings.ToLower(name)
		add := func(code, message string) {
			list = append(list, Detail{Field: field + "." + name, Code: code, Message: message})
		}
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			add(CodeInvalidFormat, "must be the name of an HTTP header")
		case reserved(lower):
			add(CodeNotAllowed, reason)
		case seen[lower]:
			add(CodeInvalidValue, "must be named once; the case of a header's name does not matter")
		case isBlank(headers[name]):
			add(CodeTooShort, "must have a visible character")
		case strings.ContainsFunc(headers[name], func(c rune) bool { return c < ' ' || c > '~' }):
			add(CodeInvalidFormat, "must be visible ASCII characters and spaces")
		}
		seen[lower] = true
	}
	return list
}
