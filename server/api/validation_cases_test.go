package api_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/servertest"
)

// try is a value for a field and the code of its detail, which is empty if the value is valid.
type try struct {
	value any
	code  string
	at    string // path of the detail below the field
}

// tries returns values to try for a field according to its schema. The tests of server/wire have more of
// wrong types.
func tries(s schema) (list []try) {
	add := func(value any, code string) { list = append(list, try{value, code, ""}) }
	types := typesOf(s)
	has := func(t string) bool { return slices.Contains(types, t) }
	for _, v := range []struct {
		types []string
		value any
	}{
		{[]string{"string"}, "7"}, {[]string{"integer", "number"}, 7}, {[]string{"number"}, 7.25}, {[]string{"boolean"}, false},
		{[]string{"array"}, []any{"abc"}}, {[]string{"object"}, schema{"it": "abc"}},
	} {
		if !slices.ContainsFunc(v.types, has) {
			add(v.value, "invalid_type")
		}
	}
	number := func(key string) (float64, bool) { n, ok := s[key].(float64); return n, ok }
	switch {
	case has("string"):
		text(s, func(v any, code string) { add(v, code) })
	case has("integer"), has("number"):
		step := 1.0
		if has("number") {
			step = 1.0 / 64
		}
		if n, ok := number("minimum"); ok {
			add(n-step, "too_small")
			add(n, "")
			add(json.RawMessage("-1e400"), "too_small")
		}
		if n, ok := number("exclusiveMinimum"); ok {
			add(n, "too_small")
			add(n+step, "")
		}
		if n, ok := number("maximum"); ok {
			add(n+step, "too_large")
			add(n, "")
		}
		add(json.RawMessage("1e400"), "too_large")
		add(json.RawMessage("-123456789012345678901234567890"), "too_small")
		add(json.RawMessage("123456789012345678901234567890"), "too_large")
	case has("array"):
		for _, v := range []any{7, nil, schema{}} {
			list = append(list, try{[]any{v}, "invalid_type", ".0"})
		}
		if n, ok := number("maxItems"); ok {
			add(slices.Repeat([]any{"x"}, int(n)+1), "too_many")
		}
	case has("object") && s["properties"] == nil: // with any names
		for _, v := range []any{7, nil, schema{}} {
			list = append(list, try{schema{"X-Shop": v}, "invalid_type", ".X-Shop"})
		}
		list = append(list, try{schema{"X-Shop": ""}, "too_short", ".X-Shop"})
		add(schema{"X-Shop": "1"}, "")
	case has("object"):
		for _, v := range []any{7, nil, schema{}} {
			list = append(list, try{schema{"it": v}, "invalid_type", ".it"})
		}
		list = append(list, try{schema{"xx": "a"}, "unknown_field", ".xx"}, try{schema{"IT": "a"}, "unknown_field", ".IT"},
			try{schema{"": "a"}, "unknown_field", "."})
		it, _ := dig(s, "properties", "it").(schema)
		text(it, func(v any, code string) {
			at := ".it"
			if code == "" {
				at = ""
			}
			list = append(list, try{schema{"it": v}, code, at})
		})
		add(schema{}, "")
	}
	return list
}

// text calls add with strings for a schema and the code of each, which is empty if the string is
// valid. The strings for lengths have characters of three bytes, since bounds count characters.
func text(s schema, add func(value any, code string)) {
	badScheme := "invalid_format"
	if description, _ := s["description"].(string); strings.HasPrefix(description, "https,") { // of a webhook
		badScheme = "invalid_value"
	}
	min, hasLeast := s["minLength"].(float64)
	max, hasMost := s["maxLength"].(float64)
	plain := s["format"] == nil && s["pattern"] == nil && s["enum"] == nil
	if hasLeast && min > 0 {
		add(strings.Repeat("語", int(min)-1), "too_short")
	}
	if hasMost {
		add(strings.Repeat("語", int(max)+1), "too_long")
	}
	if plain && hasLeast {
		add(strings.Repeat("語", int(min)), "")
	}
	if plain && hasMost {
		add(strings.Repeat("語", int(max)), "")
	}
	bad := map[any][]string{
		"email": {"ada", "ada@", "@example.com", "a b@example.com", "ada@example", "Ada <ada@example.com>", "ada@example.com "},
		"uri": {
			"example.com/x.png", "/x.png", "ftp://example.com/x", "javascript:alert(1)", "https://", "https://u:p@example.com/",
			"https://exa mple.com",
		},
		"date-time": {
			"2030-01-01", "2030-01-01T00:00:00", "2030-02-30T00:00:00Z", "1893456000", "2030-01-01 00:00:00Z",
			"2030-01-01T24:00:00Z", "tomorrow",
		},
	}[s["format"]]
	switch {
	case s["enum"] != nil:
		for _, v := range s["enum"].([]any) {
			if v != nil {
				other := strings.ToUpper(v.(string))
				if other == v {
					other = strings.ToLower(other)
				}
				add(other, "invalid_value")
			}
		}
		add("bogus", "invalid_value")
	case s["pattern"] != nil:
		bad = []string{"", "#12345", "#GGGGGG", "1F2937", "# 1F2937", "Not a Category!", "é", "#1F2937\n"}
	}
	pattern, _ := s["pattern"].(string)
	for _, v := range bad {
		if pattern != "" && regexp.MustCompile(pattern).MatchString(v) {
			continue
		}
		switch {
		case strings.HasPrefix(v, "ftp:") || strings.HasPrefix(v, "javascript:"):
			add(v, badScheme)
		case v != "" || !hasLeast:
			add(v, "invalid_format")
		}
	}
}

// base returns a body that the operation accepts and in which the field applies.
func base(r kernel.Route, field string) map[string]any {
	m := map[string]any{}
	switch r.ID {
	case "createProgram":
		m = map[string]any{"type": "standard", "name": "Sample", "total_stamps": 10, "icon_key": "star"}
		if own, ok := map[string]map[string]any{
			"discount_percent":      {"type": "discount", "discount_percent": 10},
			"access_image_url":      {"type": "access", "access_image_url": "https://example.com/a.png"},
			"initial_balance_cents": {"type": "prepaid", "initial_balance_cents": 0},
		}[field]; ok {
			m = withFields(map[string]any{"name": "Sample"}, own)
		}
	case "createWebhook":
		m = map[string]any{"url": "https://hooks.invalid/a", "events": []any{"location.updated"}}
	case "createPrize":
		m = map[string]any{"threshold": 5, "name": "Croissant"}
	}
	return m
}

// template maps fields that stamp programs lack to a type of program that has the field.
var template = map[string]string{"discount_percent": "discount", "access_image_url": "access", "initial_balance_cents": "prepaid"}

// wideLadder raises the limits of prizes, so that a test can create many in one program.
func wideLadder(c *app.Config) { c.Limits.PrizeMaxOptions, c.Limits.PrizeMaxThresholds = 1000, 1000 }

// onTemplate returns th with a program that has the field.
func onTemplate(s *servertest.Server, th things, r kernel.Route, field string) things {
	if r.ID == "updateProgram" && template[field] != "" {
		th.program = s.ProgramIDs[template[field]]
	}
	return th
}
