package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"punchcard/server/api"
	"punchcard/server/app"
	faces "punchcard/server/kernel"
)

// things are resources that the operations' paths name.
type things struct {
	location, program, prize, card, webhook, delivery string
	cardType                                          string
}

// nowhere are ids that no resource has.
var nowhere = things{"l", "p", "z", "c", "w", "d", "t"}

// things makes a published program with a prize, a card and a webhook that was
// sent a test. The location is the demo shop's second. What the webhook listens
// to does not happen, so that nothing is sent to it meanwhile.
func (s *server) things() things {
	s.t.Helper()
	th := things{location: s.LocationIDs[1], cardType: "standard"}
	th.program = s.post("/programs", sampleBodies["createProgram"]).want(201).str("id")
	th.prize = s.post("/programs/"+th.program+"/prizes", sampleBodies["createPrize"]).want(201).str("id")
	s.post("/programs/"+th.program+"/publish", nil).want(200)
	th.card = s.post("/programs/"+th.program+"/cards", nil).want(201).str("id")
	th.webhook = s.post("/programs/"+th.program+"/webhooks", sampleBodies["createWebhook"]).want(201).str("id")
	th.delivery = s.post("/programs/"+th.program+"/webhooks/"+th.webhook+"/test", nil).want(202).str("id")
	return th
}

// fill writes the things' ids into a route's path.
func (th things) fill(t testing.TB, r faces.Route) string {
	t.Helper()
	ids := map[string]string{"locations": th.location, "programs": th.program, "prizes": th.prize, "cards": th.card, "webhooks": th.webhook, "deliveries": th.delivery,
		"card-types": th.cardType}
	parts := strings.Split(r.Path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, ":") {
			id, ok := ids[parts[i-1]]
			if !ok {
				t.Fatalf("%s: things has no id for %s after %s", r.ID, p, parts[i-1])
			}
			parts[i] = id
		}
	}
	return strings.Join(parts, "/")
}

// sampleBodies are bodies with which the operations succeed; those that are
// not here take none, or succeed without.
var sampleBodies = map[string]string{
	"updateLocation": `{"name":"New name"}`,
	"createProgram":  `{"type":"standard","name":"Sample","total_stamps":10,"icon_key":"star"}`,
	"updateProgram":  `{"name":"Other sample"}`,
	"createPrize":    `{"threshold":5,"name":"Croissant"}`,
	"updatePrize":    `{"name":"Brioche"}`,
	"issueCard":      `{"holder_name":"Ada"}`,
	"updateCard":     `{"holder_name":"Grace"}`,
	"reissueCard":    `{"holder_name":"Grace"}`,
	"createWebhook":  `{"url":"https://hooks.invalid/a","events":["subscription.state_changed"]}`,
	"updateWebhook":  `{"description":"CRM"}`,
}

// firstActions are those that a program must have had, so that another is
// more than a no-op.
var firstActions = map[string]string{"publishProgram": "unpublish", "unsuspendProgram": "suspend"}

// prepare brings th into the state in which the operation changes something.
func (s *server) prepare(r faces.Route, th things) {
	s.t.Helper()
	if a, ok := firstActions[r.ID]; ok {
		s.post("/programs/"+th.program+"/"+a, nil).want(200)
	}
	if r.ID == "redeliver" {
		s.fail(th.delivery)
	}
	if r.ID == "enableLocation" {
		s.post("/locations/"+th.location+"/disable", nil).want(200)
	}
}

// fail ends a delivery as one whose attempts were used up.
func (s *server) fail(delivery string) {
	s.t.Helper()
	s.sql(`UPDATE deliveries SET outcome='failed', attempts=5, response_status=500, last_error='status 500', duration_ms=12, request_headers='{"User-Agent":"test"}' WHERE event_id=?`,
		s.happened(delivery))
}

