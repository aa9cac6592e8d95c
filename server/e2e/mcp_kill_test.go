package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// assistants is how many clients issue cards at once in TestIssueCardsSurvivesKills, and
// rowsOfCall how many cards each of them issues with one call.
const (
	assistants = 8
	rowsOfCall = 50
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
	transport := &sdk.StreamableClientTransport{Endpoint: origin + "/mcp", HTTPClient: &http.Client{Transport: mcpKey(key)}, DisableStandaloneSSE: true, MaxRetries: -1}
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

// TestIssueCardsSurvivesKills kills the server while assistants issue many cards, and has them
// call again with the same arguments. Each row exists once in the end, whichever of the rows
// were there at the kill. A webhook says how far the server has come.
func TestIssueCardsSurvivesKills(t *testing.T) {
	t.Parallel()
	f := &shopFile{t: t, db: filepath.Join(t.TempDir(), "shop.db")}
	f.run("shop", "create", "--name", "Bar Lux")
	office, key := f.makeKey("create", "--name", "Office"), f.makeKey("create", "--name", "Assistant", "--class", "mcp", "--scope", "cards:write")
	start := func() {
		f.server = startServe(t, f.db, "--api-key-rate-limit-per-minute", "0", "--mcp-key-rate-limit-per-minute", "0",
			"--webhook-allow-http", "--webhook-allow-cidr", "127.0.0.0/8", "--webhook-backoff-base", "10ms")
		f.server.clientsLeave = true
	}
	start()
	program := newProgram(f.api(office), `{"type":"standard","name":"Coffee","total_stamps":10,"icon_key":"coffee"}`)
	arrived := newProgress()
	e := newEndpoint(t, "assistant", newProgress())
	e.mu.Lock()
	e.matches = func(event string) bool { return event == "card.added" }
	e.answer = func(arrival, <-chan struct{}) int {
		arrived.add()
		return http.StatusOK
	}
	f.api(office).Post("/programs/"+program+"/webhooks", `{"events":["card.added"],"url":"`+e.url+`/hook"}`).Want(201).Decode(&e.hook)
	e.mu.Unlock()
	all := map[string]string{}   // ids by external_ref
	kills := []int64{1, 30, 120} // after so many deliveries
	for round, after := range kills {
		calls := make([]map[string]any, assistants)
		for n := range calls {
			var rows []map[string]any
			for i := range rowsOfCall {
				rows = append(rows, map[string]any{"external_ref": fmt.Sprintf("%d-%d-%d", round, n, i), "holder_name": fmt.Sprint("Person ", i)})
			}
			calls[n] = map[string]any{"program_id": program, "cards": rows, "idempotency_key": fmt.Sprintf("%d-%d", round, n)}
			ask, err := issueByMCP(t.Context(), f.server.origin, key.Secret, calls[n])
			if err != nil || ask.Token == "" {
				t.Fatalf("%+v %v", ask, err)
			}
			calls[n]["confirm_token"] = ask.Token
		}
		from := arrived.count()
		var waiting sync.WaitGroup
		for _, args := range calls {
			waiting.Go(func() { issueByMCP(t.Context(), f.server.origin, key.Secret, args) })
		}
		if !arrived.waitUntil(func() bool { return arrived.count() >= from+after }) {
			t.Fatalf("round %d: no progress:\n%s", round, f.server.stderr)
		}
		f.server.signal(syscall.SIGKILL)
		f.server.wait()
		waiting.Wait()
		start()
		had := len(listCards(f.api(office), 100)) - len(all)
		t.Logf("round %d: %d of %d cards were there after the kill", round, had, assistants*rowsOfCall)
		if had == 0 || had == assistants*rowsOfCall {
			t.Errorf("round %d: the kill was not in the middle", round)
		}
		for range 2 { // the second answers the same
			for n, args := range calls {
				made, err := issueByMCP(t.Context(), f.server.origin, key.Secret, args)
				if err != nil || made.Issued != rowsOfCall || made.Refused != 0 {
					t.Fatalf("round %d, call %d: %+v %v", round, n, made, err)
				}
				for _, c := range made.Cards {
					if id, there := all[c.ExternalRef]; there && id != c.ID || c.ID == "" {
						t.Errorf("%s is %q, then %q", c.ExternalRef, id, c.ID)
					}
					all[c.ExternalRef] = c.ID
				}
			}
		}
	}
	found := listCards(f.api(office), 100)
	if want := len(kills) * assistants * rowsOfCall; len(found) != want || len(all) != want {
		t.Errorf("%d cards and %d references, want %d", len(found), len(all), want)
	}
	for _, c := range found {
		if c.ExternalRef == nil || all[*c.ExternalRef] != c.ID {
			t.Errorf("card %s is not the row's", c.ID)
		}
	}
	f.server.stop()
	if out := f.run("check"); out != "ok\n" {
		t.Errorf("check printed %q", out)
	}
}
