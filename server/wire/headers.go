package wire

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// ValidateHeaders validates the HTTP headers in a field, and refuses those that
// reserved reports by their lower-case name. reason is the message for them.
func ValidateHeaders(field string, headers map[string]string, reserved func(name string) bool, reason string) (list []Detail) {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		lower := strings.ToLower(name)
		add := func(code, message string) {
			list = append(list, Detail{Field: field + "." + name, Code: code, Message: message})
		}
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			add(CodeInvalidFormat, "is not the name of an HTTP header")
		case reserved(lower):
			add(CodeNotAllowed, reason)
		case seen[lower]:
			add(CodeInvalidValue, "is there already; the case of a header's name does not matter")
		case strings.ContainsFunc(headers[name], func(c rune) bool { return c != '\t' && (c < ' ' || c > '~') }):
			add(CodeInvalidFormat, "must be visible ASCII characters, spaces and tabs")
		}
		seen[lower] = true
	}
	return list
}
