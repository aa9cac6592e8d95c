package openapi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"punchcard/server/wire"
)

// Curl returns a sample request of an operation, as a command for a POSIX
// shell. The shell variable KEY holds the key, and variables such as CARD_ID
// the ids.
func (d *Document) Curl(o *Operation) string {
	lines := []string{`curl -H "Authorization: Bearer $KEY"`}
	if o.Route.Writes() {
		lines[0] = "curl -X " + o.Route.Method + strings.TrimPrefix(lines[0], "curl")
		// Not every system has uuidgen, and not every shell has RANDOM. The
		// operation's id keeps apart the keys of two operations in the same second.
		lines = append(lines, `-H "Idempotency-Key: `+o.ID+`-$(date +%s)-$RANDOM"`)
	}
	if body := d.sampleBody(o); body != "" {
		// With -d, curl sends the Content-Type of a form unless told otherwise.
		lines = append(lines, `-H "Content-Type: application/json"`, "-d '"+strings.ReplaceAll(body, "'", `'\''`)+"'")
	}
	url := d.quotedBase() + shellPath(o.Route.Path)
	if slices.ContainsFunc(o.Parameters, func(p wire.Parameter) bool { return p.In == "query" && p.Name == "limit" }) {
		url += "?limit=20"
	}
	return strings.Join(append(lines, `"`+url+`"`), " \\\n  ")
}

// FirstCurl returns a request with which a key can be tried.
func (d *Document) FirstCurl() string {
	return "curl -H \"Authorization: Bearer $KEY\" \\\n  \"" + d.quotedBase() + "/me\""
}

// quotedBase returns the base URL, escaped for a shell's double quotes.
func (d *Document) quotedBase() string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(d.Base())
}

// shellPath returns a path with shell variables in place of parameters, named after
// their collection: /cards/$CARD_ID for /cards/:id.
func shellPath(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		switch {
		case p == ":type":
			parts[i] = "$" + strings.ToUpper(strings.ReplaceAll(singular(parts[i-1]), "-", "_"))
		case p == ":code":
			parts[i] = "$" + strings.ToUpper(singular(parts[i-1])) + "_CODE"
		case strings.HasPrefix(p, ":"):
			parts[i] = "$" + strings.ToUpper(singular(parts[i-1])) + "_ID"
		}
	}
	return strings.Join(parts, "/")
}

// singular returns the singular of a collection's name.
func singular(collection string) string {
	if stem, ok := strings.CutSuffix(collection, "ies"); ok {
		return stem + "y"
	}
	return strings.TrimSuffix(collection, "s")
}

// sampleBody returns a body that the operation accepts, on one line, or "" if
// it needs none.
func (d *Document) sampleBody(o *Operation) string {
	schema := o.Body
	if schema == nil {
		return ""
	}
	given := d.about.Examples[o.ID]
	names := slices.DeleteFunc(slices.Clone(schema.Order), func(n string) bool {
		return given[n] == nil && !slices.Contains(schema.Required, n)
	})
	if len(names) == 0 && o.Route.Mode == wire.Patch {
		names = schema.Order[:1]
	}
	if len(names) == 0 {
		return ""
	}
	var members []string
	for _, n := range names {
		v := given[n]
		if v == nil {
			v = example(n, schema.Properties[n])
			if kind := kindOf("", n); kind != "" && v == any("example") {
				v = d.samples.id(kind)
			}
		}
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		members = append(members, fmt.Sprintf("%q: %s", n, raw))
	}
	return "{" + strings.Join(members, ", ") + "}"
}

// exampleTexts are the examples of texts, by the names of their fields.
var exampleTexts = map[string]string{"phone": "+390612345678", "birthday": "12-10"}

// example returns a value that fits the schema.
func example(name string, s *wire.JSONSchema) any {
	s = s.Resolve()
	if len(s.Enum) > 0 {
		return s.Enum[0]
	}
	switch s.Type[0] {
	case "boolean":
		return true
	case "integer", "number":
		for _, bound := range []json.Number{s.Minimum, s.Maximum} {
			if bound != "" && bound != "0" {
				return bound
			}
		}
		return 1
	case "array":
		return []any{example(name, s.Items)}
	case "object":
		return struct{}{}
	}
	if text := exampleTexts[name]; text != "" {
		return text
	}
	switch s.Format {
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
