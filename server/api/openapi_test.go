package api_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"punchcard/server/api"
	"punchcard/server/app"
	"punchcard/server/openapi"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

func TestDocumentIsValid(t *testing.T) {
	s := start(t)
	raw := s.Fetch("GET", s.Origin+"/openapi.json", nil, nil).Want(200)
	if ct := raw.Header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("Content-Type %q", ct)
	}
	doc := require.Must(openapi3.NewLoader().LoadFromData(raw.Body))
	all := []openapi3.ValidationOption{
		openapi3.EnableExamplesValidation(),
		openapi3.EnableSchemaDefaultsValidation(),
		openapi3.EnableSchemaPatternValidation(),
		openapi3.EnableSchemaFormatValidation(),
	}
	if err := doc.Validate(context.Background(),
		servertest.Sized(all, []openapi3.ValidationOption{openapi3.DisableExamplesValidation()})...); err != nil {
		t.Error(err)
	}
	if doc.OpenAPI != "3.1.0" || doc.Info.Version != "1.0.0" || doc.Servers[0].URL != s.URL {
		t.Errorf("openapi %s, version %s, server %s", doc.OpenAPI, doc.Info.Version, doc.Servers[0].URL)
	}
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
