package api

import (
	"encoding/json"
	"fmt"
	"html"
	"html/template"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/wire"
)

// samples are values that read better than what the schema alone suggests, and
// fields that the domain wants beside those that the schema requires.
var samples = map[string]object{
	"createProgram":  {"name": "Coffee card", "total_stamps": 10, "icon_key": "coffee"},
	"updateProgram":  {"name": "Coffee and cake card"},
	"createPrize":    {"name": "Free coffee", "threshold": 10},
	"updatePrize":    {"name": "Free coffee, any size"},
	"issueCard":      {"external_ref": "crm-4711", "holder_name": "Ada Lovelace"},
	"updateCard":     {"holder_name": "Ada King"},
	"updateLocation": {"name": "Harbour Street"},
	"createWebhook":  {"url": "https://example.com/hooks/loyalty", "events": []any{"card.*", "prize.redeemed"}},
	"updateWebhook":  {"active": true},
}

// sample is a body that the operation accepts, on one line; empty where none
// is needed.
func (d *describer) sample(r *kernel.Route, schema object) string {
	schema, _ = d.resolve(schema)
	properties, _ := schema["properties"].(object)
	required, _ := schema["required"].([]string)
	names := order(schema, namesOf(r.Body))
	chosen := slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return samples[r.ID][n] == nil && !slices.Contains(required, n)
	})
	if len(chosen) == 0 && r.Mode == wire.Patch {
		chosen = names[:1]
	}
	if len(chosen) == 0 {
		return ""
	}
	fields := make([]string, len(chosen))
	for i, n := range chosen {
		v := samples[r.ID][n]
		if v == nil {
			v = d.example(n, properties[n].(object))
		}
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		fields[i] = fmt.Sprintf("%q: %s", n, raw)
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// example is a value that fits the schema.
func (d *describer) example(name string, s object) any {
	s, _ = d.resolve(s)
	if values, ok := s["enum"].([]any); ok {
		return values[0]
	}
	kind, _, _ := strings.Cut(typeWords(s), " ")
	switch kind {
	case "boolean":
		return true
	case "integer", "number":
		for _, bound := range []string{"minimum", "maximum"} {
			if v := s[bound]; v != nil && number(v) != "0" {
				return v
			}
		}
		return 1
	case "array":
		if items, ok := s["items"].(object); ok {
			return []any{d.example(name, items)}
		}
		return []any{}
	case "object":
		return object{}
	}
	switch text(s["format"]) {
	case "email":
		return "ada@example.com"
	case "uri":
		return "https://example.com/" + name
	case "date-time":
		return "2030-01-31T12:00:00Z"
	case "date":
		return "2030-01-31"
	}
	return "example"
}

// shellPath writes a path with shell variables where its parameters are:
// /cards/:id is /cards/$CARD_ID, after the collection that the id is of.
func shellPath(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, ":") {
			parts[i] = "$" + strings.ToUpper(singular(parts[i-1])) + "_ID"
		}
	}
	return strings.Join(parts, "/")
}

func singular(collection string) string {
	if stem, ok := strings.CutSuffix(collection, "ies"); ok {
		return stem + "y"
	}
	return strings.TrimSuffix(collection, "s")
}

// quoted escapes what a shell would change between double quotes.
var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`")

// curl is the command for an operation, for a POSIX shell.
func curl(id, method, url, body string) string {
	lines := []string{`curl -H "Authorization: Bearer $KEY"`}
	if method != http.MethodGet {
		lines[0] = "curl -X " + method + strings.TrimPrefix(lines[0], "curl")
		// uuidgen is not everywhere, and in a shell without RANDOM two commands
		// of one second need different keys as well.
		lines = append(lines, `-H "Idempotency-Key: `+id+`-$(date +%s)-$RANDOM"`)
	}
	if body != "" {
		// curl's own Content-Type for -d is that of a form.
		lines = append(lines, `-H "Content-Type: application/json"`, "-d '"+strings.ReplaceAll(body, "'", `'\''`)+"'")
	}
	return strings.Join(append(lines, `"`+url+`"`), " \\\n  ")
}

// A word with an underscore names a field, a code or a value.
var marked = regexp.MustCompile("`[^`]*`|\\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\\b")

// prose escapes a text of the API description and sets its names as code.
func prose(s string) template.HTML {
	var b strings.Builder
	from := 0
	for _, at := range marked.FindAllStringIndex(s, -1) {
		b.WriteString(html.EscapeString(s[from:at[0]]))
		b.WriteString("<code>" + html.EscapeString(strings.Trim(s[at[0]:at[1]], "`")) + "</code>")
		from = at[1]
	}
	b.WriteString(html.EscapeString(s[from:]))
	return template.HTML(b.String())
}
