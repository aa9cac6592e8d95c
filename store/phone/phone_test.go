package phone

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
)

// expected returns what the library says of a text, or nothing if it finds no valid number. Parse
// refuses three kinds of numbers that the library accepts: those with fewer than 7 digits, those
// with more than 15, and those that the library does not read from its own E.164, which are numbers
// of Belarus that begin with 810.
func expected(text, region string) string {
	e164 := oracle(text, region)
	if len(e164) < minResult || len(e164) > maxResult || oracle(e164, "") != e164 {
		return ""
	}
	return e164
}

// oracle returns the number in a text as the library reads it, or nothing if it is not valid.
func oracle(text, region string) string {
	number, err := phonenumbers.Parse(text, region)
	if err != nil || !phonenumbers.IsValidNumber(number) {
		return ""
	}
	return phonenumbers.Format(number, phonenumbers.E164)
}

// compare compares Parse with the library, and returns whether the number is valid.
func compare(t *testing.T, text, region string) bool {
	t.Helper()
	want := expected(text, region)
	got, ok := Parse(text, region)
	if got != want || ok != (want != "") {
		t.Errorf("Parse(%q, %q) = %q, %v; the library says %q", text, region, got, ok, want)
	}
	return ok
}

// TestParse checks ways of writing that TestExamples and TestRandom, which compare Parse with the library, do not have, and
// an example of each kind that they have.
func TestParse(t *testing.T) {
	for _, c := range []struct{ region, text, want string }{
		{"IT", "333 123 4567", "+393331234567"},
		{"IT", "+39 333.123.4567", "+393331234567"},
		{"IT", "0039 333/1234567", "+393331234567"},
		{"IT", "391 123 4567", "+393911234567"}, // a mobile number, not the calling code
		{"IT", "+39 06 6982 1234", "+390669821234"},
		{"SM", "882 123", "+3780549882123"},
		{"GB", "+44 (0)20 7946 0958", "+442079460958"},
		{"GG", "712345", "+441481712345"},
		{"GG", "44 20 7946 0958", "+442079460958"},
		{"CX", "61 1831 2 4102 7850", "+61241027850"}, // by the rules of AU, the main region
		{"DE", "(030) 12 34 56", "+4930123456"},
		{"US", "011 39 333 1234567", "+393331234567"},
		{"US", "0039 333 1234567", ""}, // not the prefix there
		{"BR", "0 15 11 96123-4567", "+5511961234567"},
		{"AR", "011 15 2345-6789", "+5491123456789"},
		{"RU", "8 10 39 333 1234567", "+393331234567"},
		{"JP", "０９０−１２３４−５６７８", "+819012345678"},
		{"EG", "٠١٠٠ ١٢٣ ٤٥٦٧", "+201001234567"},
		{"IR", "۰۹۱۲ ۳۴۵ ۶۷۸۹", "+989123456789"},
		{"IT", "\u202a+39\u00a0333\u00a01234567\u202c\t", "+393331234567"}, // as an address book copies it
		{"IT", "＋39 333 1234567", "+393331234567"},
		{"IT", "+0039 333 1234567", "+393331234567"},
		{"", "+800 1234 5678", "+80012345678"},
		{"", "0039 333 1234567", "+393331234567"},
		{"AQ", "0039 333 1234567", "+393331234567"}, // a region without numbers
		{"", "333 1234567", ""},
		{"it", "333 1234567", ""},
		{"001", "12345678", ""},
		{"IT", "333 1234567 8901", ""},
		{"IT", "+999 333 1234567", ""},
		{"IT", "tel:+393331234567", ""},
		{"IT", "+39 333 1234567 ext. 5", ""},
		{"IT", "333 1234567;5", ""},
		{"IT", "333+1234567", ""},
		{"IT", "333 1234567\n333 1234568", ""},
		{"US", "1-800-FLOWERS", ""},
		{"IT", "333\xff1234567", ""},
		{"IT", "", ""},
		{"IT", "+", ""},
		{"IR", "+98 9990", ""}, // fewer than 7 digits
		{"GU", "+113106302", ""},
		{"BY", "08106844213", ""},
		{"AT", "04351235193", ""},
		{"IT", "333 1234567" + strings.Repeat(" ", maxText-11), "+393331234567"},
		{"IT", "333 1234567" + strings.Repeat(" ", maxText-10), ""},
	} {
		if got, ok := Parse(c.text, c.region); got != c.want || ok != (c.want != "") {
			t.Errorf("Parse(%q, %q) = %q, %v, want %q", c.text, c.region, got, ok, c.want)
		}
	}
}

// TestExamples compares the ways of writing the library's example numbers.
func TestExamples(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	valid := 0
	for _, p := range regions() {
		for kind := phonenumbers.FIXED_LINE; kind <= phonenumbers.VOICEMAIL; kind++ {
			number := phonenumbers.GetExampleNumberForType(p.region, kind)
			region := p.region
			if region == "001" {
				code, _ := strconv.Atoi(p.code)
				number, region = phonenumbers.GetExampleNumberForNonGeoEntity(code), "IT"
			}
			if number == nil {
				continue
			}
			e164 := phonenumbers.Format(number, phonenumbers.E164)
			for _, text := range []string{
				e164,
				phonenumbers.Format(number, phonenumbers.INTERNATIONAL),
				phonenumbers.Format(number, phonenumbers.NATIONAL),
				e164[1:],
				"00" + e164[1:],
				sample(rnd, homeOf(region).abroad) + e164[1:],
			} {
				if compare(t, text, region) {
					valid++
				}
			}
			if abroad, ok := Parse("00"+e164[1:], ""); abroad != expected(e164, "") {
				t.Errorf("Parse of %q from no region: %q, %v", "00"+e164[1:], abroad, ok)
			}
		}
	}
	if valid < 6000 {
		t.Errorf("%d texts are valid", valid)
	}
}

