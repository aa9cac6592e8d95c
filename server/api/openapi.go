package api

import (
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// Version of the API description (spec Versioning 1).
const Version = "1.0.0"

type object = map[string]any

// gateCodes are what the checks before every operation answer.
var gateCodes = []store.Code{store.Unauthenticated, store.BusinessAPIRequired, store.SubscriptionSuspended, store.Unauthorized, store.RateLimited, store.InternalError}

// when says of each code when it is answered (spec section Errors).
var when = map[store.Code]string{
	store.BadRequest:               "The request cannot be satisfied as written, or its body could not be read to its end.",
	store.ValidationFailed:         "Body, query, path or header failed validation; `details` lists every offending field.",
	store.Unauthenticated:          "No, malformed, unknown, revoked or expired key, or one of the wrong class (`tmk_`).",
	store.BusinessAPIRequired:      "The shop has no active Business API add-on and no grant. The key is intact.",
	store.SubscriptionSuspended:    "The shop's subscription is suspended or cancelled. The key is intact.",
	store.LocationDisabled:         "Every location of a restricted key is disabled.",
	store.Unauthorized:             "The key lacks the scope, or its location restriction excludes the target.",
	store.LocationScopeUnsupported: "A restricted key called an endpoint that is not derived from transactions.",
	store.NotFound:                 "No such resource in this shop, or none that a restricted key may see.",
	store.Conflict:                 "The write conflicts with the current state: a duplicate, or a transition that is not allowed.",
	store.CardLocked:               "The card is installed on a device.",
	store.CardExpired:              "The card's expires_at has passed.",
	store.ProgramHasInstalledCards: "A card of the program is installed; template and ladder are frozen.",
	store.IdempotencyConflict:      "The Idempotency-Key was used for another request, or one that is still running. Do not retry with the same key.",
	store.Unprocessable:            "The domain rejects the request; the message names the rule.",
	store.RateLimited:              "The key's requests for this minute are used up; `Retry-After` says how many seconds to wait.",
	store.InternalError:            "Unhandled failure. Retry with the same Idempotency-Key.",

	store.AmountBelowMinStamp:         "The purchase is below what a stamp demands.",
	store.CannotReverseCompletedCycle: "The transaction belongs to a completed cycle.",
	store.CardFullNoRepeat:            "The card is full and the program does not repeat.",
	store.CardSuspended:               "The program is suspended, or the card is locked.",
	store.InvalidCredentials:          "The staff PIN is missing, wrong, or not set.",
	store.PrepaidInsufficientBalance:  "The balance would fall below zero.",
	store.SpendNotEnabled:             "spend_cents is given though the program demands no purchase.",
	store.SpendRequired:               "The program demands a purchase: spend_cents is missing.",
	store.ThresholdAlreadyClaimed:     "A prize of this threshold was redeemed in this cycle.",
}

// whenAtTill is the same where it differs at a till.
var whenAtTill = map[store.Code]string{
	store.Unauthenticated:       "No, malformed, unknown or revoked device token, or a key of another class.",
	store.SubscriptionSuspended: "The shop's subscription is suspended or cancelled. The token is intact.",
	store.LocationDisabled:      "The device's location is disabled.",
	store.NotFound:              "No such resource in this shop or, for a transaction, at the device's location.",
	store.Conflict:              "The card is archived, the transaction was reversed already, or the external_ref has a live card in the program.",
	store.RateLimited:           "Five staff PINs in a row were wrong: the device is locked; `Retry-After` says how many seconds to wait.",
}

// unusual says when a code comes with another status than its own.
var unusual = map[int]string{
	http.StatusMethodNotAllowed:      "The path does not take this method; the header `Allow` lists those that it takes.",
	http.StatusRequestEntityTooLarge: "The body is larger than 1 MiB.",
	http.StatusUnsupportedMediaType:  "The Content-Type is not JSON.",
}

// why tells when a code comes with a status.
func why(r *kernel.Route, status int, c store.Code) string {
	if status != statusOf(r, c) {
		return unusual[status]
	}
	if text := whenAtTill[c]; r.Face != nil && text != "" {
		return text
	}
	return when[c]
}

// codesOf are all codes that a route can answer.
func codesOf(r *kernel.Route) []store.Code {
	all := []store.Code{store.ValidationFailed}
	switch {
	case r.Face == nil:
		all = append(all, gateCodes...)
		if !r.DisabledToo {
			all = append(all, store.LocationDisabled)
		}
	case r.Writes():
		all = append(all, r.Face.Write...)
	default:
		all = append(all, r.Face.Read...)
	}
	all = append(all, r.Codes...)
	if r.Writes() {
		all = append(all, store.IdempotencyConflict)
	}
	if r.Body != nil && r.Method != remove {
		all = append(all, store.BadRequest)
	}
	return all
}

// statusOf is the status of a code on the route's face.
func statusOf(r *kernel.Route, c store.Code) int {
	if r.Face != nil {
		return r.Face.Status(c)
	}
	return kernel.Statuses[c]
}

// statusesOf groups a route's codes by HTTP status, ascending. Codes of one
// status keep the order of the gate.
func statusesOf(r *kernel.Route) (statuses []int, codes map[int][]store.Code) {
	codes = map[int][]store.Code{}
	add := func(status int, c store.Code) {
		if !slices.Contains(codes[status], c) {
			codes[status] = append(codes[status], c)
		}
	}
	for _, c := range codesOf(r) {
		add(statusOf(r, c), c)
	}
	add(http.StatusMethodNotAllowed, store.BadRequest)
	if r.Writes() && r.Method != remove {
		add(http.StatusRequestEntityTooLarge, store.BadRequest)
		add(http.StatusUnsupportedMediaType, store.BadRequest)
	}
	for s := range codes {
		statuses = append(statuses, s)
	}
	slices.Sort(statuses)
	return statuses, codes
}

// Document is the OpenAPI 3.1 description of the REST API. base is the URL
// that ends in the prefix.
func Document(routes []kernel.Route, lim wire.Limits, base string) []byte {
	return Describe(About{"Loyalty Card Integration API", introduction, "A key of the shop: `tsk_live_` or `tsk_test_` and 43 base64url characters."}, routes, lim, base)
}

// About is what a document says of a face as a whole.
type About struct{ Title, Introduction, Key string }

// Describe is the OpenAPI 3.1 description of a face's routes.
func Describe(about About, routes []kernel.Route, lim wire.Limits, base string) []byte {
	reg := &wire.Registry{}
	wire.Schema(reflect.TypeFor[kernel.ErrorBody](), wire.Create, lim, reg)
	closeCodes(reg, routes)
	paths := object{}
	for i := range routes {
		r := &routes[i]
		path := pathOf(r.Path)
		item, _ := paths[path].(object)
		if item == nil {
			item = object{}
			paths[path] = item
		}
		item[strings.ToLower(r.Method)] = operation(r, lim, reg)
	}
	return wire.Append(nil, object{
		"openapi":  "3.1.0",
		"info":     object{"title": about.Title, "version": Version, "description": about.Introduction},
		"servers":  []any{object{"url": base}},
		"security": []any{object{"key": []any{}}},
		"tags":     tags(routes),
		"paths":    paths,
		"components": object{
			"schemas": reg.Schemas,
			"headers": headers(),
			"securitySchemes": object{"key": object{"type": "http", "scheme": "bearer",
				"description": about.Key}},
		},
	})
}

// closeCodes lists in the error's schema every code that some route answers.
func closeCodes(reg *wire.Registry, routes []kernel.Route) {
	var names []string
	for i := range routes {
		for _, c := range codesOf(&routes[i]) {
			if !slices.Contains(names, string(c)) {
				names = append(names, string(c))
			}
		}
	}
	slices.Sort(names)
	code := reg.Schemas["ErrorObject"].(object)["properties"].(object)["code"].(object)
	code["enum"] = anys(names)
}

const introduction = "Issue and update cards, read the ledger, manage programs, prizes and locations of one shop.\n\n" +
	"Ids and cursors are opaque. Times are UTC with three decimals: `2026-01-02T03:04:05.678Z`; times in a request are RFC 3339 with an offset. " +
	"Lists are newest first; page until `next_cursor` is null. In a POST, null equals absence; in a PATCH it clears a nullable field. " +
	"Clients must tolerate new fields.\n\n" +
	"Every write takes an `Idempotency-Key`: a repeat with the same key and body gets the first answer again (`Idempotent-Replayed: true`) for 24 hours; " +
	"on 429 and 5xx retry with the same key."

// pathOf turns /cards/:id into /cards/{id}.
func pathOf(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if name, ok := strings.CutPrefix(p, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

func tags(routes []kernel.Route) (list []any) {
	seen := map[string]bool{}
	for _, r := range routes {
		if !seen[r.Tag] {
			seen[r.Tag] = true
			list = append(list, object{"name": r.Tag})
		}
	}
	return list
}

func operation(r *kernel.Route, lim wire.Limits, reg *wire.Registry) object {
	text := r.Doc
	if r.Scope != "" {
		text = strings.TrimSpace("Scope `" + r.Scope + "`. " + text)
	}
	op := object{"operationId": r.ID, "tags": []any{r.Tag}, "summary": r.Title, "description": text, "responses": responses(r, lim, reg)}
	if p := parameters(r, lim); len(p) > 0 {
		op["parameters"] = p
	}
	if r.Body != nil && r.Body.NumField() > 0 {
		op["requestBody"] = object{
			"description": "A JSON object of at most 1 MiB; an absent or empty body equals {}.",
			"required":    r.Mode == wire.Create && hasRequired(r.Body),
			"content":     object{"application/json": object{"schema": wire.Schema(r.Body, r.Mode, lim, reg)}},
		}
	}
	return op
}

func hasRequired(t reflect.Type) bool {
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("req") == "true" {
			return true
		}
	}
	return false
}

func parameters(r *kernel.Route, lim wire.Limits) (list []any) {
	for _, part := range strings.Split(r.Path, "/") {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			list = append(list, object{"name": name, "in": "path", "required": true, "description": "Opaque id.", "schema": object{"type": "string", "minLength": 1}})
		}
	}
	if r.Query != nil {
		for _, p := range wire.Parameters(r.Query, lim) {
			list = append(list, p)
		}
	}
	if r.Writes() && r.Face != nil && r.Face.PIN {
		list = append(list, object{"name": "X-Staff-Pin", "in": "header", "required": false,
			"description": "Where the location demands it.", "schema": object{"type": "string", "pattern": "^[0-9]{4,8}$"}})
	}
	if r.Writes() {
		scope := "the key and its rotation successors"
		if r.Face != nil {
			scope = "the device"
		}
		list = append(list, object{"name": "Idempotency-Key", "in": "header", "required": false,
			"description": "Makes a retry safe. Scoped to " + scope + ".",
			"schema":      object{"type": "string", "minLength": 1, "maxLength": lim["idempotency_key"]}})
	}
	return list
}

func responses(r *kernel.Route, lim wire.Limits, reg *wire.Registry) object {
	success := object{"description": "Success.", "headers": headerRefs(limits(r), replayed(r.Writes()))}
	if r.Response != nil {
		success["content"] = object{"application/json": object{"schema": wire.Schema(r.Response, wire.Create, lim, reg)}}
	}
	out := object{strconv.Itoa(r.Status): success}
	statuses, codes := statusesOf(r)
	for _, s := range statuses {
		var text, names []string
		for _, c := range codes[s] {
			text = append(text, fmt.Sprintf("`%s`: %s", c, why(r, s, c)))
			names = append(names, string(c))
		}
		remembered := r.Writes() && (s == http.StatusNotFound || s == http.StatusConflict || s == http.StatusUnprocessableEntity)
		out[strconv.Itoa(s)] = object{"description": strings.Join(text, "\n\n"), "headers": errorHeaders(r, s, remembered),
			"content": object{"application/json": object{"schema": object{"allOf": []any{
				object{"$ref": "#/components/schemas/ErrorBody"},
				object{"properties": object{"error": object{"properties": object{"code": object{"enum": anys(names)}}}}},
			}}}}}
	}
	return out
}

func anys(s []string) (list []any) {
	for _, v := range s {
		list = append(list, v)
	}
	return list
}

// headers describes each response header once.
func headers() object {
	h := func(required bool, text string, schema object) object {
		return object{"description": text, "required": required, "schema": schema}
	}
	count := object{"type": "integer", "minimum": 0}
	return object{
		"X-Request-Id":        h(true, "The server's own id for the request.", object{"type": "string", "pattern": "^req_"}),
		"Cache-Control":       h(true, "Answers must not be cached.", object{"type": "string", "const": "no-store"}),
		"RateLimit-Limit":     h(true, "Requests per minute of this key; 2147483647 where there is no limit.", count),
		"RateLimit-Remaining": h(true, "Requests left in the key's bucket, which holds one minute's worth and refills evenly.", count),
		"RateLimit-Reset":     h(true, "Seconds until the bucket is full.", count),
		"Allow":               h(true, "The methods that the path takes.", object{"type": "string"}),
		"WWW-Authenticate":    h(false, "`Bearer`, with the code unauthenticated.", object{"type": "string", "const": "Bearer"}),
		"Retry-After":         h(true, "Seconds to wait.", object{"type": "integer", "minimum": 1}),
		"Idempotent-Replayed": h(false, "`true` when the answer is that of an earlier request with the same Idempotency-Key.", object{"type": "string", "const": "true"}),
	}
}

// limits are the headers of the rate limit, which only the REST API has.
func limits(r *kernel.Route) []string {
	if r.Face != nil {
		return nil
	}
	return []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}
}

func replayed(can bool) []string {
	if can {
		return []string{"Idempotent-Replayed"}
	}
	return nil
}

// errorHeaders are the headers of a refusal. Those of the rate limit are on
// every answer to a valid key, and so not on all 401s and 405s.
func errorHeaders(r *kernel.Route, status int, remembered bool) object {
	switch status {
	case http.StatusUnauthorized:
		return headerRefs([]string{"WWW-Authenticate"})
	case http.StatusMethodNotAllowed:
		return headerRefs([]string{"Allow"})
	case http.StatusTooManyRequests:
		return headerRefs(limits(r), []string{"Retry-After"})
	}
	return headerRefs(limits(r), replayed(remembered))
}

// headerRefs refers to headers, and to those that every answer has.
func headerRefs(names ...[]string) object {
	refs := object{}
	for _, n := range append(slices.Concat(names...), "X-Request-Id", "Cache-Control") {
		refs[n] = object{"$ref": "#/components/headers/" + n}
	}
	return refs
}
