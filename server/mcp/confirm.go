package mcp

import (
	"cmp"
	"crypto/hmac"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"punchcard/server/kernel"
	"punchcard/server/wire"
	"punchcard/store"
)

// A confirmation protects against slips of an assistant, not against one that means to act:
// the same assistant that is told the impact can confirm it. README.md says so.

// writeArgs are the arguments that every writing tool has.
type writeArgs struct {
	IdempotencyKey store.Opt[string] `json:"idempotency_key" min:"1" limit:"idempotency_key"`
	ConfirmToken   store.Opt[string] `json:"confirm_token" min:"1" max:"200"`
}

// confirmPeriod is how long a token can be used.
const confirmPeriod = 10 * time.Minute

const tokenRule = "must be the confirm_token of the answer to the same call, at most 10 minutes old"

// Impact is the answer to a call that waits for its confirmation.
type Impact struct {
	Confirm   bool   `json:"confirmation_required"`
	Impact    string `json:"impact"`
	Token     string `json:"confirm_token"`
	ExpiresIn int64  `json:"expires_in_seconds"`
}

// token is what a confirm_token says.
type token struct {
	expires store.Time
	version store.Time // of the resource
}

// fingerprint returns the arguments of a call without those that a retry or a confirmation
// changes, in a canonical form.
func (c *call) fingerprint() string {
	_, rest, ok := divide(c.args, map[string]bool{"idempotency_key": true, "confirm_token": true, "dry_run": true})
	if !ok {
		return string(c.args)
	}
	v := jsontext.Value(rest)
	v.Canonicalize()
	return string(v)
}

// sign returns the signature of a token of this call.
func (c *call) sign(t token, w writeArgs) []byte {
	return c.st.Sign("mcp confirmation", strconv.FormatInt(c.caller.Key.Family, 10), c.tool.name, c.fingerprint(), w.IdempotencyKey.V,
		strconv.FormatInt(int64(t.expires), 10), strconv.FormatInt(int64(t.version), 10))[:16]
}

func (c *call) newToken(version store.Time, w writeArgs) string {
	t := token{c.st.Now().Add(confirmPeriod), version}
	b := binary.BigEndian.AppendUint64(nil, uint64(t.expires))
	b = binary.BigEndian.AppendUint64(b, uint64(t.version))
	return base64.RawURLEncoding.EncodeToString(append(b, c.sign(t, w)...))
}

// readToken returns what a token of this call says; ok is false for another text.
func (c *call) readToken(text string, w writeArgs) (t token, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != 32 {
		return t, false
	}
	t = token{store.Time(binary.BigEndian.Uint64(b)), store.Time(binary.BigEndian.Uint64(b[8:]))}
	return t, hmac.Equal(b[16:], c.sign(t, w))
}

// key sets the idempotency key of a write: the caller's, or the token of the confirmation,
// so that confirming twice acts once. suffix tells the rows of a call apart.
func (c *call) key(in *input, w writeArgs, suffix string) {
	value := cmp.Or(w.IdempotencyKey.V, w.ConfirmToken.V)
	if value == "" {
		return
	}
	in.key = &kernel.IdempotencyKey{
		Value:   value + suffix,
		Method:  "mcp",
		Path:    c.tool.name,
		Body:    []byte(c.fingerprint()),
		Success: http.StatusOK,
		Status:  kernel.StatusOf,
	}
}

// confirmed reports whether the call carries a valid confirmation, which it adds to the
// input: the resource with the id must be as it was when the impact was shown.
func (c *call) confirmed(in *input, id string, w *writeArgs) (bool, error) {
	if c.answered != nil && !w.ConfirmToken.Set {
		if c.answered.Action != "accept" || c.answered.Content["confirm"] != true {
			return false, kernel.Refuse(store.Conflict, "The person did not confirm it; nothing was changed.")
		}
		w.ConfirmToken = store.Given(c.state)
	}
	if !w.ConfirmToken.Set {
		return false, nil
	}
	t, ok := c.readToken(w.ConfirmToken.V, *w)
	if !ok {
		return false, store.InvalidField("confirm_token", wire.CodeInvalidValue, tokenRule)
	}
	in.conditionID, in.version, in.expired = id, t.version, t.expires <= c.st.Now()
	return true, nil
}

// confirmInput names the question to the user.
const confirmInput = "confirm"

// elicitation asks the user of the client for a confirmation. It is returned as an error.
type elicitation struct {
	params *sdk.ElicitParams
	token  string
}

func (*elicitation) Error() string { return "a confirmation is needed" }

// askFor returns the answer that shows the impact, or has the client ask its user.
func (c *call) askFor(impact string, version store.Time, w writeArgs) (any, error) {
	token := c.newToken(version, w)
	if c.canElicit {
		return nil, &elicitation{&sdk.ElicitParams{Mode: "form", Message: impact, RequestedSchema: json.RawMessage(
			`{"type":"object","properties":{"confirm":{"type":"boolean","title":"Do it"}},"required":["confirm"]}`)}, token}
	}
	return &Impact{true, impact, token, int64(confirmPeriod / time.Second)}, nil
}

// confirm makes a write that has to be confirmed: it previews it, shows the impact, which
// say returns, and makes it when the call comes again with the token. view returns what is shown
// of the outcome.
func confirm[O, V any](c *call, op *kernel.Operation, in *input, w writeArgs, say func() (string, error), view func(O) V) (any, error) {
	id := in.params["id"]
	ready, err := c.confirmed(in, id, &w)
	if err != nil {
		return nil, err
	}
	if ready {
		return change(c, op, in, w, view)
	}
	all, version, err := c.preview(op, id, in)
	if err == nil {
		err = all[0].Err
	}
	if err != nil {
		return nil, err
	}
	impact, err := say()
	if err != nil {
		return nil, err
	}
	return c.askFor(impact, version, w)
}
