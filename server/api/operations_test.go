package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"punchcard/server/api"
	"punchcard/server/app"
	"punchcard/server/kernel"
	"punchcard/server/servertest"
	"punchcard/server/servertest/require"
)

// things are the resources that paths of operations name.
type things struct {
	location, program, prize, card, webhook, delivery string
	cardType                                          string
}

// nowhere are ids that no resource has.
var nowhere = things{"l", "p", "z", "c", "w", "d", "t"}

// newThings creates a published program with a prize, a card and a webhook with a test delivery.
// The location is the demo shop's second. The webhook gets an event that no operation causes, so that
// nothing else is sent to it.
func newThings(s *servertest.Server) things {
	s.T.Helper()
	th := things{location: s.LocationIDs[1], cardType: "standard"}
	th.program = s.Post("/programs", sampleBodies["createProgram"]).NewID()
	th.prize = s.Post("/programs/"+th.program+"/prizes", sampleBodies["createPrize"]).NewID()
	s.Post("/programs/"+th.program+"/publish", nil).Want(200)
	th.card = s.Post("/programs/"+th.program+"/cards", nil).NewID()
	th.webhook = s.Post("/programs/"+th.program+"/webhooks", sampleBodies["createWebhook"]).NewID()
	th.delivery = s.Post("/programs/"+th.program+"/webhooks/"+th.webhook+"/test", nil).Want(202).Str("id")
	return th
}

// fill replaces the parameters of a route's path by ids.
func (th things) fill(t testing.TB, r kernel.Route) string {
	t.Helper()
	ids := map[string]string{"locations": th.location, "programs": th.program, "prizes": th.prize, "cards": th.card,
		"webhooks": th.webhook, "deliveries": th.delivery,
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

// sampleBodies are bodies with which operations succeed. Operations that are missing here have no
// body or need none.
var sampleBodies = map[string]string{
	"updateLocation": `{"name":"New name"}`,
	"createProgram":  `{"type":"standard","name":"Sample","total_stamps":10,"icon_key":"star"}`,
	"updateProgram":  `{"name":"Other sample"}`,
	"createPrize":    `{"threshold":5,"name":"Croissant"}`,
	"updatePrize":    `{"name":"Brioche"}`,
	"issueCard":      `{"holder_name":"Ada"}`,
	"updateCard":     `{"holder_name":"Grace"}`,
	"updateContact":  `{"phone":"+390612345678"}`,
	"reissueCard":    `{"holder_name":"Grace"}`,
	"createWebhook":  `{"url":"https://hooks.invalid/a","events":["subscription.state_changed"]}`,
	"updateWebhook":  `{"description":"CRM"}`,
}

// firstActions maps operations that change nothing in a published program to the action
// that comes before them.
var firstActions = map[string]string{"publishProgram": "unpublish", "unsuspendProgram": "suspend"}

// prepareThings brings th into a state in which the operation changes something.
func prepareThings(s *servertest.Server, r kernel.Route, th things) {
	s.T.Helper()
	if a, ok := firstActions[r.ID]; ok {
		s.Post("/programs/"+th.program+"/"+a, nil).Want(200)
	}
	if r.ID == "redeliver" {
		failDelivery(s, th.delivery)
	}
	if r.ID == "enableLocation" {
		s.Post("/locations/"+th.location+"/disable", nil).Want(200)
	}
}

// failDelivery marks a delivery as failed after all attempts.
func failDelivery(s *servertest.Server, delivery string) {
	s.T.Helper()
	s.SQL(`UPDATE deliveries SET outcome='failed', attempts=5, response_status=500, last_error='status 500', duration_ms=12,
		request_headers='{"User-Agent":"test"}' WHERE event_id=?`, eventKey(s, delivery))
}

// doRoute makes the sample request of an operation.
func doRoute(s *servertest.Server, r kernel.Route, th things, headers ...string) *servertest.Reply {
	s.T.Helper()
	if b, ok := sampleBodies[r.ID]; ok {
		return s.Call(r.Method, th.fill(s.T, r), b, headers...)
	}
	return s.Call(r.Method, th.fill(s.T, r), nil, headers...)
}

// restoreThings undoes what sample requests changed at the shop's location.
func restoreThings(s *servertest.Server, th things) {
	s.T.Helper()
	s.Post("/locations/"+th.location+"/enable", nil).Want(200)
}

// writingRoutes returns the routes that write.
func writingRoutes() []kernel.Route {
	return slices.DeleteFunc(api.Routes(), func(r kernel.Route) bool { return !r.Writes() })
}

// manyKeys allows more keys than the default.
func manyKeys(c *app.Config) { c.Limits.APIKeyMaxPerShop = 1000 }

// perMinute limits every key to n requests per minute.
func perMinute(n int) func(*app.Config) {
	return func(c *app.Config) { c.Limits.APIKeyRateLimitPerMinute = &n }
}

// snapshot returns the lists of locations, programs, cards and transactions, and the given programs
// with their webhooks, for comparisons.
func snapshot(s *servertest.Server, programs ...string) string {
	s.T.Helper()
	paths := []string{"/locations", "/programs?limit=100", "/cards?limit=100", "/transactions?limit=100"}
	for _, p := range programs {
		paths = append(paths, "/programs/"+p, "/programs/"+p+"/webhooks")
	}
	var b strings.Builder
	for _, p := range paths {
		b.Write(s.Get(p).Want(200).Body)
	}
	return b.String()
}

// parseObject returns a JSON object; an empty text is an empty object.
func parseObject(t testing.TB, text string) (m map[string]any) {
	t.Helper()
	if text == "" {
		text = "{}"
	}
	require.NoError(t, json.Unmarshal([]byte(text), &m))
	return m
}

// withFields returns base with the changes. A field whose value is leaveOut is removed.
func withFields(base, changes map[string]any) map[string]any {
	m := map[string]any{}
	maps.Copy(m, base)
	maps.Copy(m, changes)
	maps.DeleteFunc(m, func(_ string, v any) bool { return v == leaveOut })
	return m
}

// leaveOut is the value of a field that is left out. It is a pointer, so that comparing any value with
// it cannot panic.
var leaveOut any = new(int)

func jsonText(t testing.TB, v any) string {
	b := require.Must(json.Marshal(v))
	return string(b)
}

// exhaustLimit uses up the key's requests of this minute.
func exhaustLimit(s *servertest.Server) {
	s.T.Helper()
	for range 100 {
		if s.Get("/me").Status == http.StatusTooManyRequests {
			return
		}
	}
	s.T.Fatal("a hundred requests were not limited")
}
