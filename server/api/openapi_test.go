package api_test

import (
	"bytes"
	"testing"

	"punchcard/server/api"
	"punchcard/server/app"
	"punchcard/server/openapi"
)

// TestDocument checks the document that is served. servertest validates it, and the tests of server/openapi its examples.
func TestDocument(t *testing.T) {
	s := start(t)
	raw := s.Fetch("GET", s.Origin+"/openapi.json", nil, nil).Want(200)
	if ct := raw.Header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("Content-Type %q", ct)
	}
	raw.Shows(fields{"openapi": "3.1.0", "info.version": "1.0.0", "servers.0.url": s.URL})
	ids := openapi.Samples{"shop": s.ShopID, "program": s.ProgramIDs["standard"], "location": s.LocationIDs[0]}
	if again := openapi.New(api.About, api.Routes(), app.DefaultLimits().Fields(), s.URL, ids).JSON(); !bytes.Equal(again, raw.Body) {
		t.Error("the document differs from one that is built again")
	}
}

// TestDocumentHasConfiguredBounds checks that the document has the configured bounds.
func TestDocumentHasConfiguredBounds(t *testing.T) {
	t.Parallel()
	lim := app.DefaultLimits()
	lim.PrizeNameMaxLength, lim.PrizeDescriptionMaxLength, lim.LocalizationMaxLength, lim.IdempotencyKeyMaxLength = 21, 22, 23, 24
	doc := parseObject(t, string(openapi.New(api.About, api.Routes(), lim.Fields(), "https://cards.example.com"+api.Prefix, nil).JSON()))
	prize := func(path ...string) any {
		return dig(doc, append([]string{"components", "schemas", "PrizeFields", "properties"}, path...)...)
	}
	for name, v := range map[string][2]any{
		"name":         {prize("name", "maxLength"), 21.0},
		"description":  {prize("description", "maxLength"), 22.0},
		"localization": {prize("name_localizations", "properties", "it", "maxLength"), 23.0},
		"server":       {dig(doc["servers"].([]any)[0], "url"), "https://cards.example.com/api/public/v1"},
	} {
		if v[0] != v[1] {
			t.Errorf("%s: %v, want %v", name, v[0], v[1])
		}
	}
	params := dig(doc, "paths", "/programs", "post", "parameters").([]any)
	if n := dig(params[len(params)-1], "schema", "maxLength"); n != 24.0 {
		t.Errorf("Idempotency-Key: maxLength %v", n)
	}
}
