package api_test

import (
	"context"
	"database/sql"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"punchcard/server/api"
	"punchcard/server/kernel"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
	"punchcard/store"
)

// fileVersion returns a function that returns SQLite's data_version, which changes when another
// connection commits a change.
func fileVersion(s *servertest.Server) func() string {
	s.T.Helper()
	file := (&url.URL{Path: s.App.Store.Path()}).EscapedPath()
	db := require.Must(sql.Open("sqlite", "file:"+file+"?mode=ro&_pragma=busy_timeout(5000)"))
	one := require.Must(db.Conn(context.Background()))
	s.T.Cleanup(func() { one.Close(); db.Close() })
	return func() (n string) {
		s.T.Helper()
		require.NoError(s.T, one.QueryRowContext(context.Background(), "PRAGMA data_version").Scan(&n))
		return n
	}
}

// admitted is the outcome of an operation that the caller may invoke, which the test leaves out. In
// restriction it means that the restriction changes nothing or filters a list (see TestRestricted…).
const admitted = ""

// restriction maps each operation to its outcome for a key that is restricted to one location and
// names something outside of it: another location, a card whose program is not valid there, or a webhook of
// other locations.
var restriction = map[string]string{
	"getMe": admitted, "listLocations": admitted, "updateLocation": "403 unauthorized", "disableLocation": "403 unauthorized",
	"enableLocation": "403 unauthorized",
	"listPrograms":   admitted, "createProgram": admitted, "getProgram": admitted, "updateProgram": admitted,
	"publishProgram": admitted, "unpublishProgram": admitted, "suspendProgram": admitted, "unsuspendProgram": admitted,
	"listPrizes": admitted, "createPrize": admitted, "updatePrize": admitted, "deletePrize": admitted,
	"issueCard": "403 unauthorized", "listCards": admitted, "getCard": missing, "updateCard": missing,
	"getContact": missing, "updateContact": missing, "reissueCard": missing,
	"createInstallLink": missing,
	"listTransactions":  admitted,
	"listWebhooks":      admitted, "createWebhook": "403 unauthorized", "getWebhook": missing, "updateWebhook": missing,
	"deleteWebhook":  missing,
	"listDeliveries": missing, "testWebhook": missing, "redeliver": missing,
	"getProgramStats": unsupported, "getAnalyticsSummary": unsupported, "getHeatmap": admitted, "getCardTypes": unsupported,
	"getCardTypeStats": unsupported,
}

const unsupported = "403 location_scope_unsupported"

// endedKey returns a new key that ends in an hour, or that is revoked or rotated now.
func endedKey(s *servertest.Server, how string) *servertest.Server {
	s.T.Helper()
	k, id := s.NewKey(fields{"expires_at": "2026-03-01T10:00:00Z"})
	k.Get("/me").Want(200) // the server caches the key
	switch how {
	case "revoked":
		s.Control("POST", "/keys/"+id+"/revoke", nil)
	case "rotated":
		s.Control("POST", "/keys/"+id+"/rotate", fields{"grace_hours": 0})
	}
	return k
}

// newShopWithThings creates a shop with things of its own, and then changes the shop's fields to state.
func newShopWithThings(s *servertest.Server, state fields) (*servertest.Server, things) {
	s.T.Helper()
	o := s.NewShop(nil)
	own := newThings(o)
	failDelivery(o, own.delivery)
	s.Control("PATCH", "/shops/"+o.ShopID, servertest.Merge(state, nil))
	return o, own
}

// always returns the same outcome for all operations.
func always(want string) func(kernel.Route) string {
	return func(kernel.Route) string { return want }
}

// missingFrom returns the outcomes for a caller that cannot reach the ids of a path from the given
// position on: missing if a path has an id there, else admitted.
func missingFrom(position int) func(kernel.Route) string {
	return func(r kernel.Route) string {
		if n := strings.Count(r.Path, ":"); n < position || n == 0 || strings.Contains(r.Path, ":type") {
			return admitted // types are the same in all shops
		}
		return missing
	}
}

