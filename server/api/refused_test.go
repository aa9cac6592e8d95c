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
	faces "punchcard/server/kernel"
	"punchcard/store"
)

// version returns a function that tells how many transactions have changed the
// file so far, as SQLite counts them for its other connections.
func (s *server) version() func() string {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: s.app.Store.Path()}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		s.t.Fatal(err)
	}
	one, err := db.Conn(context.Background())
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { one.Close(); db.Close() })
	return func() (n string) {
		s.t.Helper()
		if err := one.QueryRowContext(context.Background(), "PRAGMA data_version").Scan(&n); err != nil {
			s.t.Fatal(err)
		}
		return n
	}
}

// restriction is what a key restricted to one location is answered about what
// is outside: about a location, about a card whose program is not accepted
// there, about a webhook that listens elsewhere. letIn stands where the
// restriction changes nothing, or narrows a list (TestRestricted…).
const letIn = ""

var restriction = map[string]string{
	"getMe": letIn, "listLocations": letIn, "updateLocation": "403 unauthorized", "disableLocation": "403 unauthorized", "enableLocation": "403 unauthorized",
	"listPrograms": letIn, "createProgram": letIn, "getProgram": letIn, "updateProgram": letIn,
	"publishProgram": letIn, "unpublishProgram": letIn, "suspendProgram": letIn, "unsuspendProgram": letIn,
	"listPrizes": letIn, "createPrize": letIn, "updatePrize": letIn, "deletePrize": letIn,
	"issueCard": "403 unauthorized", "listCards": letIn, "getCard": missing, "updateCard": missing, "reissueCard": missing, "createInstallLink": missing,
	"listTransactions": letIn,
	"listWebhooks":     letIn, "createWebhook": "403 unauthorized", "getWebhook": missing, "updateWebhook": missing, "deleteWebhook": missing,
	"listDeliveries": missing, "testWebhook": missing, "redeliver": missing,
	"getProgramStats": unsupported, "getAnalyticsSummary": unsupported, "getHeatmap": letIn, "getCardTypes": unsupported, "getCardTypeStats": unsupported,
}

const unsupported = "403 location_scope_unsupported"

