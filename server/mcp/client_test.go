package mcp_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"punchcard/server/mcp"
	"punchcard/server/servertest/require"
)

// The versions of the protocol with and without sessions.
const (
	oldProtocol = "2025-06-18"
	newProtocol = "2026-07-28"
)

// bearer adds a key to requests.
type bearer struct {
	key  string
	next http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.key)
	return b.next.RoundTrip(r)
}

// connect connects a client of the Go SDK. elicit answers what its user is asked; nil: the
// client cannot ask.
func (a *assistant) connect(version string, elicit func(*sdk.ElicitRequest) *sdk.ElicitResult) *sdk.ClientSession {
	a.T.Helper()
	options := &sdk.ClientOptions{}
	if elicit != nil {
		options.ElicitationHandler = func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) { return elicit(r), nil }
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	client := sdk.NewClient(&sdk.Implementation{Name: "test client", Version: "1"}, options)
	s := require.Must(client.Connect(
		a.T.Context(),
		&sdk.StreamableClientTransport{
			Endpoint:             a.Origin + "/mcp",
			HTTPClient:           &http.Client{Transport: bearer{a.key, transport}},
			DisableStandaloneSSE: true,
		},
		&sdk.ClientSessionOptions{ProtocolVersion: version},
	))
	a.T.Cleanup(func() {
		s.Close()
		transport.CloseIdleConnections()
	})
	return s
}

// callWith calls a tool with a client.
func (a *assistant) callWith(s *sdk.ClientSession, tool string, args any) *outcome {
	a.T.Helper()
	r := require.Must(s.CallTool(a.T.Context(), &sdk.CallToolParams{Name: tool, Arguments: args}))
	var result map[string]any
	require.NoError(a.T, json.Unmarshal(require.Must(json.Marshal(r)), &result))
	return a.outcome(tool, result)
}

// TestClients uses tools, resources and prompts with clients of the Go SDK, over the protocol with
// sessions and over the one without.
func TestClients(t *testing.T) {
	a := start(t)
	program := a.NewProgram("standard", true, nil)
	for _, version := range []string{oldProtocol, newProtocol} {
		s, ctx := a.connect(version, nil), t.Context()
		if got := s.InitializeResult().ProtocolVersion; got != version {
			t.Errorf("version %s, want %s", got, version)
		}
		tools, err := s.ListTools(ctx, nil)
		if err != nil || len(tools.Tools) != len(mcp.Tools()) || tools.NextCursor != "" {
			t.Fatalf("%s: %v %v", version, tools, err)
		}
		for _, tool := range tools.Tools {
			if h := tool.Annotations; h == nil || h.DestructiveHint == nil || h.OpenWorldHint == nil {
				t.Errorf("%s has no hints", tool.Name)
			}
		}
		a.callWith(s, "get_programs", fields{"id": program}).shows("id", program)
		a.callWith(s, "get_card", fields{"id": "crd_none"}).refused("not_found")
		if _, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "stamp"}); err == nil {
			t.Errorf("%s: a tool that does not exist was called", version)
		}
		for _, uri := range []string{"punchcard://shop", "punchcard://programs/" + program} {
			if r, err := s.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri}); err != nil || len(r.Contents) != 1 ||
				!json.Valid([]byte(r.Contents[0].Text)) {
				t.Errorf("%s %s: %v %v", version, uri, r, err)
			}
		}
		if _, err := s.ReadResource(ctx, &sdk.ReadResourceParams{URI: "punchcard://nothing"}); err == nil {
			t.Errorf("%s: a resource that does not exist was read", version)
		}
		if r, err := s.GetPrompt(ctx, &sdk.GetPromptParams{Name: "weekly_report"}); err != nil || len(r.Messages) != 1 {
			t.Errorf("%s: %v %v", version, r, err)
		}
	}
}

// TestElicitation checks that the user of a client is asked once for a confirmation, and that the tool
// acts only for one who accepts the form with its box ticked.
func TestElicitation(t *testing.T) {
	a := start(t)
	for what, c := range map[string]struct {
		answer *sdk.ElicitResult
		acts   bool
	}{
		"accepted":         {&sdk.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}, true},
		"not ticked":       {&sdk.ElicitResult{Action: "accept", Content: map[string]any{"confirm": false}}, false},
		"declined":         {&sdk.ElicitResult{Action: "decline"}, false},
		"cancelled":        {&sdk.ElicitResult{Action: "cancel"}, false},
		"declined, ticked": {&sdk.ElicitResult{Action: "decline", Content: map[string]any{"confirm": true}}, false},
	} {
		program, asked := a.NewProgram("standard", true, nil), 0
		s := a.connect(newProtocol, func(r *sdk.ElicitRequest) *sdk.ElicitResult {
			asked++
			if r.Params.Message != "0 cards stop earning and redeeming at once." {
				t.Errorf("asked %q", r.Params.Message)
			}
			return c.answer
		})
		suspend := fields{"id": program, "action": "suspend"}
		before := a.state()
		o := a.callWith(s, "set_program_state", suspend)
		if asked != 1 || o.fails == c.acts {
			t.Errorf("%s: asked %d times: %s", what, asked, o.text)
		}
		if !c.acts {
			o.refused("conflict")
			if after := a.state(); after != before {
				t.Errorf("%s: something was written: %s, then %s", what, before, after)
			}
		} else if o.str("state") != "suspended" {
			t.Errorf("%s: %s", what, o.text)
		}
	}
}

// TestClientsThatCannotAsk checks that a client which cannot ask its user, or speaks a version
// in which it would be asked over a stream, gets the impact and a token.
func TestClientsThatCannotAsk(t *testing.T) {
	a := start(t)
	never := func(*sdk.ElicitRequest) *sdk.ElicitResult {
		t.Error("the user was asked")
		return &sdk.ElicitResult{Action: "cancel"}
	}
	for _, s := range []*sdk.ClientSession{a.connect(newProtocol, nil), a.connect(oldProtocol, nil), a.connect(oldProtocol, never)} {
		program := a.NewProgram("standard", true, nil)
		suspend := fields{"id": program, "action": "suspend"}
		first := a.callWith(s, "set_program_state", suspend).ok()
		if first.at("confirmation_required") != true || first.str("impact") == "" {
			t.Fatalf("%s", first.text)
		}
		suspend["confirm_token"] = first.str("confirm_token")
		for range 2 {
			a.callWith(s, "set_program_state", suspend).shows("state", "suspended")
		}
	}
}