// TestEveryOperationRefuses calls every operation as each caller that may not invoke it, and checks
// the refusal and that nothing is written.
func TestEveryOperationRefuses(t *testing.T) {
	s := start(t, servertest.Frozen, manyKeys)
	th := newThings(s)

	// Resources that the restricted key must not reach. Its location is the first.
	outside := newThings(s)
	s.Patch("/programs/"+outside.program, fields{
		"location_scope":      "selected_locations",
		"scoped_location_ids": s.LocationIDs[1:2],
	}).Want(200)
	s.Patch("/programs/"+outside.program+"/webhooks/"+outside.webhook, fields{"location_ids": s.LocationIDs[1:2]}).Want(200)
	failDelivery(s, th.delivery)
	failDelivery(s, outside.delivery)

	revoked, rotated, expired := endedKey(s, "revoked"), endedKey(s, "rotated"), endedKey(s, "")
	s.Advance("1h")
	other, own := newShopWithThings(s, nil)
	suspended, suspendedOwn := newShopWithThings(s, fields{"subscription_state": "suspended"})
	cancelled, cancelledOwn := newShopWithThings(s, fields{"subscription_state": "cancelled"})
	noAddon, noAddonOwn := newShopWithThings(s, fields{"api_addon": false})
	none, _ := s.NewKey(fields{"scopes": []string{}})

	for _, c := range []struct {
		caller string
		key    *servertest.Server
		ids    things
		want   func(kernel.Route) string
	}{
		{"no key", s.With(""), th, always("401 unauthenticated")},
		{"malformed key", s.With(s.Key[:51]), th, always("401 unauthenticated")},
		{"unknown key", s.With("tsk_test_" + strings.Repeat("A", 43)), th, always("401 unauthenticated")},
		{"key in the other mode", s.With("tsk_live_" + s.Key[9:]), th, always("401 unauthenticated")},
		{"MCP key", s.With(s.MCPKey), th, always("401 unauthenticated")},
		{"till's token", s.With(s.TillToken), th, always("401 unauthenticated")},
		{"revoked key", revoked, th, always("401 unauthenticated")},
		{"rotated key", rotated, th, always("401 unauthenticated")},
		{"expired key", expired, th, always("401 unauthenticated")},
		{"shop without the add-on", noAddon, noAddonOwn, always("401 business_api_required")},
		{"suspended shop", suspended, suspendedOwn, always("402 subscription_suspended")},
		{"cancelled shop", cancelled, cancelledOwn, always("402 subscription_suspended")},
		{"suspended shop, another's ids", suspended, th, always("402 subscription_suspended")},
		{"key without a scope", none, th, func(r kernel.Route) string {
			if r.Scope() == "" {
				return admitted
			}
			return "403 unauthorized"
		}},
		{"another shop's key", other, th, missingFrom(1)},
		{"another shop's key, its own program", other,
			things{program: own.program, prize: th.prize, webhook: th.webhook, delivery: th.delivery}, missingFrom(2)},
		{"another shop's key, its own webhook", other, things{program: own.program, webhook: own.webhook, delivery: th.delivery},
			missingFrom(3)},
		{"another program of the shop", s,
			things{program: s.ProgramIDs["private"], prize: th.prize, webhook: th.webhook, delivery: th.delivery}, missingFrom(2)},
		{"restricted key, outside", s.With(s.RestrictedAPIKey), outside, func(r kernel.Route) string {
			want, known := restriction[r.ID]
			if !known {
				t.Errorf("restriction has no entry for %s", r.ID)
			}
			return want
		}},
	} {
		t.Run(c.caller, func(t *testing.T) { checkRefusals(t, s.On(t), c.key.On(t), c.ids, c.want) })
	}
	for _, r := range api.Routes() {
		if r.Scope() == "" {
			continue
		}
		if message := doRoute(none, r, nowhere).Want(403).Str("error.message"); !strings.Contains(message, r.Scope()) {
			t.Errorf("%s: the message does not name %s: %s", r.ID, r.Scope(), message)
		}
	}
	for id := range restriction {
		if !slices.ContainsFunc(api.Routes(), func(r kernel.Route) bool { return r.ID == id }) {
			t.Errorf("no operation %s", id)
		}
	}
}