// do makes the operation's sample request.
func (s *server) do(r faces.Route, th things, headers ...string) *reply {
	s.t.Helper()
	if b, ok := sampleBodies[r.ID]; ok {
		return s.call(r.Method, th.fill(s.t, r), b, headers...)
	}
	return s.call(r.Method, th.fill(s.t, r), nil, headers...)
}

// restore takes back what sample requests did to the shop's location.
func (s *server) restore(th things) {
	s.t.Helper()
	s.post("/locations/"+th.location+"/enable", nil).want(200)
}

// writingRoutes are the routes that change something.
func writingRoutes() []faces.Route {
	return slices.DeleteFunc(api.Routes(), func(r faces.Route) bool { return !r.Writes() })
}

// manyKeys lets a test make more keys than the default allows.
func manyKeys(c *app.Config) { c.Limits.APIKeyMaxPerShop = 1000 }

// perMinute limits every key to n requests per minute.
func perMinute(n int) func(*app.Config) {
	return func(c *app.Config) { c.Limits.APIKeyRateLimitPerMinute = &n }
}

// newKey makes a key and returns a client that bears it, with the key's id.
func (s *server) newKey(fields map[string]any) (*server, string) {
	s.t.Helper()
	r := s.control("POST", "/keys", fields)
	return s.with(r.str("key")), r.str("id")
}

// newShop makes a second shop and returns a client that bears its key.
func (s *server) newShop() *server {
	s.t.Helper()
	r := s.control("POST", "/shops", map[string]any{})
	o := s.with(r.str("api_key"))
	ready := *s.Ready
	ready.ShopID, ready.LocationIDs, ready.ProgramIDs = r.str("shop_id"), []string{r.str("location_id"), r.str("location_id")}, nil
	o.Ready = &ready
	return o
}

// world is all that reads can show, for comparing before and after.
func (s *server) world(programs ...string) string {
	s.t.Helper()
	paths := []string{"/locations", "/programs?limit=100", "/cards?limit=100", "/transactions?limit=100"}
	for _, p := range programs {
		paths = append(paths, "/programs/"+p, "/programs/"+p+"/webhooks")
	}
	var b strings.Builder
	for _, p := range paths {
		b.Write(s.get(p).want(200).body)
	}
	return b.String()
}

// anonymous is an answer without what differs between two requests.
func (r *reply) anonymous() string {
	r.t.Helper()
	id := r.header.Get("X-Request-Id")
	if id == "" {
		r.t.Error("no X-Request-Id")
		return string(r.body)
	}
	return fmt.Sprint(r.status, " ", strings.ReplaceAll(string(r.body), id, "req"))
}

func parseObject(t testing.TB, text string) (m map[string]any) {
	t.Helper()
	if text == "" {
		text = "{}"
	}
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// withFields is base with the changes in it; a change to leaveOut takes a
// field out.
func withFields(base, changes map[string]any) map[string]any {
	m := map[string]any{}
	maps.Copy(m, base)
	maps.Copy(m, changes)
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == leaveOut })
	return m
}

// leaveOut is a pointer, so that comparing anything with it is safe.
var leaveOut any = new(int)

// TestSamplesSucceed keeps the samples honest: what they are used for rests on
// their success.
func TestSamplesSucceed(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, r := range api.Routes() {
		th := s.things()
		s.prepare(r, th)
		if got := s.do(r, th); got.status != r.Status {
			t.Errorf("%s: %d, want %d: %s", r.ID, got.status, r.Status, got.body)
		} else if r.Status == http.StatusNoContent && len(got.body) > 0 {
			t.Errorf("%s: a body with 204: %s", r.ID, got.body)
		}
		s.restore(th)
	}
}

func jsonText(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// exhaust uses up what is left of the key's minute.
func (s *server) exhaust() {
	s.t.Helper()
	for range 100 {
		if s.get("/me").status == http.StatusTooManyRequests {
			return
		}
	}
	s.t.Fatal("a hundred requests were not limited")
}
