package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// tool is something that an assistant can call. It binds operations.
type tool struct {
	name, title, doc string
	scope            string // that the key needs; kernel.AnyKey: none
	writes           bool
	destructive      bool // it may take something away
	idempotent       bool // calling it again changes nothing more
	openWorld        bool // it makes the server send something to others
	schema           string
	run              func(*call) (any, error)
}

// call is one call of a tool.
type call struct {
	*session
	context.Context
	tool *tool
	args []byte // a JSON object
	// canElicit says that the client can ask its user for a confirmation.
	canElicit bool
	answered  *sdk.ElicitResult // what the user answered; nil: was not asked
	state     string            // the token that belongs to the answer
}

// maxAnswer is the maximum size of an answer as JSON, in bytes.
const maxAnswer = 20_000

// tools returns all tools, in the order in which they are listed.
func tools() []*tool {
	all := slices.Concat(readingTools(), cardTools(), programTools(), locationTools(), webhookTools())
	slices.SortFunc(all, func(a, b *tool) int { return strings.Compare(a.name, b.name) })
	return all
}

// allowed reports whether a key with the scopes may call the tool.
func (t *tool) allowed(scopes []string) bool {
	return t.scope == kernel.AnyKey || slices.Contains(scopes, t.scope)
}

// listed returns the tool as the protocol lists it.
func (t *tool) listed() *sdk.Tool {
	return &sdk.Tool{
		Name:        t.name,
		Title:       t.title,
		Description: t.doc,
		InputSchema: json.RawMessage(t.schema),
		Annotations: &sdk.ToolAnnotations{
			ReadOnlyHint:    !t.writes,
			DestructiveHint: &t.destructive,
			IdempotentHint:  t.idempotent,
			OpenWorldHint:   &t.openWorld,
		},
	}
}

// handle is the SDK's handler of a tool.
func (t *tool) handle(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	s := sessionOf(ctx) // middleware refuses a request without one
	c := &call{session: s, Context: ctx, tool: t, args: req.Params.Arguments, state: req.Params.RequestState}
	if len(c.args) == 0 || string(c.args) == "null" {
		c.args = []byte("{}")
	}
	caps := req.ClientCapabilities()
	c.canElicit = caps != nil && caps.Elicitation != nil && req.ProtocolVersion() >= newProtocol
	c.answered, _ = req.Params.InputResponses[confirmInput].(*sdk.ElicitResult)
	c.caller.Actor.Context = `"via":"mcp","tool":` + quote(t.name) + `,"client":` + quote(s.client)
	out, err := t.run(c)
	var ask *elicitation
	switch {
	case errors.As(err, &ask):
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{confirmInput: ask.params}, RequestState: ask.token}, nil
	case err != nil:
		return c.refused(err), nil
	}
	return c.result(out, false), nil
}

// result returns the result with an answer: as JSON, and as the same text.
func (c *call) result(out any, isError bool) *sdk.CallToolResult {
	raw := wire.Append(nil, out)
	var text []byte
	var untrusted []string
	for _, max := range []int{math.MaxInt, 500, 200, 80, 30} {
		if text, untrusted = clean(raw, max); len(text) <= maxAnswer {
			break
		}
	}
	if len(text) > maxAnswer {
		return c.refused(kernel.Refuse(store.Unprocessable, "The answer is larger than 20 kB; ask for less of it."))
	}
	r := &sdk.CallToolResult{
		IsError:           isError,
		StructuredContent: json.RawMessage(text),
		Content:           []sdk.Content{&sdk.TextContent{Text: string(text)}},
	}
	if untrusted != nil {
		r.SetMeta(map[string]any{"untrusted": untrusted})
	}
	return r
}

// Refusal is the answer of a call that is refused.
type Refusal struct {
	Code    store.Code     `json:"code"`
	Message string         `json:"message"`
	Details []store.Detail `json:"details"`
	Hint    string         `json:"hint"`
}

// hints say what to do about a refusal.
var hints = map[store.Code]string{
	store.ValidationFailed:    "Correct the fields in details and call again.",
	store.NotFound:            "Look the id up with find_cards, get_programs, get_overview or get_webhooks.",
	store.Unauthorized:        "The owner of the shop decides what this key may do, on the page Keys of the dashboard.",
	store.Unauthenticated:     "Ask the owner of the shop for a new key.",
	store.Conflict:            "Read the current state before you call again.",
	store.IdempotencyConflict: "Use another idempotency_key for another call.",
	store.LocationScopeUnsupported: "This key is restricted to locations. Ask for figures with get_analytics view heatmap, " +
		"compare_periods or list_transactions.",
	store.LocationDisabled:         "Every location of this key is disabled. A person must enable one.",
	store.ProgramHasInstalledCards: "Make a new program for other rules.",
	store.CardLocked:               "Reissue the card to change its holder or expiry.",
	store.CardExpired:              "Give it a future expires_at, or null, in the same call.",
	store.MCPAccessRequired:        "The operator of the server decides whether the shop may use assistants.",
	store.SubscriptionSuspended:    "The operator of the server must renew the shop's subscription.",
	store.Unprocessable:            "The message names the rule.",
	store.InternalError:            "Call again, with the same idempotency_key where there was one.",
}

// internalMessage is the message of a refusal that is the server's fault.
const internalMessage = "Something went wrong on the server."

// refused returns the result of a call that is refused. Its messages contain nothing that
// the caller sent: a field that is not known is named in field alone.
func (c *call) refused(err error) *sdk.CallToolResult {
	e := c.Kernel.Report(c.w, err)
	r := Refusal{e.Code, e.Message, slices.Clone(e.Details), hints[e.Code]}
	if e.Code == store.InternalError {
		r.Message = internalMessage
	}
	for i := range r.Details {
		if r.Details[i].Code == wire.CodeUnknownField {
			r.Details[i].Message = "This is not a known field."
		}
	}
	return c.result(&r, true)
}

// retry calls f again as long as the key was changed meanwhile, after it has identified the caller anew.
func (c *call) retry(f func() error) error {
	for {
		err := f()
		if !errors.Is(err, store.ErrEpoch) || c.Err() != nil {
			return err
		}
		c.keys.Forget()
		if err := c.authenticate(); err != nil {
			return err
		}
	}
}

// do invokes an operation and returns its answer, whose type is O.
func do[O any](c *call, op *kernel.Operation, in kernel.Input) (out O, err error) {
	err = c.retry(func() (err error) {
		out, err = kernel.Do[O](c, c.Kernel, c.caller, op, in)
		return err
	})
	return out, err
}

// preview returns what calls of an operation would do, and the version of the resource with
// the id.
func (c *call) preview(op *kernel.Operation, id string, inputs ...kernel.Input) (all []kernel.Previewed, version store.Time, err error) {
	err = c.retry(func() (err error) {
		all, version, err = c.Kernel.Preview(c, c.caller, op, id, inputs...)
		return err
	})
	return all, version, err
}
