package web

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// refusal is what pages say where the API refuses something with a message, or says with it
// what is wrong with a field.
type refusal struct {
	message string // of the API; %d stands for a number, %s for a word and %v for any text; pages write numbers alone in a language
	text    Text   // {0} is the first part of the message that varies
}

// refusalPattern is a refusal by an expression that its messages match.
type refusalPattern struct {
	refusal
	messages *regexp.Regexp
	field    string // of a form that the refusal is about; empty: the form as a whole
}

// refusals are what pages say of the refusals that they can receive, the longest message, which is
// the most specific one, first. TestRefusals finds those without a text.
var refusals = sync.OnceValue(func() (list []refusalPattern) {
	words := strings.NewReplacer("%d", `(-?[0-9]+(?:[.][0-9]+)?)`, "%s", `([^ ]+)`, "%v", `(.+)`)
	add := func(field string, refusals ...refusal) {
		for _, r := range refusals {
			messages := regexp.MustCompile("(?s)^" + words.Replace(regexp.QuoteMeta(r.message)) + "$")
			list = append(list, refusalPattern{r, messages, field})
		}
	}
	add("", shopRefusals...)
	add("", webhookRefusals...)
	add("", importRefusals...)
	add("", walletRefusals...)
	for _, text := range plainRefusals {
		add("", refusal{text, text})
	}
	for field, refusals := range fieldRefusals {
		add(field, refusals...)
	}
	slices.SortFunc(list, func(a, b refusalPattern) int { return len(b.message) - len(a.message) })
	return list
})

// unknown is the text for a message that is not in refusals.
var unknown = Text("This cannot be done. If you do not know why, tell the person who runs the server this number: {0}")

// Refusal returns what pages say where the API says message: a text, the parts of the message
// that vary, and the field that it is about, if that is known. The message itself is never
// shown: where pages have no text for it, they name the request. A message may lack the period
// at its end.
func Refusal(message, requestID string) (text string, args []any, field string) {
	found, args := lookUp(message)
	if found == nil {
		return unknown, []any{requestID}, ""
	}
	return found.text, args, found.field
}

// refusalVerb is a part of a message that varies.
var refusalVerb = regexp.MustCompile("%[dsv]")

// lookUp returns the refusal that has a message, or nil, and the parts that vary.
func lookUp(message string) (*refusalPattern, []any) {
	for _, s := range []string{message, strings.TrimSuffix(message, ".")} {
		for i, r := range refusals() {
			parts := r.messages.FindStringSubmatch(s)
			if parts == nil {
				continue
			}
			var args []any
			verbs := refusalVerb.FindAllString(r.message, -1)
			for i, part := range parts[1:] {
				if n, err := strconv.ParseInt(part, 10, 64); err == nil && verbs[i] == "%d" {
					args = append(args, n)
				} else {
					args = append(args, part)
				}
			}
			return &refusals()[i], args
		}
	}
	return nil, nil
}

// Refused says what Refusal returns.
func (p *Printer) Refused(message, requestID string) string {
	text, args, _ := Refusal(message, requestID)
	return p.T(text, args...)
}
