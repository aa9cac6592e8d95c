package api_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
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

// requestFields are the fields of request bodies, by operation; a star marks required ones.
var requestFields = map[string]string{
	"updateLocation": "name address city postal_code country_code lat lon require_staff_pin",
	"createProgram": "name* name_localizations description description_localizations category brand_color_hex logo_url total_stamps repeat_after_reset " +
		"stamps_expire_after_days visible_in_catalog location_scope border_enabled type* icon_key discount_percent access_image_url initial_balance_cents " +
		"bg_color_hex text_color_hex default_expire_after_days scoped_location_ids",
	"updateProgram": "name name_localizations description description_localizations category brand_color_hex logo_url total_stamps repeat_after_reset " +
		"stamps_expire_after_days visible_in_catalog location_scope border_enabled icon_key discount_percent access_image_url initial_balance_cents " +
		"bg_color_hex text_color_hex default_expire_after_days scoped_location_ids",
	"createPrize":       "threshold* name* name_localizations description description_localizations ordinal",
	"updatePrize":       "threshold name name_localizations description description_localizations ordinal",
	"issueCard":         "holder_name holder_email external_ref expires_at send_email",
	"updateCard":        "holder_name holder_email expires_at external_ref",
	"reissueCard":       "holder_name holder_email expires_at send_email",
	"createInstallLink": "send_email",
	"createWebhook":     "url* events* bearer_token active description program_ids location_ids include_shop_wide_events http_method custom_headers payload_version",
	"updateWebhook":     "url events bearer_token active description rotate_secret program_ids location_ids include_shop_wide_events http_method custom_headers",
}

// nullableInPatch are the fields for which the body of a PATCH allows null, by operation.
var nullableInPatch = map[string]string{
	"updateProgram": "name_localizations description description_localizations logo_url total_stamps repeat_after_reset stamps_expire_after_days icon_key " +
		"discount_percent access_image_url initial_balance_cents default_expire_after_days",
	"updatePrize":   "name_localizations description description_localizations",
	"updateCard":    "holder_name holder_email expires_at external_ref",
	"updateWebhook": "bearer_token description program_ids location_ids custom_headers",
}

const (
	cardFields    = "id program_id program_name program_type external_ref? holder_name? holder_email? status stamps_count current_value? expires_at? installed_at? created_at"
	programFields = "id name description category type active published_at? suspended_at? total_stamps? repeat_after_reset discount_percent? initial_balance_cents? " +
		"default_expire_after_days? logo_url? access_image_url? brand_color_hex bg_color_hex text_color_hex icon_key? location_scope scoped_location_ids created_at updated_at"
	webhookFields = "id shop_id program_id url events active description has_bearer_token program_ids location_ids include_shop_wide_events http_method custom_headers " +
		"payload_version consecutive_failures created_at updated_at"
)

// responseFields are the fields of each schema of an answer; a question mark marks nullable ones. All
// are required but those in optionalFields.
var responseFields = map[string]string{
	"Card": cardFields, "CardDetail": cardFields + " all_locations locations", "NamedLocation": "id name",
	"IssuedCard": "id program_id external_ref? holder_name? holder_email? expires_at? install_url install_url_expires_at install_qr_svg",
	"Program":    programFields, "ProgramDetail": programFields + " prizes has_installed_cards",
	"Prize":       "id program_id threshold name description ordinal created_at updated_at",
	"Location":    "id name address city postal_code country_code lat lon require_staff_pin active disabled_at? created_at updated_at",
	"Transaction": "id card_id program_id type location_id location_name stamps_delta? value_delta? prize_id? reversed_at? created_at",
	"CardPage":    "data next_cursor? limit", "ProgramPage": "data next_cursor? limit", "LocationPage": "data next_cursor? limit", "TransactionPage": "data next_cursor? limit",
	"Ladder": "data", "Me": "shop entitlements api_key",
	"MeShop":       "id api_addon included_locations billable_locations max_locations? max_cards?",
	"Entitlements": "api_access webhooks_advanced mcp_access source grant_expires_at?", "EntitlementSource": "api_access?", "MeKey": "id scopes location_ids",
	"ErrorBody": "error",
	"Webhook":   webhookFields, "CreatedWebhook": webhookFields + " secret", "UpdatedWebhook": webhookFields + " secret", "Subscriptions": "data", "DeliveryLog": "items",
	"ProgramStats": "active_cards? total_stamps_awarded? prizes_redeemed? completion_rate? cards_by_day? stamps_by_day? cards_by_location? stamps_by_location? " +
		"stamps_by_hour_dow? platform_split? avg_days_between_stamps? timezone",
	"DayCount": "date count", "PlaceCount": "location_id location_name count", "HourCount": "day_of_week hour count", "Platforms": "apple google",
	"AnalyticsSummary": "active_locations active_programs activity_30d new_cards_30d", "ActivityHeatmap": "from to days", "DayValue": "date value",
	"CardStats": "card_type kpis activity_by_day? timezone", "CardTypeDistribution": "distribution", "CardTypeCount": "type count label_key color",
	"Delivery": "id webhook_id event event_id request_payload request_headers response_status? attempts last_error? duration_ms card_instance_id? delivered_at? created_at",
}

