package seed

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var faultLine = regexp.MustCompile(`^seed\.json:([1-9][0-9]*): [^\n]+: [^\n]+$`)

// FuzzParse checks that Parse accepts any file or returns errors of the documented
// form, with lines that the file has.
func FuzzParse(f *testing.F) {
	f.Add([]byte(validSeed))
	for _, text := range []string{``, `[]`, `{"shops":[{"locations":[{"ref":"a"}]}]}`, `{"shops":[{"locations":[{"ref":"a"}],"x.y":1,"cards":[{"ref":"b","program":"a"}]}]}`,
		`{"shops":[{"name":"\u2028","locations":[{"ref":"a","\n":{"z":[0]}}]}]}`, strings.Repeat("[", 200)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := Parse("seed.json", raw)
		if (s == nil) == (err == nil) {
			t.Fatalf("%v and %v", s, err)
		}
		if err != nil {
			checkFaults(t, raw, err)
			return
		}
		if _, err := s.application(nil, 1_780_000_000_000).plan(); err != nil {
			checkFaults(t, raw, err)
		}
	})
}

func checkFaults(t *testing.T, raw []byte, err error) {
	t.Helper()
	lines := strings.Split(err.Error(), "\n")
	if len(lines) > maxProblems {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		m := faultLine.FindStringSubmatch(l)
		if m == nil {
			t.Fatalf("%q", l)
		}
		if n, _ := strconv.Atoi(m[1]); n > 1+bytes.Count(raw, []byte("\n")) {
			t.Errorf("%q is beyond the end of the file", l)
		}
	}
}
