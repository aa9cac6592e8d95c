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
		const want = "Your card|Open this link on your phone to add your card:\n\nhttps://cards.example.com/i/token\n"
		if got := Subject(m) + "|" + Text(m); got != want {
			t.Errorf("for %q they are %q", name, got)
		}
	}
}

// TestCardLanguages checks that the message with the link of a card is in each language,
// and has the link and the name.
func TestCardLanguages(t *testing.T) {
	seen := map[string]bool{}
	for _, lang := range []string{"en", "it", "es", "fr", "de", "pt"} {
		for _, name := range []string{"", "{card} & tea"} {
			m := store.Mail{Program: name, Link: "https://cards.example.com/i/token", Language: lang}
			subject, text := Subject(m), Text(m)
			if seen[subject] || seen[text] || !strings.HasSuffix(text, ":\n\n"+m.Link+"\n") || strings.Contains(subject, "\n") ||
				strings.Count(
					subject, "{card}",
				) != strings.Count(
					name, "{card}",
				) || strings.Count(text, "{card}") != strings.Count(name, "{card}") {
				t.Errorf("%s: %q %q", lang, subject, text)
			}
			seen[subject], seen[text] = true, true
		}
	}
	if got := Subject(store.Mail{Language: "xx"}); got != "Your card" {
		t.Errorf("in another language it is %q", got)
	}
}

// TestLostLanguages checks that the message with the links of lost cards is in each
// language, and has the names and links of all cards.
func TestLostLanguages(t *testing.T) {
	seen := map[string]bool{}
	cards := []store.LostCard{
		{Shop: "Caffè\nPay here: x", Program: "Tea", Link: "https://cards.example.com/c/1"},
		{Program: "Cake", Link: "https://cards.example.com/c/2"},
	}
	for _, lang := range []string{"en", "it", "es", "fr", "de", "pt"} {
		m := store.Mail{Kind: store.MailLost, Language: lang, Lost: cards}
		subject, text := Subject(m), Text(m)
		if seen[subject] || seen[text] || strings.Contains(subject, "\n") ||
			!strings.Contains(
				text, "\n\nTea – Caffè Pay here: x\nhttps://cards.example.com/c/1\n\nCake\nhttps://cards.example.com/c/2\n\n",
			) {
			t.Errorf("%s: %q %q", lang, subject, text)
		}
		seen[subject], seen[text] = true, true
	}
	if got := Subject(store.Mail{Language: "xx", Kind: store.MailLost}); got != "Links to your cards" {
		t.Errorf("in another language it is %q", got)
	}
}
