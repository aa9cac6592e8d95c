package web

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"
)

// funcs returns the functions of the templates. printer returns the one of the page
// that is being rendered.
func funcs(printer func() *Printer) template.FuncMap {
	at := func(format func(*Printer, time.Time) string) func(any) string {
		return func(t any) string {
			when, ok := printer().at(t)
			if !ok {
				return ""
			}
			return format(printer(), when)
		}
	}
	return template.FuncMap{
		"t":        func(text string, args ...any) string { return printer().T(text, args...) },
		"lang":     func() string { return printer().Lang() },
		"date":     at((*Printer).Date),
		"day":      func(date string) string { return printer().Day(date) },
		"birthday": func(date string) string { return printer().Birthday(date) },
		"longdate": at((*Printer).LongDate),
		"datetime": at((*Printer).DateTime),
		"moment":   at((*Printer).Moment),
		"time":     func(t any) template.HTML { return timeElement(printer(), t) },
		"ago":      func(t, now any) template.HTML { return agoElement(printer(), t, now) },
		"number": func(n any) (string, error) {
			i, err := whole(n)
			return printer().Number(i), err
		},
		"money": func(cents any, currency string) (string, error) {
			i, err := whole(cents)
			return printer().Money(i, currency), err
		},
		"asset":     Asset,
		"bytes":     func(n int64) string { return printer().Bytes(n) },
		"duration":  func(d time.Duration) string { return printer().Duration(d) },
		"icon":      icon,
		"dict":      dict,
		"plus":      func(a, b int) int { return a + b },
		"list":      list,
		"options":   Options,
		"language":  languageName,
		"languages": func() []Option { return Languages },
		"field":     newField,
		"link":      newAction,
		"post":      newPost,
		"badge":     newBadge,
		"fact":      newFact,
		"noteicon":  noteIcon,
		"change":    func(now, before int64) Change { return printer().ChangeOf(now, before) },
		"keyfield":  func() string { return KeyField },
		"initials":  initials,
		"join":      strings.Join,
		"breakable": breakable,
	}
}

// timeElement returns a time element with a day and a time of day.
func timeElement(p *Printer, t any) template.HTML {
	at, ok := p.at(t)
	if !ok {
		return ""
	}
	return timeMarkup(at, p.DateTime(at), "")
}

// agoElement returns a time element that says how long ago a time was.
func agoElement(p *Printer, t, now any) template.HTML {
	at, ok := p.at(t)
	end, known := p.at(now)
	if !ok || !known {
		return ""
	}
	return timeMarkup(at, p.Ago(at, end), p.DateTime(at))
}

func timeMarkup(t time.Time, text, title string) template.HTML {
	var b strings.Builder
	b.WriteString(`<time datetime="` + t.UTC().Format(time.RFC3339) + `"`)
	if title != "" {
		b.WriteString(` title="` + template.HTMLEscapeString(title) + `"`)
	}
	b.WriteString(">" + template.HTMLEscapeString(text) + "</time>")
	return template.HTML(b.String())
}

// whole returns an argument of a template as an integer.
func whole(n any) (int64, error) {
	i, ok := toInt(n)
	if !ok {
		return 0, fmt.Errorf("number of %T", n)
	}
	return i, nil
}

// dict returns a map of pairs of a key and a value.
func dict(pairs ...any) (map[string]any, error) {
	m := make(map[string]any, len(pairs)/2)
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("dict: a key has no value")
	}
	for i := 0; i < len(pairs); i += 2 {
		key, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("dict: %v is not a key", pairs[i])
		}
		m[key] = pairs[i+1]
	}
	return m, nil
}

// list returns the items but those that are empty, as (and CONDITION ITEM) is where the condition does not hold.
func list(items ...any) []any {
	return slices.DeleteFunc(items, func(item any) bool {
		truth, _ := template.IsTrue(item)
		return !truth
	})
}

// newFact is the template function fact.
func newFact(label string, value any, hint ...string) Fact {
	return Fact{Label: label, Value: value, Hint: strings.Join(hint, "")}
}

// newBadge is the template function badge.
func newBadge(label string, tone ...string) Badge {
	return Badge{Label: label, Tone: strings.Join(tone, "")}
}

// initials returns the first letters of the first two words of a name.
func initials(name string) string {
	var out []rune
	for _, word := range strings.Fields(name) {
		if len(out) < 2 {
			out = append(out, []rune(word)[0])
		}
	}
	return strings.ToUpper(string(out))
}

// breakable returns an email that is broken after its @ if it is long.
func breakable(email string) template.HTML {
	return template.HTML(strings.Replace(template.HTMLEscapeString(email), "@", "@<wbr>", 1))
}

// noteIcon returns the icon of a note by its tone, or the icon that it names itself.
func noteIcon(tone string) string {
	if tone == "warn" {
		return "warning"
	}
	return tone
}
