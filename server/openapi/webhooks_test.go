package openapi_test

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"punchcard/server/api"
	"punchcard/server/dev"
	"punchcard/server/openapi"
	"punchcard/server/servertest/require"
	"punchcard/server/till"
	"punchcard/server/wire"
	"punchcard/store"
	"punchcard/store/event"
)

// documents returns the documents of the three APIs that have one.
func documents() map[string]*openapi.Document {
	return map[string]*openapi.Document{
		"rest": restAPI(api.Routes()),
		"till": openapi.New(till.About, till.Routes(), limits, "https://cards.example.com"+till.Prefix, nil),
		"dev":  openapi.New(dev.About, dev.Routes(), limits, "https://cards.example.com"+dev.Prefix, nil),
	}
}

// schemas compiles schemas of a document. Fields that they do not name are errors.
func schemas(t *testing.T, doc *openapi.Document) (tree map[string]any, compile func(pointer string) *jsonschema.Schema) {
	t.Helper()
	if err := json.Unmarshal(doc.JSON(), &tree); err != nil {
		t.Fatal(err)
	}
	for _, s := range tree["components"].(map[string]any)["schemas"].(map[string]any) {
		s := s.(map[string]any)
		if s["oneOf"] == nil && s["additionalProperties"] == nil {
			s["additionalProperties"] = false
		}
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	if err := c.AddResource("doc.json", tree); err != nil {
		t.Fatal(err)
	}
	return tree, func(pointer string) *jsonschema.Schema { return c.MustCompile("doc.json#" + pointer) }
}

// parse returns a text as JSON.
func parse(t *testing.T, raw []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}

// TestWebhooksDescribeEnvelopes compares the schemas of events with the golden envelopes, which
// are the bytes that receivers get.
func TestWebhooksDescribeEnvelopes(t *testing.T) {
	doc := restAPI(api.Routes())
	if len(doc.Webhooks) != 26 {
		t.Errorf("%d events, want 26", len(doc.Webhooks))
	}
	_, compile := schemas(t, doc)
	payload := compile("/components/schemas/Delivery/properties/request_payload")
	for _, in := range event.All() {
		schema := compile("/webhooks/" + string(in.Name) + "/post/requestBody/content/application~1json/schema")
		for _, version := range []string{event.V1, event.V2} {
			name := string(in.Name) + "." + version + ".json"
			raw, err := os.ReadFile("../../store/event/testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			envelope := parse(t, raw).(map[string]any)
			if err := schema.Validate(envelope); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err := payload.Validate(envelope); err != nil {
				t.Errorf("%s as a request_payload: %v", name, err)
			}
			for field, value := range envelope {
				delete(envelope, field)
				if schema.Validate(envelope) == nil {
					t.Errorf("%s is valid without %s", name, field)
				}
				envelope[field] = value
			}
			data := envelope["data"].(map[string]any)
			data["further"] = 1
			if schema.Validate(envelope) == nil {
				t.Errorf("%s is valid with a further field of data", name)
			}
			delete(data, "further")
			for _, other := range event.All() {
				if envelope["event"] = string(other.Name); other.Name != in.Name && schema.Validate(envelope) == nil {
					t.Errorf("%s is valid as %s", name, other.Name)
				}
			}
		}
	}
}

// TestSourcesOfCards checks that the schema of card.added has every source that the file may have.
func TestSourcesOfCards(t *testing.T) {
	_, compile := schemas(t, restAPI(api.Routes()))
	schema := compile("/webhooks/card.added/post/requestBody/content/application~1json/schema")
	envelope := parse(t, require.Must(os.ReadFile("../../store/event/testdata/card.added.v2.json"))).(map[string]any)
	sources := regexp.MustCompile(`source = '(\w+)'`).FindAllSubmatch(require.Must(os.ReadFile("../../store/schema.sql")), -1)
	if len(sources) == 0 {
		t.Fatal("the schema of the file does not list the sources")
	}
	for _, found := range sources {
		source := string(found[1])
		envelope["data"].(map[string]any)["source"] = source
		if err := schema.Validate(envelope); err != nil {
			t.Errorf("source %s: %v", source, err)
		}
	}
}

// TestExamples checks that every parameter, body and answer has an example, and that it
// fits its schema.
func TestExamples(t *testing.T) {
	for face, doc := range documents() {
		tree, compile := schemas(t, doc)
		n := 0
		var walk func(at string, v any)
		walk = func(at string, v any) {
			switch v := v.(type) {
			case []any:
				for i, e := range v {
					walk(at+"/"+string(encoded(t, i)), e)
				}
			case map[string]any:
				if s, ok := v["schema"].(map[string]any); ok && !strings.HasPrefix(at, "/components/headers") {
					n++
					example, one := v["example"]
					examples, several := v["examples"].(map[string]any)
					if !one && !several {
						t.Errorf("%s %s has no example (%v)", face, at, s)
						return
					}
					schema := compile(at + "/schema")
					if one {
						if err := schema.Validate(parse(t, encoded(t, example))); err != nil {
							t.Errorf("%s %s: %v", face, at, err)
						}
					}
					for code, e := range examples {
						value := tree["components"].(map[string]any)["examples"].(map[string]any)[code].(map[string]any)["value"]
						if e.(map[string]any)["$ref"] != "#/components/examples/"+code {
							t.Errorf("%s %s: %v", face, at, e)
						}
						if err := schema.Validate(parse(t, encoded(t, value))); err != nil {
							t.Errorf("%s %s %s: %v", face, at, code, err)
						}
					}
					return
				}
				for name, e := range v {
					walk(at+"/"+strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name), e)
				}
			}
		}
		walk("", tree)
		if n < 100 {
			t.Errorf("%s: only %d places for examples", face, n)
		}
	}
}

// encoded returns v as JSON.
func encoded(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestSamples checks that the examples have the ids that New is given.
func TestSamples(t *testing.T) {
	ids := openapi.Samples{"shop": "shp_demo", "program": "prg_demo", "location": "loc_demo"}
	raw := string(openapi.New(api.About, api.Routes(), limits, base, ids).JSON())
	for _, want := range []string{`"program_id":"prg_demo"`, `"location_id":"loc_demo"`, `"shop":{"id":"shp_demo"`,
		`"example":"prg_demo","in":"path"`, `"example":"loc_demo","in":"path"`, `"example":"prg_demo","in":"query"`,
		`"holder":{"name":"Ada Lovelace","email":"ada@example.com"}`} {
		if !strings.Contains(raw, want) {
			t.Errorf("the document does not have %s", want)
		}
	}
	if strings.Contains(raw, "prg_0a") || strings.Contains(raw, "loc_0a") || strings.Contains(raw, "shp_0a") {
		t.Error("an example has another id of a shop, program or location")
	}
}

// TestDescriptions checks that what readers see first has a text.
func TestDescriptions(t *testing.T) {
	for face, doc := range documents() {
		if doc.Info.License["identifier"] != "MIT" || !strings.HasPrefix(doc.Info.Contact["url"], "https://cards.example.com/") {
			t.Errorf("%s: %+v", face, doc.Info)
		}
		for _, tag := range doc.Tags {
			if tag.Description == "" {
				t.Errorf("%s: the tag %s has no description", face, tag.Name)
			}
		}
		for _, o := range doc.Operations {
			if o.Description == "" {
				t.Errorf("%s: %s has no description", face, o.ID)
			}
			if o.Route.Writes() && o.Route.Method != "DELETE" && o.RequestBody == nil {
				t.Errorf("%s: %s does not say that it takes {}", face, o.ID)
			}
		}
	}
}

// TestDocsOfTills checks that the page of the till API is complete in itself, and that the two
// pages link to each other.
func TestDocsOfTills(t *testing.T) {
	doc := documents()["till"]
	page := string(doc.HTML())
	s := readSheet(t, []byte(page))
	for _, r := range till.Routes() {
		if s.parts[r.ID]["h3"] != r.Title {
			t.Errorf("%s has the title %q", r.ID, s.parts[r.ID]["h3"])
		}
	}
	for _, l := range s.links {
		if id, ok := strings.CutPrefix(l, "#"); ok && !s.ids[id] {
			t.Errorf("the target of %s does not exist", l)
		} else if !ok && l != "openapi.json" && l != "../docs" {
			t.Errorf("the page refers to %s", l)
		}
	}
	for _, want := range []string{"<title>Till API</title>", `href="../docs"`, "X-Staff-Pin", "$CARD_CODE/stamps", "tdk_live_…"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s", want)
		}
	}
	for _, wrong := range []string{"tsk_live_", "#events", "ZgotmplZ", "<no value>"} {
		if strings.Contains(page, wrong) {
			t.Errorf("the page has %s", wrong)
		}
	}
	if !strings.Contains(string(documents()["rest"].HTML()), `href="till/docs"`) {
		t.Error("the page of the REST API does not name that of the till API")
	}
}

// TestProgramTypes checks that the schema of a new program's body takes for each type what
// the store's rule takes, and nothing else. Which fields there are is taken from all types.
func TestProgramTypes(t *testing.T) {
	doc := restAPI(api.Routes())
	_, compile := schemas(t, doc)
	schema := compile("/components/schemas/ProgramFields")
	values := map[string]any{"total_stamps": 10, "icon_key": "coffee", "repeat_after_reset": true, "stamps_expire_after_days": 30,
		"discount_percent": 10, "access_image_url": "https://example.com/card.png", "initial_balance_cents": 2500}
	field, variants := store.ProgramFields{}.Variants()
	if len(variants) != 5 {
		t.Fatalf("%d types", len(variants))
	}
	for _, v := range variants {
		body := map[string]any{"name": "Card", field: v.Value}
		for name, value := range values {
			if !slices.Contains(v.NotAllowed, name) {
				body[name] = value
			}
		}
		check := func(what string, valid bool) {
			t.Helper()
			raw, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			var in store.ProgramFields
			details := append(wire.DecodeBody(raw, &in, wire.Create, limits), in.Check(0)...)
			if err := schema.Validate(parse(t, raw)); (err == nil) != valid || (len(details) == 0) != valid {
				t.Errorf("%s %s: want valid %v: %v %v", v.Value, what, valid, err, details)
			}
		}
		check("with all its fields", true)
		for name, value := range values {
			if old, has := body[name]; has {
				delete(body, name)
				check("without "+name, !slices.Contains(v.Required, name))
				body[name] = old
				continue
			}
			body[name] = value
			check("with "+name, false)
			delete(body, name)
		}
	}
}
