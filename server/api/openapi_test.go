package api_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"punchcard/server/api"
	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/openapi"
	"punchcard/server/servertest"
)

func TestDocumentIsValid(t *testing.T) {
	t.Parallel()
	s := start(t)
	raw := s.Fetch("GET", s.Origin+"/openapi.json", nil, nil).Want(200)
	if ct := raw.Header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("Content-Type %q", ct)
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw.Body)
	if err != nil {
		t.Fatal(err)
	}
	all := []openapi3.ValidationOption{
		openapi3.EnableExamplesValidation(),
		openapi3.EnableSchemaDefaultsValidation(),
		openapi3.EnableSchemaPatternValidation(),
		openapi3.EnableSchemaFormatValidation(),
	}
	if err := doc.Validate(context.Background(), servertest.Sized(all, []openapi3.ValidationOption{openapi3.DisableExamplesValidation()})...); err != nil {
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

// codeStatuses are the codes of the REST API with their statuses.
var codeStatuses = map[string]string{
	"bad_request": "400 405 413 415", "business_api_required": "401", "card_expired": "409", "card_locked": "409", "conflict": "409", "idempotency_conflict": "409",
	"internal_error": "500", "location_disabled": "402", "location_scope_unsupported": "403", "not_found": "404", "program_has_installed_cards": "409", "rate_limited": "429",
	"subscription_suspended": "402", "unauthenticated": "401", "unauthorized": "403", "unprocessable_entity": "422", "validation_failed": "400",
}

// texts returns the items of a JSON array as strings.
func texts(v any) (list []string) {
	items, _ := v.([]any)
	for _, i := range items {
		list = append(list, fmt.Sprint(i))
	}
	return list
}

// TestDocumentHasEveryRoute checks that the document has the routes, with what each must say.
func TestDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	s := start(t)
	doc := readDocument(s)
	want := map[string]kernel.Route{}
	for _, r := range api.Routes() {
		parts := strings.Split(r.Path, "/")
		for i, p := range parts {
			if name, ok := strings.CutPrefix(p, ":"); ok {
				parts[i] = "{" + name + "}"
			}
		}
		want[r.Method+" "+strings.Join(parts, "/")] = r
	}
	have := map[string]schema{}
	for path, item := range doc["paths"].(schema) {
		for method, op := range item.(schema) {
			have[strings.ToUpper(method)+" "+path] = op.(schema)
		}
	}
	if a, b := slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(want)); !slices.Equal(a, b) {
		t.Fatalf("documented\n%q\nrouted\n%q", a, b)
	}
	ids := map[string]bool{}
	for name, op := range have {
		r := want[name]
		if id := op["operationId"].(string); id != r.ID || ids[id] {
			t.Errorf("%s: operationId %q", name, id)
		}
		ids[r.ID] = true
		if r.Scope() != "" && !strings.Contains(op["description"].(string), "`"+r.Scope()+"`") {
			t.Errorf("%s: the description does not name the scope", name)
		}
		wantParams := []string{}
		for _, p := range strings.Split(r.Path, "/") {
			if n, ok := strings.CutPrefix(p, ":"); ok {
				wantParams = append(wantParams, "path "+n)
			}
		}
		if r.Writes() {
			wantParams = append(wantParams, "header Idempotency-Key")
		}
		var params []string
		list, _ := op["parameters"].([]any)
		for _, p := range list {
			if dig(p, "in") != "query" { // the golden file shows these
				params = append(params, fmt.Sprint(dig(p, "in"), " ", dig(p, "name")))
			}
			if dig(p, "name") == "Idempotency-Key" && (dig(p, "schema", "maxLength") != 255.0 || dig(p, "required") != false) {
				t.Errorf("%s: %v", name, p)
			}
		}
		if slices.Sort(params); !slices.Equal(params, slices.Sorted(slices.Values(wantParams))) {
			t.Errorf("%s: parameters %q, want %q", name, params, wantParams)
		}
		status := fmt.Sprint(map[bool]any{true: 200, false: r.Status}[r.Method == "GET" || r.Method == "PATCH"])
		if dig(op, "responses", status) == nil {
			t.Errorf("%s: no response %s", name, status)
		}
	}
}

// TestDocumentHasEveryCode checks that every operation documents the refusals that all have, and each
// code its statuses.
func TestDocumentHasEveryCode(t *testing.T) {
	t.Parallel()
	s := start(t)
	seen := map[string]map[string]bool{}
	for path, item := range readDocument(s)["paths"].(schema) {
		for method, op := range item.(schema) {
			for status, response := range op.(schema)["responses"].(schema) {
				if status[0] == '2' {
					continue
				}
				all := dig(response, "content", "application/json", "schema", "allOf").([]any)
				codes := texts(dig(all[1], "properties", "error", "properties", "code", "enum"))
				if len(codes) == 0 {
					t.Errorf("%s %s %s has no codes", method, path, status)
				}
				for _, c := range codes {
					if !slices.Contains(strings.Fields(codeStatuses[c]), status) {
						t.Errorf("%s %s documents code %s with status %s", method, path, c, status)
					}
					if seen[c] == nil {
						seen[c] = map[string]bool{}
					}
					seen[c][status] = true
				}
			}
			for _, status := range []string{"400", "401", "402", "403", "405", "429", "500"} {
				if dig(op, "responses", status) == nil && (status != "402" || path != "/me") {
					t.Errorf("%s %s does not document %s", method, path, status)
				}
			}
			if (method != "get") != (dig(op, "responses", "409") != nil) {
				t.Errorf("%s %s: 409 documented: %v", method, path, dig(op, "responses", "409") != nil)
			}
		}
	}
	for code, statuses := range codeStatuses {
		if have := strings.Join(slices.Sorted(maps.Keys(seen[code])), " "); have != statuses {
			t.Errorf("%s is documented with %q, want %q", code, have, statuses)
		}
	}
}

// TestDocumentedBodies checks that the schemas of request bodies are closed and those of answers
// open, so that fields can be added, and that a field of a new resource that is not required takes
// null.
func TestDocumentedBodies(t *testing.T) {
	t.Parallel()
	doc := readDocument(start(t))
	schemas := dig(doc, "components", "schemas").(schema)
	requests := map[string]bool{}
	for _, r := range writingRoutes() {
		ref, _ := dig(operationOf(doc, r), "requestBody", "content", "application/json", "schema", "$ref").(string)
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		requests[name] = true
		alternatives, _ := dig(schemas, name, "oneOf").([]any)
		for _, a := range alternatives {
			requests[strings.TrimPrefix(dig(a, "$ref").(string), "#/components/schemas/")] = true
		}
		sc := bodySchema(doc, r)
		properties, _ := sc["properties"].(schema)
		for field, p := range properties {
			optional := r.Method == http.MethodPost && !slices.Contains(texts(sc["required"]), field)
			if nullable := slices.Contains(typesOf(p.(schema)), "null"); r.Method == http.MethodPost && nullable != optional {
				t.Errorf("%s %s: nullable %v", r.ID, field, nullable)
			}
		}
	}
	for name, v := range schemas {
		closed := v.(schema)["additionalProperties"] == false
		if v.(schema)["type"] != "object" || v.(schema)["oneOf"] == nil && closed != requests[name] {
			t.Errorf("%s: type %v, additionalProperties %v", name, v.(schema)["type"], v.(schema)["additionalProperties"])
		}
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
