package web

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// refusal is what pages say where the API refuses something with a message, or says with it
// what is wrong with a field.
type refusal struct {
	message string // of the API; %d stands for a number, %s for a word and %v for any text
	field   string // of a form that the refusal is about; empty: the form as a whole
	text    string // {0} is the first part of the message that varies
}

// say returns a refusal that pages say in other words. The test of the translations finds the last
// argument of this function and of those below, as it finds that of Text.
func say(message string, text Text) refusal { return refusal{message: message, text: text} }

// sayOf is say for a refusal that is about a field.
func sayOf(field, message string, text Text) refusal { return refusal{message, field, text} }

// same returns a refusal whose message is good for pages too.
func same(text Text) refusal { return say(text, text) }

// sameOf is same for a refusal that is about a field.
func sameOf(field string, text Text) refusal { return sayOf(field, text, text) }

// refusalPatterns are expressions that the messages of refusals match, in their order.
var refusalPatterns = sync.OnceValue(func() (list []*regexp.Regexp) {
	for _, r := range refusals {
		words := strings.NewReplacer("%d", `(-?[0-9]+(?:[.][0-9]+)?)`, "%s", `([^ ]+)`, "%v", `(.+)`).Replace(regexp.QuoteMeta(r.message))
		list = append(list, regexp.MustCompile("(?s)^"+words+"$"))
	}
	return list
})

// unknown is the text for a message that is not in refusals.
var unknown = Text("This cannot be done. If you do not know why, tell the person who runs the server this number: {0}")

// Refusal returns what pages say where the API says message: a text, the parts of the message
// that vary, and the field that it is about, if that is known. The message itself is never
// shown: where pages have no text for it, they name the request. A message may lack the period
// at its end.
func Refusal(message, requestID string) (text string, args []any, field string) {
	i, args := lookUp(message)
	if i < 0 {
		return unknown, []any{requestID}, ""
	}
	return refusals[i].text, args, refusals[i].field
}

// lookUp returns the index in refusals of a message, or -1, and the parts that vary.
func lookUp(message string) (int, []any) {
	for _, s := range []string{message, strings.TrimSuffix(message, ".")} {
		for i, p := range refusalPatterns() {
			parts := p.FindStringSubmatch(s)
			if parts == nil {
				continue
			}
			var args []any
			for _, part := range parts[1:] {
				if n, err := strconv.ParseInt(part, 10, 64); err == nil {
					args = append(args, n)
				} else {
					args = append(args, part)
				}
			}
			return i, args
		}
	}
	return -1, nil
}

// Refused says what Refusal returns.
func (p *Printer) Refused(message, requestID string) string {
	text, args, _ := Refusal(message, requestID)
	return p.T(text, args...)
}
