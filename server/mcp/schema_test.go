package mcp

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"punchcard/server/kernel"
	"punchcard/server/operation"
	"punchcard/server/servertest/require"
	"punchcard/server/wire"
)

// decoders are the structs that decode the arguments of the tools: those of the tool itself, and
// of the operations to which it passes the others.
var decoders = map[string][]any{
	"compare_periods":    {operation.ComparePeriods},
	"create_program":     {writeArgs{}, operation.CreateProgramWithPrizes},
	"draft_webhook":      {draftArgs{}, operation.DraftWebhook},
	"find_cards":         {findArgs{}, operation.FindCards},
	"get_analytics":      {statsArgs{}},
	"get_card":           {cardArgs{}},
	"get_overview":       {struct{}{}},
	"get_programs":       {programArgs{}, operation.ListPrograms},
	"get_webhooks":       {webhookArgs{}, operation.ListWebhookReports},
	"issue_cards":        {issueArgs{}},
	"list_transactions":  {rowArgs{}, operation.CountTransactions},
	"manage_webhook":     {manageArgs{}},
	"reissue_card":       {resourceArgs{}, operation.ReissueCard},
	"set_location_state": {stateArgs{}},
	"set_program_state":  {actionArgs{}},
	"update_card":        {resourceArgs{}, operation.UpdateCard},
	"update_location":    {resourceArgs{}, operation.UpdateLocation},
	"update_program":     {resourceArgs{}, operation.UpdateProgramAndPrizes},
}

// TestSchemasAgree checks the schemas of the tools against the structs that decode their arguments.
// A schema may leave out an argument or a limit, since each costs an assistant tokens. What it
// says is what the struct says: type, values, format, limits and what is required.
func TestSchemasAgree(t *testing.T) {
	t.Parallel()
	settings := wire.Limits{"idempotency_key": 255, "prize_name": 200, "prize_description": 2000, "localization": 500}
	for _, tool := range tools() {
		registry := &wire.Registry{}
		accepted := &wire.JSONSchema{Properties: map[string]*wire.JSONSchema{}}
		for _, d := range decoders[tool.name] {
			of, mode := reflect.TypeOf(d), wire.Create
			if op, ok := d.(*kernel.Operation); ok {
				of, mode = op.In, op.Mode
			}
			s := wire.Schema(of, mode, settings, registry).Resolve()
			for name, property := range s.Properties {
				if accepted.Properties[name] == nil { // the tool's own arguments come first
					accepted.Properties[name] = property
				}
			}
			accepted.Required = append(accepted.Required, s.Required...)
		}
		var schema map[string]any
		require.NoError(t, json.Unmarshal([]byte(tool.schema), &schema))
		compareSchema(t, tool.name, schema, accepted)
	}
}

// compareSchema checks that a schema of an object says nothing else than the struct's.
func compareSchema(t *testing.T, at string, schema map[string]any, accepted *wire.JSONSchema) {
	t.Helper()
	required := []string{}
	for _, name := range asList(schema["required"]) {
		required = append(required, name.(string))
	}
	slices.Sort(required)
	slices.Sort(accepted.Required)
	if !slices.Equal(required, slices.Compact(accepted.Required)) {
		t.Errorf("%s requires %q, its struct %q", at, required, accepted.Required)
	}
	for name, property := range schema["properties"].(map[string]any) {
		at, says := at+"."+name, property.(map[string]any)
		field := accepted.Properties[name]
		if field == nil {
			t.Errorf("%s is in no struct", at)
			continue
		}
		raw := require.Must(json.Marshal(field.Resolve()))
		var means map[string]any
		require.NoError(t, json.Unmarshal(raw, &means))
		for keyword, value := range says {
			switch keyword {
			case "description", "default", "additionalProperties", "properties", "required":
				continue
			case "type":
				if !slices.Contains(asList(means["type"]), asList(value)[0]) {
					t.Errorf("%s has the type %v, its struct %v", at, value, means["type"])
				}
			case "items":
				items := value.(map[string]any)
				if inner := field.Resolve().Items.Resolve(); items["properties"] != nil {
					compareSchema(t, at, items, inner)
				} else if inner.Type[0] != items["type"] {
					t.Errorf("%s has items of the type %v, its struct %v", at, items["type"], inner.Type)
				}
			default:
				want := means[keyword]
				switch {
				case keyword == "enum": // which may have null in the struct's
					want = slices.DeleteFunc(asList(want), func(v any) bool { return v == nil })
				case keyword == "maximum" && name == "limit": // larger ones are clamped
					want = float64(maxRows)
				case keyword == "maxItems" && name == "events": // repetitions do not count, which no schema can say
					want = value
				}
				if !reflect.DeepEqual(value, want) {
					t.Errorf("%s has the %s %v, its struct %v", at, keyword, value, want)
				}
			}
		}
	}
}

// asList returns a list or, for a single value, a list of it.
func asList(value any) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	if value == nil {
		return nil
	}
	return []any{value}
}
