// Package phone reads phone numbers as the people of a country write them.
//
// It follows libphonenumber, which github.com/nyaruka/phonenumbers ports to Go, and its tests
// compare the two. The binary does not contain that port, because it reads all of its metadata
// whenever a process starts. This takes 16 ms and 2.5 MB, and punchcard starts in 40 ms. This
// package does nothing at the start: the first call reads the regions, and each compiles the patterns
// that it needs and keeps them. The first number of a region takes about 1 ms, a later one 20 µs
// (BenchmarkParse). The regions take 30 kB, and the patterns of all of them 5 MB.
//
// To take newer metadata, change the version of the port in go.mod and run go generate.
package phone

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// maxText is the maximum length of what Parse reads, in characters.
const maxText = 64

// The length of what Parse returns, in bytes: a plus sign and digits, of which E.164 permits 15.
const (
	minResult = 1 + 7
	maxResult = 1 + 15
)

// regions has the plan of each region. Regions with the same
// calling code are neighbours, and the main one, whose rules hold for all numbers with that code,
// is the first. The region 001 stands for calling codes that belong to no country.
//
//go:generate go run generate.go regions.txt
var regions = sync.OnceValue(func() (plans []plan) {
	for line := range strings.Lines(regionLines) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		lengths, _ := strconv.ParseUint(f[5], 2, 64)
		plans = append(plans, plan{f[0], f[1], f[2], f[3], f[4], lengths, f[6], f[7]})
	}
	return plans
})

// regionLines is what generate.go has written: a line for each region, with a tab between the fields of its plan.
//
//go:embed regions.txt
var regionLines string

// plan says how the numbers of a region are written. A number is valid if it matches both the general pattern and one of
// the types: of random numbers that match the general pattern, half match no type. In Austria and
// Germany some numbers match a type, but not the general pattern.
type plan struct {
	code      string // calling code, such as 39
	region    string // ISO 3166-1 alpha-2, such as IT
	abroad    string // pattern of what is dialled before a calling code, such as 00
	prefix    string // pattern of what is dialled before a national number, such as 0
	transform string // what replaces the prefix if its last group matched, such as 9$1
	lengths   uint64 // bit n is set if national numbers may have n digits
	general   string // pattern of national numbers
	types     string // patterns of landline, mobile and other types of numbers
}

// Parse returns the phone number in a text in the format E.164, such as +393331234567. The region
// is the ISO 3166-1 alpha-2 code, in capitals, of the country whose way of writing numbers the text
// follows: with its prefix for national or international calls, or with none. If the region is
// empty or unknown, Parse accepts only numbers that begin with + or 00.
//
// The text has at most 64 characters. It consists of digits (also full-width or Arabic-Indic ones),
// a plus sign before them, and blanks, hyphens, dots, slashes, brackets and invisible characters,
// which Parse ignores, as it does tabs and line breaks at both ends. ok is false if the text has other characters, such as an extension or
// "tel:", if libphonenumber does not call the number valid, or if the number has fewer than 7 or
// more than 15 digits with its calling code. A valid number need not be in use.
//
// Parse reads its own results as the same numbers, in any region.
func Parse(text, region string) (e164 string, ok bool) {
	number, plus, ok := normalize(text)
	if !ok {
		return "", false
	}
	p, national := homeOf(region).split(number, plus)
	if p.code == "" {
		return "", false
	}
	national = p.strip(national)
	e164 = "+" + p.code + national
	if len(e164) < minResult || len(e164) > maxResult {
		return "", false
	}
	sharing := called(p.code)
	if sharing[0].strip(national) != national {
		return "", false // Parse would read e164 as another number.
	}
	valid := func(r plan) bool { return matches(r.general, national) && matches(r.types, national) }
	if !slices.ContainsFunc(sharing, valid) {
		return "", false
	}
	return e164, true
}