// checkRefusals calls every operation with k, except for those that want admits, and checks that each
// has its outcome and writes nothing.
func checkRefusals(t *testing.T, s, k *servertest.Server, ids things, want func(kernel.Route) string) {
	version := fileVersion(s)
	none := unknown // with the ids that the caller can reach
	if own := "/programs/" + ids.program; k.Get(own).Status == 200 {
		none.program = ids.program
		if k.Get(own+"/webhooks/"+ids.webhook).Status == 200 {
			none.webhook = ids.webhook
		}
	}
	refused := 0
	for _, r := range api.Routes() {
		want := want(r)
		if want == admitted {
			continue
		}
		// The guard does not store the idempotency key of a request that it refuses.
		var headers []string
		if r.Writes() && want != missing && r.ID != "issueCard" && r.ID != "createWebhook" {
			headers = []string{"Idempotency-Key", r.ID}
		}
		before := version()
		got := doRoute(k, r, ids, headers...)
		if got.WantOutcome(want); version() != before {
			t.Errorf("%s was refused, and something was written", r.ID)
		}
		if want == missing { // the answer about an id that exists is that about an unknown one
			sameAnswers(t, r.ID, got, doRoute(k, r, none))
		}
		refused++
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

// TestReadsWriteNothing checks that every operation that reads succeeds with its sample and does not change the
// file. For the others see TestEveryWrite.
func TestReadsWriteNothing(t *testing.T) {
	s := start(t, servertest.Frozen)
	th := newThings(s)
	version := fileVersion(s)
	before := version()
	for _, r := range api.Routes() {
		if r.Writes() {
			continue
		}
		if doRoute(s, r, th).Want(r.Status); version() != before {
			t.Errorf("%s changed the file", r.ID)
		}
	}
}

// TestForeignIDsInBodiesAndQueries takes every field and parameter with ids from the operations'
// types, and checks that an id of another shop gets the same answer as one that does not exist.
func TestForeignIDsInBodiesAndQueries(t *testing.T) {
	s := start(t, manyKeys)
	th := newThings(s)
	th.location = s.LocationIDs[0] // the till's location
	s.Fetch("POST", s.Origin+"/till/v1/cards/"+th.card+"/stamps", nil, http.Header{"Authorization": {"Bearer " + s.TillToken}}).Want(201)
	o := s.NewShop(nil)
	own := newThings(o)
	foreign := map[string]string{"location": th.location, "program": th.program, "card": th.card}
	never := map[string]string{
		"location": s.App.Store.ID(store.KindLocation, 1<<40),
		"program":  s.App.Store.ID(store.KindProgram, 1<<40),
		"card":     s.App.Store.ID(store.KindCard, 1<<40),
	}
	version := fileVersion(s)
	found := 0
	for _, r := range api.Routes() {
		var body, query []string
		if r.Writes() {
			body = idFields(r.In)
		} else {
			query = idFields(r.In)
		}
		for _, name := range body {
			kind := kindOf(t, name)
			ask := func(id string) *servertest.Reply {
				body := withFields(parseObject(t, sampleBodies[r.ID]), fields{name: []string{id}})
				if name == "scoped_location_ids" {
					body["location_scope"] = "selected_locations"
				}
				before := version()
				got := o.Call(r.Method, own.fill(t, r), body).Want(400, "validation_failed")
				if version() != before {
					t.Errorf("%s with another shop's %s: something was written", r.ID, name)
				}
				return got
			}
			a, b := ask(foreign[kind]), ask(never[kind])
			a.Invalid(name + ".0 invalid_value")
			sameAnswers(t, r.ID+", "+name, a, b)
			found++
		}
		for _, name := range query {
			kind := kindOf(t, name)
			a := o.Get(own.fill(t, r) + "?" + name + "=" + foreign[kind]).Want(200)
			b := o.Get(own.fill(t, r) + "?" + name + "=" + never[kind]).Want(200)
			sameAnswers(t, r.ID+", "+name, a, b)
			if mine := s.Get(th.fill(t, r) + "?" + name + "=" + foreign[kind]).Want(200); string(mine.Body) == string(a.Body) {
				t.Errorf("%s, %s: its owner gets the same answer: %s", r.ID, name, mine.Body)
			}
			found++
		}
	}
	if found < 9 {
		t.Errorf("only %d fields and parameters were found", found)
	}
}

// idFields returns the fields of a type that contain ids.
func idFields(t reflect.Type) (list []string) {
	if t == nil {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_ids") {
			list = append(list, name)
		}
	}
	return list
}

// kindOf returns the kind of the ids in a field.
func kindOf(t *testing.T, field string) string {
	for _, kind := range []string{"location", "program", "card"} {
		if strings.HasSuffix(strings.TrimSuffix(field, "s"), kind+"_id") {
			return kind
		}
	}
	t.Fatalf("unknown kind of id in %s", field)
	return ""
}