// optionalFields are the fields that an answer may lack.
var optionalFields = map[string]string{"UpdatedWebhook": "secret"}

// enums are the closed lists of values, by schema and field; <nil> is null.
var enums = map[string]string{
	"Card.status": "active locked invited archived expired", "CardDetail.status": "active locked invited archived expired",
	"Card.program_type": "standard private discount access prepaid", "CardDetail.program_type": "standard private discount access prepaid",
	"Program.type": "standard private discount access prepaid", "ProgramDetail.type": "standard private discount access prepaid",
	"Program.location_scope": "all_locations selected_locations", "ProgramDetail.location_scope": "all_locations selected_locations",
	"ProgramFields.type": "standard private discount access prepaid", "ProgramFields.location_scope": "all_locations selected_locations <nil>",
	"ProgramFieldsPatch.location_scope": "all_locations selected_locations",
	"CardStats.card_type":               "standard private discount access prepaid", "CardTypeCount.type": "standard private discount access prepaid",
	"Transaction.type":             "stamp redemption reversal expiry topup spend discount access",
	"EntitlementSource.api_access": "addon grant <nil>",
	"Detail.code":                  strings.Join(detailCodes, " "),
	"Webhook.http_method":          "POST PUT PATCH", "WebhookFields.http_method": "POST PUT PATCH <nil>", "WebhookPatch.http_method": "POST PUT PATCH",
	"Webhook.payload_version": "v1 v2", "WebhookFields.payload_version": "v1 v2 <nil>",
}

// codeStatuses are the codes of the REST API with their statuses.
var codeStatuses = map[string]string{
	"bad_request": "400 405 413 415", "business_api_required": "401", "card_expired": "409", "card_locked": "409", "conflict": "409", "idempotency_conflict": "409",
	"internal_error": "500", "location_disabled": "402", "location_scope_unsupported": "403", "not_found": "404", "program_has_installed_cards": "409", "rate_limited": "429",
	"subscription_suspended": "402", "unauthenticated": "401", "unauthorized": "403", "unprocessable_entity": "422", "validation_failed": "400",
}

// fieldSet returns the names in a list, and those that the mark follows, in alphabetical order.
func fieldSet(list, mark string) (names, marked []string) {
	for _, f := range strings.Fields(list) {
		name, ok := strings.CutSuffix(f, mark)
		if names = append(names, name); ok {
			marked = append(marked, name)
		}
	}
	slices.Sort(names)
	slices.Sort(marked)
	return names, marked
}

