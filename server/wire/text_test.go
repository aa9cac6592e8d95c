package wire

import (
	"net/url"
	"strings"
	"testing"

	"punchcard/store"
)

// TestLines checks which texts are lines, and the codes of those that are not.
func TestLines(t *testing.T) {
	type body struct {
		Name  store.Opt[string]            `json:"name" min:"1" max:"5" format:"line"`
		Names store.Opt[map[string]string] `json:"names" format:"line"`
	}
	for want, texts := range map[string][]string{
		"": {
			"Ada", " Ada", "Zoë", "👩\u200d🚀", "می\u200cخ", "e\u0301", "\u00ad-", "\ufeffA", "\uffff",
		},
		"too_short": {
			"", " ", "\t", "\r\n", "\u00a0\u3000", "\u2028", "\u200b", "\u200c\u200d", "\u2060", "\ufeff", "\u00ad",
			"\u3164", "\u115f", "\u2800", "\ufe0f", "\U000e0020", " \u200b ",
		},
		"invalid_format": {
			"a\nb", "a\rb", "a\tb", "a\x01", "\x1b[2J", "a\x7f", "a\u0085b", "a\u009b", "a\u2028b", "a\u2029b",
			"a\u202eb", "\u202e", "a\u2066b", "a\u2069", "a\u200e", "\u061c",
		},
		"too_long": {"123456", "1234\n6"},
	} {
		for _, text := range texts {
			if got := brief(Validate(&body{Name: store.Given(text)}, Create, nil)); got != refusal("name", want) {
				t.Errorf("%q: %s, want %q", text, got, want)
			}
			if want == "too_long" || text == "" {
				continue
			}
			b := body{Names: store.Given(map[string]string{"it": text})}
			if got := brief(Validate(&b, Create, nil)); got != refusal("names.it", want) {
				t.Errorf("in a map, %q: %s, want %q", text, got, want)
			}
		}
	}
}

// refusal returns what brief makes of a detail with a code, or of none if the code is empty.
func refusal(field, code string) string {
	if code == "" {
		return ""
	}
	return field + " " + code
}

// TestTargetURLs checks that a URL with another scheme than http and https has the code of a wrong
// value, and that anything else that is not a URL has the code of a wrong format.
func TestTargetURLs(t *testing.T) {
	type body struct {
		URL store.Opt[string] `json:"url" format:"target-url"`
	}
	for want, texts := range map[string][]string{
		"": {"https://a.it/x", "http://a.it"},
		"invalid_value": {
			"ftp://a.it", "javascript:alert(1)", "file:///etc/passwd", "WS://a.it", "mailto:a@b.it",
		},
		"invalid_format": {
			"a.it", "a.it:443/x", "localhost:8080", "//a.it", "https://", "https://u:p@a.it", "https:a.it",
		},
		"too_short": {""},
	} {
		for _, text := range texts {
			if got := brief(Validate(&body{store.Given(text)}, Create, nil)); got != refusal("url", want) {
				t.Errorf("%q: %s, want %q", text, got, want)
			}
		}
	}
}

func TestSentence(t *testing.T) {
	for want, d := range map[string]Detail{
		"tags.0 must be a string.":                 {Field: "tags.0", Message: "must be a string"},
		"The body must be a JSON object.":          {Message: "the body must be a JSON object"},
		"The URL's host must resolve.":             {Field: "url", Message: "The URL's host must resolve."},
		"from must be a time such as 2026-01-02Z.": {Field: "from", Message: "must be a time such as 2026-01-02Z"},
	} {
		if got := Sentence(d); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestPlusOfAnOffset checks that a time whose plus sign was decoded as a space is refused with a hint,
// and that other invalid times are refused without one.
func TestPlusOfAnOffset(t *testing.T) {
	type query struct {
		From store.Opt[store.Time] `json:"from"`
	}
	for text, hint := range map[string]bool{
		"2026-01-01T00:00:00 01:00": true, "2026-01-01T00:00:00.5 23:59": true,
		"2026-01-01 00:00:00": false, "2026-01-01 00:00:00Z": false, "2026-01-01T00:00:00": false, " ": false,
	} {
		got := DecodeQuery(url.Values{"from": {text}}, new(query), nil)
		if len(got) != 1 || got[0].Code != CodeInvalidFormat || strings.Contains(got[0].Message, "%2B") != hint {
			t.Errorf("%q: %v", text, got)
		}
	}
	if got := DecodeQuery(url.Values{"from": {"2026-01-01T00:00:00+01:00"}}, new(query), nil); got != nil {
		t.Error(got)
	}
}
