package till_test

import (
	"testing"

	"punchcard/server/app"
	"punchcard/server/servertest"
	"punchcard/server/till"
)

type fields = servertest.Fields

func TestMain(m *testing.M) { servertest.Main(m, till.Routes()) }

// start serves a new demo shop and returns a client of the till API. Options change its Config.
func start(t *testing.T, options ...func(*app.Config)) *servertest.Server {
	t.Helper()
	s := servertest.Start(t, options...)
	return s.Till(s.TillToken)
}

// newCard issues a card of a new program of a type.
func newCard(s *servertest.Server, kind string, more fields) (card, program string) {
	s.T.Helper()
	program = s.NewProgram(kind, true, more)
	return s.Issue(program, nil), program
}

// newTill creates a location with a till. A staff PIN is checked with the least work.
func newTill(s *servertest.Server, body fields) (till *servertest.Server, location string) {
	s.T.Helper()
	location = s.Control("POST", "/locations", body).Str("id")
	if pin, ok := body["staff_pin"].(string); ok {
		servertest.WeakenPIN(s.T, s.App.Store.Path(), pin)
	}
	return s.NewDevice(location), location
}

// giveStamps gives a card stamps. It must succeed.
func giveStamps(s *servertest.Server, card string, n int) *servertest.Reply {
	s.T.Helper()
	return s.Post("/cards/"+card+"/stamps", fields{"count": n}).Want(201)
}

// countTransactions counts the rows of the ledger.
func countTransactions(s *servertest.Server) string {
	return s.Value("SELECT count(*) FROM transactions")
}
