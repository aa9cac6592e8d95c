package till_test

import (
	"strings"
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
	servertest.Parallel(t)
	s := servertest.Start(t, options...)
	return s.Till(s.TillToken)
}

// newCard issues a card of a new program of a type.
func newCard(s *servertest.Server, kind string, more fields) (card, program string) {
	s.T.Helper()
	program = s.NewProgram(kind, true, more)
	return s.Issue(program, nil), program
}

// newTill creates a location with a till.
func newTill(s *servertest.Server, body fields) (till *servertest.Server, location string) {
	s.T.Helper()
	location = s.Control("POST", "/locations", body).Str("id")
	return s.NewDevice(location), location
}

// stamp stamps a card, as the body says.
func stamp(s *servertest.Server, card string, body any, headers ...string) *servertest.Reply {
	s.T.Helper()
	return s.Post("/cards/"+card+"/stamps", body, headers...)
}

// reverse reverses a row of the ledger.
func reverse(s *servertest.Server, row string, body any, headers ...string) *servertest.Reply {
	s.T.Helper()
	return s.Post("/transactions/"+row+"/reversal", body, headers...)
}

// setLocation disables or enables a location.
func setLocation(s *servertest.Server, id, action string) {
	s.T.Helper()
	s.REST().Post("/locations/"+id+"/"+action, nil).Want(200)
}

// actionBodies are bodies of all actions on a card. There is no such prize.
var actionBodies = map[string]fields{
	"stamps":      {},
	"redemptions": {"prize_id": "prz_none"},
	"topups":      {"amount_cents": 1},
	"spends":      {"amount_cents": 1},
	"uses":        {},
}

// says checks what the message of a refusal has.
func says(r *servertest.Reply, text string) {
	r.T.Helper()
	if !strings.Contains(r.Str("error.message"), text) {
		r.T.Errorf("%s: %s lacks %q", r.What, r.Body, text)
	}
}

// retryAfter checks after how many seconds a refused request may be repeated.
func retryAfter(r *servertest.Reply, seconds string) {
	r.T.Helper()
	if got := r.Header.Get("Retry-After"); got != seconds {
		r.T.Errorf("%s: Retry-After %q, want %s", r.What, got, seconds)
	}
}

// giveStamps gives a card stamps. It must succeed.
func giveStamps(s *servertest.Server, card string, n int) *servertest.Reply {
	s.T.Helper()
	return stamp(s, card, fields{"count": n}).Want(201)
}

// countTransactions counts the rows of the ledger.
func countTransactions(s *servertest.Server) string {
	return s.Value("SELECT count(*) FROM transactions")
}
