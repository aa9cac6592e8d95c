package mailtext

import (
	"strings"
	"testing"

	"punchcard/store"
)

// TestNames checks that a name, which may be older than the rules for names, is one
// line in the subject and in the text, and cannot change how they read.
func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"Caffè & Söhne ☕":                          "Caffè & Söhne ☕",
		"x\r\n\r\nPay at https://evil.example\n":   "x Pay at https://evil.example",
		"a\tb\v\fc\u0085d\u2028e\u2029f":           "a b c d e f",
		"\u202egnp.exe\u202c \u2066a\u2069\u061cb": "gnp.exe ab",
		"\u200ea\u200fb\ufeffc\u00add\u200be":      "abcde",
		"tag\U000e0041\U000e007f":                  "tag",
		"👩\u200d🍳 नी\u200cला":                      "👩\u200d🍳 नी\u200cला",
		"  a \u3000 b  ":                           "a b",
		strings.Repeat("é", 200):                   strings.Repeat("é", 200),
		strings.Repeat("é", 201):                   strings.Repeat("é", 199) + "…",
	} {
		m := store.Mail{Program: name, Link: "https://cards.example.com/i/token"}
		if got := Subject(m); got != "Your card: "+want {
			t.Errorf("the subject for %q is %q", name, got)
		}
		if got := Text(m); got != "Open this link on your phone to add the card "+want+":\n\nhttps://cards.example.com/i/token\n" {
			t.Errorf("the text for %q is %q", name, got)
		}
	}
	for _, name := range []string{"", " \n", "\u200b\u200d", "\u202e"} {
		m := store.Mail{Program: name, Link: "https://cards.example.com/i/token"}
		if got := Subject(m) + "|" + Text(m); got != "Your card|Open this link on your phone to add your card:\n\nhttps://cards.example.com/i/token\n" {
			t.Errorf("for %q they are %q", name, got)
		}
	}
}
