package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"punchcard/server/api"
	"punchcard/server/kernel"
	"punchcard/server/servertest"
	"punchcard/store"
)

// fault is a fault of a request, with the answer of the check that finds it.
type fault struct {
	stage  string
	status int
	code   string
	field  string // of the only detail, if there are details
}

// faults are the faults in the order of their checks.
var faults = []fault{
	{"path", 404, "not_found", ""},
	{"method", 405, "bad_request", ""},
	{"authentication", 401, "unauthenticated", ""},
	{"rate", 429, "rate_limited", ""},
	{"entitlement", 401, "business_api_required", ""},
	{"subscription", 402, "subscription_suspended", ""},
	{"locations", 402, "location_disabled", ""},
	{"scope", 403, "unauthorized", ""},
	{"header", 400, "validation_failed", "Idempotency-Key"},
	{"conflict", 409, "idempotency_conflict", ""},
	{"media type", 415, "bad_request", ""},
	{"body", 400, "validation_failed", "holder_name"},
	{"resource", 404, "not_found", ""},
}

// impossible are the pairs that no request can have: an unknown path has no methods, without the
// scope no answer is remembered, and an invalid Idempotency-Key names no remembered answer.
var impossible = [][2]string{{"path", "method"}, {"scope", "conflict"}, {"header", "conflict"}}

func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen, manyKeys, perMinute(4))
	pairs := 0
	for i, a := range faults {
		t.Run(a.stage, func(t *testing.T) { orderCase(t, s, a) })
		for _, b := range faults[i+1:] {
			if pairs++; servertest.Sampled(pairs) && !slices.Contains(impossible, [2]string{a.stage, b.stage}) {
				t.Run(a.stage+" before "+b.stage, func(t *testing.T) { orderCase(t, s, a, b) })
			}
		}
	}
	t.Run("none", func(t *testing.T) { orderCase(t, s) })
}

// orderCase sends a request with all the given faults, and checks that it gets the first one's answer.
func orderCase(t *testing.T, demo *servertest.Server, have ...fault) {
	has := func(stage string) bool {
		return slices.ContainsFunc(have, func(f fault) bool { return f.stage == stage })
	}
	tt := *demo
	tt.T = t
	owner := tt.NewShop(nil)
	program := owner.Post("/programs", sampleBodies["createProgram"]).Want(201).Str("id")
	owner.Post("/programs/"+program+"/publish", nil).Want(200)
	card := owner.Post("/programs/"+program+"/cards", nil).Want(201).Str("id")
	scopes := []string{"cards:read", "cards:write"}
	if has("scope") {
		scopes = scopes[:1]
	}
	s, keyID := owner.NewKey(map[string]any{"shop_id": owner.ShopID, "scopes": scopes, "location_ids": owner.LocationIDs[:1]})

	method, path, body, mediaType, headers := "PATCH", "/cards/"+card, `{"holder_name":"Ada"}`, "application/json", []string{"Idempotency-Key", "k"}
	if has("resource") {
		path = "/cards/crd_00000000000000000000000000"
	}
	if has("conflict") {
		s.Call(method, path, `{"holder_name":"Earlier"}`, headers...)
	}
	if has("body") {
		body = `{"holder_name":5}`
	}
	if has("media type") {
		mediaType = "text/plain"
	}
	if has("header") {
		headers[1] = strings.Repeat("k", 256)
	}
	if has("locations") {
		owner.Post("/locations/"+owner.LocationIDs[0]+"/disable", nil).Want(200)
	}
	if has("rate") {
		exhaustLimit(s)
	}
	state := map[string]any{}
	if has("entitlement") {
		state["api_addon"] = false
	}
	if has("subscription") {
		state["subscription_state"] = "suspended"
	}
	s.Control("PATCH", "/shops/"+owner.ShopID, state)
	if has("authentication") {
		s.Control("POST", "/keys/"+keyID+"/revoke", map[string]any{})
	}
	if has("path") {
		path += "/nothing"
	}
	if has("method") {
		method = "PUT"
	}

	h := http.Header{"Authorization": {"Bearer " + s.Key}, "Content-Type": {mediaType}, headers[0]: {headers[1]}}
	got := s.Fetch(method, s.URL+path, []byte(body), h)
	got.Check()
	if len(have) == 0 {
		got.Want(200)
		return
	}
	want := have[0]
	got.Want(want.status, want.code)
	if (want.stage == "path") != (got.Str("error.message") == "No such path.") {
		t.Errorf("message %q", got.Str("error.message"))
	}
	if want.field != "" && (len(got.Details()) != 1 || got.Str("error.details.0.field") != want.field) {
		t.Errorf("details %q, want only %s", got.Details(), want.field)
	}
	// The headers of the rate limit are present from the rate check on.
	if stage := slices.Index(faults, want); (got.Header["Ratelimit-Limit"] != nil) != (stage >= 3) {
		t.Errorf("RateLimit-Limit %q", got.Header["Ratelimit-Limit"])
	}
}

