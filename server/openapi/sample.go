package openapi

import (
	"encoding/json"
	"slices"
	"strings"

	"punchcard/server/wire"
)

// Samples are the ids that the examples contain, by what they are ids of: shop, program,
// location and so on. Those that are missing are made up.
type Samples map[string]string

// id returns the id of an example.
func (s Samples) id(kind string) string {
	if id, ok := s[kind]; ok {
		return id
	}
	prefix, ok := idPrefixes[kind]
	if !ok {
		prefix = "id"
	}
	return prefix + "_0a1b2c3d4e5f6g7h8j9k0m1n2p"
}

// idPrefixes are the prefixes of ids by kind. They are for the reader only.
var idPrefixes = map[string]string{"shop": "shp", "program": "prg", "prize": "prz", "card": "crd", "location": "loc", "transaction": "txn",
	"webhook": "whk", "delivery": "dlv", "event": "evt", "key": "key", "user": "usr", "device": "dev", "request": "req", "actor": "dev",
	"staff": "stf"}

// idOwners are the kinds of the field id, by the schema that has it.
var idOwners = map[string]string{
	"Card":              "card",
	"CardDetail":        "card",
	"IssuedCard":        "card",
	"CounterCard":       "card",
	"EventCard":         "card",
	"FoundCard":         "card",
	"TillCard":          "card",
	"Program":           "program",
	"ProgramDetail":     "program",
	"EventProgram":      "program",
	"Prize":             "prize",
	"LadderPrize":       "prize",
	"Location":          "location",
	"NamedLocation":     "location",
	"EventLocation":     "location",
	"MeShop":            "shop",
	"TillShop":          "shop",
	"EventShop":         "shop",
	"MeKey":             "key",
	"Webhook":           "webhook",
	"CreatedWebhook":    "webhook",
	"UpdatedWebhook":    "webhook",
	"Delivery":          "delivery",
	"Transaction":       "transaction",
	"TillTransaction":   "transaction",
	"DeviceTransaction": "transaction",
	"EventTransaction":  "transaction",
	"EventActor":        "actor",
	"NamedDevice":       "device",
	"NamedStaff":        "staff",
}

// idAliases are the kinds of fields whose names do not begin with their kind.
var idAliases = map[string]string{
	"card_instance":        "card",
	"parent_card_instance": "card",
	"original_transaction": "transaction",
	"reversal_transaction": "transaction",
	"reverses":             "transaction",
	"scoped_location":      "location",
	"request":              "request",
	"restore":              "request",
}

// kindOf returns what a field holds the id of, or "".
func kindOf(owner, field string) string {
	if field == "id" {
		return idOwners[owner]
	}
	stem, ok := strings.CutSuffix(strings.TrimSuffix(field, "s"), "_id")
	if !ok {
		return ""
	}
	if kind := idAliases[stem]; kind != "" {
		return kind
	}
	return stem
}

// sample returns an example of a value of a schema, with all fields of an object in
// their order. owner is the schema that has the field.
func (d *Document) sample(owner, field string, s *wire.JSONSchema) json.RawMessage {
	for _, name := range []string{owner + "." + field, field} {
		for _, values := range []map[string]any{d.about.Values, sampleValues} {
			if v, ok := values[name]; ok && field != "" && fits(v, s) {
				return encode(v)
			}
		}
	}
	target := s.Resolve()
	if len(target.OneOf) > 0 {
		return d.sample(owner, field, target.OneOf[0])
	}
	switch {
	case target.Order != nil:
		return d.sampleObject(target)
	case len(target.Type) == 0:
		return encode(nil)
	}
	switch target.Type[0] {
	case "array":
		if slices.Contains(d.inside, target.Items.Resolve()) { // a type that contains itself
			return encode([]any{})
		}
		return slices.Concat(json.RawMessage("["), d.sample(owner, field, target.Items), json.RawMessage("]"))
	case "string":
		if kind := kindOf(owner, field); kind != "" {
			return encode(d.samples.id(kind))
		}
		if target.Format == "date-time" {
			return encode("2026-01-02T03:04:05.678Z")
		}
	case "null":
		return encode(nil)
	}
	return encode(example(field, target))
}

