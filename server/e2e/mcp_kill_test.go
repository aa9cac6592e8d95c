package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// assistants is how many clients issue cards at once in TestIssueCardsSurvivesKills, and
// rowsOfCall how many cards each of them issues with one call.
const (
	assistants = 4
	rowsOfCall = 25
)

// issuedCards is the answer of issue_cards.
type issuedCards struct {
	Issued  int    `json:"issued"`
	Refused int    `json:"refused"`
	Token   string `json:"confirm_token"`
	Cards   []struct {
		ID          string `json:"id"`
		ExternalRef string `json:"external_ref"`
		Message     string `json:"message"`
	} `json:"cards"`
}

// mcpKey adds a key to requests.
type mcpKey string

func (k mcpKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// issueByMCP calls issue_cards with a new client of the SDK.
func issueByMCP(ctx context.Context, origin, key string, args map[string]any) (made issuedCards, err error) {
	transport := &sdk.StreamableClientTransport{
		Endpoint:             origin + "/mcp",
		HTTPClient:           &http.Client{Transport: mcpKey(key)},
		DisableStandaloneSSE: true,
		MaxRetries:           -1,
	}
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(ctx, transport, nil)
	if err != nil {
		return made, err
	}
	defer s.Close()
	r, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "issue_cards", Arguments: args})
	if err != nil {
		return made, err
	}
	raw, _ := json.Marshal(r.StructuredContent)
	if r.IsError {
		return made, fmt.Errorf("refused: %s", raw)
	}
	return made, json.Unmarshal(raw, &made)
}

// issuingShop is a shop in which assistants issue cards.
type issuingShop struct {
	*shopFile
	office, assistant key
	program           string
	delivered         *progress         // of a webhook, which says how far the server has come
	ids               map[string]string // of cards in the answers, by external_ref
}

func newIssuingShop(t *testing.T) *issuingShop {
	t.Helper()
	s := &issuingShop{
		shopFile:  &shopFile{t: t, db: newDatabase(t)},
		delivered: newProgress(),
		ids:       map[string]string{},
	}
	s.office = s.makeKey("create", "--name", "Office")
	s.assistant = s.makeKey("create", "--name", "Assistant", "--class", "mcp", "--scope", "cards:write")
	s.start()
	s.program = newProgram(s.api(s.office), stampCard)
	e := newEndpoint(t, "assistant", newProgress())
	e.mu.Lock()
	defer e.mu.Unlock()
	e.matches = func(event string) bool { return event == "card.added" }
	e.answer = func(arrival, <-chan struct{}) int {
		s.delivered.add()
		return http.StatusOK
	}
	s.api(s.office).Post("/programs/"+s.program+"/webhooks", `{"events":["card.added"],"url":"`+e.url+`/hook"}`).Want(201).Decode(&e.hook)
	return s
}

func (s *issuingShop) start() {
	s.t.Helper()
	s.server = startServe(s.t, s.db, "--api-key-rate-limit-per-minute", "0", "--mcp-key-rate-limit-per-minute", "0",
		"--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-backoff-base", "10ms")
	s.server.clientsLeave = true
}

// issue calls issue_cards with a new client.
func (s *issuingShop) issue(args map[string]any) (issuedCards, error) {
	return issueByMCP(s.t.Context(), s.server.origin, s.assistant.Secret, args)
}

// confirmedCalls returns the arguments of a round's calls, with the token that confirms each.
func (s *issuingShop) confirmedCalls(round int) []map[string]any {
	s.t.Helper()
	calls := make([]map[string]any, assistants)
	for n := range calls {
		var rows []map[string]any
		for i := range rowsOfCall {
			rows = append(rows, map[string]any{
				"external_ref": fmt.Sprintf("%d-%d-%d", round, n, i),
				"holder_name":  fmt.Sprint("Person ", i),
			})
		}
		calls[n] = map[string]any{"program_id": s.program, "cards": rows, "idempotency_key": fmt.Sprintf("%d-%d", round, n)}
		ask, err := s.issue(calls[n])
		if err != nil || ask.Token == "" {
			s.t.Fatalf("%+v %v", ask, err)
		}
		calls[n]["confirm_token"] = ask.Token
	}
	return calls
}

// killDuring makes the calls at once, and kills the server when it has made so many deliveries.
func (s *issuingShop) killDuring(calls []map[string]any, deliveries int64) {
	s.t.Helper()
	from := s.delivered.count()
	var waiting sync.WaitGroup
	for _, args := range calls {
		waiting.Go(func() { s.issue(args) })
	}
	if !s.delivered.waitUntil(func() bool { return s.delivered.count() >= from+deliveries }) {
		s.t.Fatalf("no progress:\n%s", s.server.stderr)
	}
	s.server.signal(syscall.SIGKILL)
	s.server.wait()
	waiting.Wait()
}

// repeat makes the calls again, one after the other. Each card must be the one of earlier answers.
func (s *issuingShop) repeat(calls []map[string]any) {
	s.t.Helper()
	for n, args := range calls {
		made, err := s.issue(args)
		if err != nil || made.Issued != rowsOfCall || made.Refused != 0 {
			s.t.Fatalf("call %d: %+v %v", n, made, err)
		}
		for _, c := range made.Cards {
			if id, there := s.ids[c.ExternalRef]; there && id != c.ID || c.ID == "" {
				s.t.Errorf("%s is %q, then %q", c.ExternalRef, id, c.ID)
			}
			s.ids[c.ExternalRef] = c.ID
		}
	}
}

// TestIssueCardsSurvivesKills kills the server while assistants issue many cards, and has them
// call again with the same arguments. Each row exists once in the end, whichever of the rows
// were there at the kill.
func TestIssueCardsSurvivesKills(t *testing.T) {
	t.Parallel()
	s := newIssuingShop(t)
	kills := []int64{1, 20} // after so many deliveries
	for round, deliveries := range kills {
		calls := s.confirmedCalls(round)
		s.killDuring(calls, deliveries)
		s.start()
		had := len(listCards(s.api(s.office), 100)) - len(s.ids)
		t.Logf("round %d: %d of %d cards were there after the kill", round, had, assistants*rowsOfCall)
		if had == 0 || had == assistants*rowsOfCall {
			t.Errorf("round %d: the kill was not in the middle", round)
		}
		s.repeat(calls)
		if round == 0 {
			s.repeat(calls)
		}
	}
	found := listCards(s.api(s.office), 100)
	if want := len(kills) * assistants * rowsOfCall; len(found) != want || len(s.ids) != want {
		t.Errorf("%d cards and %d references, want %d", len(found), len(s.ids), want)
	}
	for _, c := range found {
		if c.ExternalRef == nil || s.ids[*c.ExternalRef] != c.ID {
			t.Errorf("card %s is not the row's", c.ID)
		}
	}
	s.server.stop()
	checkFile(t, s.db)
}