// TestRandom compares numbers that are valid, nearly valid or any digits, with and without prefixes.
// They are the same in each run.
func TestRandom(t *testing.T) {
	perRegion := 40
	if testing.Short() {
		perRegion = 20
	}
	rnd := rand.New(rand.NewPCG(2, 2))
	plans := regions()
	countries := find(func(p plan) bool { return p.region != "001" })
	valid := 0
	for _, p := range plans {
		neighbours := called(p.code)
		for range perRegion {
			region := neighbours[rnd.IntN(len(neighbours))].region
			if region == "001" || rnd.IntN(10) == 0 {
				region = countries[rnd.IntN(len(countries))].region
			}
			if compare(t, randomText(rnd, p), region) {
				valid++
			}
		}
	}
	if valid < len(plans)*perRegion/6 {
		t.Errorf("%d texts of %d are valid", valid, len(plans)*perRegion)
	}
}

// randomText returns digits that resemble a number of a region.
func randomText(rnd *rand.Rand, p plan) string {
	national := []byte(sample(rnd, []string{p.types, p.types, p.general, `\d{3,15}`}[rnd.IntN(4)]))
	switch i := rnd.IntN(len(national)); rnd.IntN(8) {
	case 0, 1:
		national[i] = byte('0' + rnd.IntN(10))
	case 2:
		national = slices.Delete(national, i, i+1)
	}
	prefixes := []string{
		"", "+" + p.code, p.code, sample(rnd, p.prefix), sample(rnd, p.abroad) + p.code, "00" + p.code,
		"+" + p.code + sample(rnd, p.prefix), p.code + sample(rnd, p.prefix), "0", "+0", "0" + p.code,
	}
	return prefixes[rnd.IntN(len(prefixes))] + string(national)
}

// parsed has the patterns that sample has parsed.
var parsed = map[string]*syntax.Regexp{}

// sample returns a text that a pattern matches.
func sample(rnd *rand.Rand, pattern string) string {
	re := parsed[pattern]
	if re == nil {
		var err error
		if re, err = syntax.Parse(pattern, syntax.Perl); err != nil {
			panic(err)
		}
		parsed[pattern] = re
	}
	var b strings.Builder
	var write func(re *syntax.Regexp)
	write = func(re *syntax.Regexp) {
		switch re.Op {
		case syntax.OpLiteral:
			b.WriteString(string(re.Rune))
		case syntax.OpCharClass:
			pair := rnd.IntN(len(re.Rune)/2) * 2
			b.WriteRune(re.Rune[pair] + rnd.Int32N(re.Rune[pair+1]-re.Rune[pair]+1))
		case syntax.OpAlternate:
			write(re.Sub[rnd.IntN(len(re.Sub))])
		case syntax.OpQuest:
			if rnd.IntN(2) == 0 {
				write(re.Sub[0])
			}
		case syntax.OpRepeat:
			for range re.Min + rnd.IntN(re.Max-re.Min+1) {
				write(re.Sub[0])
			}
		default:
			for _, sub := range re.Sub {
				write(sub)
			}
		}
	}
	write(re)
	return b.String()
}

// TestRegions checks that regions.txt is what generate.go makes of the library's metadata.
func TestRegions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "regions.txt")
	if out, err := exec.Command("go", "run", "generate.go", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	made, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(made) != regionLines {
		t.Error("regions.txt is not up to date: run go generate")
	}
}

var inE164 = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)

func FuzzParse(f *testing.F) {
	f.Add("333 123 4567", "IT")
	f.Add("+44 (0)20 7946 0958", "DE")
	f.Add("011 15 2345-6789", "AR")
	f.Add("8 10 375 8 10 1234567", "BY")
	f.Add("００３９\u202a٣٣٣\xff", "")
	f.Fuzz(func(t *testing.T, text, region string) {
		e164, ok := Parse(text, region)
		if !ok {
			if e164 != "" {
				t.Errorf("Parse(%q, %q) = %q, false", text, region, e164)
			}
			return
		}
		if !inE164.MatchString(e164) {
			t.Errorf("Parse(%q, %q) = %q", text, region, e164)
		}
		for _, from := range []string{"", region, "BY", "US"} {
			if again, _ := Parse(e164, from); again != e164 {
				t.Errorf("Parse(%q, %q) = %q, which from %q is %q", text, region, e164, from, again)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, c := range []struct{ name, text, region string }{
		{"IT", "333 123 4567", "IT"},
		{"US", "(201) 555-0123", "US"},
		{"AR", "011 15 2345-6789", "AR"},
		{"invalid", "(201) 055-0123", "US"},
	} {
		b.Run(c.name+"/first", func(b *testing.B) {
			for b.Loop() {
				compiled.Clear()
				Parse(c.text, c.region)
			}
		})
		b.Run(c.name+"/later", func(b *testing.B) {
			for b.Loop() {
				Parse(c.text, c.region)
			}
		})
	}
}