// fits reports whether a value of sampleValues has the type, the format and one of the
// values that a schema demands: a name may mean different things in two schemas.
func fits(v any, s *wire.JSONSchema) bool {
	types := slices.Clone(s.Resolve().Type)
	if len(s.AnyOf) > 0 {
		types = append(types, "null")
	}
	switch v := v.(type) {
	case nil:
		return slices.Contains(types, "null")
	case string:
		dated := strings.Contains(v, "T") && strings.HasSuffix(v, "Z")
		return slices.Contains(types, "string") && (len(s.Enum) == 0 || slices.Contains(s.Enum, any(v))) &&
			dated == (s.Format == "date-time") && strings.Contains(v, "://") == (s.Format == "uri")
	case bool:
		return slices.Contains(types, "boolean")
	case int:
		return slices.Contains(types, "integer") || slices.Contains(types, "number")
	case float64:
		return slices.Contains(types, "number")
	case []any:
		return slices.Contains(types, "array")
	}
	return slices.Contains(types, "object") && s.Resolve().Order == nil
}

// sampleObject returns an example of an object.
func (d *Document) sampleObject(s *wire.JSONSchema) json.RawMessage {
	d.inside = append(d.inside, s)
	defer func() { d.inside = d.inside[:len(d.inside)-1] }()
	out := json.RawMessage("{")
	for i, name := range s.Order {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, encode(name)...), ':')
		out = append(out, d.sample(s.Name, name, s.Properties[name])...)
	}
	return append(out, '}')
}

// encode returns a value as JSON.
func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // impossible: the values are written in this package
	}
	return raw
}

