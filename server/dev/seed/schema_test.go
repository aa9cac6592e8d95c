package seed

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"punchcard/server/servertest/require"
)

// TestSeedSchema checks that the published schema is the generated one.
func TestSeedSchema(t *testing.T) {
	golden(t, filepath.Join(seedFolder, "seed.schema.json"), Schema())
}

// TestSchemaDescribesAll checks that each field has a description.
func TestSchemaDescribesAll(t *testing.T) {
	var schema struct {
		Defs map[string]struct {
			Description string
			Properties  map[string]struct{ Description string }
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(Schema(), &schema))
	if len(schema.Defs) != 8 {
		t.Errorf("%d kinds of objects", len(schema.Defs))
	}
	for kind, d := range schema.Defs {
		if d.Description == "" || len(d.Properties) < 5 {
			t.Errorf("%s: %q, %d fields", kind, d.Description, len(d.Properties))
		}
		for name, p := range d.Properties {
			if p.Description == "" {
				t.Errorf("%s.%s has no description", kind, name)
			}
		}
	}
}

// compiled returns a function that validates a seed against the schema with an
// independent validator.
func compiled(t *testing.T) func(text []byte) error {
	t.Helper()
	doc := require.Must(jsonschema.UnmarshalJSON(bytes.NewReader(Schema())))
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	require.NoError(t, c.AddResource("seed.schema.json", doc))
	schema := require.Must(c.Compile("seed.schema.json")) // also validates it against the schema of schemas
	return func(text []byte) error {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return err
		}
		return schema.Validate(doc)
	}
}

func TestSeedsMeetTheSchema(t *testing.T) {
	valid := compiled(t)
	for _, name := range seedNames {
		raw := require.Must(os.ReadFile(filepath.Join(seedFolder, name)))
		if err := valid(raw); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := valid([]byte(validSeed)); err != nil {
		t.Error(err)
	}
}

// TestSchemaRefuses checks that the schema, by which an editor shows problems, refuses seeds that
// Parse or Apply refuses.
func TestSchemaRefuses(t *testing.T) {
	valid := compiled(t)
	for _, c := range []struct{ old, new string }{
		{`"name": "Tern",`, `"name": "Tern", "colour": "red",`},
		{`"total_stamps": 5,`, `"total_stamps": 1001,`},
		{`"total_stamps": 5,`, `"total_stamps": "5",`},
		{`"icon_key": "cup",`, `"icon_key": "cup", "scoped_location_ids": [],`},
		{`"icon_key": "cup",`, `"icon_key": "cup", "min_spend_cents": 0,`},
		{`"ref": "cat", `, ``},
		{`"ref": "cat"`, `"ref": "a cat"`},
		{`"ref": "cat"`, `"ref": "cat", "send_email": true`},
		{`"ref": "cat"`, `"ref": "cat", "installed": "nokia"`},
		{`"ref": "cat"`, `"ref": "cat", "ago": "1d", "at": "2026-05-01T00:00:00Z"`},
		{`"ref": "cat"`, `"ref": "cat", "expires_in": "1d", "expires_at": "2026-06-01T00:00:00Z"`},
		{`"1234"`, `"12"`},
		{`"stamp": 3`, `"stamp": 3, "use": true`},
		{`, "stamp": 3`, ``},
		{`"stamp": 3`, `"stamp": null`},
		{`"ago": "20d", `, ``},
		{`"ago": "20d"`, `"ago": "20 days"`},
		{`"ago": "20d"`, `"ago": "20d", "at": "2026-05-01T00:00:00Z"`},
		{`"now": "2026-05-18T12:00:00Z"`, `"now": "noon"`},
		{`"locations": [{"ref": "far", "name": "Far"}]`, `"locations": []`},
		{`"locations": [{"ref": "far", "name": "Far"}],`, ``},
		{`["card.added"]`, `[]`},
	} {
		text := replaced(t, c.old, c.new)
		if err := valid([]byte(text)); err == nil {
			t.Errorf("%s: the schema accepts it", c.new)
		}
		if err := try(t, text); err == nil {
			t.Errorf("%s: Parse and Apply accept it", c.new)
		}
	}
}