// texts returns the items of a JSON array as strings.
func texts(v any) (list []string) {
	items, _ := v.([]any)
	for _, i := range items {
		list = append(list, fmt.Sprint(i))
	}
	return list
}

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
	all := []openapi3.ValidationOption{openapi3.EnableExamplesValidation(), openapi3.EnableSchemaDefaultsValidation(), openapi3.EnableSchemaPatternValidation(), openapi3.EnableSchemaFormatValidation()}
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
		for _, q := range strings.Fields(queries[r.ID]) {
			wantParams = append(wantParams, "query "+q)
		}
		if r.Writes() {
			wantParams = append(wantParams, "header Idempotency-Key")
		}
		var params []string
		list, _ := op["parameters"].([]any)
		for _, p := range list {
			params = append(params, fmt.Sprint(dig(p, "in"), " ", dig(p, "name")))
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

func TestDocumentedShapes(t *testing.T) {
	t.Parallel()
	s := start(t)
	doc := readDocument(s)
	schemas := dig(doc, "components", "schemas").(schema)
	found := map[string]string{}
	// Request schemas are closed; response schemas are open, so that fields can be added.
	closed := map[string]any{"CardFields": false, "CardPatch": false, "LinkFields": false, "LocationPatch": false, "PrizeFields": false, "PrizeFieldsPatch": false,
		"ProgramFieldsPatch": false, "StandardProgramFields": false, "PrivateProgramFields": false, "DiscountProgramFields": false,
		"AccessProgramFields": false, "PrepaidProgramFields": false, "ReissueFields": false, "WebhookFields": false, "WebhookPatch": false}
	for name, v := range schemas {
		sc := v.(schema)
		if sc["additionalProperties"] != closed[name] || sc["type"] != "object" {
			t.Errorf("%s: type %v, additionalProperties %v", name, sc["type"], sc["additionalProperties"])
		}
		if sc["oneOf"] != nil {
			if name != "ProgramFields" { // an envelope of a webhook
				continue
			}
			sc = servertest.BodySchema(schemas, name)
		}
		var names, nullable []string
		for field, p := range sc["properties"].(schema) {
			names = append(names, field)
			if slices.Contains(typesOf(p.(schema)), "null") {
				nullable = append(nullable, field)
			}
			if e := dig(p, "enum"); e != nil {
				found[name+"."+field] = strings.Join(texts(e), " ")
			}
		}
		list, ok := responseFields[name]
		if !ok {
			continue
		}
		want, wantNullable := fieldSet(list, "?")
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("%s has %q, want %q", name, names, want)
		}
		if slices.Sort(nullable); !slices.Equal(nullable, wantNullable) {
			t.Errorf("%s: nullable %q, want %q", name, nullable, wantNullable)
		}
		want = slices.DeleteFunc(want, func(f string) bool { return f == optionalFields[name] })
		if required := slices.Sorted(slices.Values(texts(sc["required"]))); !slices.Equal(required, want) {
			t.Errorf("%s: required %q, want all", name, required)
		}
	}
	for name := range responseFields {
		if schemas[name] == nil {
			t.Errorf("no schema %s", name)
		}
	}
	for at, values := range enums {
		if found[at] != values {
			t.Errorf("%s: enum %q, want %q", at, found[at], values)
		}
	}
	for h, c := range map[string]string{"Cache-Control": "no-store", "Idempotent-Replayed": "true"} {
		if v := dig(doc, "components", "headers", h, "schema", "const"); v != c {
			t.Errorf("%s: const %v", h, v)
		}
	}
}

func TestDocumentedRequests(t *testing.T) {
	t.Parallel()
	s := start(t)
	doc := readDocument(s)
	for _, r := range writingRoutes() {
		sc := bodySchema(doc, r)
		list, ok := requestFields[r.ID]
		if !ok {
			if sc != nil {
				t.Errorf("%s: the operation must not have a body", r.ID)
			}
			continue
		}
		want, required := fieldSet(list, "*")
		properties, _ := sc["properties"].(schema)
		if names := slices.Sorted(maps.Keys(properties)); !slices.Equal(names, want) {
			t.Errorf("%s has %q, want %q", r.ID, names, want)
		}
		if have := slices.Sorted(slices.Values(texts(sc["required"]))); !slices.Equal(have, required) {
			t.Errorf("%s: required %q, want %q", r.ID, have, required)
		}
		for name, p := range properties {
			wantNull := r.Method == "POST" && !slices.Contains(required, name) || r.Method == "PATCH" && slices.Contains(strings.Fields(nullableInPatch[r.ID]), name)
			if have := slices.Contains(typesOf(p.(schema)), "null"); have != wantNull {
				t.Errorf("%s %s: nullable %v, want %v", r.ID, name, have, wantNull)
			}
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
