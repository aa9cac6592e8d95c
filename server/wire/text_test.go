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
	for text, want := range map[string]string{
		"Ada": "", " Ada": "", "Zoë": "", "👩\u200d🚀": "", "می\u200cخ": "", "e\u0301": "", "\u00ad-": "", "\ufeffA": "", "\uffff": "",
		"": "too_short", " ": "too_short", "\t": "too_short", "\r\n": "too_short", "\u00a0\u3000": "too_short", "\u2028": "too_short",
		"\u200b": "too_short", "\u200c\u200d": "too_short", "\u2060": "too_short", "\ufeff": "too_short", "\u00ad": "too_short",
		"\u3164": "too_short", "\u115f": "too_short", "\u2800": "too_short", "\ufe0f": "too_short", "\U000e0020": "too_short", " \u200b ": "too_short",
		"a\nb": "invalid_format", "a\rb": "invalid_format", "a\tb": "invalid_format", "a\x01": "invalid_format", "\x1b[2J": "invalid_format", "a\x7f": "invalid_format",
		"a\u0085b": "invalid_format", "a\u009b": "invalid_format", "a\u2028b": "invalid_format", "a\u2029b": "invalid_format",
		"a\u202eb": "invalid_format", "\u202e": "invalid_format", "a\u2066b": "invalid_format", "a\u2069": "invalid_format", "a\u200e": "invalid_format", "\u061c": "invalid_format",
		"123456": "too_long", "1234\n6": "too_long",
	} {
		var b body
		b.Name = store.Given(text)
		got := Validate(&b, Create, nil)
		if want == "" && got != nil || want != "" && (len(got) != 1 || got[0].Code != want) {
			t.Errorf("%q: %v, want %q", text, got, want)
		}
		if want == "too_long" || text == "" {
			continue
		}
		b = body{Names: store.Given(map[string]string{"it": text})}
		if got := Validate(&b, Create, nil); want == "" && got != nil ||
			want != "" && (len(got) != 1 || got[0].Field != "names.it" || got[0].Code != want) {
			t.Errorf("in a map, %q: %v, want %q", text, got, want)
		}
	}
}

// TestTargetURLs checks that a URL with another scheme than http and https has the code of a wrong
// value, and that anything else that is not a URL has the code of a wrong format.
func TestTargetURLs(t *testing.T) {
	type body struct {
		URL store.Opt[string] `json:"url" format:"target-url"`
	}
	for text, want := range map[string]string{
		"https://a.it/x": "", "http://a.it": "",
		"ftp://a.it": "invalid_value", "javascript:alert(1)": "invalid_value", "file:///etc/passwd": "invalid_value", "WS://a.it": "invalid_value", "mailto:a@b.it": "invalid_value",
		"a.it": "invalid_format", "a.it:443/x": "invalid_format", "localhost:8080": "invalid_format", "//a.it": "invalid_format", "https://": "invalid_format",
		"https://u:p@a.it": "invalid_format", "https:a.it": "invalid_format", "": "too_short",
	} {
		b := body{URL: store.Given(text)}
		got := Validate(&b, Create, nil)
		if want == "" && got != nil || want != "" && (len(got) != 1 || got[0].Code != want) {
			t.Errorf("%q: %v, want %q", text, got, want)
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
