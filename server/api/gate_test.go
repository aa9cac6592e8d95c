package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"punchcard/server/api"
	"punchcard/server/servertest"
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

// TestOrderOfChecks makes requests with each fault alone, and with each and all faults that are found
// later. Without the scope no answer is remembered, and an invalid Idempotency-Key names no remembered answer, so
// each fault is also combined with those that are found later but for these two.
func TestOrderOfChecks(t *testing.T) {
	s := start(t, servertest.Frozen, manyKeys, perMinute(4))
	for i, first := range faults {
		t.Run(first.stage, func(t *testing.T) { orderCase(t, s, first) })
		t.Run(first.stage+" before all", func(t *testing.T) { orderCase(t, s, faults[i:]...) })
		some := []fault{first}
		for _, f := range faults[i+1:] {
			if f.stage != "scope" && f.stage != "header" {
				some = append(some, f)
			}
		}
		if len(some) < len(faults[i:]) {
			t.Run(first.stage+" before conflict", func(t *testing.T) { orderCase(t, s, some...) })
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
	program := owner.Post("/programs", sampleBodies["createProgram"]).NewID()
	owner.Post("/programs/"+program+"/publish", nil).Want(200)
	card := owner.Post("/programs/"+program+"/cards", nil).NewID()
	scopes := []string{"cards:read", "cards:write"}
	if has("scope") {
		scopes = scopes[:1]
	}
	s, keyID := owner.NewKey(fields{"shop_id": owner.ShopID, "scopes": scopes, "location_ids": owner.LocationIDs[:1]})
	method := "PATCH"
	path := "/cards/" + card
	body := `{"holder_name":"Ada"}`
	mediaType := "application/json"
	headers := []string{"Idempotency-Key", "k"}
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
	state := fields{}
	if has("entitlement") {
		state["api_addon"] = false
	}
	if has("subscription") {
		state["subscription_state"] = "suspended"
	}
	s.Control("PATCH", "/shops/"+owner.ShopID, state)
	if has("authentication") {
		s.Control("POST", "/keys/"+keyID+"/revoke", nil)
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

// TestAllLocationsDisabled checks which operations are allowed for a key whose locations are all
// disabled, and that the key can enable its location.
func TestAllLocationsDisabled(t *testing.T) {
	s := start(t)
	one, two := s.LocationIDs[0], s.LocationIDs[1]
	k, both := s.With(s.RestrictedAPIKey), newKeyAt(s, one, two)
	th := newThings(s)
	th.location = one
	exempt := []string{"getMe", "listLocations", "updateLocation", "enableLocation", "disableLocation"}
	for _, r := range servertest.Sample(api.Routes()) {
		s.Post("/locations/"+one+"/disable", nil).Want(200)
		got := doRoute(k, r, th)
		if slices.Contains(exempt, r.ID) {
			got.Want(200)
		} else {
			got.Want(402, "location_disabled")
		}
	}
	s.Post("/locations/"+one+"/disable", nil).Want(200)
	k.Get("/cards/x").Want(402, "location_disabled")
	k.Patch("/locations/"+two, nil).Want(403, "unauthorized")
	k.Post("/locations/"+two+"/enable", nil).Want(403, "unauthorized")

	// One enabled location of two is enough, and an unrestricted key is not affected.
	card := "/cards/" + th.card
	both.Get(card).WantOK(fields{"locations": []fields{{"id": two, "name": "Stazione"}}})
	s.Post("/locations/"+two+"/disable", nil).Want(200)
	both.Get("/cards").Want(402, "location_disabled")
	s.Get(card).WantOK(fields{"locations": []fields{}, "all_locations": true})
	k.Post("/locations/"+one+"/enable", nil).Want(200) // takes effect with the next request
	k.Get(card).Want(200)
	both.Get("/cards").Want(200)
}