// normalize returns the digits of a text as ASCII, and whether a plus sign comes before them. ok is
// false if the text is too long or has characters that Parse does not accept.
func normalize(text string) (number string, plus, ok bool) {
	if utf8.RuneCountInString(text) > maxText {
		return "", false, false
	}
	for _, r := range strings.TrimSpace(text) {
		d := digit(r)
		switch {
		case d >= 0:
			number += strconv.Itoa(d)
		case strings.ContainsRune("+＋", r) && number == "":
			plus = true
		case !strings.ContainsRune("./()[]．／（）［］−ー", r) && !unicode.In(r, unicode.Zs, unicode.Pd, unicode.Cf):
			return "", false, false
		}
	}
	return number, plus, true
}

// digit returns the value of a digit, or -1 for other characters.
func digit(r rune) int {
	for _, zero := range "0٠۰０" {
		if zero <= r && r <= zero+9 {
			return int(r - zero)
		}
	}
	return -1
}

// homeOf returns the plan of a region. That of an unknown region has no calling code.
func homeOf(region string) plan {
	if found := find(func(p plan) bool { return p.region == region }); len(found) == 1 {
		return found[0]
	}
	return plan{abroad: "00"}
}

// called returns the plans of the regions whose calling code a number begins with, the main region
// first. It returns nil if there are none.
func called(number string) []plan {
	return find(func(p plan) bool { return strings.HasPrefix(number, p.code) })
}

// find returns the plans that satisfy is, in the order of regions.
func find(is func(plan) bool) (found []plan) {
	for _, p := range regions() {
		if is(p) {
			found = append(found, p)
		}
	}
	return found
}

// split returns the plan by which to read a number, and the number without its calling code. A number
// without a calling code is read by the plan of home. If the calling code does not exist, the plan is
// empty.
func (home plan) split(number string, plus bool) (p plan, national string) {
	if plus {
		if found := called(number); found != nil {
			return found[0], number[len(found[0].code):]
		}
	}
	if at := compile(home.abroad).FindStringIndex(number); at != nil && !strings.HasPrefix(number[at[1]:], "0") {
		if found := called(number[at[1]:]); found != nil {
			return found[0], number[at[1]+len(found[0].code):]
		}
		return plan{}, ""
	}
	if plus || home.code == "" {
		return plan{}, ""
	}
	rest, found := strings.CutPrefix(number, home.code)
	rest = home.cut(rest)
	tooLong := home.lengths>>len(number) == 0
	if found && (tooLong || !matches(home.general, number) && matches(home.general, rest)) {
		return called(home.code)[0], rest
	}
	return home, number
}

// strip returns a number without its prefix for national calls, or the number as it is if national
// numbers cannot have as many digits as the rest.
func (p plan) strip(number string) string {
	rest := p.cut(number)
	if p.lengths>>len(rest)&1 == 0 {
		return number
	}
	return rest
}

// cut returns a number without its prefix for national calls. It returns the number as it is if that
// matches the general pattern and the rest does not.
func (p plan) cut(number string) string {
	re := compile(p.prefix)
	at := re.FindStringSubmatchIndex(number)
	if at == nil {
		return number
	}
	rest := number[at[1]:]
	if p.transform != "" && at[len(at)-1] >= 0 {
		rest = re.ReplaceAllString(number, p.transform)
	}
	if matches(p.general, number) && !matches(p.general, rest) {
		return number
	}
	return rest
}

// matches reports whether a pattern matches all of a number.
func matches(pattern, number string) bool {
	return compile("(?:" + pattern + ")$").MatchString(number)
}

// compiled caches the regular expression of each pattern. Only patterns of regions are in it.
var compiled sync.Map

// compile returns the regular expression that matches a pattern at the start of a number.
func compile(pattern string) *regexp.Regexp {
	if re, ok := compiled.Load(pattern); ok {
		return re.(*regexp.Regexp)
	}
	re := regexp.MustCompile("^(?:" + pattern + ")")
	compiled.Store(pattern, re)
	return re
}