func TestEveryOperationNeedsItsScope(t *testing.T) {
	t.Parallel()
	s := start(t, manyKeys)
	only := map[string]*servertest.Server{}
	without := map[string]*servertest.Server{}
	for _, scope := range store.Scopes {
		only[scope], _ = s.NewKey(map[string]any{"scopes": []string{scope}})
		rest := slices.DeleteFunc(slices.Clone(store.Scopes), func(sc string) bool { return sc == scope })
		without[scope], _ = s.NewKey(map[string]any{"scopes": rest})
	}
	none, _ := s.NewKey(map[string]any{"scopes": []string{}})
	for _, r := range servertest.Sample(api.Routes()) {
		if r.Scope() == "" {
			if r.Path != "/me" {
				t.Errorf("%s needs no scope", r.ID)
			}
			doRoute(none, r, things{}).Want(r.Status)
			continue
		}
		if want := scopeOf(r); r.Scope() != want {
			t.Errorf("%s has the scope %s, want %s", r.ID, r.Scope(), want)
		}
		th := newThings(s)
		prepareThings(s, r, th)
		refused := []*servertest.Server{none, without[r.Scope()]}
		for scope, k := range only {
			if scope != r.Scope() {
				refused = append(refused, k)
			}
		}
		for _, k := range refused {
			got := doRoute(k, r, th).Want(403, "unauthorized")
			if !strings.Contains(got.Str("error.message"), r.Scope()) {
				t.Errorf("%s: the message does not name %s: %s", r.ID, r.Scope(), got.Body)
			}
		}
		doRoute(only[r.Scope()], r, th).Want(r.Status)
		restoreThings(s, th)
	}
}

// scopeOf returns the scope that a route must require: that of the resource in its path, to read for
// GET, else to write. Statistics have a scope of their own.
func scopeOf(r kernel.Route) string {
	verb := ":write"
	if r.Method == "GET" {
		verb = ":read"
	}
	switch part := strings.Split(r.Path, "/"); {
	case strings.HasSuffix(r.Path, "/stats") || part[1] == "analytics":
		return "analytics:read"
	case strings.Contains(r.Path, "/webhooks"):
		return "webhooks" + verb
	case strings.HasSuffix(r.Path, "/cards") && part[1] == "programs":
		return "cards" + verb
	default:
		return part[1] + verb
	}
}

// TestKeyNeedsAddonOrGrant checks that a key works only while its shop has the add-on or a grant.
func TestKeyNeedsAddonOrGrant(t *testing.T) {
	t.Parallel()
	s := start(t, servertest.Frozen)
	o := s.NewShop(nil)
	o.Get("/me").Want(200)
	s.Control("PATCH", "/shops/"+o.ShopID, map[string]any{"api_addon": false})
	refused := o.Get("/me").Want(401, "business_api_required")
	if h := refused.Header.Get("WWW-Authenticate"); h != "" {
		t.Errorf("WWW-Authenticate %q, though the key is valid", h)
	}
	s.Get("/me").Want(200) // another shop's key
	s.Control("PATCH", "/shops/"+o.ShopID, map[string]any{"grant_expires_at": "2026-03-01T10:00:00Z"})
	if got := o.Get("/me").Want(200).Str("entitlements.source.api_access"); got != "grant" {
		t.Errorf("source %q", got)
	}
	s.Control("POST", "/clock", map[string]any{"advance": "59m59.999s"})
	o.Get("/me").Want(200)
	s.Control("POST", "/clock", map[string]any{"advance": "1ms"})
	o.Get("/me").Want(401, "business_api_required")
	s.Control("PATCH", "/shops/"+o.ShopID, map[string]any{"api_addon": true})
	if got := o.Get("/me").Want(200).Str("entitlements.source.api_access"); got != "addon" {
		t.Errorf("source %q", got)
	}
}

func TestSubscriptionStates(t *testing.T) {
	t.Parallel()
	s := start(t)
	o := s.NewShop(nil)
	for state, status := range map[string]int{"past_due": 200, "suspended": 402, "cancelled": 402, "active": 200} {
		s.Control("PATCH", "/shops/"+o.ShopID, map[string]any{"subscription_state": state})
		if got := o.Get("/me"); got.Status != status {
			t.Errorf("%s: %d, want %d: %s", state, got.Status, status, got.Body)
		} else if status == 402 {
			got.Want(402, "subscription_suspended")
		}
	}
}

// TestAllLocationsDisabled checks which operations are allowed for a key whose locations are all
// disabled.
func TestAllLocationsDisabled(t *testing.T) {
	t.Parallel()
	s := start(t)
	k := s.With(s.RestrictedAPIKey)
	th := newThings(s)
	th.location = s.LocationIDs[0]
	exempt := []string{"getMe", "listLocations", "updateLocation", "enableLocation", "disableLocation"}
	for _, r := range servertest.Sample(api.Routes()) {
		s.Post("/locations/"+th.location+"/disable", nil).Want(200)
		got := doRoute(k, r, th)
		if slices.Contains(exempt, r.ID) {
			got.Want(200)
		} else {
			got.Want(402, "location_disabled")
		}
	}
	restoreThings(s, th)
	k.Get("/programs").Want(200)

	// One enabled location of two is enough.
	both, _ := s.NewKey(map[string]any{"location_ids": s.LocationIDs})
	s.Post("/locations/"+s.LocationIDs[0]+"/disable", nil).Want(200)
	both.Get("/programs").Want(200)
	s.Post("/locations/"+s.LocationIDs[1]+"/disable", nil).Want(200)
	both.Get("/programs").Want(402, "location_disabled")
	s.Get("/programs").Want(200) // an unrestricted key is not affected
}
