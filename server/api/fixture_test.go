package api_test

import (
	"strconv"
	"strings"
	"testing"

	"punchcard/server/api"
	"punchcard/server/app"
	"punchcard/server/servertest"
)

type fields = servertest.Fields

func TestMain(m *testing.M) { servertest.Main(m, api.Routes()) }

// start serves a new demo shop that sends no webhooks and resolves the names of webhook targets
// itself. Options change its Config.
func start(t testing.TB, options ...func(*app.Config)) *servertest.Server {
	t.Helper()
	servertest.Parallel(t)
	return servertest.Start(t, append([]func(*app.Config){func(c *app.Config) {
		c.HoldWebhooks = true
		c.Limits.WebhookMaxPerShop = 1000 // tests of all operations create many
		guarded(&resolver{})(c)
	}}, options...)...)
}

// eventKey returns the key of a delivery's event.
func eventKey(s *servertest.Server, delivery string) int64 {
	s.T.Helper()
	for hook := int64(1); hook < 1000; hook++ {
		if key, ok := s.App.Store.DeliveryKey(hook, delivery); ok {
			return key
		}
	}
	s.T.Fatalf("%q is no delivery", delivery)
	return 0
}

// countAudits counts the rows of the audit log.
func countAudits(s *servertest.Server) string { return s.Value("SELECT count(*) FROM audit") }

// newKeyAt returns a client with a new key of every scope, restricted to locations if there are
// any.
func newKeyAt(s *servertest.Server, locations ...string) *servertest.Server {
	s.T.Helper()
	body := fields{}
	if locations != nil {
		body["location_ids"] = locations
	}
	k, _ := s.NewKey(body)
	return k
}

// newOtherShop returns a client of another shop in the same file, and its location.
func newOtherShop(s *servertest.Server) (other *servertest.Server, location string) {
	s.T.Helper()
	other = s.NewShop(fields{"name": "Elsewhere"})
	return other, other.LocationIDs[0]
}

// number parses an integer.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// long returns a string of n characters of two bytes each.
func long(n int) string { return strings.Repeat("é", n) }