// TestEveryOperationRefuses calls every operation there is as each caller that
// must not have it: the answer is the contract's, and nothing is written.
func TestEveryOperationRefuses(t *testing.T) {
	t.Parallel()
	s := start(t, frozen, manyKeys)
	th := s.things()

	// What the restricted key, of the first location, must not reach.
	outside := s.things()
	s.patch("/programs/"+outside.program, fields{"location_scope": "selected_locations", "scoped_location_ids": s.LocationIDs[1:2]}).want(200)
	s.patch("/programs/"+outside.program+"/webhooks/"+outside.webhook, fields{"location_ids": s.LocationIDs[1:2]}).want(200)
	s.fail(th.delivery)
	s.fail(outside.delivery)

	ended := func(how string) *server {
		k, id := s.newKey(fields{"expires_at": "2026-03-01T10:00:00Z"})
		k.get("/me").want(200) // so that the server knows the key
		switch how {
		case "revoked":
			s.control("POST", "/keys/"+id+"/revoke", fields{})
		case "rotated":
			s.control("POST", "/keys/"+id+"/rotate", fields{"grace_hours": 0})
		}
		return k
	}
	revoked, rotated, expired := ended("revoked"), ended("rotated"), ended("")
	s.advance("1h")
	shop := func(state fields) (*server, things) {
		o := s.newShop()
		own := things{location: o.LocationIDs[0], cardType: "standard"}
		own.program = o.post("/programs", sampleBodies["createProgram"]).want(201).str("id")
		own.prize = o.post("/programs/"+own.program+"/prizes", sampleBodies["createPrize"]).want(201).str("id")
		own.webhook = o.post("/programs/"+own.program+"/webhooks", sampleBodies["createWebhook"]).want(201).str("id")
		own.delivery = o.post("/programs/"+own.program+"/webhooks/"+own.webhook+"/test", nil).want(202).str("id")
		o.post("/programs/"+own.program+"/publish", nil).want(200)
		own.card = o.post("/programs/"+own.program+"/cards", nil).want(201).str("id")
		o.fail(own.delivery)
		if state != nil {
			s.control("PATCH", "/shops/"+o.ShopID, state)
		}
		return o, own
	}
	other, own := shop(nil)
	suspended, suspendedOwn := shop(fields{"subscription_state": "suspended"})
	cancelled, cancelledOwn := shop(fields{"subscription_state": "cancelled"})
	noAddon, noAddonOwn := shop(fields{"api_addon": false})
	none, _ := s.newKey(fields{"scopes": []string{}})

	const unauthenticated = "401 unauthenticated"
	always := func(want string) func(faces.Route) string { return func(faces.Route) string { return want } }
	// named tells that so many of the path's ids are another shop's.
	named := func(ids int) func(faces.Route) string {
		return func(r faces.Route) string {
			if n := strings.Count(r.Path, ":"); n < ids || n == 0 || strings.Contains(r.Path, ":type") {
				return letIn // the types are every shop's
			}
			return missing
		}
	}
	for _, c := range []struct {
		caller string
		key    *server
		ids    things
		want   func(faces.Route) string
	}{
		{"no key", s.with(""), th, always(unauthenticated)},
		{"malformed key", s.with(s.key[:51]), th, always(unauthenticated)},
		{"unknown key", s.with("tsk_test_" + strings.Repeat("A", 43)), th, always(unauthenticated)},
		{"key in the other mode", s.with("tsk_live_" + s.key[9:]), th, always(unauthenticated)},
		{"MCP key", s.with(s.MCPKey), th, always(unauthenticated)},
		{"till's token", s.with(s.TillToken), th, always(unauthenticated)},
		{"revoked key", revoked, th, always(unauthenticated)},
		{"rotated key", rotated, th, always(unauthenticated)},
		{"expired key", expired, th, always(unauthenticated)},
		{"shop without the add-on", noAddon, noAddonOwn, always("401 business_api_required")},
		{"suspended shop", suspended, suspendedOwn, always("402 subscription_suspended")},
		{"cancelled shop", cancelled, cancelledOwn, always("402 subscription_suspended")},
		{"suspended shop, another's ids", suspended, th, always("402 subscription_suspended")},
		{"key without a scope", none, th, func(r faces.Route) string {
			if r.Scope == "" {
				return letIn
			}
			return "403 unauthorized"
		}},
		{"another shop's key", other, th, named(1)},
		{"another shop's key, its own program", other, things{program: own.program, prize: th.prize, webhook: th.webhook, delivery: th.delivery}, named(2)},
		{"another shop's key, its own webhook", other, things{program: own.program, webhook: own.webhook, delivery: th.delivery}, named(3)},
		{"another program of the shop", s, things{program: s.ProgramIDs["private"], prize: th.prize, webhook: th.webhook, delivery: th.delivery}, named(2)},
		{"restricted key, outside", s.with(s.RestrictedAPIKey), outside, func(r faces.Route) string {
			want, known := restriction[r.ID]
			if !known {
				t.Errorf("say what a restricted key may do with %s", r.ID)
			}
			return want
		}},
	} {
		t.Run(c.caller, func(t *testing.T) {
			k, version := c.key.on(t), s.on(t).version()
			refused := 0
			for _, r := range api.Routes() {
				want := c.want(r)
				if want == letIn {
					continue
				}
				// What the gate refuses is not remembered either.
				var headers []string
				if r.Writes() && want != missing && r.ID != "issueCard" && r.ID != "createWebhook" {
					headers = []string{"Idempotency-Key", r.ID}
				}
				before := version()
				if k.do(r, c.ids, headers...).refused(want); version() != before {
					t.Errorf("%s was refused, and something was written", r.ID)
				}
				refused++
			}
			if refused == 0 {
				t.Error("nothing was refused")
			}
		})
	}
	for id := range restriction {
		if !slices.ContainsFunc(api.Routes(), func(r faces.Route) bool { return r.ID == id }) {
			t.Errorf("there is no %s", id)
		}
	}

	// The owner's same requests do write, and that shows.
	version := s.version()
	for _, r := range api.Routes() {
		fresh := s.things()
		s.prepare(r, fresh)
		before := version()
		s.do(r, fresh).want(r.Status)
		if changed := version() != before; changed != r.Writes() {
			t.Errorf("%s: the file changed: %v", r.ID, changed)
		}
		s.restore(fresh)
	}
}

