package web

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/text/language"
)

// Locales are the languages of all pages, English first. Portuguese is that of Portugal.
var Locales = []string{"en", "it", "es", "fr", "de", "pt"}

// Languages are the same as choices, each by its own name.
var Languages = Options("en", "English", "it", "Italiano", "es", "Español", "fr", "Français", "de", "Deutsch", "pt", "Português")

// languageName returns the name of a language in the language itself.
func languageName(lang string) string {
	for _, o := range Languages {
		if o.Value == lang {
			return o.Label
		}
	}
	return lang
}

//go:embed text
var textFS embed.FS

// Printer writes texts, dates and numbers in one language. It may be used by several
// goroutines.
type Printer struct {
	lang     string
	locale   *locale
	location *time.Location // nil: dates are shown in their own
	texts    func() map[string]string
}

// printers holds the printer of each language.
var printers = func() map[string]*Printer {
	all := map[string]*Printer{}
	for _, lang := range Locales {
		all[lang] = &Printer{
			lang:   lang,
			locale: localeOf[lang],
			texts:  sync.OnceValue(func() map[string]string { return readTexts(lang) }),
		}
	}
	return all
}()

// readTexts reads the translations of a language, which are in one file for each face.
// The tables are part of the program, and a test reads them all.
func readTexts(lang string) map[string]string {
	texts := map[string]string{}
	entries, err := textFS.ReadDir("text/" + lang)
	if err != nil { // English has no table
		return texts
	}
	for _, e := range entries {
		raw, err := textFS.ReadFile(path.Join("text", lang, e.Name()))
		if err != nil {
			panic(err)
		}
		if err := json.Unmarshal(raw, &texts); err != nil {
			panic(fmt.Sprintf("web: text/%s/%s: %v", lang, e.Name(), err))
		}
	}
	return texts
}

// PrinterFor returns the printer of a language, or the English one if there is none.
func PrinterFor(lang string) *Printer {
	if p := printers[lang]; p != nil {
		return p
	}
	return printers["en"]
}

// In returns a printer that shows dates in a time zone.
func (p *Printer) In(zone *time.Location) *Printer {
	q := *p
	q.location = zone
	return &q
}

// Lang returns the language, such as "it".
func (p *Printer) Lang() string { return p.lang }

// T returns the translation of an English text, or the text itself if there is none.
// {0} stands for the first argument, {1} for the second; integers are written as
// Number does. A text with a number has two forms, "{0} card|{0} cards": the first
// argument chooses between them.
func (p *Printer) T(text Text, args ...any) string {
	if s := p.texts()[text]; s != "" {
		text = s
	}
	if one, other, ok := strings.Cut(text, "|"); ok {
		text = other
		if len(args) > 0 {
			if n, ok := toInt(args[0]); ok && p.locale.isOne(n) {
				text = one
			}
		}
	}
	if len(args) == 0 || !strings.Contains(text, "{") {
		return text
	}
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		digits, after, _ := strings.Cut(rest, "}")
		if i, err := strconv.Atoi(digits); err == nil && i >= 0 && i < len(args) {
			b.WriteString(p.argument(args[i]))
			text = after
			continue
		}
		b.WriteByte('{')
		text = rest
	}
}

// Translation returns the translation of an English text with its placeholders and forms,
// or an empty string if there is none.
func (p *Printer) Translation(text string) string { return p.texts()[text] }

// Text is an English text that is translated later. The test of the tables finds the literals of
// parameters, fields and elements of this type, and of conversions to it.
type Text = string

// toInt returns an argument as an integer.
func toInt(arg any) (int64, bool) {
	switch n := arg.(type) {
	case int:
		return int64(n), true
	case int64:
		return n, true
	case int32:
		return int64(n), true
	}
	return 0, false
}

// argument returns an argument of a text as it is shown.
func (p *Printer) argument(arg any) string {
	if n, ok := toInt(arg); ok {
		return p.Number(n)
	}
	return isolate(fmt.Sprint(arg))
}

// isolate encloses a text that is written from right to left, so that it does not
// reorder the sentence around it.
func isolate(s string) string {
	if !strings.ContainsFunc(s, isRightToLeft) {
		return s
	}
	return "\u2068" + s + "\u2069"
}

// isRightToLeft reports whether a letter belongs to a script that is written from right
// to left, or is a control character of the writing direction.
func isRightToLeft(r rune) bool {
	return r >= 0x590 && (unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko) ||
		unicode.Is(unicode.Bidi_Control, r))
}

// Match returns the best language for an Accept-Language header, or an empty string if
// it accepts none.
func Match(acceptLanguage string) string {
	tags, _, _ := language.ParseAcceptLanguage(acceptLanguage) // nobody is refused for a malformed one
	for _, tag := range tags {
		base, _ := tag.Base()
		switch lang := base.String(); {
		case slices.Contains(Locales, lang):
			return lang
		case lang == "mul": // for *
			return Locales[0]
		}
	}
	return ""
}

// ChosenLanguage returns the language in the query of a page, or an empty string if there
// is none.
func ChosenLanguage(r *http.Request) string {
	if lang := r.URL.Query().Get("lang"); slices.Contains(Locales, lang) {
		return lang
	}
	return ""
}

// PrinterOf returns the printer for somebody who is not known: of the language in the
// query, or else of the browser's.
func PrinterOf(r *http.Request) *Printer {
	if lang := ChosenLanguage(r); lang != "" {
		return PrinterFor(lang)
	}
	return PrinterFor(Match(r.Header.Get("Accept-Language")))
}