// sampleValues are the values of fields in examples, by name, or by schema and name. The
// examples tell of one card of a stamp program.
var sampleValues = map[string]any{
	"name": "Coffee card", "program_name": "Coffee card", "description": "", "category": "general", "type": "standard",
	"program_type":     "standard",
	"Transaction.type": "stamp", "TillTransaction.type": "stamp", "DeviceTransaction.type": "stamp",
	"EventTransaction.type": "stamp", "EventActor.type": "device",
	"Prize.name": "Free coffee", "LadderPrize.name": "Free coffee", "prize_name": nil, "prize_label": "Free coffee",
	"Location.name": "Harbour Street", "NamedLocation.name": "Harbour Street", "EventLocation.name": "Harbour Street",
	"location_name":    "Harbour Street",
	"EventHolder.name": "Ada Lovelace", "EventHolder.email": "ada@example.com",
	"EventShop.name": "Corner Coffee", "TillShop.name": "Corner Coffee", "NamedDevice.name": "Counter", "NamedStaff.name": "Grace",
	"external_ref": "crm-4711", "holder_name": "Ada Lovelace", "holder_email": "ada@example.com", "status": "active", "state": "active",
	"stamps_count": 4, "current_value": nil, "expires_at": nil, "installed_at": nil, "stamps_delta": 1, "value_delta": nil,
	"reversed_at": nil, "prize_id": nil,
	"PrizeRedeemedData.prize_id": "prz_0a1b2c3d4e5f6g7h8j9k0m1n2p", "parent_card_instance_id": nil, "source": "api",
	"total_stamps": 10, "repeat_after_reset": true, "discount_percent": nil, "initial_balance_cents": nil, "default_expire_after_days": nil,
	"stamps_expire_after_days": nil, "logo_url": nil, "access_image_url": nil, "suspended_at": nil, "disabled_at": nil,
	"revoked_at": nil, "has_installed_cards": false,
	"brand_color_hex": "#1F2937", "bg_color_hex": "#FFFFFF", "text_color_hex": "#111827", "icon_key": "coffee",
	"location_scope": "all_locations", "scoped_location_ids": []any{},
	"threshold": 10, "ordinal": 0, "address": "Harbour Street 1", "city": "Hamburg", "postal_code": "20457",
	"country_code": "DE", "lat": 53.5453, "lon": 9.9881,
	"require_staff_pin": false, "next_cursor": nil, "limit": 50, "program_ids": []any{}, "location_ids": []any{},
	"install_url":    "https://cards.example.com/i/0a1b2c3d4e5f6g7h8j9k0m1n2p",
	"install_qr_svg": "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>",
	"card_url":       "https://cards.example.com/c/0a1b2c3d4e5f6g7h8j9k0m1n2p",
	"url":            "https://example.com/hooks/loyalty", "events": []any{"card.*", "prize.redeemed"}, "http_method": "POST",
	"payload_version": "v2", "has_bearer_token": false,
	"custom_headers": map[string]any{}, "consecutive_failures": 0, "secret": "whsec_" + "ZXhhbXBsZSBvZiBhIHNlY3JldCwgMzIgYnl0ZXMgLi4=",
	"request_headers": map[string]any{
		"X-Service-Sequence": "4711",
	}, "response_status": 200, "attempts": 1, "last_error": nil, "duration_ms": 41,
	"included_locations": 1, "billable_locations": 1, "max_locations": nil, "max_cards": nil, "grant_expires_at": nil,
	"api_access": true, "EntitlementSource.api_access": "addon",
	"scopes": []any{"cards:read", "cards:write"}, "timezone": "Europe/Berlin", "currency": "EUR",
	"completion_rate": 0.4, "avg_days_between_stamps": 3.5, "label_key": "card_type.standard", "color": "#2563EB",
	"kpis":      map[string]any{"active_cards": 42},
	"card_type": "standard", "from": "2026-01-01", "to": "2026-01-31", "date": "2026-01-31", "day_of_week": 1, "hour": 9,
	"count": 3, "value": 3,
	"tx_type": "stamp", "ValueChangedData.tx_type": "topup", "delta": 2000, "balance": 3500, "reversed_delta": -1, "metadata": nil,
	"from_state": "active", "to_state": "past_due", "reason": "payment overdue",
	"message": "This is a test delivery; nothing happened in the shop.", "sample": true,
	"client_reference": nil, "overflow_transaction": nil, "overflow_card": nil, "occurred_at": "2026-01-02T03:04:05.678Z",
	"TillTransaction.occurred_at": nil,
	"cursor":                      "eyJvcGFxdWUiOiJjdXJzb3IifQ",
}

// sampleParameters sets the examples of an operation's parameters.
func (d *Document) sampleParameters(o *Operation) {
	parts := strings.Split(o.Route.Path, "/")
	for i := range o.Parameters {
		p := &o.Parameters[i]
		switch {
		case p.In == "path" && p.Name == "type":
			p.Example = "standard"
		case p.In == "path" && p.Name == "code":
			p.Example = "7KQ4MZ2P"
		case p.In == "path":
			at := slices.Index(parts, ":"+p.Name)
			p.Example = d.samples.id(strings.ReplaceAll(singular(parts[at-1]), "deliverie", "delivery"))
		case p.Name == "limit":
			p.Example = json.Number("20")
			if max, err := p.Schema.Maximum.Int64(); err == nil && max < 20 {
				p.Example = p.Schema.Maximum
			}
		case parameterExamples[p.Name] != nil:
			p.Example = parameterExamples[p.Name]
		default:
			p.Example = d.sample(o.ID, p.Name, p.Schema)
		}
	}
}

// parameterExamples are the examples of parameters that no answer has as a field.
var parameterExamples = map[string]any{
	"Idempotency-Key": "order-4711-stamp", "X-Staff-Pin": "4711", "X-Staff-Session": "the token of POST /session",
	"q": "ada",
}