// TestForeignIDsInBodiesAndQueries takes every field and parameter that holds
// ids from the types of the operations: another shop's id is what one is that
// never was.
func TestForeignIDsInBodiesAndQueries(t *testing.T) {
	t.Parallel()
	s := start(t, manyKeys)
	th := s.things()
	th.location = s.LocationIDs[0] // the till's
	s.fetch("POST", s.Origin+"/till/v1/cards/"+th.card+"/stamps", nil, http.Header{"Authorization": {"Bearer " + s.TillToken}}).want(201)
	o := s.newShop()
	own := things{program: o.post("/programs", sampleBodies["createProgram"]).want(201).str("id")}
	own.webhook = o.post("/programs/"+own.program+"/webhooks", sampleBodies["createWebhook"]).want(201).str("id")
	foreign := map[string]string{"location": th.location, "program": th.program, "card": th.card}
	never := map[string]string{"location": s.app.Store.ID(store.KindLocation, 1<<40), "program": s.app.Store.ID(store.KindProgram, 1<<40), "card": s.app.Store.ID(store.KindCard, 1<<40)}
	version := s.version()
	found := 0
	for _, r := range api.Routes() {
		for _, name := range idFields(r.Body) {
			kind := kindOf(t, name)
			ask := func(id string) *reply {
				body := withFields(parseObject(t, sampleBodies[r.ID]), fields{name: []string{id}})
				if name == "scoped_location_ids" {
					body["location_scope"] = "selected_locations"
				}
				before := version()
				got := o.call(r.Method, own.fill(t, r), body).want(400, "validation_failed")
				if version() != before {
					t.Errorf("%s with another shop's %s: something was written", r.ID, name)
				}
				return got
			}
			a, b := ask(foreign[kind]), ask(never[kind])
			a.invalid(name + ".0 invalid_value")
			if a.anonymous() != b.anonymous() {
				t.Errorf("%s, %s:\n%s\n%s", r.ID, name, a.body, b.body)
			}
			found++
		}
		for _, name := range idFields(r.Query) {
			kind := kindOf(t, name)
			a := o.get(own.fill(t, r) + "?" + name + "=" + foreign[kind]).want(200)
			b := o.get(own.fill(t, r) + "?" + name + "=" + never[kind]).want(200)
			if a.anonymous() != b.anonymous() {
				t.Errorf("%s, %s:\n%s\n%s", r.ID, name, a.body, b.body)
			}
			if mine := s.get(th.fill(t, r) + "?" + name + "=" + foreign[kind]).want(200); string(mine.body) == string(a.body) {
				t.Errorf("%s, %s: shows nothing to its owner: %s", r.ID, name, mine.body)
			}
			found++
		}
	}
	if found < 9 {
		t.Errorf("only %d fields and parameters were found", found)
	}
}

// idFields are the names of a type's fields that hold ids.
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

// kindOf is what the ids in a field name.
func kindOf(t *testing.T, field string) string {
	for _, kind := range []string{"location", "program", "card"} {
		if strings.HasSuffix(strings.TrimSuffix(field, "s"), kind+"_id") {
			return kind
		}
	}
	t.Fatalf("what does %s name?", field)
	return ""
}
